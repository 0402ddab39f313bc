#include "probes/log/dumps.h"

#include "lib/core/log.h"
#include "lib/core/quote.h"
#include "lib/core/text.h"
#include "probes/flight/judge.h"
#include "probes/log/said.h"

#include <ctype.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

bool dumps_begin(const char *head, size_t n) { return flight_begins(head, n); }

int dumps_read(struct why *w, int fd, const char *path, const char *head, size_t n, struct err *e)
{
	if (!w->flight)
		w->flight = flight_new();
	if (!w->flight)
		return err_set(e, ERR_SYS, "no memory to read %s", path);
	return flight_read(w->flight, fd, path, head, n, e);
}

void dumps_done(struct why *w)
{
	flight_free(w->flight);
	w->flight = NULL;
}

/* --- files that a log tells of ---------------------------------------------------------- */
void dumps_learn(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	enum { MOST = 4096 };
	static const char *const words[] = {" debug info to ", "dumping nccl trace to "};
	char path[300];

	w->has_dumped = true;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		const char *p = strstr(l->text, words[i]);

		if (!p || w->dumped.n >= MOST)
			continue;
		said_word(path, sizeof(path), p + strlen(words[i]), " \t\r\n");
		for (size_t k = 0; k < w->dumped.n; k++)
			if (streq(w->dumped.v[k], path))
				return;
		if (*path == '/' || *path == '.')
			*LIST_ADD(&w->a, &w->dumped) = arena_strdup(&w->a, path);
		return;
	}
}

/* Only a file, and one that was written since; what else the log names is left alone. */
static bool read_told(struct why *w, const char *path, int64_t since)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	AUTO_FREE char *head = malloc(FLIGHT_HEAD);
	struct err e = {0};
	struct stat st;
	ssize_t n;

	if (fd < 0 || !head || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_mtim.tv_sec < since)
		return false;
	n = read(fd, head, FLIGHT_HEAD);
	if (n <= 0 || !dumps_begin(head, (size_t)n))
		return false;
	if (dumps_read(w, fd, path, head, (size_t)n, &e))
		log_warn("%s", e.msg);
	return true;
}

/* "/scratch/trace_" of "/scratch/trace_12": what the dumps of all ranks begin with. */
static size_t begin_of(const char *path)
{
	size_t n = strlen(path);

	while (n && isdigit((unsigned char)path[n - 1]))
		n--;
	return n;
}

static const char *all_of(struct arena *a, const char *begin, size_t n)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < n; i++) {
		if (strchr("*?[\\", begin[i]))
			text_add(&t, "\\");
		text_addn(&t, &begin[i], 1);
	}
	text_add(&t, "[0-9]*");
	return t.s;
}

