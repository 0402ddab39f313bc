/* nvbandwidth's matrices, as text and as JSON. */
#include "bench/sweep/peers.h"

#include "lib/report/json.h"

#include <ctype.h>
#include <math.h>

enum { MOST = 1024 }; /* GPUs: a rack of them has 72 */

/* --- which test ----------------------------------------------------------------------------- */

/* False: not one of bandwidths, or not known. */
static bool kind_of(const char *test, struct peers *ret)
{
	static const struct {
		const char *begins;
		enum peers_kind kind;
	} kinds[] = {{"host_to_device", PEERS_HOST},   {"device_to_host", PEERS_HOST},
		     {"host_to_all", PEERS_SHARED},    {"all_to_host", PEERS_SHARED},
		     {"device_to_device", PEERS_GPUS}, {"all_to_one", PEERS_TOTAL},
		     {"one_to_all", PEERS_TOTAL},      {"device_local", PEERS_MEMORY}};
	static const char many[] = "multinode_";

	ret->both_ways = strstr(test, "bidirectional");
	if (starts_with(test, many))
		test += strlen(many);
	for (size_t i = 0; i < ARRAY_LEN(kinds) && !strstr(test, "latency"); i++)
		if (starts_with(test, kinds[i].begins)) {
			ret->kind = kinds[i].kind;
			return true;
		}
	return false;
}

/* Of both ways there are three: each, and their sum, which is what is kept. */
static bool is_half(const char *description)
{
	static const char *const halves[] = {"Read1", "Read2", "Write1", "Write2"};

	for (size_t i = 0; i < ARRAY_LEN(halves); i++)
		if (strstr(description, halves[i]))
			return true;
	return false;
}

struct table { /* being read */
	struct arena *a;
	saved_list *ret;
	const char *test, *gpu;
	int rows, cols;
	LIST(double) v;
	bool is_open, is_unit;
};

static const char *const *names_of(struct arena *a, int n)
{
	const char **names = arena_alloc(a, (size_t)(n + 1) * sizeof(*names));

	for (int i = 0; i < n; i++)
		names[i] = arena_printf(a, "GPU %d", i);
	return names;
}

/* In JSON the three of both ways follow each other as rows of one: the last is their sum. */
static void finish(struct table *t)
{
	struct peers p = {.test = t->test, .gpu = t->gpu, .cols = t->cols};

	t->is_open = false;
	if (!t->rows || !t->cols || !t->test || !kind_of(t->test, &p))
		return;
	p.rows = p.kind == PEERS_GPUS ? t->cols : 1;
	if (t->rows < p.rows)
		return; /* it was cut off */
	p.gbps = t->v.v + (size_t)(t->rows - p.rows) * (size_t)t->cols;
	p.names = names_of(t->a, t->cols);
	peers_add(&p, t->a, t->ret);
}

static void open_table(struct table *t, int cols)
{
	t->rows = 0;
	t->cols = cols;
	t->v = (__typeof__(t->v)){0};
	t->is_open = true;
}

static void put(struct table *t, double v) { *LIST_ADD(t->a, &t->v) = v >= 0 && v < 1e9 ? v : NAN; }

/* --- text ----------------------------------------------------------------------------------- */

static size_t words(const char *line)
{
	size_t n = 0;

	for (line += strspn(line, " \t\r"); *line; n++) {
		line += strcspn(line, " \t\r");
		line += strspn(line, " \t\r");
	}
	return n;
}

/* "Device 3: NVIDIA H100 80GB HBM3 (00000000:04:00)", or behind "Process 3 (node0): device 3: " */
static void see_device(struct table *t, const char *line)
{
	const char *at = starts_with(line, "Device ")	 ? line
			 : starts_with(line, "Process ") ? strstr(line, "): device ")
							 : NULL;
	const char *name, *end;

	if (t->gpu || !at || !(name = strstr(at + 3, ": ")))
		return;
	end = strrchr(name, '(');
	t->gpu = arena_printf(t->a, "%.*s",
			      end && end > name + 3 ? (int)(end - name - 3)
						    : (int)strcspn(name + 2, "\r"),
			      name + 2);
}

