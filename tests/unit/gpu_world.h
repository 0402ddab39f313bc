#ifndef TESTS_UNIT_GPU_WORLD_H
#define TESTS_UNIT_GPU_WORLD_H
/*
 * The gpus stage on a composed machine, with the stand-in of NVIDIA's
 * management library: what it is told stands in DIR/nvml.
 */
#include "lib/report/json.h"
#include "probes/preflight/preflight.h"
#include "tests/unit/composed.h"

#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>

struct gpu_world {
	struct composed c;
	struct preflight p;
	cJSON *data;
};

/* Eight healthy GPUs of one kind behind NVSwitches. */
static const char gpu_healthy[] =
	"driver 550.54.15\ncuda 12040\ngpus 8\n"
	"* name NVIDIA H100 80GB HBM3\n* vbios 96.00.74.00.01\n"
	"0 pci 00000000:18:00.0\n1 pci 00000000:2A:00.0\n2 pci 00000000:3A:00.0\n"
	"3 pci 00000000:5D:00.0\n4 pci 00000000:9A:00.0\n5 pci 00000000:AB:00.0\n"
	"6 pci 00000000:BA:00.0\n7 pci 00000000:DB:00.0\n"
	"* memory 85520809984 600000000\n* persistence 1\n* mode 0\n* ecc 1\n"
	"* ecc.corrected 0\n* ecc.uncorrected 0\n* ecc.lifetime 0\n* rows 0 0 0 0\n"
	"* pages.single 0\n* pages.double 0\n* pages.pending 0\n* reasons 1\n* clock 345\n"
	"* clock.max 1980\n* clock.app 1980\n* clock.app.default 1980\n* power 70000\n"
	"* limit 700000\n* limit.default 700000\n* temperature 31\n* temperature.slow 87\n"
	"* temperature.off 92\n* gen 5\n* gen.max 5\n* width 16\n* width.max 16\n* busy 0\n"
	"* mig 0 0\n* links 111111111111111111\n* remote 2\n"
	"* fabric 3 0 00000000000000000000000000000000 0 aa\n";

/* tests/unit's programs are O/unit/NAME, the stand-in O/fake/nvml/... */
static inline const char *gpu_fake(struct arena *a)
{
	char self[PATH_MAX] = "";

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	return arena_printf(a, "%s/fake/nvml/libnvidia-ml.so.1", dirname(dirname(self)));
}

static inline void gpu_file(struct gpu_world *w, const char *path, const char *text)
{
	char *full = arena_printf(&w->c.a, "%s%s", w->c.dir, path);
	FILE *f;

	for (char *at = strchr(full + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(full, 0755);
		*at = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* @nvml: what the stand-in says; NULL: there is no such library. */
static inline void gpu_says(struct gpu_world *w, const char *nvml, const char *more)
{
	if (!nvml) {
		assert_int_equal(setenv("WINDSOCK_NVML", "/nonexistent/libnvidia-ml.so.1", 1), 0);
		return;
	}
	gpu_file(w, "/nvml", arena_printf(&w->c.a, "%s%s", nvml, more));
	assert_int_equal(setenv("WINDSOCK_NVML", gpu_fake(&w->c.a), 1), 0);
	assert_int_equal(
		setenv("WINDSOCK_FAKE_NVML", arena_printf(&w->c.a, "%s/nvml", w->c.dir), 1), 0);
}

static inline void gpu_make(struct gpu_world *w, const char *machine)
{
	static const char *const confines[] = {"SLURM_JOB_ID", "PBS_JOBID", "SLURM_GPUS_ON_NODE",
					       "KUBERNETES_SERVICE_HOST", "LD_LIBRARY_PATH"};

	for (size_t i = 0; i < ARRAY_LEN(confines); i++)
		(void)unsetenv(confines[i]);
	*w = (struct gpu_world){0};
	composed_make(&w->c, machine);
}

static inline void gpu_run_done(struct gpu_world *w)
{
	struct err e = {0};

	if (!w->p.r)
		return;
	cJSON_Delete(w->data);
	w->data = NULL;
	(void)report_end(w->p.r, &e);
	w->p.r = NULL;
}

/* Runs a stage as @how says; w->data is a copy of data.host. */
static inline void gpu_run_stage(struct gpu_world *w, const struct preflight *how,
				 void (*stage)(struct preflight *p))
{
	struct err e = {0};

	gpu_run_done(w);
	w->p = *how;
	w->p.a = &w->c.a;
	w->p.r = report_new(
		&(struct report_opts){.command = "windsock",
				      .format = "json",
				      .host = "here",
				      .output = arena_printf(&w->c.a, "%s/out", w->c.dir)},
		&e);
	assert_non_null(w->p.r);
	w->p.t.a = w->p.a;
	w->p.t.r = w->p.r;
	stage(&w->p);
	w->data = cJSON_Duplicate(json_get(report_data(w->p.r), "host"), true);
}

static inline void gpu_run_so(struct gpu_world *w, const struct preflight *how)
{
	gpu_run_stage(w, how, preflight_gpus);
}

static inline void gpu_run(struct gpu_world *w)
{
	gpu_run_so(w, &(struct preflight){.deadline_ns = 20000000000ull});
}

static inline void gpu_done(struct gpu_world *w)
{
	gpu_run_done(w);
	composed_run((const char *const[]){"rm", "-rf", w->c.dir, NULL});
	sysroot_set(NULL);
	arena_done(&w->c.a);
}

/* The worst finding of this check whose subject holds @subject (NULL: any); NULL: none. */
static inline const struct finding *gpu_found(const struct gpu_world *w, const char *check,
					      const char *subject)
{
	static const int weight[ST_COUNT] = {[ST_SKIP] = 0, [ST_PASS] = 1, [ST_INFO] = 2,
					     [ST_WARN] = 3, [ST_FAIL] = 4, [ST_ERROR] = 5};
	const struct finding *worst = NULL;

	for (size_t i = 0; i < w->p.t.items.n; i++) {
		const struct finding *f = w->p.t.items.v[i].f;

		if (streq(f->check, check) && (!subject || strstr(f->subject, subject)) &&
		    (!worst || weight[f->status] > weight[worst->status]))
			worst = f;
	}
	return worst;
}

/* A row of a table: with these words the check says this; without them it does not. */
struct gpu_row {
	const char *words, *check, *subject;
	enum status status;
	const char *message, *fix;
};

static inline void gpu_expect(const struct gpu_world *w, const struct gpu_row *r)
{
	const struct finding *f = gpu_found(w, r->check, r->subject);

	if (!f || f->status != r->status || (r->message && !strstr(f->message, r->message)))
		fail_msg("%s: wanted %s '%s', got %s '%s'", r->check, status_name(r->status),
			 r->message ? r->message : "", f ? status_name(f->status) : "nothing",
			 f ? f->message : "");
	if (r->status == ST_FAIL)
		assert_non_null(f->expected);
	if (r->fix) {
		assert_true(f->fix.n > 0);
		if (!strstr(f->fix.v[0], r->fix))
			fail_msg("%s: wanted the fix '%s', got '%s'", r->check, r->fix,
				 f->fix.v[0]);
	}
}

#endif
