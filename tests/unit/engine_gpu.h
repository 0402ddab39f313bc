#ifndef TESTS_UNIT_ENGINE_GPU_H
#define TESTS_UNIT_ENGINE_GPU_H
/*
 * The engine for GPUs on the stand-ins of the driver, cuDNN and cuBLAS, which compute on
 * the processor. A process has one GPU and one precision, so every case is a child.
 */
#include "bench/train/net.h"
#include "lib/core/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <sys/wait.h>

#define FAILED(...) (fprintf(stderr, __VA_ARGS__), fprintf(stderr, "\n"), false)

static inline bool gpu_path(const char *name, char ret[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 64);

	ret[n > 0 ? n : 0] = '\0';
	for (int up = 0; up < 2 && strrchr(ret, '/'); up++)
		*strrchr(ret, '/') = '\0';
	(void)snprintf(ret + strlen(ret), 64, "/%s", name);
	return !access(ret, R_OK);
}

/* No CUDA toolkit was there to build it. */
static inline bool gpu_is_built(void)
{
	char path[PATH_MAX];

	return gpu_path("lib/windsock/cudnn.so", path) && gpu_path("fake/libcudnn.so.9", path);
}

/* Loaded first, they are what is meant by their names. */
static inline const struct engine *gpu_engine(enum engine_precision precision, bool tf32)
{
	static const char *const fakes[] = {"fake/libcuda.so.1", "fake/libcudnn.so.9",
					    "fake/libcublas.so.13"};
	const struct plugin_want want = {"cudnn", "windsock_engine", ENGINE_VERSION, "", ""};
	const struct engine_opts o = {.precision = precision, .tf32 = tf32};
	static struct arena arena;
	const struct engine *engine;
	char path[PATH_MAX], text[640];
	struct err e = {0};

	for (size_t i = 0; i < ARRAY_LEN(fakes); i++)
		if (!gpu_path(fakes[i], path) || !dlopen(path, RTLD_LAZY | RTLD_GLOBAL))
			return NULL;
	(void)gpu_path("lib/windsock", path);
	(void)setenv("WINDSOCK_PLUGINS", path, 1);
	(void)unsetenv("WINDSOCK_CUDNN");
	(void)unsetenv("WINDSOCK_CUBLAS");
	engine = plugin_load(&want, &arena, &e);
	if (engine && !engine->device->open(&o, text, sizeof(text), &e))
		return engine;
	fprintf(stderr, "%s\n", e.msg);
	return NULL;
}

/* A case in a process of its own; what it found is on stderr. */
static inline bool gpu_case(bool (*run)(const struct engine *engine),
			    enum engine_precision precision, bool tf32, const char *driver)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		const struct engine *engine;

		(void)setenv("WINDSOCK_FAKE_CUDA", driver, 1);
		engine = gpu_engine(precision, tf32);
		_exit(engine && run(engine) ? 0 : 1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

/* How far apart: the largest difference, in parts of the largest value. */
static inline double apart(const float *a, const float *b, size_t n)
{
	double most = 0, largest = 1e-30;

	for (size_t i = 0; i < n; i++) {
		double d = fabs((double)a[i] - (double)b[i]);

		if (isnan(d))
			return INFINITY;
		most = d > most ? d : most;
		largest = fabs((double)b[i]) > largest ? fabs((double)b[i]) : largest;
	}
	return most / largest;
}

/* And how alike their directions are: 1 is the same. */
static inline double alike(const float *a, const float *b, size_t n)
{
	double ab = 0, aa = 1e-30, bb = 1e-30;

	for (size_t i = 0; i < n; i++) {
		ab += (double)a[i] * (double)b[i];
		aa += (double)a[i] * (double)a[i];
		bb += (double)b[i] * (double)b[i];
	}
	return ab / sqrt(aa * bb);
}

#endif
