/*
 * The real libnccl against `ifprobe --predict` on random hosts, and with what
 * `ifprobe --suggest` proposes there: each in a network namespace and a mount
 * namespace of its own. Prints TAP; a host on which they disagree is printed
 * whole.
 *
 *	nccl_diff IFPROBE SEED FIRST COUNT JOBS
 */
#include "tests/diff/nccl_host.h"
#include "tests/diff/nccl_real.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { BLOCK = 100, TRIES = 8 };

struct run {
	const char *ifprobe;
	uint64_t seed;
	struct host_dir dir;
	unsigned version; /* libnccl's */
};

/* Shared with the workers. */
struct tally {
	unsigned done, bad, ok, none, fails, data, unsettled, suggested;
};
static struct tally *tally;

struct ours {
	const char *outcome, *boot, *data, *rule;
	struct text json;
};

static const char *str(const cJSON *o, const char *key)
{
	const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));

	return s ? s : "";
}

/* The value at data.@path of `ifprobe MODE --json`; @ret_root is the caller's. */
static const cJSON *ask(const struct run *run, char *mode, char *option, const char *const *path,
			struct text *json, cJSON **ret_root)
{
	char *const argv[] = {(char *)(uintptr_t)run->ifprobe, mode, (char *)"--json", option,
			      NULL};
	const cJSON *at;

	if (host_run(argv, NULL, json) < 0)
		return NULL;
	at = *ret_root = cJSON_Parse(json->s);
	for (; *path; path++)
		at = cJSON_GetObjectItemCaseSensitive(at, *path);
	return at;
}

static int ask_ours(const struct run *run, struct arena *a, struct ours *ret)
{
	static const char *const path[] = {"data", "predict", "nccl", NULL};
	const cJSON *at, *one;
	struct text data;
	cJSON *root = NULL;

	*ret = (struct ours){0};
	text_init(&ret->json, a);
	text_init(&data, a);
	at = ask(run, (char *)"--predict", arena_printf(a, "--nccl-version=%u", run->version), path,
		 &ret->json, &root);
	if (!root)
		return -1;
	ret->outcome = arena_strdup(a, str(at, "outcome"));
	ret->rule = arena_strdup(a, str(at, "rule"));
	ret->boot = arena_printf(a, "%s:%s", str(at, "interface"), str(at, "address"));
	cJSON_ArrayForEach (one, cJSON_GetObjectItemCaseSensitive(at, "interfaces"))
		text_addf(&data, "%s%s", data.n ? " " : "", cJSON_GetStringValue(one));
	ret->data = data.s;
	cJSON_Delete(root);
	return 0;
}

/* Where a value overruns NCCL's memory its end is chance: that we said so is what counts. */
static bool agree(const struct truth *t, const struct ours *o)
{
	if (streq(o->rule, "NCCL_SOCKET_IFNAME:overrun") || streq(o->rule, "NCCL_COMM_ID:overrun"))
		return true;
	if (!streq(t->outcome, o->outcome))
		return false;
	if (streq(t->outcome, "ok") && !streq(t->boot, o->boot))
		return false;
	return !t->data.s || streq(t->data.s, o->data);
}

/* "eth0" and its aliases "eth0:1", in @list with blanks between. */
static bool only_of(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (size_t len; *list; list += len + (list[len] == ' ')) {
		len = strcspn(list, " ");
		if (len < n || memcmp(list, name, n) || (len > n && list[n] != ':'))
			return false;
	}
	return true;
}

/* Sets what is proposed here as a shell would; the interface, "" for none, NULL: no answer. */
static const char *take_suggestion(const struct run *run, struct arena *a, struct text *ret_json)
{
	static const char *const path[] = {"data", "suggest", NULL};
	const cJSON *at, *one;
	const char *name;
	cJSON *root = NULL;

	text_init(ret_json, a);
	at = ask(run, (char *)"--suggest", NULL, path, ret_json, &root);
	name = root ? arena_strdup(a, str(at, "interface")) : NULL;
	cJSON_ArrayForEach (one, cJSON_GetObjectItemCaseSensitive(at, "env"))
		setenv(one->string, cJSON_GetStringValue(one), 1);
	cJSON_Delete(root);
	return name;
}

