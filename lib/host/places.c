#include "lib/host/places.h"

#include "lib/host/python.h"

struct library_want places_of_nccl(const char *given)
{
	static const char *const names[] = {"libnccl.so.2", NULL};
	static const char *const packages[] = {"nvidia/nccl/lib", NULL};

	return (struct library_want){given && *given ? given : getenv("WINDSOCK_NCCL"), names,
				     packages};
}

struct search {
	const struct library_want *w;
	struct arena a;
	str_list sites; /* of Pythons, the active one's first */
	place_fn *fn;
	void *arg;
};

static bool by_name(struct search *s, enum place place)
{
	for (const char *const *name = s->w->names; *name; name++)
		if (s->fn(s->arg, place, *name))
			return true;
	return false;
}

static bool in_folder(struct search *s, const char *folder)
{
	for (const char *const *name = s->w->names; *name; name++) {
		const char *path = arena_printf(&s->a, "%s/%s", folder, *name);

		if (!access(path, R_OK) && s->fn(s->arg, PLACE_FILE, path))
			return true;
	}
	return false;
}

/* Wheels for aarch64, and those of before PyTorch 2, have the vendor's files beside their own. */
static bool in_packages(struct search *s, const char *site)
{
	for (const char *const *p = s->w->packages; *p; p++)
		if (in_folder(s, arena_printf(&s->a, "%s/%s", site, *p)))
			return true;
	return in_folder(s, arena_printf(&s->a, "%s/torch/lib", site));
}

/*
 * conda's PyTorch has what it uses in "/opt/conda/lib", where its own packages lie in
 * "/opt/conda/lib/python3.12/site-packages", and that folder built in.
 */
static bool in_conda(struct search *s, const char *site)
{
	static const char below[] = "/lib/python3";
	const char *lib = strstr(site, below);

	for (const char *next = lib; (next = next ? strstr(next + 1, below) : NULL);)
		lib = next;
	if (!lib || access(arena_printf(&s->a, "%.*s/conda-meta", (int)(lib - site), site), X_OK))
		return false;
	return in_folder(s, arena_printf(&s->a, "%.*s/lib", (int)(lib - site), site));
}

/* --- places, in the order of the header --------------------------------------------------- */

static bool of_this_process(struct search *s) { return by_name(s, PLACE_PROCESS); }

/* `import torch` takes the first there is. */
static bool of_torch(struct search *s)
{
	for (size_t i = 0; i < s->sites.n; i++)
		if (!access(arena_printf(&s->a, "%s/torch/lib", s->sites.v[i]), X_OK))
			return in_packages(s, s->sites.v[i]) || in_conda(s, s->sites.v[i]);
	return false;
}

static bool of_loader(struct search *s) { return by_name(s, PLACE_LOADER); }

static bool of_python(struct search *s)
{
	for (size_t i = 0; i < s->sites.n; i++)
		if (in_packages(s, s->sites.v[i]))
			return true;
	return false;
}

static bool of_cuda(struct search *s)
{
	const char *home = getenv("CUDA_HOME");

	return (home && *home && in_folder(s, arena_printf(&s->a, "%s/lib64", home))) ||
	       in_folder(s, "/usr/local/cuda/lib64");
}

bool places_search(const struct library_want *w, place_fn *fn, void *arg)
{
	static bool (*const places[])(struct search *) = {of_this_process, of_torch, of_loader,
							  of_python, of_cuda};
	struct search s = {.w = w, .fn = fn, .arg = arg};
	bool found = false;

	if (w->given && *w->given)
		return fn(arg, strchr(w->given, '/') ? PLACE_FILE : PLACE_LOADER, w->given);
	python_packages(&s.a, &s.sites);
	for (size_t i = 0; i < ARRAY_LEN(places) && !found; i++)
		found = places[i](&s);
	arena_done(&s.a);
	return found;
}
