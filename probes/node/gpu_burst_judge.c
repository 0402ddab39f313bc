/* A GPU is slow when most of its kind are faster: there is no other number to compare with. */
#include "lib/core/stats.h"
#include "lib/report/json.h"
#include "probes/node/gpu_burst.h"

#include <math.h>

#define SLOW 0.9
#define VERY_SLOW 0.75

static const struct measure {
	const char *check, *key, *words, *unit;
	size_t at;
	const char *fix;
	bool is_of_link; /* and so by how many lanes it has, of which pcie.width speaks */
} measures[] = {
	{"gpu.matmul", "matmul_tflops", "multiplies matrices at", "TFLOP/s",
	 offsetof(struct burst, matmul_tflops),
	 "nvidia-smi -q -i %d -d PERFORMANCE,CLOCK,POWER   # heat, power, clocks; then reset or "
	 "replace it",
	 false},
	{"gpu.memory", "memory_gbps", "reads and writes its memory at", "GB/s",
	 offsetof(struct burst, memory_gbps), "nvidia-smi -q -i %d -d ECC,ROW_REMAPPER,CLOCK",
	 false},
	{"gpu.copy_in", "to_gpu_gbps", "takes data from the host at", "GB/s",
	 offsetof(struct burst, to_gpu_gbps),
	 "nvidia-smi -q -i %d | grep -A 8 'GPU Link Info'   # then reseat the card or its riser",
	 true},
	{"gpu.copy_out", "from_gpu_gbps", "gives data to the host at", "GB/s",
	 offsetof(struct burst, from_gpu_gbps),
	 "nvidia-smi -q -i %d | grep -A 8 'GPU Link Info'   # then reseat the card or its riser",
	 true},
};

const char *burst_obstacle(const struct nvml_gpu *g)
{
	if (g->mig == 1)
		return "cut into parts (MIG)";
	if (g->nprocesses > 0)
		return "in use";
	return g->mode == NVML_MODE_PROHIBITED ? "closed to programs" : NULL;
}

static double value_of(const struct burst *b, const struct measure *m)
{
	return *(const double *)(const void *)((const char *)b + m->at);
}

/* Of both ends of its link. */
static double possible_gts(struct gpu_view *v, const struct burst_seen *s)
{
	struct pcie_link above = {.gts_max = NAN};
	str_list bridges;

	pcie_bridges(v->a, s->b.pci, &bridges);
	if (bridges.n)
		pcie_link(v->a, bridges.v[0], &above);
	return fmin(s->link.gts_max, above.gts_max);
}

/* Boards give their slots different links: by what there is, and what each could do. */
static bool have_alike_links(struct gpu_view *v, const struct burst_seen *x,
			     const struct burst_seen *y)
{
	double x_gts = possible_gts(v, x), y_gts = possible_gts(v, y);

	return x->link.width == y->link.width && (x_gts == y_gts || (isnan(x_gts) && isnan(y_gts)));
}

/* The middle of those of the same kind, measured the same way; of two the faster. */
static double usual(struct gpu_view *v, const burst_list *all, const struct burst_seen *s,
		    const struct measure *m, size_t *ret_n)
{
	double *values = arena_alloc(v->a, (all->n + 1) * sizeof(*values));
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct burst *x = &all->v[i].b;

		if (streq(x->name, s->b.name) && streq(x->how, s->b.how) &&
		    !isnan(value_of(x, m)) &&
		    (!m->is_of_link || have_alike_links(v, &all->v[i], s)))
			values[n++] = value_of(x, m);
	}
	*ret_n = n;
	return median(values, n);
}

static const struct nvml_gpu *gpu_of(struct gpu_view *v, const struct burst *b)
{
	for (size_t i = 0; i < v->nvml.gpus.n; i++)
		if (!v->nvml.gpus.v[i].error && streq(v->nvml.gpus.v[i].pci, b->pci))
			return &v->nvml.gpus.v[i];
	return NULL;
}

static const char *subject(struct gpu_view *v, const struct burst *b)
{
	const struct nvml_gpu *g = gpu_of(v, b);

	return g ? gpu_subject(v, g) : arena_printf(v->a, "GPU at %s", b->pci);
}

static int index_of(struct gpu_view *v, const struct burst *b)
{
	const struct nvml_gpu *g = gpu_of(v, b);

	return g ? g->index : b->number;
}