/*
 * The other stacks by our own predictions, which are held against the real ones
 * elsewhere. A name that no list of theirs can hold is left out of what is proposed.
 */
static bool others_hold(const struct run *run, struct arena *a, const char *name)
{
	static const char *const vars[][2] = {{"gloo", "GLOO_SOCKET_IFNAME"},
					      {"openmpi", "OMPI_MCA_btl_tcp_if_include"},
					      {"ucx", "UCX_NET_DEVICES"}};
	static const char *const path[] = {"data", "predict", NULL};
	struct text json, list;
	const cJSON *all, *at, *one;
	cJSON *root = NULL;
	bool hold = true;

	text_init(&json, a);
	all = ask(run, (char *)"--predict", NULL, path, &json, &root);
	for (size_t i = 0; i < ARRAY_LEN(vars); i++) {
		if (strpbrk(name, ",^=") && !getenv(vars[i][1]))
			continue;
		text_init(&list, a);
		at = cJSON_GetObjectItemCaseSensitive(all, vars[i][0]);
		cJSON_ArrayForEach (one, cJSON_GetObjectItemCaseSensitive(at, "interfaces"))
			text_addf(&list, "%s%s", list.n ? " " : "", cJSON_GetStringValue(one));
		if (streq(str(at, "outcome"), "ok") && only_of(list.s, name))
			continue;
		printf("# %s would use [%s] with what is proposed: %s\n", vars[i][0], list.s,
		       str(at, "why"));
		hold = false;
	}
	cJSON_Delete(root);
	return hold;
}

/* With what is proposed libnccl uses that one interface; nothing is said of a changing host. */
static bool suggestion_holds(const struct run *run, struct arena *a, struct truth *t,
			     struct text *ret_json)
{
	struct text before, after;
	const char *name;
	bool others;

	text_init(&before, a);
	text_init(&after, a);
	real_snapshot(&before);
	name = take_suggestion(run, a, ret_json);
	if (!name || !*name)
		return name != NULL;
	if (real_ask(a, t))
		return false;
	others = others_hold(run, a, name);
	real_snapshot(&after);
	if (!streq(before.s, after.s))
		return true;
	__atomic_add_fetch(&tally->suggested, 1, __ATOMIC_RELAXED);
	return others && streq(t->outcome, "ok") &&
	       starts_with(t->boot, arena_printf(a, "%s:", name)) &&
	       (!t->data.s || only_of(t->data.s, name));
}

static void report_bad(const struct run *run, uint64_t number, const struct layout *l,
		       const struct truth *t, const struct ours *o, struct arena *a)
{
	struct text out;

	text_init(&out, a);
	layout_print(l, run->seed, number, &out);
	text_addf(&out, "# libnccl: %s %s, data: %s\n", t->outcome, t->boot,
		  t->data.s ? t->data.s : "(not asked)");
	text_addf(&out, "# ifprobe: %s %s, data: %s\n", o->outcome, o->boot, o->data);
	for (const char *line = t->log.s; *line;) {
		size_t n = strcspn(line, "\n");

		text_addf(&out, "#   | %.*s\n", (int)n, line);
		line += n + (line[n] == '\n');
	}
	if (write(STDOUT_FILENO, out.s, out.n) < 0)
		_exit(1);
}

/* Asks both; true when the host was the same before and after, so that they saw the same. */
static bool ask_both(const struct run *run, struct arena *a, struct truth *t, struct ours *o,
		     int *ret)
{
	struct text before, after;

	text_init(&before, a);
	text_init(&after, a);
	real_snapshot(&before);
	*ret = real_ask(a, t) || ask_ours(run, a, o) ? -1 : 0;
	real_snapshot(&after);
	return streq(before.s, after.s);
}

