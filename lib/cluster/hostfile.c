#include "lib/cluster/hostlist.h"
#include "lib/core/file.h"
#include "lib/core/log.h"
#include "lib/core/text.h"
#include "lib/core/units.h"
#include "lib/net/addr.h"

#include <errno.h>
#include <sys/stat.h>

enum { HOSTFILE_MAX = 16 << 20, SLOTS_MAX = 1 << 20 };

static const char blanks[] = " \t\r\v\f";

static int bad_line(const char *path, size_t line, const char *what, struct err *e)
{
	err_set(e, ERR_USAGE, "%s:%zu: %s", path, line, what);
	return err_hint(e,
			"a line is `NAME`, `NAME slots=8`, `NAME:8`, `NAME[1-4]` or a # comment");
}

/* The next word of *@p, its `=` and value joined where blanks stand around it. NULL at the end. */
static char *next_word(struct arena *a, char **p)
{
	char *from = *p + strspn(*p, blanks), *end = from + strcspn(from, blanks), *eq;
	char *word;

	if (!*from)
		return NULL;
	word = arena_strndup(a, from, (size_t)(end - from));
	eq = end + strspn(end, blanks);
	if (!strchr(word, '=') && *eq == '=')
		end = eq + 1;
	if (end[-1] == '=') {
		char *value = end + strspn(end, blanks);

		end = value + strcspn(value, blanks);
		word = arena_printf(a, "%.*s=%.*s", (int)strcspn(word, "="), word,
				    (int)(end - value), value);
	}
	*p = end;
	return word;
}

static int parse_slots(const char *word, unsigned *slots)
{
	uint64_t v;

	if (parse_uint(word, &v) < 0 || v < 1 || v > SLOTS_MAX)
		return -1;
	*slots = (unsigned)v;
	return 0;
}

/* `slots=8`, as Open MPI says it; its limits beside that are known and do not concern us. */
static int parse_setting(const char *word, unsigned *slots, const char **ret_what)
{
	static const char *const known[] = {"slots", "cpus",	  "cpu",
					    "count", "max_slots", "max-slots"};
	enum { LIMITS = 4 };
	const char *eq = strchr(word, '=');
	unsigned limit;

	for (size_t i = 0; eq && i < ARRAY_LEN(known); i++) {
		if (strlen(known[i]) != (size_t)(eq - word) || !starts_with(word, known[i]))
			continue;
		*ret_what = "not a number of slots";
		return parse_slots(eq + 1, i < LIMITS ? slots : &limit);
	}
	*ret_what = eq ? "unknown setting" : "one host (or list) per line";
	return -1;
}

/* `node1 8 all.q@node1 UNDEFINED`: a line of Grid Engine's $PE_HOSTFILE, behind the name. The last
 * word is about processors. */
static bool take_grid_engine(char *line, struct arena *a, unsigned *slots)
{
	const char *number = next_word(a, &line), *queue = number ? next_word(a, &line) : NULL;

	return queue && strchr(queue, '@') && !strchr(queue, '=') && !parse_slots(number, slots) &&
	       (!next_word(a, &line) || !next_word(a, &line));
}

static int parse_line(char *line, const char *path, size_t nr, struct arena *a, host_list *out,
		      struct err *e)
{
	unsigned slots = 0;
	host_list hosts;
	const char *what;
	char *name, *word;

	line[strcspn(line, "#")] = '\0';
	name = next_word(a, &line);
	if (!name)
		return 0;
	if (hostlist_parse(name, a, &hosts, e) < 0) {
		char *msg = arena_strdup(a, e->msg);

		snprintf(e->msg, sizeof(e->msg), "%s:%zu: %s", path, nr, msg);
		return -1;
	}
	if (take_grid_engine(line, a, &slots))
		line += strlen(line);
	while ((word = next_word(a, &line)))
		if (parse_setting(word, &slots, &what) < 0)
			return bad_line(path, nr, what, e);
	if (hosts.n > HOSTLIST_MAX - out->n)
		return bad_line(path, nr, "more than 262144 hosts", e);
	for (size_t i = 0; i < hosts.n; i++) {
		struct host *h = LIST_ADD(a, out);

		*h = hosts.v[i];
		h->slots = slots ? slots : h->slots;
	}
	return 0;
}

int hostfile_parse(const char *text, size_t n, const char *path, struct arena *a, host_list *ret,
		   struct err *e)
{
	const char *p = text, *end = text + n;
	host_list out = {0};
	size_t nr = 0;

	if (n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
		p += 3; /* what Windows' editors put first */
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;

		nr++;
		if (memchr(p, '\0', (size_t)(stop - p)))
			return bad_line(path, nr, "not a text file", e);
		if (parse_line(arena_strndup(a, p, (size_t)(stop - p)), path, nr, a, &out, e) < 0)
			return -1;
		p = nl ? nl + 1 : end;
	}
	if (!out.n) {
		err_set(e, ERR_USAGE, "%s names no host", path);
		return err_hint(e, "write one host name a line");
	}
	*ret = out;
	return 0;
}

struct named {
	const char *name;
	size_t at;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : (x->at > y->at) - (x->at < y->at);
}

static unsigned slots_of(const struct host *h) { return h->slots ? h->slots : 1; }

/* As of mpirun --host a,a, and of $PBS_NODEFILE, which has a line for each slot. */
static void add_slots(struct host *to, const struct host *more)
{
	unsigned sum = slots_of(to) + slots_of(more);

	to->slots = sum < SLOTS_MAX ? sum : SLOTS_MAX;
}

