/* Does the driver's library answer, and about as many GPUs as there are? */
#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "probes/node/gpu_view.h"

static void refused(struct gpu_view *v, struct finding *f)
{
	const struct nvml *n = &v->nvml;

	switch (n->error) {
	case NVML_MISMATCH:
		finding_set(
			f, ST_FAIL,
			"is of another version than the driver that is loaded: CUDA does not start "
			"(%s)",
			n->error_text);
		finding_expect(f, "one version");
		finding_fix(f, "sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo "
			       "modprobe nvidia   "
			       "# or reboot");
		return;
	case NVML_NOT_LOADED:
		finding_set(f, ST_WARN, "finds no driver loaded (%s)", n->error_text);
		finding_expect(f, "the nvidia driver");
		finding_fix(f, "sudo modprobe nvidia");
		gpu_absent(v, "the driver of the NVIDIA GPUs is not loaded");
		return;
	case NVML_BLOCKED:
		finding_set(f, ST_WARN, "may not open the GPUs here: %s", n->error_text);
		finding_expect(f, "a job or container that was given them");
		finding_fix(f, "srun --gpus-per-node=8 ...   # docker run --gpus all ...");
		return;
	default:
		finding_set(f, ST_FAIL, "does not start: %s (%d)", n->error_text, n->error);
		finding_expect(f, "an answer");
		finding_fix(f, "nvidia-smi; dmesg | grep -e NVRM -e Xid | tail");
	}
}

/* What only shows that we had no time or no means says nothing of the driver. */
static bool is_cut(struct gpu_view *v, struct finding *f)
{
	const struct node_look *look = v->look;
	struct unit_buf b;

	if (v->nvml.answer == NVML_CUT)
		finding_set(f, ST_SKIP, "was not waited for: %s", v->nvml.error_text);
	else if (v->nvml.answer == NVML_SILENT && look->cap_ns < look->deadline_ns)
		finding_set(f, ST_SKIP, "gave no answer in %s, all that the budget left",
			    format_duration(&b, look->cap_ns));
	else
		return false;
	return true;
}

static void silent(struct gpu_view *v, struct finding *f)
{
	const struct nvml *n = &v->nvml;
	const char *what =
		n->stuck_at < 0 ? "at its start" : arena_printf(v->a, "about GPU %d", n->stuck_at);
	struct unit_buf b;

	if (is_cut(v, f))
		return;
	if (n->answer == NVML_SILENT)
		finding_set(f, ST_FAIL,
			    "gave no answer %s for %s: the driver hangs, and so will CUDA", what,
			    format_duration(&b, v->look->cap_ns));
	else
		finding_set(f, ST_FAIL, "crashed %s", what);
	finding_expect(f, "an answer in milliseconds");
	finding_fix(f, "dmesg | grep -e Xid -e NVRM | tail   # then reset that GPU, or reboot");
}

static void library(struct gpu_view *v)
{
	const struct nvml *n = &v->nvml;
	struct finding *f;

	if (n->answer == NVML_ABSENT ||
	    (n->answer == NVML_REFUSED && !v->nvidia && n->error == NVML_NOT_LOADED))
		return;
	f = gpu_note(v, "gpu.nvml", "NVIDIA's management library");
	if (n->answer == NVML_REFUSED)
		refused(v, f);
	else if (n->answer != NVML_FINE)
		silent(v, f);
	else if (n->cuda > 0)
		finding_set(f, ST_PASS, "answers: driver %s, CUDA to %d.%d", n->driver,
			    n->cuda / 1000, n->cuda / 10 % 100);
	else
		finding_set(f, ST_PASS, "answers: driver %s", n->driver);
}

static const char *fix_of(int error)
{
	switch (error) {
	case NVML_GPU_LOST:
		return "sudo reboot   # drain the node first; when it comes back: replace GPU or "
		       "riser";
	case NVML_RESET_REQUIRED:
		return "sudo nvidia-smi --gpu-reset -i %d";
	default:
		return "dmesg | grep -e NVRM -e Xid | tail   # of GPU %d";
	}
}

static void broken(struct gpu_view *v)
{
	for (size_t i = 0; i < v->nvml.gpus.n; i++) {
		const struct nvml_gpu *g = &v->nvml.gpus.v[i];
		const char *fix = fix_of(g->error), *hole = strstr(fix, "%d");
		struct finding *f;

		if (!g->error)
			continue;
		f = gpu_note(v, "gpu.answer", arena_printf(v->a, "GPU %d", g->index));
		finding_set(f, ST_FAIL, "cannot be used: %s", g->error_text);
		finding_expect(f, "an answer");
		if (hole)
			finding_fix(f, "%.*s%d%s", (int)(hole - fix), fix, g->index, hole + 2);
		else
			finding_fix(f, "%s", fix);
	}
}

static int usable(const struct gpu_view *v)
{
	int n = 0;

	for (size_t i = 0; i < v->nvml.gpus.n; i++)
		n += !v->nvml.gpus.v[i].error;
	return n;
}