static void count(const struct truth *t)
{
	unsigned *which = streq(t->outcome, "ok")     ? &tally->ok
			  : streq(t->outcome, "none") ? &tally->none
						      : &tally->fails;

	__atomic_add_fetch(which, 1, __ATOMIC_RELAXED);
	if (t->data.s)
		__atomic_add_fetch(&tally->data, 1, __ATOMIC_RELAXED);
}

static int one_layout(void *arg, uint64_t number)
{
	const struct run *run = arg;
	AUTO(arena_done) struct arena a = {0};
	struct layout l;
	struct truth t;
	struct ours o;
	int r = -1, tries = 0;

	layout_make(&l, run->seed, number, &a);
	if (host_build(&run->dir, &l, &a)) {
		printf("# layout %llu cannot be built: %s\n", (unsigned long long)number,
		       strerror(errno));
		return -1;
	}
	while (!ask_both(run, &a, &t, &o, &r) && ++tries < TRIES)
		;
	if (tries == TRIES)
		__atomic_add_fetch(&tally->unsettled, 1, __ATOMIC_RELAXED);
	if (r) {
		printf("# layout %llu: no answer\n", (unsigned long long)number);
		return -1;
	}
	count(&t);
	/* Where NCCL_COMM_ID decides, nothing that we could propose does. */
	if (!agree(&t, &o)) {
		report_bad(run, number, &l, &t, &o, &a);
		return -1;
	}
	if (tries == TRIES || starts_with(o.rule, "NCCL_COMM_ID") ||
	    suggestion_holds(run, &a, &t, &o.json))
		return 0;
	o = (struct ours){"(proposed)", o.json.s, "", "", o.json};
	report_bad(run, number, &l, &t, &o, &a);
	return -1;
}

static int work(struct run *run, uint64_t first, uint64_t end, unsigned jobs)
{
	return host_work(&run->dir, first, end, jobs, one_layout, run, &tally->done, &tally->bad);
}

static bool block_agrees(struct run *run, uint64_t first, uint64_t end, unsigned jobs)
{
	unsigned bad = tally->bad, done = tally->done;

	(void)fflush(stdout);
	for (unsigned j = 0; j < jobs; j++)
		if (fork() == 0)
			_exit(work(run, first + j, end, jobs) ? 1 : 0);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	return tally->bad == bad && tally->done - done == end - first;
}

static unsigned all_blocks(struct run *run, uint64_t first, uint64_t end, unsigned jobs)
{
	unsigned failed = 0, n = 0;

	for (uint64_t at = first; at < end; at += BLOCK) {
		uint64_t stop = at + BLOCK < end ? at + BLOCK : end;
		bool fine = block_agrees(run, at, stop, jobs);

		failed += !fine;
		printf("%s %u - layouts %llu to %llu: libnccl does what --predict says and takes "
		       "what "
		       "--suggest proposes\n",
		       fine ? "ok" : "not ok", ++n, (unsigned long long)at,
		       (unsigned long long)stop - 1);
	}
	return failed;
}

int main(int argc, char **argv)
{
	struct run run = {.ifprobe = argv[1]};
	uint64_t first, end;
	unsigned failed;

	if (argc != 6)
		return 2;
	if (!real_load(getenv("WINDSOCK_NCCL"))) {
		puts("1..0 # SKIP libnccl is not installed");
		return 0;
	}
	run.seed = strtoull(argv[2], NULL, 0);
	run.version = real_version();
	first = strtoull(argv[3], NULL, 0);
	end = first + strtoull(argv[4], NULL, 0);
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (tally == MAP_FAILED)
		return 3;
	printf("1..%llu\n# libnccl %u at %s; SEED=%llu\n",
	       (unsigned long long)((end - first + BLOCK - 1) / BLOCK), run.version, real_path(),
	       (unsigned long long)run.seed);
	failed = all_blocks(&run, first, end, (unsigned)strtoul(argv[5], NULL, 0));
	printf("# %u layouts: %u ok, %u none, %u fails; the whole list compared in %u; what is "
	       "proposed tried in %u; %u disagree, %u were still changing\n",
	       tally->done, tally->ok, tally->none, tally->fails, tally->data, tally->suggested,
	       tally->bad, tally->unsettled);
	return failed != 0;
}
