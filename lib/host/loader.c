#include "lib/host/loader.h"

#include "lib/core/file.h"

#include <dlfcn.h>
#include <link.h>

enum { CACHE_MAX = 64 << 20 };

const char *loader_has(struct arena *a, const char *name)
{
	void *so = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	const char *path = NULL;
	struct link_map *map;

	if (!so)
		return NULL;
	if (!dlinfo(so, RTLD_DI_LINKMAP, &map) && map->l_name && *map->l_name)
		path = arena_strdup(a, map->l_name);
	(void)dlclose(so);
	return path;
}

static const char *readable(const char *path) { return access(path, R_OK) ? NULL : path; }

/* An empty part is the working directory. */
static const char *in_environment(struct arena *a, const char *name)
{
	const char *list = getenv("LD_LIBRARY_PATH"), *path = NULL;

	for (bool more = list && *list; more && !path;) {
		size_t n = strcspn(list, ":;");

		path = readable(arena_printf(a, "%.*s/%s", (int)(n ? n : 1), n ? list : ".", name));
		more = list[n] != '\0';
		list += n + more;
	}
	return path;
}

/* As glibc's sysdeps/generic/dl-cache.h has it; before 2.32 an older table lies in front. */
struct cache_head {
	char magic[20];
	uint32_t n, text_bytes, flags, extensions, unused[3];
};
struct cache_entry {
	uint32_t flags, name, path, os; /* the two in the middle: where, from the head on */
	uint64_t hardware;
};
_Static_assert(sizeof(struct cache_head) == 48 && sizeof(struct cache_entry) == 24, "on disk");

static const char *text_at(const char *head, size_t n, uint32_t at)
{
	return at < n && memchr(head + at, '\0', n - at) ? head + at : NULL;
}

const char *loader_in_cache(const char *cache, size_t n, const char *name)
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	const char *head = memmem(cache, n, magic, strlen(magic));
	size_t left = head ? n - (size_t)(head - cache) : 0;
	struct cache_entry entry;
	struct cache_head h;

	if (left < sizeof(h))
		return NULL;
	memcpy(&h, head, sizeof(h));
	for (size_t i = 0; i < h.n && (i + 1) * sizeof(entry) <= left - sizeof(h); i++) {
		const char *is;

		memcpy(&entry, head + sizeof(h) + i * sizeof(entry), sizeof(entry));
		is = text_at(head, left, entry.name);
		if (is && streq(is, name))
			return text_at(head, left, entry.path);
	}
	return NULL;
}

static const char *in_cache(struct arena *a, const char *name)
{
	const char *path = NULL;
	struct err e = {0};
	size_t n;
	char *cache;

	if (!file_read("/etc/ld.so.cache", CACHE_MAX, a, &cache, &n, &e))
		path = loader_in_cache(cache, n, name);
	return path ? readable(path) : NULL;
}

const char *loader_finds(struct arena *a, const char *name)
{
	static const char *const own[] = {
		"/lib/x86_64-linux-gnu",
		"/usr/lib/x86_64-linux-gnu",
		"/lib/aarch64-linux-gnu",
		"/usr/lib/aarch64-linux-gnu",
		"/lib64",
		"/usr/lib64",
		"/lib",
		"/usr/lib",
	};
	const char *path = in_environment(a, name);

	path = path ? path : in_cache(a, name);
	for (size_t i = 0; i < ARRAY_LEN(own) && !path; i++)
		path = readable(arena_printf(a, "%s/%s", own[i], name));
	return path;
}
