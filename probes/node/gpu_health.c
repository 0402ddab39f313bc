/* Memory errors, heat, and what slows the clocks: each GPU, and the odd one of the host. */
#include "probes/node/gpu_view.h"

enum { WORN_PAGES = 60 }; /* from here on NVIDIA replaces the board */

/* It waits for a reset. */
static void advise_reset(struct finding *f, const struct nvml_gpu *g)
{
	finding_expect(f, "none pending");
	finding_fix(f, "sudo nvidia-smi --gpu-reset -i %d   # with no process on it", g->index);
}

/* It is worn out. */
static void advise_drain(struct finding *f, const struct nvml_gpu *g, const char *what)
{
	finding_fix(f,
		    "scontrol update nodename=\"$(hostname)\" state=drain reason=GPU%d-%s   # and "
		    "replace that GPU",
		    g->index, what);
}

static bool ecc_known(const struct nvml_gpu *g) { return g->ecc_uncorrected >= 0; }

static bool ecc(struct gpu_view *v, const struct nvml_gpu *g)
{
	struct finding *f;

	if (g->ecc_uncorrected == 0)
		return false;
	f = gpu_note(v, "gpu.ecc", gpu_subject(v, g));
	finding_set(f, ST_FAIL,
		    "reported %lld uncorrectable memory error%s since its driver was loaded",
		    (long long)g->ecc_uncorrected, g->ecc_uncorrected == 1 ? "" : "s");
	finding_value(f, (double)g->ecc_uncorrected, NULL);
	finding_expect(f, "0");
	finding_fix(
		f,
		"sudo nvidia-smi --gpu-reset -i %d   # with no process on it; replace it when they "
		"come back",
		g->index);
	return true;
}

static bool rows_known(const struct nvml_gpu *g) { return g->rows_failed >= 0; }

static bool rows(struct gpu_view *v, const struct nvml_gpu *g)
{
	struct finding *f;

	if (g->rows_failed <= 0 && g->rows_pending <= 0)
		return false;
	f = gpu_note(v, "gpu.rows", gpu_subject(v, g));
	if (g->rows_failed > 0) {
		finding_set(f, ST_FAIL,
			    "could not remap a bad row of its memory (%lld are remapped for "
			    "uncorrectable errors): it is worn out",
			    (long long)g->rows_uncorrected);
		finding_expect(f, "no failure");
		advise_drain(f, g, "rows");
	} else {
		finding_set(f, ST_WARN,
			    "has bad rows of memory that wait for a reset to be remapped");
		advise_reset(f, g);
	}
	return true;
}

static bool pages_known(const struct nvml_gpu *g) { return g->pages_double >= 0; }

static bool pages(struct gpu_view *v, const struct nvml_gpu *g)
{
	int64_t all = g->pages_double + (g->pages_single > 0 ? g->pages_single : 0);
	struct finding *f;

	if (g->pages_pending <= 0 && all < WORN_PAGES)
		return false;
	f = gpu_note(v, "gpu.pages", gpu_subject(v, g));
	finding_value(f, (double)all, NULL);
	if (all >= WORN_PAGES) {
		finding_set(f, ST_FAIL, "has retired %lld pages of its memory: it is worn out",
			    (long long)all);
		finding_expect(f, "fewer than %d", WORN_PAGES);
		advise_drain(f, g, "pages");
	} else {
		finding_set(f, ST_WARN,
			    "has bad pages of memory that wait for a reset to be retired");
		advise_reset(f, g);
	}
	return true;
}

static bool reasons_known(const struct nvml_gpu *g) { return g->reasons >= 0; }

static bool slowed(struct gpu_view *v, const struct nvml_gpu *g)
{
	const char *why = nvml_slow_text(v->a, g->reasons);
	bool hard = g->reasons & (NVML_SLOW_HEAT | NVML_SLOW_POWER_BRAKE);
	struct finding *f;

	if (!why)
		return false;
	f = gpu_note(v, "gpu.throttle", gpu_subject(v, g));
	finding_set(f, hard ? ST_FAIL : ST_WARN, "runs slowed down: %s", why);
	if (g->sm_mhz >= 0)
		finding_value(f, (double)g->sm_mhz, "MHz");
	finding_expect(f, "no reason but idleness");
	finding_fix(f, "nvidia-smi -q -i %d -d PERFORMANCE,TEMPERATURE,POWER   # then %s", g->index,
		    g->reasons & NVML_SLOW_POWER_BRAKE
			    ? "look at the power supplies"
			    : "look at fans, filters and the air in front");
	return true;
}

static bool heat_known(const struct nvml_gpu *g) { return g->celsius >= 0; }

