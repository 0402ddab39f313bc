/* Do driver, GPUs and the PyTorch of this host go together? */
#include "lib/host/python.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/node/facts.h"
#include "probes/node/gpu_view.h"

#include <glob.h>

/*
 * The CUDA that PyTorch brings: "+cu124" in its version is 12.4; without it the
 * package of CUDA's runtime beside it says at least the major one.
 */
static int cuda_of_runtime(struct arena *a, const char *folder)
{
	static const char *const names[] = {"nvidia_cuda_runtime_cu12-*.dist-info",
					    "nvidia_cuda_runtime_cu11-*.dist-info",
					    "nvidia_cuda_runtime-*.dist-info"};
	int found = -1;

	for (size_t i = 0; i < ARRAY_LEN(names) && found < 0; i++) {
		glob_t g = {0};
		unsigned major, minor;
		const char *dash;

		if (!glob(sysroot_path(a, arena_printf(a, "%s/%s", folder, names[i])), 0, NULL,
			  &g) &&
		    g.gl_pathc) {
			dash = strchr(strrchr(g.gl_pathv[0], '/'), '-');
			if (dash && sscanf(dash, "-%u.%u", &major, &minor) == 2 && major < 100)
				found = (int)(major * 10 + minor);
		}
		globfree(&g);
	}
	return found;
}

static int torch_cuda(struct arena *a, const char *torch)
{
	const char *suffix = torch ? strstr(torch, "+cu") : NULL;
	str_list folders;
	int v = -1;

	if (suffix)
		return (int)strtol(suffix + 3, NULL, 10); /* cu118, cu124, cu130 */
	python_packages(a, &folders);
	for (size_t i = 0; i < folders.n && v < 0; i++)
		v = cuda_of_runtime(a, folders.v[i]);
	return v;
}

/* Which CUDA first (and last) has code for which GPU, and which is the last for which PyTorch's own
 * wheels still have it: those leave old GPUs out before nvcc does. */
static const struct served {
	int capability, first, last; /* CUDA, times ten; last 0: still has it */
	int torch, torch_last;	     /* 207: since PyTorch 2.7 */
} served[] = {
	{120, 128, 0, 0, 0}, {100, 128, 0, 0, 0},     {90, 118, 0, 0, 0},
	{89, 118, 0, 0, 0},  {86, 111, 0, 0, 0},      {80, 110, 0, 0, 0},
	{75, 100, 0, 0, 0},  {70, 90, 129, 211, 126}, {50, 65, 129, 207, 126},
};

static int release_of(const char *torch)
{
	unsigned major, minor;

	return torch && sscanf(torch, "%u.%u", &major, &minor) == 2 && minor < 100
		       ? (int)(major * 100 + minor)
		       : 0;
}

/* NULL: older than all of these, and not ours to judge. */
static const struct served *served_of(int capability)
{
	for (size_t i = 0; i < ARRAY_LEN(served); i++)
		if (capability >= served[i].capability)
			return &served[i];
	return NULL;
}

static bool serves(const struct served *s, int cuda, int torch)
{
	int last = s->torch && torch >= s->torch ? s->torch_last : s->last;

	return cuda >= s->first && (!last || cuda <= last);
}

static struct finding *finding_of(struct gpu_view *v, const char *torch, int cuda)
{
	return gpu_note(v, "gpu.versions",
			arena_printf(v->a, "PyTorch %s with CUDA %d.%d", torch ? torch : "packages",
				     cuda / 10, cuda % 10));
}

/* The wheels that a driver of this major version runs, and that have code for all of these GPUs. */
static int wheel(const struct gpu_view *v, int driver)
{
	enum { BLACKWELL = 100 };

	for (size_t i = 0; driver == 12 && i < v->nvml.gpus.n; i++)
		if (v->nvml.gpus.v[i].capability >= BLACKWELL)
			return 128;
	return driver == 12 ? 126 : driver == 11 ? 118 : driver * 10;
}

/* Packages of drivers are named by their branch, and an upgrade of one stays in it. */
static const char *newer_driver(struct arena *a, int cuda)
{
	int branch = cuda == 13 ? 580 : cuda == 12 ? 525 : 0;

	return branch ? arena_printf(a,
				     "a driver %d or newer: sudo apt-get install nvidia-driver-%d "
				     "(Ubuntu), cuda-drivers-%d (NVIDIA)",
				     branch, branch, branch)
		      : "a newer driver";
}

static bool too_old_driver(struct gpu_view *v, const char *torch, int cuda)
{
	int driver = v->nvml.cuda / 1000; /* within one major version newer minor ones run */
	struct finding *f;

	if (v->nvml.cuda <= 0 || cuda / 10 <= driver)
		return false;
	f = finding_of(v, torch, cuda);
	finding_set(f, ST_FAIL, "needs a newer driver: %s serves CUDA to %d.%d", v->nvml.driver,
		    driver, v->nvml.cuda / 10 % 100);
	finding_expect(f, "a driver for CUDA %d", cuda / 10);
	finding_fix(f,
		    "pip install torch --index-url https://download.pytorch.org/whl/cu%d   # for "
		    "CUDA %d; or %s",
		    wheel(v, driver), driver, newer_driver(v->a, cuda / 10));
	return true;
}

static bool unserved_gpu(struct gpu_view *v, const char *torch, int cuda)
{
	for (size_t i = 0; i < v->nvml.gpus.n; i++) {
		const struct nvml_gpu *g = &v->nvml.gpus.v[i];
		const struct served *s = g->error ? NULL : served_of(g->capability);
		struct finding *f;

		if (!s || serves(s, cuda, release_of(torch)))
			continue;
		f = finding_of(v, torch, cuda);
		finding_set(f, ST_FAIL,
			    "has no code for %s (compute capability %d.%d): \"no kernel image is "
			    "available\"",
			    gpu_subject(v, g), g->capability / 10, g->capability % 10);
		if (cuda < s->first)
			finding_expect(f, "CUDA %d.%d or later", s->first / 10, s->first % 10);
		else
			finding_expect(f, "CUDA %d.%d or earlier", s->torch_last / 10,
				       s->torch_last % 10);
		finding_fix(f,
			    "pip install torch --index-url https://download.pytorch.org/whl/cu%d",
			    cuda < s->first ? s->first : s->torch_last);
		return true;
	}
	return false;
}

void gpu_versions(struct gpu_view *v)
{
	const char *torch = facts_torch(v->a);
	int cuda;

	if (v->nvml.answer != NVML_FINE || !v->nvml.gpus.n)
		return;
	cuda = torch_cuda(v->a, torch);
	if (cuda <= 0)
		return; /* none that brings its own CUDA */
	if (v->facts)
		json_str(v->facts, "torch_cuda", arena_printf(v->a, "%d.%d", cuda / 10, cuda % 10));
	if (!too_old_driver(v, torch, cuda) && !unserved_gpu(v, torch, cuda))
		finding_set(finding_of(v, torch, cuda), ST_PASS,
			    "goes with the driver and the GPUs");
}