/* " 0     55.66     N/A": its label is not a number of the table. */
static bool see_row(struct table *t, const char *line)
{
	const char *at = line + strspn(line, " \t");
	char *end;

	if (words(line) != (size_t)t->cols + 1)
		return false;
	for (int c = 0; c < t->cols; c++) {
		at += strcspn(at, " \t");
		at += strspn(at, " \t");
		put(t, isdigit((unsigned char)*at) ? strtod(at, &end) : NAN);
	}
	t->rows++;
	return true;
}

static void see_line(struct table *t, const char *line)
{
	const char *running = strstr(line, "Running ");

	if (t->is_unit) { /* the line behind it has the columns */
		size_t cols = words(line);

		t->is_unit = false;
		if (cols && cols <= MOST)
			open_table(t, (int)cols);
	} else if (t->is_open && !see_row(t, line)) {
		finish(t);
	} else if (running && strchr(running, '.')) {
		running += strlen("Running ");
		t->test = arena_printf(t->a, "%.*s", (int)strcspn(running, ". \r"), running);
	} else if (strstr(line, "bandwidth (GB/s)")) {
		t->is_unit = !is_half(line);
	} else {
		see_device(t, line);
	}
}

bool peers_nvbandwidth(const char *text, struct arena *a, saved_list *ret)
{
	struct table t = {.a = a, .ret = ret};
	size_t before = ret->n;

	if (!strstr(text, "bandwidth (GB/s)"))
		return false;
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		see_line(&t, arena_strndup(a, text, n));
	}
	if (t.is_open)
		finish(&t);
	return ret->n > before;
}

/* --- JSON ----------------------------------------------------------------------------------- */

static double cell(const cJSON *o)
{
	char *end;
	double v;

	if (cJSON_IsNumber(o))
		return o->valuedouble;
	if (!cJSON_IsString(o) || !isdigit((unsigned char)*o->valuestring))
		return NAN; /* "N/A" */
	v = strtod(o->valuestring, &end);
	return *end ? NAN : v;
}

static void take_test(struct table *t, const cJSON *o)
{
	const cJSON *matrix = json_get(o, "bandwidth_matrix"), *row, *v;
	int cols = cJSON_GetArraySize(cJSON_GetArrayItem(matrix, 0));
	const char *name = json_get_str(o, "name");

	if (!name || cols <= 0 || cols > MOST)
		return;
	t->test = arena_strdup(t->a, name);
	open_table(t, cols);
	cJSON_ArrayForEach (row, matrix) {
		if (cJSON_GetArraySize(row) != cols)
			break;
		cJSON_ArrayForEach (v, row)
			put(t, cell(v));
		t->rows++;
	}
	finish(t);
}

/* "0: NVIDIA H100 80GB HBM3 (00000000:04:00): (node0)" */
static const char *device_in(const cJSON *list, struct arena *a)
{
	const cJSON *first = cJSON_GetArrayItem(list, 0);
	const char *s = cJSON_IsString(first) ? first->valuestring : "", *name = strstr(s, ": ");

	return name ? arena_printf(a, "%.*s", (int)strcspn(name + 2, "("), name + 2) : NULL;
}

bool peers_nvbandwidth_json(const cJSON *doc, struct arena *a, saved_list *ret)
{
	const cJSON *own = json_get(doc, "nvbandwidth"), *test;
	struct table t = {.a = a, .ret = ret};
	const char *error = json_get_str(own, "error");

	if (!own)
		return false;
	t.gpu = device_in(json_get(own, "GPU Device list") ?: json_get(own, "GPU Device info"), a);
	cJSON_ArrayForEach (test, json_get(own, "testcases"))
		take_test(&t, test);
	if (error)
		saved_begin(ret, a)->failure = arena_strdup(a, error);
	return true;
}
