#include "bench/plugin/library.h"

#include "lib/host/python.h"

#include <dlfcn.h>
#include <limits.h>

static void *open_global(const char *path) { return dlopen(path, RTLD_LAZY | RTLD_GLOBAL); }

void *library_of_cuda(const char *name)
{
	const char *home = getenv("CUDA_HOME");
	const char *roots[] = {home, "/usr/local/cuda"};
	void *so = NULL;

	for (size_t i = 0; i < ARRAY_LEN(roots) && !so; i++) {
		char path[PATH_MAX];

		(void)snprintf(path, sizeof(path), "%s/lib64/%s", roots[i] ? roots[i] : "", name);
		if (roots[i] && *roots[i] && !access(path, R_OK))
			so = open_global(path);
	}
	return so;
}

void *library_of_python(const char *package, const char *name)
{
	AUTO(arena_done) struct arena a = {0};
	str_list folders;
	void *so = NULL;

	python_packages(&a, &folders);
	for (size_t i = 0; i < folders.n && !so; i++) {
		const char *path = arena_printf(&a, "%s/%s/%s", folders.v[i], package, name);

		so = access(path, R_OK) ? NULL : open_global(path);
	}
	return so;
}

static void *search(const struct library_want *w, const char *name)
{
	void *so = library_of_cuda(name);

	for (const char *const *p = w->packages; *p && !so; p++)
		so = library_of_python(*p, name);
	return so;
}

void *library_open(const struct library_want *w, char why[LIBRARY_WHY])
{
	bool is_given = w->given && *w->given;
	void *so = open_global(is_given ? w->given : w->names[0]);
	const char *text = so ? NULL : dlerror();

	(void)snprintf(why, LIBRARY_WHY, "%s", text ? text : "");
	for (const char *const *name = w->names; *name && !so && !is_given; name++) {
		so = name == w->names ? NULL : open_global(*name);
		so = so ? so : search(w, *name);
	}
	return so;
}

void library_path(void *so, const char *symbol, const char *otherwise, char *ret, size_t n)
{
	void *is_at = dlsym(so, symbol);
	Dl_info where;

	if (is_at && dladdr(is_at, &where) && where.dli_fname)
		otherwise = where.dli_fname;
	(void)snprintf(ret, n, "%s", otherwise);
}

const char *library_lacks(void *so, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!dlsym(so, names[i]))
			return names[i];
	return NULL;
}
