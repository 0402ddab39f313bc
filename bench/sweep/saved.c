#include "bench/sweep/saved.h"

#include "bench/dev/dev.h"
#include "bench/sweep/foreign.h"
#include "bench/sweep/peers.h"
#include "bench/sweep/saved_ranks.h"
#include "bench/sweep/verdict.h"
#include "lib/core/file.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <errno.h>
#include <math.h>

enum { FILE_MAX = 64 << 20, DEPTH = 16 };
static const double FIGURE_MAX = 1e18; /* bytes, GB/s, us: nobody measured more */

struct saved *saved_begin(saved_list *l, struct arena *a)
{
	struct saved *s = LIST_ADD(a, l);

	*s = (struct saved){.average = NAN, .factor = NAN};
	return s;
}

const char *saved_coll(struct arena *a, const char *program)
{
	size_t n = strspn(program, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_");
	const char *perf = strstr(program, "_perf");

	return arena_strndup(a, program, perf && perf < program + n ? (size_t)(perf - program) : n);
}

bool saved_is_end(const char *check)
{
	static const char *const ends[] = {VERDICT_ALIVE, "rank.joined", "rank.verdict",
					   "host.reach",  "run",	 DEV_SICK,
					   DEV_WATCHED};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (streq(check, ends[i]))
			return true;
	return starts_with(check, "nccl.");
}

void saved_ended(struct saved *s, struct arena *a, const char *why)
{
	if (starts_with(why, "interrupted"))
		s->average = NAN;
	else if (!s->failure)
		s->failure = arena_strdup(a, why);
}

static bool is_sane(double v) { return v >= 0 && v <= FIGURE_MAX; }

void saved_point(struct saved *s, struct arena *a, double bytes, double busbw, double us,
		 double algbw)
{
	struct plot_point *last = s->run.points.n ? &s->run.points.v[s->run.points.n - 1] : NULL;

	if (!is_sane(bytes) || !is_sane(busbw) || !is_sane(us))
		return;
	if (last && last->bytes == bytes && last->busbw >= busbw)
		return;
	if (last && last->bytes == bytes)
		*last = (struct plot_point){bytes, busbw, us};
	else
		*LIST_ADD(a, &s->run.points) = (struct plot_point){bytes, busbw, us};
	if (algbw >= 1) /* two decimals say enough then */
		s->factor = busbw / algbw;
}

/* --- JSON ------------------------------------------------------------------------------ */

static void count_wrong(struct saved *s, const cJSON *o, const char *key)
{
	double wrong = json_get_num(o, key, NAN);

	s->verified |= !isnan(wrong);
	s->wrong += wrong > 0 ? wrong : 0;
}

static void theirs(const cJSON *row, const char *key, struct arena *a, struct saved *s)
{
	const cJSON *o = json_get(row, key);

	if (!o || cJSON_IsNull(o))
		return;
	count_wrong(s, o, "nwrong");
	saved_point(s, a, json_get_num(row, "size", 0), json_get_num(o, "bus_bw", 0),
		    json_get_num(o, "time", json_get_num(o, "cpu_time", 0)),
		    json_get_num(o, "alg_bw", 0));
}

/* @each: ranks of one that is listed. */
static void count_ranks(struct saved *s, const cJSON *ranks, const char *host, const char *device,
			int each, struct arena *a)
{
	saved_ranks all = {0};
	const cJSON *o;

	cJSON_ArrayForEach (o, ranks) {
		const char *what = json_get_str(o, device);

		s->worlds += json_get_num(o, "rank", -1) == 0;
		for (int i = 0; i < each; i++)
			saved_ranks_add(&all, a, json_copy(a, o, host) ?: "",
					json_get_int(o, "group", 0));
		if (what && !starts_with(what, "host memory"))
			s->gpu = arena_strdup(a, what);
	}
	saved_ranks_count(&all, a, s);
}

/* nccl-tests lists the first device of a process, which may have several ranks (-t, -g). */
static int ranks_of_listed(const cJSON *config)
{
	enum { MOST = 1024 };
	double each = json_get_num(config, "nthreads", 1) * json_get_num(config, "ngpus", 1);
	const cJSON *o;

	if (!(each > 1 && each <= MOST))
		return 1;
	cJSON_ArrayForEach (o, json_get(config, "devices"))
		if (fmod(json_get_num(o, "rank", 0), each) > 0)
			return 1; /* of a version that lists them all */
	return (int)each;
}

static void end_ours(const cJSON *doc, struct arena *a, struct saved *s)
{
	const cJSON *f;

	cJSON_ArrayForEach (f, json_get(doc, "findings")) {
		const char *status = json_text(f, "status");

		if ((streq(status, "fail") || streq(status, "error")) &&
		    saved_is_end(json_text(f, "check")))
			saved_ended(s, a, json_text(f, "message"));
	}
}

static void parse_ours(const cJSON *doc, struct arena *a, struct saved *s)
{
	const cJSON *data = json_get(doc, "data"), *row;

	s->backend = json_copy(a, data, "backend");
	count_ranks(s, json_get(json_get(data, "world"), "ranks"), "host", "device", 1, a);
	s->average = 0;
	cJSON_ArrayForEach (row, json_get(data, "results")) {
		s->coll = saved_coll(a, json_text(row, "coll"));
		count_wrong(s, row, "wrong");
		saved_point(s, a, json_get_num(row, "size", 0), json_get_num(row, "busbw", 0),
			    json_get_num(row, "time_us", 0), json_get_num(row, "algbw", 0));
	}
	end_ours(doc, a, s);
}

/* Of ours: what others list there need not have ended anything. */
static void end_theirs(const cJSON *doc, struct arena *a, struct saved *s)
{
	const cJSON *first = cJSON_GetArrayItem(json_get(doc, "args"), 0);
	const cJSON *why = cJSON_GetArrayItem(json_get(doc, "errors"), 0);

	if (cJSON_IsString(first) && streq(first->valuestring, "ncclbench") && cJSON_IsString(why))
		saved_ended(s, a, why->valuestring);
}

/* "/opt/nccl-tests/build/all_reduce_perf": an experiment has no name there. */
static const char *coll_of_program(const cJSON *args, struct arena *a)
{
	const cJSON *first = cJSON_GetArrayItem(args, 0);
	const char *path = cJSON_IsString(first) ? first->valuestring : "";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return strstr(name, "_perf") ? saved_coll(a, name) : NULL;
}

static void parse_theirs(const cJSON *doc, struct arena *a, struct saved *s)
{
	const cJSON *config = json_get(doc, "config"), *row;

	s->average = json_get_num(json_get(doc, "average_bus_bandwidth"), "bandwidth", NAN);
	count_ranks(s, json_get(config, "devices"), "hostname", "device_info",
		    ranks_of_listed(config), a);
	s->coll = coll_of_program(json_get(doc, "args"), a);
	cJSON_ArrayForEach (row, json_get(doc, "results")) {
		const char *name = json_get_str(row, "experiment_name");

		if (name && *name && !coll_of_program(json_get(doc, "args"), a))
			s->coll = saved_coll(a, name);
		theirs(row, "out_of_place", a, s);
		theirs(row, "in_place", a, s);
	}
	end_theirs(doc, a, s);
}

/* What is known and not read: what would be instead. NULL: it is not known. */
static const char *instead_of(const char *text)
{
	static const struct {
		const char *mark, *instead;
	} known[] = {
		{"MsgSize", "this is perftest's JSON; its table is read: without --out_json"},
		{"\"test_start\"", "iperf3 -J is complete when its test has ended; its text and "
				   "--json-stream come meanwhile"},
		{"Client connecting to ", "this is of iperf 2; iperf3's output is read"},
		{"Server listening on TCP port ", "this is of iperf 2; iperf3's output is read"},
		{"Server listening on UDP port ", "this is of iperf 2; iperf3's output is read"},
		{"coll,backend,ranks,size,", "this is ncclbench's -J FILE.csv, for a spreadsheet; "
					     "its table, -J FILE.json and --json are read"},
		{"\"ncclbench_baseline\"", "this is ncclbench's --save-baseline: --baseline FILE "
					   "compares a run with it"},
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strstr(text, known[i].mark))
			return known[i].instead;
	return NULL;
}

static int parse_stream(const char *path, const char *text, size_t n, struct arena *a,
			saved_list *ret, struct err *e)
{
	if (foreign_stream(text, n, a, ret))
		return 0;
	err_set(e, ERR_USAGE, "%s has no end of iperf3's --json-stream: it was cut off",
		file_said(path));
	return err_hint(e, "once more, to its end, which has the result");
}

static int parse_json(const char *path, const char *text, size_t n, struct arena *a,
		      saved_list *ret, struct err *e)
{
	struct err why = {0};
	cJSON *doc;

	if (foreign_is_stream(text))
		return parse_stream(path, text, n, a, ret, e);
	doc = json_parse(text, n, DEPTH, &why);
	if (!doc) {
		err_set(e, ERR_USAGE, "%s is not all of a JSON document: %s", file_said(path),
			why.msg);
		return err_hint(e, "%s",
				instead_of(text)
					?: "-J is complete when the run has ended; until "
					   "then its table is what there is to analyse");
	}
	if (json_get(doc, "data"))
		parse_ours(doc, a, saved_begin(ret, a));
	else if (!foreign_json(doc, a, ret) && !peers_nvbandwidth_json(doc, a, ret))
		parse_theirs(doc, a, saved_begin(ret, a));
	cJSON_Delete(doc);
	return 0;
}

/* --- both -------------------------------------------------------------------------------- */

/* Those that have a row, and what became of one that has none. */
static void keep_measured(saved_list *l, const char *path, struct arena *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].run.points.n)
			l->v[kept++] = l->v[i];
		else if (kept && l->v[i].failure)
			l->v[kept - 1].failure = l->v[i].failure;
	}
	l->n = kept;
	for (size_t i = 0; i < kept; i++) {
		l->v[i].file = file_said(path);
		l->v[i].run.name = kept == 1
					   ? file_said(path)
					   : arena_printf(a, "%s: %zu. %s", file_said(path), i + 1,
							  l->v[i].coll ? l->v[i].coll : "table");
	}
}

