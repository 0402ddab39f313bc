/* Who is on the GPUs, and how they are set: processes, persistence, modes, MIG, kinds. */
#include "lib/core/file.h"
#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "probes/node/gpu_view.h"

#define MIB (1ll << 20)
#define KEPT (2048 * MIB) /* and a part of large memories: what a driver keeps for itself */
enum { KEPT_PART = 50 };

/* NULL: not a process of ours to see. */
static const char *command_of(struct gpu_view *v, unsigned pid)
{
	const char *name = sysroot_line(v->a, "/proc/%u/comm", pid);

	return name && *name ? name : NULL;
}

static bool use_known(const struct nvml_gpu *g) { return g->nprocesses >= 0; }

static void list_users(struct gpu_view *v, const struct nvml_gpu *g, struct text *what,
		       struct text *pids)
{
	struct unit_buf b;

	for (int i = 0; i < g->nprocesses && i < NVML_PROCESSES; i++) {
		const struct nvml_process *p = &g->processes[i];
		const char *command = command_of(v, p->pid);

		text_addf(what, "%s%u (%s%s%s)", i ? ", " : "", p->pid,
			  command ?: "not seen from here", p->bytes >= 0 ? ", " : "",
			  p->bytes >= 0 ? format_size(&b, (uint64_t)p->bytes) : "");
		if (command)
			text_addf(pids, " %u", p->pid);
	}
	text_more(what, "", (size_t)g->nprocesses, NVML_PROCESSES);
}

/* The GPU and the processor have one memory: Xavier, Orin, Thor (which was 10.1 first), GB10. */
static bool has_none_of_its_own(const struct nvml_gpu *g)
{
	static const int capabilities[] = {72, 87, 101, 110, 121};

	for (size_t i = 0; i < ARRAY_LEN(capabilities); i++)
		if (g->capability == capabilities[i])
			return true;
	return false;
}

/* In KiB, of a node with memory and without processors; 0: it is none. */
static int64_t memory_alone(struct gpu_view *v, const char *node)
{
	const char *cpus = starts_with(node, "node")
				   ? sysroot_line(v->a, "/sys/devices/system/node/%s/cpulist", node)
				   : NULL;
	const char *all = cpus && !*cpus
				  ? sysroot_line(v->a, "/sys/devices/system/node/%s/meminfo", node)
				  : NULL;
	const char *at = all ? strstr(all, "MemTotal:") : NULL;

	return at ? strtoll(at + strlen("MemTotal:"), NULL, 10) : 0;
}

/*
 * Where the kernel has the GPU's memory, as a NUMA node of its own (GH200, GB200) or as all there
 * is, it keeps files in it, and NVML counts these. CXL memory is such a node, too, of another size.
 */
static bool is_the_kernels(struct gpu_view *v, const struct nvml_gpu *g)
{
	str_list nodes;

	sysroot_list(v->a, &nodes, "/sys/devices/system/node");
	for (size_t i = 0; i < nodes.n; i++) {
		int64_t bytes = memory_alone(v, nodes.v[i]) * 1024;

		if (bytes && llabs(bytes - g->memory_bytes) < g->memory_bytes / 10)
			return true;
	}
	return has_none_of_its_own(g);
}

/* More than a driver keeps for itself. */
static bool is_taken(struct gpu_view *v, const struct nvml_gpu *g)
{
	return g->used_bytes >= KEPT && g->used_bytes >= g->memory_bytes / KEPT_PART &&
	       !is_the_kernels(v, g);
}

/* The N of its /dev/nvidiaN, which on some hosts is not its number by address. */
static long device_of(struct gpu_view *v, const struct nvml_gpu *g)
{
	static const char key[] = "Device Minor:";
	const char *path = arena_printf(v->a, "/proc/driver/nvidia/gpus/%s/information", g->pci);
	struct err ignored;
	char *text, *at;
	size_t n;

	if (file_read(sysroot_path(v->a, path), 1 << 14, v->a, &text, &n, &ignored))
		return g->index;
	at = strstr(text, key);
	return at ? strtol(at + strlen(key), NULL, 10) : g->index;
}

static void advise_look(struct gpu_view *v, const struct nvml_gpu *g, struct finding *f)
{
	finding_fix(f, "fuser -v /dev/nvidia%ld   # outside containers", device_of(v, g));
}

static bool busy(struct gpu_view *v, const struct nvml_gpu *g)
{
	struct unit_buf used, all;
	struct text what, pids;
	struct finding *f;

	if (!g->nprocesses && !is_taken(v, g))
		return false;
	f = gpu_note(v, "gpu.busy", gpu_subject(v, g));
	finding_expect(f, "no process");
	if (!g->nprocesses) {
		finding_set(
			f, ST_WARN,
			"has %s of %s in use by processes that cannot be seen from here: another "
			"container, or one that did not end",
			format_size(&used, (uint64_t)g->used_bytes),
			format_size(&all, (uint64_t)g->memory_bytes));
		advise_look(v, g, f);
		return true;
	}
	text_init(&what, v->a);
	text_init(&pids, v->a);
	list_users(v, g, &what, &pids);
	finding_set(f, ST_WARN, "is used by %s%s", g->nprocesses == 1 ? "process " : "processes ",
		    what.s);
	if (pids.n)
		finding_fix(f, "kill%s   # when they are nobody's running job", pids.s);
	else
		advise_look(v, g, f);
	return true;
}

static bool persistence_known(const struct nvml_gpu *g) { return g->persistence >= 0; }