static void fix_of(struct gpu_view *v, struct finding *f, const struct burst *b, const char *fix)
{
	const char *hole = strstr(fix, "%d");

	finding_fix(f, "%.*s%d%s", (int)(hole - fix), fix, index_of(v, b), hole + 2);
}

static bool slow(struct gpu_view *v, const burst_list *all, const struct burst_seen *s,
		 const struct measure *m)
{
	double own = value_of(&s->b, m), peers;
	struct finding *f;
	size_t n;

	if (isnan(own))
		return false;
	peers = usual(v, all, s, m, &n);
	if (n < 2 || own >= SLOW * peers)
		return false;
	f = gpu_note(v, m->check, subject(v, &s->b));
	finding_set(f, n > 2 && own < VERY_SLOW * peers ? ST_FAIL : ST_WARN,
		    "%s %.4g %s, %.0f %% of the %.4g of the others", m->words, own, m->unit,
		    own / peers * 100, peers);
	finding_value(f, own, m->unit);
	finding_expect(f, ">= %.4g %s", SLOW * peers, m->unit);
	fix_of(v, f, &s->b, m->fix);
	return true;
}

static void wrong(struct gpu_view *v, const struct burst *b, const char *what, int64_t n,
		  const char *of)
{
	struct finding *f = gpu_note(v, "gpu.result", subject(v, b));

	finding_set(f, ST_FAIL, "%s: %lld %s", what, (long long)n, of);
	finding_value(f, (double)n, NULL);
	finding_expect(f, "0");
	finding_fix(
		f,
		"scontrol update nodename=\"$(hostname)\" state=drain reason=GPU%d-wrong   # and "
		"replace that GPU",
		index_of(v, b));
}

static bool computes_wrong(struct gpu_view *v, const struct burst *b)
{
	if (b->wrong > 0)
		wrong(v, b, "computes wrong", b->wrong,
		      "elements of a product are not what they must be");
	if (b->copied_wrong > 0)
		wrong(v, b, "copies wrong", b->copied_wrong,
		      "words that went to its memory, within it and back are not what they were");
	return b->wrong > 0 || b->copied_wrong > 0;
}

static bool in_trouble(struct gpu_view *v, const struct burst_seen *s)
{
	bool is_busy = strstr(s->b.error, "MiB of its memory") != NULL;
	struct finding *f;

	if (!s->trouble && !s->b.error[0])
		return false;
	f = gpu_note(v, "gpu.burst", subject(v, &s->b));
	if (is_busy && !s->trouble) {
		finding_set(f, ST_SKIP, "not measured: %s", s->b.error);
		return true;
	}
	finding_set(f, ST_FAIL, "%s%s",
		    s->trouble ? s->trouble : "failed at its work: ", s->trouble ? "" : s->b.error);
	finding_expect(f, "a second of work");
	fix_of(v, f, &s->b,
	       "sudo nvidia-smi --gpu-reset -i %d   # dmesg | grep -e Xid -e NVRM says why");
	return true;
}

static bool slows_down(struct gpu_view *v, const struct burst_seen *s)
{
	const char *why = nvml_slow_text(v->a, s->load.reasons);
	bool hard = s->load.reasons & (NVML_SLOW_HEAT | NVML_SLOW_POWER_BRAKE);
	struct finding *f;

	if (s->load.reasons < 0 || !why)
		return false;
	f = gpu_note(v, "gpu.load", subject(v, &s->b));
	finding_set(f, hard ? ST_FAIL : ST_WARN, "slows down under load: %s", why);
	if (s->load.sm_mhz >= 0)
		finding_value(f, (double)s->load.sm_mhz, "MHz");
	finding_expect(f, "no reason but the power limit");
	fix_of(v, f, &s->b,
	       "nvidia-smi -q -i %d -d PERFORMANCE,TEMPERATURE,POWER   # fans, filters, power "
	       "supplies");
	return true;
}

/* Now that it is not at rest. */
static bool slow_link(struct gpu_view *v, const struct burst_seen *s)
{
	double possible = possible_gts(v, s);
	struct finding *f;

	if (isnan(s->link.gts) || isnan(possible) || s->link.gts >= possible)
		return false;
	f = gpu_note(v, "pcie.speed", subject(v, &s->b));
	finding_set(f, ST_WARN, "its PCIe link runs at %.4g GT/s under load, %.4g are possible",
		    s->link.gts, possible);
	finding_value(f, s->link.gts, "GT/s");
	finding_expect(f, "%.4g GT/s", possible);
	finding_fix(
		f,
		"lspci -s %s -vv | grep -E 'LnkCap:|LnkSta:'   # then reseat the card or its riser",
		s->b.pci);
	return true;
}

