/* A second of work on each GPU: who computes wrong, who is slower than its peers, who slows down.
 */
#include "probes/node/gpu_burst.h"
#include "lib/core/aside.h"
#include "lib/core/log.h"
#include "lib/core/plugin.h"
#include "lib/core/units.h"
#include "lib/host/burst.h"
#include "lib/host/processors.h"
#include "lib/host/sysroot.h"

#include <fcntl.h>
#include <math.h>

enum { GPUS_MAX = 64, ONE_GPU_MS = 4000 };
/* Eight GPUs that no daemon keeps awake start in half a minute, and slow disks hold cuBLAS. */
static const uint64_t LOOK_NS = 3 * NS_PER_S; /* of what it shows while it works */
static const uint64_t START_NS = 60 * NS_PER_S;

struct moment_record {
	enum burst_moment moment;
	struct burst b;
};
struct refusal {
	char text[512];
	char fix[512];
	bool is_meant; /* somebody asked for it */
};

struct running {
	struct gpu_view *v;
	const struct burst_plugin *plugin;
	burst_list *to;
	int first;	 /* where this child begins */
	int to_child;	 /* in the child */
	struct burst at; /* what it is at */
	bool is_at;
	bool begun;	/* this child has named a GPU */
	int answers[2]; /* what was looked at, to the child; below 0: there is no way to tell it */
	struct aside aside;
	struct refusal refusal;
};

/* --- in the child ----------------------------------------------------------------- */

static bool wanted(void *arg, const char *pci)
{
	const struct running *r = arg;

	for (size_t i = 0; i < r->v->nvml.gpus.n; i++) {
		const struct nvml_gpu *g = &r->v->nvml.gpus.v[i];

		if (!g->error && streq(g->pci, pci))
			return !burst_obstacle(g);
	}
	return true;
}

static void tell(void *arg, enum burst_moment m, const struct burst *b)
{
	const struct running *r = arg;
	struct moment_record record = {.moment = m, .b = *b};

	if (m == BURST_BEGINS) /* or its copies go by way of another processor's memory */
		processors_stay(
			sysroot_line(r->v->a, "/sys/bus/pci/devices/%s/local_cpulist", b->pci));
	aside_say(r->to_child, &record, sizeof(record));
}

static bool is_seen(void *arg, enum burst_moment m)
{
	const struct running *r = arg;
	unsigned char seen;

	while (r->answers[0] >= 0 && read(r->answers[0], &seen, 1) == 1)
		if (seen == m)
			return true;
	return r->answers[0] < 0;
}

static void work(int to, void *arg)
{
	struct running *r = arg;
	const struct burst_ask ask = {
		.first = r->first, .wanted = wanted, .tell = tell, .is_seen = is_seen, .arg = r};
	struct err e = {0};

	r->to_child = to;
	if (!r->plugin->run(&ask, &e))
		return;
	memcpy(r->refusal.text, e.msg, sizeof(r->refusal.text));
	(void)snprintf(r->refusal.fix, sizeof(r->refusal.fix), "%s", err_fix(&e, r->v->a) ?: "");
	r->refusal.is_meant = e.kind == ERR_USAGE;
	aside_say(to, &r->refusal, sizeof(r->refusal));
}

/* --- here ------------------------------------------------------------------------- */

static struct burst_seen *seen(struct running *r, const struct burst *b)
{
	struct burst_seen *s;

	for (size_t i = 0; i < r->to->n; i++)
		if (r->to->v[i].b.number == b->number) {
			r->to->v[i].b = *b;
			return &r->to->v[i];
		}
	s = LIST_ADD(r->v->a, r->to);
	*s = (struct burst_seen){.b = *b, .load = {-1, -1, -1}, .link = {NAN, NAN, 0, 0}};
	return s;
}

/* What only shows under load, which goes on until it is said that it was seen. */
static void look_at(struct running *r, enum burst_moment m, struct burst_seen *s)
{
	const unsigned char seen = (unsigned char)m;

	if (m == BURST_COMPUTES)
		nvml_read_load(s->b.pci, LOOK_NS, &s->load);
	if (m == BURST_COPIES)
		pcie_link(r->v->a, s->b.pci, &s->link);
	if (r->answers[1] >= 0)
		(void)!write(r->answers[1], &seen, 1);
}

static uint64_t patience(const struct running *r, enum burst_moment m)
{
	uint64_t asked = r->v->look->deadline_ns;
	bool starts = m == BURST_BEGINS || m == BURST_DONE; /* behind this one the next */

	return starts && asked < START_NS ? START_NS : asked;
}