static size_t read_all(struct why *w, const char *begin, size_t len, int64_t since)
{
	glob_t g = {0};
	size_t n = 0;

	if (glob(all_of(&w->a, begin, len), 0, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc; i++)
			n += read_told(w, g.gl_pathv[i], since);
	globfree(&g);
	return n;
}

/* One rank may say it alone; all write beside each other. */
static size_t read_beside(struct why *w, size_t told, int64_t since)
{
	const char *path = w->dumped.v[told];
	size_t n = begin_of(path);

	if (!path[n]) /* without a rank's number */
		return read_told(w, path, since);
	for (size_t i = 0; i < told; i++)
		if (begin_of(w->dumped.v[i]) == n && !strncmp(w->dumped.v[i], path, n))
			return 0;
	return read_all(w, path, n, since);
}

/* Where PyTorch writes them when its log level hides where. */
static size_t read_usual(struct why *w, int64_t since)
{
	static const char *const settings[] = {"TORCH_FR_DUMP_TEMP_FILE",
					       "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"};
	const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME");
	str_list at = {0};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (getenv(settings[i]) && *getenv(settings[i]))
			*LIST_ADD(&w->a, &at) = getenv(settings[i]);
	*LIST_ADD(&w->a, &at) = "/tmp/nccl_trace_rank_";
	if (cache || home)
		*LIST_ADD(&w->a, &at) = arena_printf(&w->a, "%s%s/torch/comm_lib_trace_rank_",
						     cache ? cache : home, cache ? "" : "/.cache");
	for (size_t i = 0; i < at.n && !n; i++)
		n = read_all(w, at.v[i], strlen(at.v[i]), since);
	return n;
}

void dumps_read_told(struct why *w, int64_t since)
{
	size_t n = 0;

	for (size_t i = 0; i < w->dumped.n; i++)
		n += read_beside(w, i, since);
	if (!n && w->has_dumped)
		n = read_usual(w, since);
	if (n)
		log_say("read %zu dump%s of PyTorch's Flight Recorder that the command wrote (%s)",
			n, n == 1 ? "" : "s",
			w->flight->dumps.n ? w->flight->dumps.v[0].path : "unreadable");
}

/* --- among the causes ----------------------------------------------------------------------- */
static bool is_of(const struct flight_cause *t, int rank)
{
	for (size_t i = 0; i < t->nranks; i++)
		if (t->ranks[i] == rank)
			return true;
	return false;
}

/* A line that says why that rank died, or what broke for all, stands before what the others saw
 * of it; not before a program that calls the wrong thing. */
static bool explains(const struct cause *c, const struct flight_cause *t)
{
	int rank = c->first ? c->first->who.rank : -1;

	return c->sig->tier == TIER_ROOT && !c->is_over && !c->is_settled && !t->is_programs &&
	       c->weight >= CONFIDENT && !streq(c->sig->id, "SLM-001") &&
	       (rank < 0 || !t->nranks || is_of(t, rank));
}

static struct cause as_cause(struct arena *a, const struct flight_cause *t, const char *seen)
{
	struct signature *g = ARENA_NEW(a, struct signature);
	struct record *r = ARENA_NEW(a, struct record);
	struct cause c = {.sig = g, .head = g, .record = r, .weight = t->weight, .seen = seen};

	*g = (struct signature){.id = t->id,
				.tier = TIER_ROOT,
				.weight = t->weight,
				.component = "torch Flight Recorder",
				.meaning = t->meaning,
				.anchors = "",
				.ere = ""};
	r->count = 1;
	r->ranks = t->ranks;
	r->nranks = t->nranks < RANKS_KEPT ? t->nranks : RANKS_KEPT;
	c.meaning = t->meaning;
	c.causes = t->causes;
	c.confirm = t->confirm;
	c.fix = t->fix;
	return c;
}

static void rank_one(struct arena *a, struct explanation *x, const struct flight_cause *t,
		     const char *seen)
{
	enum { ECHO = 48 };
	struct cause c = as_cause(a, t, seen);
	bool is_sure = t->weight >= CONFIDENT;

	for (size_t i = 0; is_sure && i < x->causes.n; i++) {
		struct cause *o = &x->causes.v[i];

		if (explains(o, t)) {
			c.weight = c.weight < o->weight ? c.weight : o->weight - 1;
			c.is_echo = true;
			o->because = o->because ? o->because : t->meaning;
		} else if (o->sig->tier != TIER_ROOT && o->weight > ECHO) {
			o->weight = ECHO;
			o->is_echo = true;
		}
	}
	*LIST_ADD(a, &x->causes) = c;
}

/* A log alone: what to read with it. */
static void advise(struct why *w, struct arena *a, struct explanation *x)
{
	const char *at = w->dumped.n ? w->dumped.v[0] : "/tmp/nccl_trace_rank_";
	struct cause *c = x->causes.n ? &x->causes.v[0] : NULL;

	if (c)
		*LIST_ADD(a, &c->confirm) = arena_printf(
			a,
			"ncclwhy --hosts ALL %s /PATH/LOG   # PyTorch wrote a dump for each rank, "
			"on its host: together they say who did not come",
			shell_quote_line(a, arena_printf(a, "%.*s*", (int)begin_of(at), at)));
}

void dumps_explain(struct why *w, struct arena *a, struct explanation *x)
{
	const char *seen;

	if (!w->flight && w->has_dumped)
		advise(w, a, x);
	if (!w->flight)
		return;
	x->flight = ARENA_NEW(a, struct flight_verdict);
	flight_judge(w->flight, a, x->flight);
	seen = dumps_covered(x, a);
	if (!seen)
		return;
	for (size_t i = 0; i < x->flight->causes.n; i++)
		rank_one(a, x, &x->flight->causes.v[i], arena_printf(a, "seen in %s", seen));
	x->in_trouble |= !x->flight->healthy;
	for (size_t i = 0; i < x->flight->notes.n; i++)
		*LIST_ADD(a, &x->notes) = x->flight->notes.v[i];
	explain_sort(x);
}

const char *dumps_covered(const struct explanation *x, struct arena *a)
{
	size_t n = x->flight ? x->flight->dumps : 0;

	if (!n)
		return NULL;
	return n == 1 ? "the dump of one rank" : arena_printf(a, "the dumps of %zu ranks", n);
}

void dumps_healthy(const struct explanation *x, struct report *r)
{
	struct finding *f;

	if (!x->flight || !x->flight->healthy)
		return;
	f = report_find(r, "flight.dumps", dumps_covered(x, report_arena(r)));
	if (x->flight->is_empty)
		finding_set(f, ST_SKIP, "they hold no collective: nothing can be said");
	else
		finding_set(f, ST_PASS, "%s", x->flight->healthy);
	report_add(r, f);
}
