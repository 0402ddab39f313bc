#include "bench/sweep/export.h"

#include "lib/core/file.h"
#include "lib/core/log.h"
#include "lib/core/stats.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <time.h>

extern char **environ;

enum { VERSION = 3, TRIES = 1000 }; /* 3: with iterations, and those that are left out */

static void put_time(cJSON *doc, const char *key, uint64_t ago_ns)
{
	time_t t = time(NULL) - (time_t)(ago_ns / NS_PER_S);
	char buf[32] = "";
	struct tm tm;

	if (localtime_r(&t, &tm))
		(void)strftime(buf, sizeof(buf), "%Y-%m-%d %H:%M:%S", &tm);
	json_str(doc, key, buf);
}

static const char *yes(bool is) { return is ? "true" : "false"; }

/* Not all of it, as there: what is neither a setting nor a place may be a secret. */
static void add_env(cJSON *doc)
{
	static const char *const wanted[] = {
		"NCCL_", "CUDA_", "WINDSOCK_HOSTS", "SLURM_JOB_ID", "OMP_", "UCX_", "FI_"};
	cJSON *env = json_array(doc, "env");

	for (char **v = environ; *v; v++)
		for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
			if (starts_with(*v, wanted[i]))
				json_push_str(env, *v);
}

static void add_config(cJSON *doc, const struct story *s)
{
	cJSON *c = json_object(doc, "config"), *devices;
	const struct sweep_opts *o = &s->sweep;

	json_num(c, "nthreads", 1);
	json_num(c, "ngpus", 1);
	json_num(c, "minimum_bytes", (double)o->min);
	json_num(c, "maximum_bytes", (double)o->max);
	json_num(c, o->factor ? "step_factor" : "step_bytes",
		 (double)(o->factor ? o->factor : o->step));
	json_num(c, "warmup_iters", (double)o->warmup);
	json_num(c, "iterations", (double)o->iters);
	json_num(c, "aggregated_iterations", (double)o->aggregate);
	json_num(c, "validation", (double)o->check);
	json_num(c, "graph", (double)o->graph);
	json_str(c, "blocking_collectives", yes(o->blocking));
	json_str(c, "per_iter_timing", yes(s->o->per_iter));
	json_num(c, "per_iter_skip", (double)o->skip);
	json_str(c, "parallel_init", yes(true));
	devices = json_array(c, "devices");
	for (size_t i = 0; i < s->ranks.n; i++) {
		cJSON *d = json_push_object(devices);

		json_num(d, "rank", (double)i);
		json_num(d, "group", s->ranks.v[i].group);
		json_num(d, "pid", s->ranks.v[i].pid);
		json_str(d, "hostname", s->ranks.v[i].host);
		json_num(d, "device", s->ranks.v[i].gpu);
		json_str(d, "device_hex", s->ranks.v[i].bus ?: s->ranks.v[i].address);
		json_str(d, "device_info", s->ranks.v[i].device);
	}
}

static void add_half(cJSON *row, const char *key, const struct measurement *m, bool cpu)
{
	cJSON *o = json_object(row, key);

	json_num(o, cpu ? "cpu_time" : "time", m->shown * 1e6);
	json_num(o, "alg_bw", m->algbw);
	json_num(o, "bus_bw", m->busbw);
	if (m->wrong < 0)
		cJSON_AddNullToObject(o, "nwrong");
	else
		json_num(o, "nwrong", (double)m->wrong);
}

/* There a process may have several ranks; here each is one. */
static void add_each(cJSON *o, const struct measurement *m, size_t ranks)
{
	cJSON *all = m->each ? json_array(o, "per_process_max_times_us") : NULL;

	for (size_t r = 0; m->each && r < ranks; r++) {
		cJSON *one = cJSON_CreateArray();

		for (size_t i = 0; i < m->ntimes; i++)
			cJSON_AddItemToArray(one,
					     cJSON_CreateNumber(m->each[r * m->ntimes + i] * 1e6));
		cJSON_AddItemToArray(all, one);
	}
}

