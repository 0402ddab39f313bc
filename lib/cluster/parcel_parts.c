/* Which libraries belong to us; and the other end of a parcel's life. */
#include "lib/cluster/parcel.h"

#include "lib/cluster/agent.h"

#include <dlfcn.h>
#include <ftw.h>
#include <link.h>
#include <sys/stat.h>

enum { FOLDERS_OPEN = 8 };

/* glibc's own are of one piece with the host's loader. */
static bool is_glibc(const char *name)
{
	static const char *const part[] = {"libc.so",  "libm.so",    "libpthread.so", "libdl.so",
					   "librt.so", "libutil.so", "libresolv.so",  "ld-linux"};

	for (size_t i = 0; i < ARRAY_LEN(part); i++)
		if (starts_with(name, part[i]))
			return true;
	return false;
}

static const char *where_loaded(const struct link_map *first, const char *name)
{
	for (const struct link_map *m = first; m; m = m->l_next) {
		const char *slash = strrchr(m->l_name, '/');

		if (slash && streq(slash + 1, name))
			return m->l_name;
	}
	return NULL;
}

/* What our program itself says it needs: whatever plug-ins have brought along is not ours. */
void parcel_libraries(struct arena *a, str_list *ret)
{
	void *own = dlopen(NULL, RTLD_LAZY);
	struct link_map *map = NULL;
	const char *names = NULL;

	if (own && !dlinfo(own, RTLD_DI_LINKMAP, &map))
		for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
			if (d->d_tag == DT_STRTAB) /* the loader has made it an address already */
				names = (const char *)(uintptr_t)d->d_un.d_ptr;
	for (const ElfW(Dyn) *d = names ? map->l_ld : NULL; d && d->d_tag != DT_NULL; d++) {
		const char *name = d->d_tag == DT_NEEDED ? names + d->d_un.d_val : NULL;
		const char *path = name && !is_glibc(name) ? where_loaded(map, name) : NULL;

		if (path)
			*LIST_ADD(a, ret) = arena_strdup(a, path);
	}
	if (own)
		(void)dlclose(own);
}

/* As launch_copy.c has them made: "/usr" is where we are installed, not a copy. */
static bool is_made_for_a_run(const char *folder)
{
	const char *slash = strrchr(folder, '/');

	return *folder == '/' && starts_with(slash + 1, "windsock.");
}

const char *parcel_folder(struct arena *a)
{
	const char *set = getenv("WINDSOCK_COPY"), *own = agent_own_path(a), *ret = NULL;

	if (set && is_made_for_a_run(set) && starts_with(own, set) &&
	    starts_with(own + strlen(set), "/bin/"))
		ret = arena_strdup(a, set);
	(void)unsetenv("WINDSOCK_COPY");
	return ret;
}

static int remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
		      struct FTW *at UNUSED)
{
	(void)remove(path);
	return 0;
}

void parcel_remove(const char *folder)
{
	if (folder)
		(void)nftw(folder, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
