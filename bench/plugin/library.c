#include "bench/plugin/library.h"

#include <dlfcn.h>

const char *const library_blas_packages[] = {"nvidia/cu13/lib", "nvidia/cublas/lib", NULL};

struct opening {
	void *so;
	char *why;
};

static bool open_global(void *arg, enum place place, const char *what)
{
	struct opening *o = arg;
	const char *text;

	o->so = dlopen(what, RTLD_LAZY | RTLD_GLOBAL | (place == PLACE_PROCESS ? RTLD_NOLOAD : 0));
	text = o->so || place == PLACE_PROCESS ? NULL : dlerror();
	if (text && !*o->why)
		(void)snprintf(o->why, LIBRARY_WHY, "%s", text);
	return o->so != NULL;
}

void *library_open(const struct library_want *w, char why[LIBRARY_WHY])
{
	struct opening o = {.why = why};

	*why = '\0';
	return places_search(w, open_global, &o) ? o.so : NULL;
}

/* --- what was found ----------------------------------------------------------------------- */

void library_beside(const char *path, const char *name, char *ret, size_t n)
{
	const char *last = path ? strrchr(path, '/') : NULL;

	if (!last || (size_t)snprintf(ret, n, "%.*s/%s", (int)(last - path), path, name) >= n ||
	    access(ret, R_OK))
		*ret = '\0';
}

void library_path(const char *symbol, const char *otherwise, char *ret, size_t n)
{
	void *is_at = dlsym(RTLD_DEFAULT, symbol);
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

int library_needs(void *so, const char *const *names, size_t n, const char *what, const char *least,
		  struct err *e)
{
	const char *lacks = library_lacks(so, names, n);

	if (!lacks)
		return 0;
	err_set(e, ERR_ABSENT, "%s has no %s", what, lacks);
	return err_hint(e, "it is too old or damaged: %s are the least", least);
}