static void data(struct gpu_view *v, const burst_list *all)
{
	cJSON *list = v->data && all->n ? json_array(v->data, "burst") : NULL;

	for (size_t i = 0; list && i < all->n; i++) {
		const struct burst_seen *s = &all->v[i];
		cJSON *o = json_push_object(list);

		json_num(o, "index", index_of(v, &s->b));
		json_str(o, "pci", s->b.pci);
		json_str(o, "how", s->b.how[0] ? s->b.how : NULL);
		for (size_t m = 0; m < ARRAY_LEN(measures); m++)
			json_num(o, measures[m].key, value_of(&s->b, &measures[m]));
		json_num(o, "wrong", s->b.wrong < 0 ? NAN : (double)s->b.wrong);
		json_num(o, "copied_wrong",
			 s->b.copied_wrong < 0 ? NAN : (double)s->b.copied_wrong);
		json_num(o, "clock_reasons", s->load.reasons < 0 ? NAN : (double)s->load.reasons);
		json_num(o, "sm_mhz", s->load.sm_mhz < 0 ? NAN : (double)s->load.sm_mhz);
		json_num(o, "celsius", s->load.celsius < 0 ? NAN : (double)s->load.celsius);
		json_num(o, "gts", s->link.gts);
		json_str(o, "error", s->trouble ?: s->b.error[0] ? s->b.error : NULL);
	}
}

/* The slowest speaks for the host: a job waits for it. */
static void compared(struct gpu_view *v, const burst_list *all)
{
	for (size_t m = 0; v->facts && m < ARRAY_LEN(measures); m++) {
		double least = NAN;

		for (size_t i = 0; i < all->n; i++)
			least = fmin(least, value_of(&all->v[i].b, &measures[m]));
		json_num(v->facts, measures[m].key, least);
	}
}

static void summary(struct gpu_view *v, const burst_list *all)
{
	const struct burst_seen *first = &all->v[0];
	size_t n;
	double mm = usual(v, all, first, &measures[0], &n);
	double memory = usual(v, all, first, &measures[1], &n);
	double in = usual(v, all, first, &measures[2], &n);
	struct finding *f = gpu_note(v, "gpu.burst",
				     all->n == 1 ? subject(v, &first->b)
						 : arena_printf(v->a, "%zu GPUs", all->n));

	finding_set(f, ST_PASS,
		    "compute right: %.4g TFLOP/s (%s), memory %.4g GB/s, PCIe %.4g GB/s%s", mm,
		    first->b.how, memory, in,
		    all->n == 1	  ? ""
		    : n == all->n ? ", all alike"
				  : ", each like others of its kind and link");
	finding_value(f, mm, "TFLOP/s");
}

static void left_out(struct gpu_view *v)
{
	for (size_t i = 0; i < v->nvml.gpus.n; i++) {
		const struct nvml_gpu *g = &v->nvml.gpus.v[i];
		const char *why = g->error ? NULL : burst_obstacle(g);

		if (why)
			finding_set(gpu_note(v, "gpu.burst", gpu_subject(v, g)), ST_SKIP,
				    "not measured: it is %s", why);
	}
}

static bool has_worked(const struct burst_seen *s)
{
	return !s->trouble && !s->b.error[0] && !isnan(s->b.matmul_tflops);
}

void burst_judge(struct gpu_view *v, const burst_list *all)
{
	size_t bad = 0;

	left_out(v);
	for (size_t i = 0; i < all->n; i++) {
		const struct burst_seen *s = &all->v[i];
		const struct nvml_gpu *g = gpu_of(v, &s->b);

		if (g && has_worked(s))
			gpu_links_worked(v, g);

		bad += in_trouble(v, s);
		bad += computes_wrong(v, &s->b);
		for (size_t m = 0; m < ARRAY_LEN(measures); m++)
			bad += slow(v, all, s, &measures[m]);
		bad += slows_down(v, s);
		bad += slow_link(v, s);
	}
	if (all->n && !bad)
		summary(v, all);
	compared(v, all);
	data(v, all);
}
