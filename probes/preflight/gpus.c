/* GPUs as PCI shows them, and whether something drives them. */
#include "lib/host/gpu.h"
#include "lib/host/sysroot.h"
#include "probes/preflight/preflight.h"

static struct finding *gpu_finding(struct preflight *p, const char *subject)
{
	return tally_add(&p->t, S_GPUS, stages[S_GPUS].name, "gpu.driver", subject);
}

static void nvidia(struct preflight *p, const gpu_list *all)
{
	size_t n = 0, driven = 0;
	const char *other = NULL;
	struct finding *f;

	for (size_t i = 0; i < all->n; i++) {
		const struct gpu *g = &all->v[i];

		if (g->vendor != GPU_NVIDIA)
			continue;
		n++;
		driven += g->driver && streq(g->driver, "nvidia");
		if (g->driver && !streq(g->driver, "nvidia"))
			other = g->driver;
	}
	if (!n)
		return;
	f = gpu_finding(p, arena_printf(p->a, "%zu NVIDIA GPU%s", n, n == 1 ? "" : "s"));
	if (driven == n && (!sysroot_is_real() || access("/dev/nvidiactl", F_OK) == 0)) {
		finding_set(f, ST_PASS, "driven by nvidia");
	} else if (driven == n) {
		finding_set(f, ST_WARN, "driven by nvidia, but /dev/nvidiactl is not here");
		finding_expect(f, "a container that was given the GPUs");
		finding_fix(f,
			    "docker run --gpus all ...   # outside a container: nvidia-modprobe");
	} else {
		finding_set(f, ST_WARN, "%zu without the nvidia driver%s%s: CUDA cannot use %s",
			    n - driven, other ? ", bound to " : "", other ? other : "",
			    n - driven == 1 ? "it" : "them");
		finding_expect(f, "the nvidia driver");
		finding_fix(f, "modprobe nvidia   # install NVIDIA's driver first if that fails");
	}
}

static void others(struct preflight *p, const gpu_list *all, enum gpu_vendor vendor,
		   const char *name, const char *what)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += all->v[i].vendor == vendor;
	if (n)
		finding_set(gpu_finding(p, arena_printf(p->a, "%zu %s GPU%s", n, name,
							n == 1 ? "" : "s")),
			    ST_INFO, "seen; %s", what);
}

void preflight_gpus(struct preflight *p)
{
	gpu_list all;

	gpu_read(p->a, &all);
	nvidia(p, &all);
	others(p, &all, GPU_AMD, "AMD", "RCCL is not tested");
	others(p, &all, GPU_INTEL, "Intel", "oneCCL is not tested");
	if (!all.n)
		finding_set(gpu_finding(p, "GPUs"), ST_INFO,
			    "none on this host: what follows runs in host memory");
}
