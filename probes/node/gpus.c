/* The gpus stage: GPUs as PCI shows them, whether something drives them, and how they are. */
#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/node/gpu_view.h"
#include "probes/node/limits.h"

struct finding *gpu_note(struct gpu_view *v, const char *check, const char *subject)
{
	return tally_add(v->look->t, v->look->stage, v->look->stage_name, check, subject);
}

void gpu_absent(struct gpu_view *v, const char *what)
{
	if (v->look->here && !limits_container())
		v->absent = v->absent ?: what;
}

const char *gpu_subject(struct gpu_view *v, const struct nvml_gpu *g)
{
	return g->pci[0] ? arena_printf(v->a, "GPU %d (%s)", g->index, g->pci)
			 : arena_printf(v->a, "GPU %d", g->index);
}

const char *gpu_all(struct gpu_view *v)
{
	size_t n = v->nvml.gpus.n;

	return n == 1 ? gpu_subject(v, &v->nvml.gpus.v[0]) : arena_printf(v->a, "%zu GPUs", n);
}

void gpu_each(struct gpu_view *v, const struct gpu_check *checks, size_t n)
{
	for (size_t c = 0; c < n; c++) {
		size_t asked = 0, bad = 0;

		for (size_t i = 0; i < v->nvml.gpus.n; i++) {
			const struct nvml_gpu *g = &v->nvml.gpus.v[i];

			if (g->error || !checks[c].known(g))
				continue;
			asked++;
			bad += checks[c].judge(v, g);
		}
		if (asked && !bad)
			finding_set(gpu_note(v, checks[c].id, gpu_all(v)), ST_PASS, "%s",
				    checks[c].fine);
	}
}

const char *gpu_usual(struct gpu_view *v, gpu_trait *trait, size_t *ret_n)
{
	const struct nvml_gpu *g = v->nvml.gpus.v;
	size_t n = v->nvml.gpus.n, known = 0;
	const char **values = arena_alloc(v->a, (n + 1) * sizeof(*values));

	for (size_t i = 0; i < n; i++)
		known += (values[i] = g[i].error ? NULL : trait(v->a, &g[i])) != NULL;
	for (size_t i = 0; i < n; i++) {
		*ret_n = 0;
		for (size_t k = 0; values[i] && k < n; k++)
			*ret_n += values[k] && streq(values[i], values[k]);
		if (2 * *ret_n > known)
			return values[i];
	}
	*ret_n = 0;
	return NULL;
}

static bool is_driven(const struct gpu *g) { return g->driver && streq(g->driver, "nvidia"); }

bool gpu_is_for_cuda(const struct gpu_view *v, const struct gpu *g)
{
	if (g->vendor != GPU_NVIDIA || g->driver)
		return g->vendor == GPU_NVIDIA && is_driven(g);
	for (size_t i = 0; i < v->pci.n; i++)
		if (is_driven(&v->pci.v[i]) && v->pci.v[i].device_id == g->device_id)
			return true;
	return false;
}

struct drivers { /* of NVIDIA's GPUs */
	size_t nvidia, other;
	const char *name; /* another's */
};

static const char *bound(struct arena *a, const struct drivers *d)
{
	return arena_printf(a, "bound to %s%s", d->name,
			    streq(d->name, "vfio-pci") ? " (lent to a virtual machine?)" : "");
}

static void none_driven(struct gpu_view *v, struct finding *f, const struct drivers *d)
{
	finding_set(f, ST_WARN, "%zu without the nvidia driver%s%s: CUDA cannot use %s", v->nvidia,
		    d->other ? ", " : "", d->other ? bound(v->a, d) : "",
		    v->nvidia == 1 ? "it" : "them");
	finding_expect(f, "the nvidia driver");
	if (d->other && streq(d->name, "vfio-pci"))
		finding_fix(f, "- look in that machine; here they come back when it gives them up");
	else
		finding_fix(f, "sudo modprobe nvidia   # install NVIDIA's driver first if that "
			       "fails");
}

/* Whoever bound some to another driver meant it; those that have none the driver did not take. */
static void some_driven(struct gpu_view *v, struct finding *f, const struct drivers *d)
{
	size_t none = v->nvidia - d->nvidia - d->other;

	if (!none) {
		finding_set(f, ST_INFO, "%zu driven by nvidia, %zu %s", d->nvidia, d->other,
			    bound(v->a, d));
		return;
	}
	finding_set(f, ST_WARN, "%zu driven by nvidia, %zu by no driver: CUDA cannot use %s",
		    d->nvidia, none, none == 1 ? "it" : "them");
	finding_expect(f, "the nvidia driver");
	finding_fix(f, "dmesg | grep NVRM   # why not: too old for this driver, or sick");
}

