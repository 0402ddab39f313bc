#include "bench/sweep/saved.h"

#include "lib/core/file.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>

enum { FILE_MAX = 64 << 20, DEPTH = 16, FIELDS_MAX = 32 };
static const double FIGURE_MAX = 1e18; /* bytes, GB/s, us: nobody measured more */

static void add_point(struct saved *s, struct arena *a, double bytes, double busbw, double us)
{
	struct plot_point *last = s->run.points.n ? &s->run.points.v[s->run.points.n - 1] : NULL;

	if (!(bytes >= 0 && bytes <= FIGURE_MAX && busbw >= 0 && busbw <= FIGURE_MAX && us >= 0 &&
	      us <= FIGURE_MAX))
		return;
	if (last && last->bytes == bytes && last->busbw >= busbw)
		return;
	if (last && last->bytes == bytes)
		*last = (struct plot_point){bytes, busbw, us};
	else
		*LIST_ADD(a, &s->run.points) = (struct plot_point){bytes, busbw, us};
}

/* --- a table -------------------------------------------------------------------------- */

static void see_host(struct saved *s, str_list *hosts, struct arena *a, const char *line)
{
	const char *on = strstr(line, " on "), *dev, *name;
	size_t n;

	if (!on || !(dev = strstr(on, " device ")))
		return;
	on += 4;
	on += strspn(on, " ");
	n = strcspn(on, " ");
	name = arena_strndup(a, on, n);
	s->ranks++;
	for (size_t i = 0; i < hosts->n; i++)
		if (streq(hosts->v[i], name))
			name = NULL, i = hosts->n - 1;
	if (name)
		*LIST_ADD(a, hosts) = name;
	s->hosts = (int)hosts->n;
	dev = strchr(dev, ']');
	if (dev && strstr(dev, "NVIDIA"))
		s->gpu = arena_strdup(a, dev + 1 + strspn(dev + 1, " "));
}

static void see_remark(struct saved *s, str_list *hosts, struct arena *a, const char *line)
{
	static const char starting[] = "# Collective test starting: ", average[] = "# Avg bus";
	const char *colon = strchr(line, ':');

	if (starts_with(line, starting)) {
		const char *name = line + sizeof(starting) - 1, *perf = strstr(name, "_perf");

		s->coll =
			arena_strndup(a, name, perf ? (size_t)(perf - name) : strcspn(name, " \r"));
	}
	if (strstr(line, "Using devices")) {
		s->tables++;
		s->ranks = s->hosts = 0;
		hosts->n = 0;
	}
	if (starts_with(line, "# ncclbench ") && strstr(line, " over tcp"))
		s->backend = "tcp";
	if (strstr(line, " Rank ") || strstr(line, "#  Rank"))
		see_host(s, hosts, a, line);
	if (starts_with(line, average) && colon)
		s->average = strtod(colon + 1, NULL);
}

static size_t split(char *line, char *fields[FIELDS_MAX])
{
	size_t n = 0;

	while (n < FIELDS_MAX && *(line += strspn(line, " \t\r"))) {
		fields[n++] = line;
		line += strcspn(line, " \t\r");
		if (*line)
			*line++ = '\0';
	}
	return n;
}

/* size count type redop root | time algbw busbw #wrong | the same in place */
static void see_row(struct saved *s, struct arena *a, char *line)
{
	char *f[FIELDS_MAX];
	size_t n = split(line, f), half;
	double bytes, wrong;

	if (n < 12 || !isdigit((unsigned char)*f[0]) || isdigit((unsigned char)*f[2]))
		return;
	bytes = strtod(f[0], NULL);
	half = n >= 21 ? 8 : 4; /* -I has four columns more in each */
	for (size_t i = 5; i + 3 < n && i <= 5 + half; i += half) {
		wrong = strtod(f[i + 3], NULL);
		s->wrong += isfinite(wrong) ? wrong : 0;
		add_point(s, a, bytes, strtod(f[i + 2], NULL), strtod(f[i], NULL));
	}
}

static void parse_table(char *text, struct arena *a, struct saved *s)
{
	str_list hosts = {0};

	for (char *line = text, *end; line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		/* mpirun and srun put "[1,0]<stdout>:" or "0: " in front of it */
		if (strstr(line, "# "))
			see_remark(s, &hosts, a, strstr(line, "# "));
		else
			see_row(s, a, line);
	}
}

/* --- JSON ------------------------------------------------------------------------------ */