/* As PowerShell's > writes it, with its mark. */
static int refuse_utf16(const char *path, struct arena *a, struct err *e)
{
	err_set(e, ERR_USAGE, "%s is UTF-16, as PowerShell's > writes it", file_said(path));
	return err_command(e, "iconv -f UTF-16 -t UTF-8 %s | ncclbench --analyze -",
			   file_is_stream(path) ? "FILE" : shell_quote_line(a, path));
}

int saved_parse(const char *path, char *text, size_t n, struct arena *a, saved_list *ret,
		struct err *e)
{
	const char *begin, *failure, *instead;

	*ret = (saved_list){0};
	if (starts_with(text, "\xff\xfe") || starts_with(text, "\xfe\xff"))
		return refuse_utf16(path, a, e);
	for (size_t i = 0; i < n; i++) /* a log on a network file system has holes */
		text[i] = text[i] ? text[i] : ' ';
	begin = text + (starts_with(text, "\xef\xbb\xbf") ? 3 : 0); /* Windows' mark of UTF-8 */
	begin += strspn(begin, " \t\r\n");
	instead = instead_of(begin);
	if (*begin != '{')
		foreign_tables(text, a, ret);
	if (*begin != '{' && !peers_nvbandwidth(text, a, ret))
		saved_tables(text, a, ret);
	else if (*begin == '{' && !peers_superbench(begin, n - (size_t)(begin - text), a, ret) &&
		 parse_json(path, begin, n - (size_t)(begin - text), a, ret, e))
		return -1;
	failure = ret->n ? ret->v[0].failure : NULL;
	keep_measured(ret, path, a);
	if (ret->n)
		return 0;
	err_set(e, ERR_USAGE,
		"%s has no result of nccl-tests, ncclbench, perftest, iperf3, OSU, nvbandwidth or "
		"SuperBench",
		file_said(path));
	if (failure)
		return err_command(e, "ncclwhy %s  # it ended with: %s",
				   file_is_stream(path) ? "LOG" : shell_quote_line(a, path),
				   failure);
	return err_hint(e, "%s",
			instead ?: "save all of its output: ncclbench ... > FILE, or -J FILE.json");
}

int saved_read(const char *path, struct arena *a, saved_list *ret, struct err *e)
{
	char *text;
	size_t n;

	if (file_read_given(path, FILE_MAX, 0, a, &text, &n, e))
		return -1;
	return saved_parse(path, text, n, a, ret, e);
}

int saved_read_on(int fd, const char *path, const char *head, size_t head_n, struct arena *a,
		  saved_list *ret, struct err *e)
{
	struct text t;

	text_init(&t, a);
	text_addn(&t, head, head_n);
	if (file_read_rest(fd, path, FILE_MAX, 0, &t, e))
		return -1;
	return saved_parse(path, t.s, t.n, a, ret, e);
}

int plot_add_file(plot_runs *runs, const char *path, struct arena *a, struct err *e)
{
	saved_list l;

	if (saved_read(path, a, &l, e))
		return -1;
	for (size_t i = 0; i < l.n; i++)
		*LIST_ADD(a, runs) = l.v[i].run;
	return 0;
}