static void take(void *arg, const void *record, size_t n)
{
	struct running *r = arg;
	struct moment_record m;

	if (n == sizeof(r->refusal)) {
		memcpy(&r->refusal, record, n);
		return;
	}
	if (n != sizeof(m))
		return;
	memcpy(&m, record, n);
	r->begun = r->is_at = true;
	r->aside.deadline_ns = patience(r, m.moment);
	r->at = m.b;
	if (m.moment == BURST_BEGINS) {
		log_progress("burst on each GPU", (uint64_t)m.b.number, r->v->nvml.gpus.n);
		return;
	}
	look_at(r, m.moment, seen(r, &m.b));
	r->is_at = m.moment != BURST_DONE;
}

static void fix_cuda(struct finding *f)
{
	finding_expect(f, "CUDA on each");
	finding_fix(f, "nvidia-smi; dmesg | grep -e NVRM -e Xid | tail");
}

static void does_not_start(struct running *r, enum aside_end end)
{
	struct finding *f = gpu_note(r->v, "gpu.burst", gpu_all(r->v));
	struct unit_buf b;

	if (end == ASIDE_SILENT)
		finding_set(f, ST_FAIL, "CUDA does not start: no answer within %s",
			    format_duration(&b, r->aside.deadline_ns));
	else
		finding_set(f, ST_FAIL, "CUDA does not start: it ended the process that asked it");
	fix_cuda(f);
}

/* One that falls silent is noted, and the next child begins behind it. */
static void run_all(struct running *r)
{
	while (r->first < GPUS_MAX) {
		enum aside_end end;

		if (pipe2(r->answers, O_CLOEXEC | O_NONBLOCK))
			r->answers[0] = r->answers[1] = -1;
		r->is_at = r->begun = false;
		r->aside = (struct aside){.work = work,
					  .take = take,
					  .arg = r,
					  .deadline_ns = patience(r, BURST_BEGINS)};
		end = aside_run(&r->aside);
		for (size_t i = 0; i < ARRAY_LEN(r->answers); i++)
			if (r->answers[i] >= 0)
				(void)close(r->answers[i]);
		if (end == ASIDE_DONE || end == ASIDE_INTERRUPTED || end == ASIDE_NONE)
			return;
		if (!r->begun) {
			does_not_start(r, end);
			return;
		}
		if (r->is_at)
			seen(r, &r->at)->trouble = end == ASIDE_SILENT
							   ? "did not finish its work"
							   : "ended the process that used it";
		r->first = r->at.number + 1;
	}
}

static const struct burst_plugin *plugin(struct gpu_view *v, struct err *e)
{
	const struct plugin_want want = {.name = "burst",
					 .symbol = "windsock_burst",
					 .version = BURST_VERSION,
					 .package = "windsock-nccl",
					 .build = "nvcc"};

	return plugin_load(&want, v->a, e);
}

uint64_t node_burst_ns(size_t gpus) { return gpus * ONE_GPU_MS * NS_PER_MS; }

/* Not in the seconds of --quick, and not where too little time is left. */
static bool is_time(struct gpu_view *v)
{
	uint64_t need = node_burst_ns(v->nvml.gpus.n), now = now_ns();
	struct unit_buf b;

	if (!v->look->burst)
		return false;
	if (!v->look->until_ns || now + need < v->look->until_ns)
		return true;
	finding_set(gpu_note(v, "gpu.burst", gpu_all(v)), ST_SKIP,
		    "left out: a burst on each takes about %s, more than %s",
		    format_duration(&b, need),
		    v->look->asked ? "there is time for" : "the budget has left");
	return false;
}

static void refused(struct gpu_view *v, const struct refusal *why)
{
	struct finding *f = gpu_note(v, "gpu.burst", gpu_all(v));

	if (why->is_meant) {
		finding_set(f, ST_SKIP, "not measured: %s", why->text);
		return;
	}
	finding_set(f, ST_FAIL, "cannot be used: %s", why->text);
	if (*why->fix)
		finding_fix(f, "%s", why->fix);
	fix_cuda(f);
}

void gpu_burst(struct gpu_view *v)
{
	burst_list all = {0};
	struct running r = {.v = v, .to = &all};
	struct err e = {0};

	if (v->nvml.answer != NVML_FINE || !v->nvml.gpus.n || !is_time(v))
		return;
	r.plugin = plugin(v, &e);
	if (!r.plugin) {
		finding_set(gpu_note(v, "gpu.burst", gpu_all(v)), ST_SKIP, "not measured: %s",
			    e.msg);
		return;
	}
	run_all(&r);
	if (r.refusal.text[0])
		refused(v, &r.refusal);
	if (r.refusal.text[0] && !all.n)
		return;
	burst_judge(v, &all);
}