static bool is_listed(const struct gpu_view *v, const char *pci)
{
	for (size_t i = 0; i < v->nvml.gpus.n; i++)
		if (streq(v->nvml.gpus.v[i].pci, pci))
			return true;
	return false;
}

/* One that could not be opened has no address: it is one of those that are not listed. */
static const char *unlisted(struct gpu_view *v, size_t *ret_n)
{
	size_t n = 0, nameless = (size_t)(v->nvml.count - usable(v));
	struct text t;

	text_init(&t, v->a);
	for (size_t i = 0; i < v->pci.n; i++)
		if (gpu_is_for_cuda(v, &v->pci.v[i]) && !is_listed(v, v->pci.v[i].pci))
			text_addf(&t, "%s%s", n++ ? ", " : "", v->pci.v[i].pci);
	*ret_n = n > nameless ? n - nameless : 0;
	return nameless ? arena_printf(v->a, "%zu of %s", *ret_n, t.s) : t.s;
}

/* What Slurm gave this job on this host. */
static int promised(void)
{
	const char *set = getenv("SLURM_GPUS_ON_NODE");
	uint64_t n;

	return set && !parse_uint(set, &n) && n < 1024 ? (int)n : -1;
}

/* Slurm counts the GPUs of all of its tasks here; one that is bound sees its own alone. Which of
 * these it says depends on its release, but whose tasks are here it always says. */
static bool is_bound(int have, int want)
{
	static const char *const ways[] = {"SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND",
					   "SLURM_NTASKS_PER_GPU"};
	const char *ids = getenv("SLURM_GTIDS");
	int tasks = 1;

	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (getenv(ways[i]))
			return true;
	for (; ids && *ids; ids++)
		tasks += *ids == ',';
	return tasks > 1 && have <= want / tasks;
}

/* Why fewer than were promised are no fault of theirs, or NULL. */
static const char *why_fewer(const struct gpu_view *v, int want)
{
	for (size_t i = 0; i < v->nvml.gpus.n; i++)
		if (v->nvml.gpus.v[i].mig == 1)
			return "Slurm counts the parts of one in MIG mode";
	return is_bound(usable(v), want) ? "this task has its own of them" : NULL;
}

static void fewer(struct gpu_view *v, struct finding *f, int want)
{
	const char *why = why_fewer(v, want);

	finding_set(f, why ? ST_INFO : ST_FAIL, "%d can be used, %d were given to this job%s%s",
		    usable(v), want, why ? ": " : "", why ?: "");
	if (why)
		return;
	finding_expect(f, "%d", want);
	finding_fix(f, "dmesg | grep -e Xid -e 'fallen off the bus'   # then reboot the node");
}

/* Of all that its host has it has some, as whoever shares them out wants it. */
static void a_share(struct gpu_view *v, struct finding *f, int have)
{
	bool none = !have && streq(v->confined, "Slurm job"); /* it did not ask for them */

	finding_set(f, none ? ST_WARN : ST_INFO, "%d of the host's %zu are here in this %s", have,
		    v->for_cuda, v->confined);
	if (none)
		finding_fix(f, "salloc --gpus-per-node=%zu ...   # or sbatch, srun", v->for_cuda);
}

static void lost(struct gpu_view *v, struct finding *f, const char *which, int have)
{
	finding_set(f, ST_FAIL, "the driver has lost %s: %d of %zu can be used", which, have,
		    v->for_cuda);
	finding_expect(f, "%zu", v->for_cuda);
	finding_fix(f, "dmesg | grep -e Xid -e NVRM   # then reboot; replace it if it stays away");
}

static void may_not(struct gpu_view *v, struct finding *f, int have)
{
	finding_set(f, ST_WARN, "%d of %d can be used: %d may not be opened from here", have,
		    v->nvml.count, v->nvml.closed);
	finding_expect(f, "all of them");
	finding_fix(f, "ls -l /dev/nvidia[0-9]*   # who may; or a control group's DeviceAllow");
}

static void count(struct gpu_view *v)
{
	size_t missing;
	const char *which = unlisted(v, &missing);
	int want = promised(), have = usable(v);
	struct finding *f;

	if (v->nvml.answer != NVML_FINE)
		return;
	f = gpu_note(v, "gpu.count", "GPUs");
	finding_value(f, have, NULL);
	if (want > have)
		fewer(v, f, want);
	else if (missing && !v->confined)
		lost(v, f, which, have);
	else if (missing || (v->nvml.closed && v->confined))
		a_share(v, f, have);
	else if (v->nvml.closed)
		may_not(v, f, have);
	else if (have < v->nvml.count) /* gpu.answer has failed */
		finding_set(f, ST_INFO, "%d of %d can be used", have, v->nvml.count);
	else
		finding_set(f, ST_PASS, "%d can be used", have);
}

void gpu_answer(struct gpu_view *v)
{
	library(v);
	if (v->nvml.answer == NVML_ABSENT || v->nvml.answer == NVML_REFUSED)
		return;
	broken(v);
	if (v->nvml.count || v->nvidia)
		count(v);
}