static void theirs(const cJSON *row, const char *key, struct arena *a, struct saved *s)
{
	const cJSON *o = json_get(row, key);

	if (!o || cJSON_IsNull(o))
		return;
	s->wrong += json_get_num(o, "nwrong", 0);
	add_point(s, a, json_get_num(row, "size", 0), json_get_num(o, "bus_bw", 0),
		  json_get_num(o, "time", json_get_num(o, "cpu_time", 0)));
}

static const char *copy_of(struct arena *a, const cJSON *o, const char *key)
{
	const char *v = json_get_str(o, key);

	return v ? arena_strdup(a, v) : NULL;
}

static void count_ranks(struct saved *s, const cJSON *ranks, const char *host, const char *device,
			struct arena *a)
{
	str_list seen = {0};
	const cJSON *o;

	cJSON_ArrayForEach (o, ranks) {
		const char *name = json_get_str(o, host), *what = json_get_str(o, device);
		bool is_new = name;

		s->ranks++;
		for (size_t i = 0; name && i < seen.n; i++)
			is_new &= !streq(seen.v[i], name);
		if (is_new)
			*LIST_ADD(a, &seen) = name;
		if (what && strstr(what, "NVIDIA"))
			s->gpu = arena_strdup(a, what);
	}
	s->hosts = (int)seen.n;
	s->tables = 1;
}

static void parse_json(const cJSON *doc, struct arena *a, struct saved *s)
{
	const cJSON *data = json_get(doc, "data"), *row;

	if (data) { /* ours */
		s->backend = copy_of(a, data, "backend");
		count_ranks(s, json_get(json_get(data, "world"), "ranks"), "host", "device", a);
		s->average = 0;
		cJSON_ArrayForEach (row, json_get(data, "results")) {
			s->coll = copy_of(a, row, "coll");
			s->wrong += json_get_num(row, "wrong", 0);
			add_point(s, a, json_get_num(row, "size", 0), json_get_num(row, "busbw", 0),
				  json_get_num(row, "time_us", 0));
		}
		return;
	}
	s->average = json_get_num(json_get(doc, "average_bus_bandwidth"), "bandwidth", NAN);
	count_ranks(s, json_get(json_get(doc, "config"), "devices"), "hostname", "device_info", a);
	cJSON_ArrayForEach (row, json_get(doc, "results")) {
		const char *name = json_get_str(row, "experiment_name");

		if (name)
			s->coll = arena_strndup(a, name, strcspn(name, " "));
		theirs(row, "out_of_place", a, s);
		theirs(row, "in_place", a, s);
	}
}

/* --- both -------------------------------------------------------------------------------- */

int saved_parse(const char *path, char *text, size_t n, struct arena *a, struct saved *ret,
		struct err *e)
{
	const char *begin = text + strspn(text, " \t\r\n");
	struct err ignored = {0};

	*ret = (struct saved){.run.name = path, .average = NAN};
	if (*begin == '{') {
		cJSON *doc = json_parse(begin, n - (size_t)(begin - text), DEPTH, &ignored);

		if (!doc)
			return err_set(e, ERR_USAGE, "%s is not all of a JSON document: %s", path,
				       ignored.msg);
		parse_json(doc, a, ret);
		cJSON_Delete(doc);
	} else {
		parse_table(text, a, ret);
	}
	if (ret->run.points.n)
		return 0;
	err_set(e, ERR_USAGE, "%s has no row of a table of nccl-tests or ncclbench", path);
	return err_hint(e, "save all of its output: ncclbench ... > FILE, or -J FILE");
}

static int read_stdin(struct arena *a, char **ret, size_t *ret_n, struct err *e)
{
	struct text t;
	char buf[4096];
	size_t n;

	text_init(&t, a);
	while ((n = fread(buf, 1, sizeof(buf), stdin)) > 0) {
		if (t.n + n > FILE_MAX)
			return err_set(e, ERR_USAGE, "stdin is too long for a benchmark's output");
		text_addn(&t, buf, n);
	}
	*ret = t.s;
	*ret_n = t.n;
	return 0;
}

int saved_read(const char *path, struct arena *a, struct saved *ret, struct err *e)
{
	char *text;
	size_t n;

	if (streq(path, "-") ? read_stdin(a, &text, &n, e)
			     : file_read(path, FILE_MAX, a, &text, &n, e))
		return -1;
	return saved_parse(path, text, n, a, ret, e);
}

int plot_add_file(plot_runs *runs, const char *path, struct arena *a, struct err *e)
{
	struct saved s;

	if (saved_read(path, a, &s, e))
		return -1;
	*LIST_ADD(a, runs) = s.run;
	return 0;
}