static bool persistence(struct gpu_view *v, const struct nvml_gpu *g)
{
	struct finding *f;

	if (g->persistence)
		return false;
	f = gpu_note(v, "gpu.persistence", gpu_subject(v, g));
	finding_set(f, ST_INFO,
		    "forgets its state when nobody uses it: the next start takes seconds");
	finding_expect(f, "persistence mode");
	finding_fix(f,
		    "sudo nvidia-smi -i %d -pm 1   # for good: sudo systemctl enable --now "
		    "nvidia-persistenced",
		    g->index);
	return true;
}

static bool mode_known(const struct nvml_gpu *g) { return g->mode >= 0; }

static bool mode(struct gpu_view *v, const struct nvml_gpu *g)
{
	struct finding *f;

	if (g->mode != NVML_MODE_PROHIBITED && g->mode != NVML_MODE_EXCLUSIVE)
		return false;
	f = gpu_note(v, "gpu.mode", gpu_subject(v, g));
	if (g->mode == NVML_MODE_PROHIBITED)
		finding_set(f, ST_FAIL, "lets no process compute (compute mode Prohibited)");
	else
		finding_set(f, ST_INFO,
			    "takes one process at a time (compute mode Exclusive Process)");
	finding_expect(f, "compute mode Default");
	finding_fix(f, "sudo nvidia-smi -i %d -c DEFAULT", g->index);
	return true;
}

static bool mig_known(const struct nvml_gpu *g) { return g->mig >= 0; }

static bool mig(struct gpu_view *v, const struct nvml_gpu *g)
{
	struct finding *f;

	if (!g->mig && !g->mig_pending)
		return false;
	f = gpu_note(v, "gpu.mig", gpu_subject(v, g));
	if (g->mig != g->mig_pending) {
		finding_set(f, ST_WARN, "waits for a reset to %s MIG",
			    g->mig_pending ? "begin with" : "be done with");
		finding_expect(f, "one or the other");
		finding_fix(f, "sudo nvidia-smi --gpu-reset -i %d   # with no process on it",
			    g->index);
		return true;
	}
	finding_set(f, ST_INFO,
		    "is cut into parts (MIG), without NVLink between them: ranks on two of its "
		    "parts NCCL refuses before 2.30 (\"Duplicate GPU\"), and since then without "
		    "NCCL_MULTI_RANK_GPU_ENABLE=1");
	finding_fix(f, "sudo nvidia-smi -i %d -mig 0   # the whole GPU again", g->index);
	return true;
}

static const char *kind_of(struct arena *a, const struct nvml_gpu *g)
{
	struct unit_buf b;

	if (!g->name[0])
		return NULL;
	return g->memory_bytes < 0
		       ? g->name
		       : arena_printf(a, "%s with %s", g->name,
				      format_size(&b, (uint64_t)(g->memory_bytes >> 30) << 30));
}
static const char *vbios_of(struct arena *a, const struct nvml_gpu *g)
{
	(void)a;
	return g->vbios[0] ? g->vbios : NULL;
}
static const char *ecc_of(struct arena *a, const struct nvml_gpu *g)
{
	(void)a;
	return g->ecc < 0 ? NULL : g->ecc ? "on" : "off";
}
static const char *mig_of(struct arena *a, const struct nvml_gpu *g)
{
	(void)a;
	return g->mig < 0 ? NULL : g->mig ? "on" : "off";
}

static const struct trait {
	const char *check, *words, *fix;
	gpu_trait *of;
	enum status st;
} traits[] = {
	{"gpu.kind", "is a",
	 "lspci -nn | grep -i nvidia   # ranks on it are slower or run out of memory", kind_of,
	 ST_WARN},
	{"gpu.vbios", "has VBIOS", "nvidia-smi -q | grep -i vbios   # update the odd one", vbios_of,
	 ST_INFO},
	{"gpu.ecc_mode", "has ECC", "sudo nvidia-smi -e 1 && sudo reboot   # all GPUs alike",
	 ecc_of, ST_WARN},
	{"gpu.mig_mode", "has MIG", "sudo nvidia-smi -mig 0   # all GPUs alike", mig_of, ST_WARN},
};

static void odd(struct gpu_view *v, const struct trait *t)
{
	size_t alike;
	const char *usual = gpu_usual(v, t->of, &alike);

	for (size_t i = 0; usual && i < v->nvml.gpus.n; i++) {
		const struct nvml_gpu *g = &v->nvml.gpus.v[i];
		const char *own = g->error ? NULL : t->of(v->a, g);
		struct finding *f;

		if (!own || streq(own, usual))
			continue;
		f = gpu_note(v, t->check, gpu_subject(v, g));
		finding_set(f, t->st, "%s %s, %zu others %s", t->words, own, alike, usual);
		finding_expect(f, "%s", usual);
		finding_fix(f, "%s", t->fix);
	}
}

void gpu_use(struct gpu_view *v)
{
	static const struct gpu_check checks[] = {
		{"gpu.busy", use_known, busy, "nobody uses them"},
		{"gpu.persistence", persistence_known, persistence, "keep their state"},
		{"gpu.mode", mode_known, mode, "take any process"},
		{"gpu.mig", mig_known, mig, "whole, not cut into parts (MIG)"},
	};

	gpu_each(v, checks, ARRAY_LEN(checks));
	for (size_t i = 0; i < ARRAY_LEN(traits); i++)
		odd(v, &traits[i]);
}