static void add_iterations(cJSON *row, const char *key, const struct measurement *m, size_t skip,
			   size_t ranks)
{
	size_t n = m->ntimes > skip ? m->ntimes - skip : 0;
	double *sorted = n ? malloc(n * sizeof(*sorted)) : NULL;
	cJSON *o, *times;

	if (!sorted)
		return;
	memcpy(sorted, m->times + skip, n * sizeof(*sorted));
	sort_doubles(sorted, n);
	o = json_object(row, key);
	json_num(o, "skipped_iterations", (double)skip);
	json_num(o, "min_us", m->min * 1e6);
	json_num(o, "max_us", m->max * 1e6);
	json_num(o, "avg_us", m->mean * 1e6);
	json_num(o, "p50_us", m->p50 * 1e6);
	json_num(o, "p95_us", sorted[(n * 95 + 99) / 100 - 1] * 1e6);
	json_num(o, "p99_us", m->p99 * 1e6);
	json_num(o, "stdev_us", m->deviation * 1e6);
	json_num(o, "cv_pct", m->mean > 0 ? m->deviation / m->mean * 100 : 0);
	times = json_array(o, "times_us");
	for (size_t i = 0; i < m->ntimes; i++)
		cJSON_AddItemToArray(times, cJSON_CreateNumber(m->times[i] * 1e6));
	add_each(o, m, ranks);
	free(sorted);
}

static void add_row(cJSON *results, const struct story *s, const struct story_row *r)
{
	cJSON *o = json_push_object(results);
	size_t skip = (size_t)s->sweep.skip;
	char root[16];

	(void)snprintf(root, sizeof(root), "%6i", r->c.coll->rooted ? r->c.root : -1);
	json_num(o, "size", (double)coll_bytes(&r->c));
	json_num(o, "count", (double)r->c.sizes.count);
	json_str(o, "type", dtype_name(r->c.type));
	json_str(o, "redop", r->c.coll->reduces ? redop_name(r->c.op) : "none");
	json_str(o, "root", root);
	add_half(o, "out_of_place", &r->row.out, s->sweep.cpu_time);
	add_iterations(o, "out_of_place_per_iter", &r->row.out, skip, s->ranks.n);
	add_half(o, "in_place", &r->row.in, s->sweep.cpu_time);
	add_iterations(o, "in_place_per_iter", &r->row.in, skip, s->ranks.n);
	json_num(o, "actual_iterations", (double)r->row.out.ntimes);
	json_str(o, "experiment_name", r->c.coll->name);
}

static void add_sums(cJSON *doc, const struct story *s)
{
	const struct sweep_totals *t = &s->totals;
	cJSON *o = json_object(doc, "out_of_bounds");

	json_num(o, "count", (double)t->bad);
	json_str(o, "okay", yes(!t->bad));
	o = json_object(doc, "average_bus_bandwidth");
	json_num(o, "bandwidth", story_average(s));
	json_str(o, "okay",
		 s->o->least_average > 0 ? yes(story_average_is_enough(s)) : "unchecked");
}

int export_new(const char *path, const char *text, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *name = path;
	AUTO_FILE FILE *f = NULL;

	for (int i = 0; !f && i < TRIES; i++) {
		f = fopen(name, "wxe");
		if (!f && errno != EEXIST) {
			err_sys(e, "-J: cannot write %s", name);
			return file_advise(name, e);
		}
		if (!f)
			name = arena_printf(&a, "%s.%d", path, i);
	}
	if (f && fputs(text, f) >= 0 && !fflush(f)) {
		if (name != path)
			log_say("-J: %s is there already, so it is in %s", path, name);
		return 0;
	}
	err_sys(e, "-J: cannot write %s", name);
	if (!f)
		return err_hint(e, "%s.0 to .%d are there, too: remove some", path, TRIES - 1);
	(void)file_advise(name, e);
	(void)unlink(name); /* a part of it is no document */
	return -1;
}

int export_nccl_json(const struct story *s, const char *path, const char *const *argv,
		     struct err *e)
{
	cJSON *doc = cJSON_CreateObject(), *args, *results, *errors;
	char *text;
	int result;

	json_num(doc, "version", VERSION);
	put_time(doc, "start_time", now_ns() - s->begun_ns);
	args = json_array(doc, "args");
	json_push_str(args, "ncclbench");
	for (; argv && *argv; argv++)
		json_push_str(args, *argv);
	add_env(doc);
	json_num(doc, "nccl_version", s->version);
	add_config(doc, s);
	results = json_array(doc, "results");
	for (size_t i = 0; i < s->rows.n; i++)
		add_row(results, s, &s->rows.v[i]);
	add_sums(doc, s);
	errors = json_array(doc, "errors");
	if (s->ended_by)
		json_push_str(errors, s->ended_by);
	put_time(doc, "end_time", 0);
	text = cJSON_Print(doc);
	cJSON_Delete(doc);
	if (!text)
		return err_sys(e, "-J: cannot write %s", path);
	result = export_new(path, arena_printf(s->a, "%s\n", text), e);
	cJSON_free(text);
	return result;
}