static void judge_driver(struct gpu_view *v, struct finding *f, const struct drivers *d)
{
	if (!d->nvidia) {
		none_driven(v, f, d);
	} else if (sysroot_is_real() && access("/dev/nvidiactl", F_OK) != 0) {
		finding_set(f, ST_WARN, "driven by nvidia, but /dev/nvidiactl is not here");
		finding_expect(f, "a container that was given the GPUs");
		finding_fix(f,
			    "docker run --gpus all ...   # outside a container: nvidia-modprobe");
	} else if (d->nvidia < v->nvidia) {
		some_driven(v, f, d);
	} else {
		finding_set(f, ST_PASS, "driven by nvidia");
	}
}

static void nvidia(struct gpu_view *v)
{
	struct drivers d = {0};
	const char *gpus;

	for (size_t i = 0; i < v->pci.n; i++) {
		const struct gpu *g = &v->pci.v[i];

		if (g->vendor != GPU_NVIDIA)
			continue;
		v->nvidia++;
		v->for_cuda += gpu_is_for_cuda(v, g);
		d.nvidia += is_driven(g);
		if (g->driver && !is_driven(g)) {
			d.other++;
			d.name = g->driver;
		}
	}
	if (!v->nvidia)
		return;
	gpus = arena_printf(v->a, "%zu NVIDIA GPU%s", v->nvidia, v->nvidia == 1 ? "" : "s");
	judge_driver(v, gpu_note(v, "gpu.driver", gpus), &d);
	if (!d.nvidia)
		gpu_absent(v, arena_printf(v->a, "%s %s no driver", gpus,
					   v->nvidia == 1 ? "has" : "have"));
}

/* Most hosts have none; a prolog knows of those that the job was given. */
static void nowhere(struct gpu_view *v)
{
	const char *given = getenv("SLURM_JOB_GPUS");
	struct finding *f = gpu_note(v, "gpu.driver", "GPUs");

	if (!v->look->here || !given || !*given) {
		finding_set(f, ST_INFO, "none on this host: what follows runs in host memory");
		return;
	}
	finding_set(f, ST_WARN, "none on this host, but Slurm gave the job GPUs %s of it", given);
	finding_expect(f, "what gres.conf says of this node");
	finding_fix(f, "lspci | grep -i nvidia   # none? then dmesg | grep -i pci, and reboot");
	gpu_absent(v, f->message);
}

static void others(struct gpu_view *v, enum gpu_vendor vendor, const char *name, const char *what)
{
	size_t n = 0;

	for (size_t i = 0; i < v->pci.n; i++)
		n += v->pci.v[i].vendor == vendor;
	if (n)
		finding_set(
			gpu_note(v, "gpu.driver",
				 arena_printf(v->a, "%zu %s GPU%s", n, name, n == 1 ? "" : "s")),
			ST_INFO, "seen; %s", what);
}

/* Where a scheduler or a container shares a host out, GPUs may be somebody else's. */
static const char *confinement(void)
{
	const char *container = limits_container();

	if (container)
		return container;
	return getenv("SLURM_JOB_ID") ? "Slurm job" : getenv("PBS_JOBID") ? "PBS job" : NULL;
}

static void inside(struct gpu_view *v)
{
	gpu_answer(v);
	gpu_versions(v);
	gpu_use(v);
	gpu_health(v);
	gpu_links(v);
	gpu_services(v);
	pcie_links(v);
	pcie_ways(v);
	xid_look(v);
	efa_look(v);
	gpu_burst(v);
	gpu_data(v);
}

void node_gpus(struct node_look *look)
{
	struct gpu_view v = {.look = look, .a = look->a, .confined = confinement()};

	gpu_read(v.a, &v.pci);
	rdma_read(v.a, &v.rdma);
	if (look->data) {
		v.data = json_object(look->data, "host");
		v.facts = json_object(v.data, "facts");
	}
	nvidia(&v);
	others(&v, GPU_AMD, "AMD", "RCCL is not tested");
	others(&v, GPU_INTEL, "Intel", "oneCCL is not tested");
	nvml_read(v.a, look->cap_ns, &v.nvml);
	if (!v.pci.n && !v.nvml.gpus.n)
		nowhere(&v);
	inside(&v);
	look->absent = v.absent;
}