/* Keeps the first of each name, in order; slots said twice add up, as in Open MPI. */
static void drop_duplicates(host_list *hosts, struct arena *a)
{
	struct named *sorted = arena_alloc(a, hosts->n * sizeof(*sorted));
	size_t first = 0, kept = 0;

	for (size_t i = 0; i < hosts->n; i++)
		sorted[i] = (struct named){hosts->v[i].name, i};
	qsort(sorted, hosts->n, sizeof(*sorted), by_name);
	for (size_t i = 1; i < hosts->n; i++) {
		if (!streq(sorted[i].name, sorted[first].name)) {
			first = i;
			continue;
		}
		add_slots(&hosts->v[sorted[first].at], &hosts->v[sorted[i].at]);
		hosts->v[sorted[i].at].name = NULL;
	}
	for (size_t i = 0; i < hosts->n; i++)
		if (hosts->v[i].name)
			hosts->v[kept++] = hosts->v[i];
	if (kept < hosts->n)
		log_say("%zu of %zu hosts were named more than once; each is asked once, and has "
			"a slot for each time",
			hosts->n - kept, hosts->n);
	hosts->n = kept;
}

/* As files are called and no host is: a mistyped `hosts.txt` is a file that is not there. */
static bool called_as_files_are(const char *arg)
{
	static const char *const words[] = {"hostfile", "machinefile", "nodefile", "hosts"};
	static const char *const endings[] = {".txt", ".list", ".lst", ".conf", ".cfg", ".csv"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (streq(arg, words[i]))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		if (ends_with(arg, endings[i]) && !strpbrk(arg, ",["))
			return true;
	return false;
}

static bool names_file(const char *arg)
{
	struct stat st;

	return streq(arg, "-") || strchr(arg, '/') ||
	       (stat(arg, &st) == 0 && !S_ISDIR(st.st_mode)) || called_as_files_are(arg);
}

static int no_file(const char *path, struct arena *a, struct err *e)
{
	const char *near = hostfile_near(path, a), *some = hosts_of_subnet(path, a);

	if (some) {
		err_set(e, ERR_USAGE, "'%s' is a subnet, and its hosts are to be named", path);
		return err_hint(e, "a list, as in '%s', or a hostfile", some);
	}
	if (near)
		return err_hint(e, "did you mean %s?", near);
	return err_hint(e, "hosts are a list (a,b or node[1-4]) or a hostfile's path");
}

/* A file of this folder that a host's name means, too: which was meant is not known. */
static int say_twofold(const char *path, struct arena *a, struct err *e)
{
	struct err ignored;
	host_list hosts;

	if (strchr(path, '/') || streq(path, "-") || called_as_files_are(path) ||
	    hostlist_parse(path, a, &hosts, &ignored) || hosts.n != 1 || hosts.v[0].slots)
		return -1;
	return err_hint(e, "%s is a file in this folder; for the host write %s:1", path,
			host_bracketed(a, path));
}

static int hosts_from_file(const char *path, struct arena *a, host_list *ret, struct err *e)
{
	char *text;
	size_t n;

	if (file_read_given(path, HOSTFILE_MAX, FILE_PATIENCE_NS, a, &text, &n, e) < 0)
		return errno == ENOENT || errno == EISDIR ? no_file(path, a, e) : -1;
	log_detail("reading host names from %s", path);
	return hostfile_parse(text, n, file_said(path), a, ret, e) ? say_twofold(path, a, e) : 0;
}

/* Slurm would take it for a name; none of this world's is one. */
static int refuse_mistyped(const host_list *hosts, struct err *e)
{
	for (size_t i = 0; i < hosts->n; i++) {
		const char *name = hosts->v[i].name;

		if (!addr_is_mistyped(host_bare(name)))
			continue;
		err_set(e, ERR_USAGE, "'%s' is " ADDR_MISTYPED, name);
		return err_hint(e, "check it for a slip");
	}
	return 0;
}

int hosts_from_arg(const char *arg, struct arena *a, host_list *ret, struct err *e)
{
	bool lab = streq(arg, "lab");
	bool file = !lab && names_file(arg);
	host_list hosts;

	if (lab && !(arg = getenv("WINDSOCK_HOSTS"))) {
		err_set(e, ERR_USAGE, "'lab': no lab here (WINDSOCK_HOSTS is not set)");
		return err_hint(e, "start inside one: scripts/lab run 4 -- COMMAND");
	}
	if (file ? hosts_from_file(arg, a, &hosts, e) < 0 : hostlist_parse(arg, a, &hosts, e) < 0)
		return -1;
	if (refuse_mistyped(&hosts, e))
		return -1;
	drop_duplicates(&hosts, a);
	*ret = hosts;
	return 0;
}

static void spell(struct text *t, const struct host *h, struct arena *a)
{
	if (h->slots)
		text_addf(t, "%s:%u", host_bracketed(a, h->name), h->slots);
	else
		text_add(t, h->name);
}

int hosts_settle(const char **arg, struct arena *a, struct err *e)
{
	host_list hosts;
	struct text t;

	if (!*arg || !file_is_stream(*arg))
		return 0;
	if (hosts_from_arg(*arg, a, &hosts, e))
		return -1;
	text_init(&t, a);
	for (size_t i = 0; i < hosts.n; i++) {
		text_add(&t, i ? "," : "");
		spell(&t, &hosts.v[i], a);
	}
	*arg = t.s;
	return 0;
}