static bool heat(struct gpu_view *v, const struct nvml_gpu *g)
{
	enum { NEAR = 5, HOT = 85 };
	int64_t limit = g->slowdown_celsius, warm = limit > 0 ? limit - NEAR : HOT;
	struct finding *f;

	if (g->celsius < warm)
		return false;
	f = gpu_note(v, "gpu.temperature", gpu_subject(v, g));
	if (limit > 0)
		finding_set(f, g->celsius >= limit ? ST_FAIL : ST_WARN,
			    "is at %lld degrees; it slows itself down at %lld",
			    (long long)g->celsius, (long long)limit);
	else /* gpu.throttle says whether it does */
		finding_set(f, ST_WARN,
			    "is at %lld degrees; where it slows itself down is not known",
			    (long long)g->celsius);
	finding_value(f, (double)g->celsius, "C");
	finding_expect(f, "below %lld", (long long)warm);
	finding_fix(f,
		    "nvidia-smi -q -i %d -d TEMPERATURE   # look at fans, filters, and the air in "
		    "front",
		    g->index);
	return true;
}

static bool power_known(const struct nvml_gpu *g)
{
	return g->limit_mw > 0 && g->default_limit_mw > 0;
}

static bool power(struct gpu_view *v, const struct nvml_gpu *g)
{
	struct finding *f;

	if (g->limit_mw >= g->default_limit_mw * 95 / 100)
		return false;
	f = gpu_note(v, "gpu.power", gpu_subject(v, g));
	finding_set(f, ST_WARN,
		    "may draw %lld W, less than its usual %lld: it computes more slowly",
		    (long long)g->limit_mw / 1000, (long long)g->default_limit_mw / 1000);
	finding_value(f, (double)g->limit_mw / 1000, "W");
	finding_expect(f, "%lld W", (long long)g->default_limit_mw / 1000);
	finding_fix(f, "sudo nvidia-smi -i %d -pl %lld", g->index,
		    (long long)g->default_limit_mw / 1000);
	return true;
}

static bool clocks_known(const struct nvml_gpu *g) { return g->sm_max_mhz > 0; }

static const char *top_clock(struct arena *a, const struct nvml_gpu *g)
{
	return g->sm_max_mhz > 0 ? arena_printf(a, "%lld", (long long)g->sm_max_mhz) : NULL;
}

static const char *name_of(struct arena *a, const struct nvml_gpu *g)
{
	(void)a;
	return g->name[0] ? g->name : NULL;
}

/* Application clocks below their default, or a lower maximum than alike GPUs have. */
static bool clocks(struct gpu_view *v, const struct nvml_gpu *g)
{
	size_t n;
	const char *usual = gpu_usual(v, top_clock, &n), *kind = gpu_usual(v, name_of, &n);
	bool set = g->app_mhz > 0 && g->app_default_mhz > 0 && g->app_mhz < g->app_default_mhz;
	bool odd =
		usual && kind && streq(kind, g->name) && g->sm_max_mhz < strtoll(usual, NULL, 10);
	struct finding *f;

	if (!set && !odd)
		return false;
	f = gpu_note(v, "gpu.clocks", gpu_subject(v, g));
	finding_value(f, (double)(set ? g->app_mhz : g->sm_max_mhz), "MHz");
	if (set) {
		finding_set(f, ST_WARN, "is set to %lld MHz, below its usual %lld",
			    (long long)g->app_mhz, (long long)g->app_default_mhz);
		finding_expect(f, ">= %lld MHz", (long long)g->app_default_mhz);
	} else {
		finding_set(f, ST_WARN, "may run at %lld MHz at most, the others at %s",
			    (long long)g->sm_max_mhz, usual);
		finding_expect(f, "%s MHz, as the others", usual);
	}
	finding_fix(f, "sudo nvidia-smi -i %d -rac && sudo nvidia-smi -i %d -rgc", g->index,
		    g->index);
	return true;
}

void gpu_health(struct gpu_view *v)
{
	static const struct gpu_check checks[] = {
		{"gpu.ecc", ecc_known, ecc,
		 "no uncorrectable memory error since the driver was loaded"},
		{"gpu.rows", rows_known, rows, "no row of memory waits to be remapped"},
		{"gpu.pages", pages_known, pages, "no page of memory waits to be retired"},
		{"gpu.throttle", reasons_known, slowed, "nothing slows them down"},
		{"gpu.temperature", heat_known, heat, "cool enough"},
		{"gpu.power", power_known, power, "may draw their usual power"},
		{"gpu.clocks", clocks_known, clocks, "may run at their usual clocks"},
	};

	gpu_each(v, checks, ARRAY_LEN(checks));
}
