#include "lib/host/cgroup.h"

#include "lib/core/units.h"
#include "lib/host/sysroot.h"

/* "0::/a/b" (v2) or "9:memory:/a/b" (v1) of /proc/self/cgroup. */
const char *cgroup_own(struct arena *a, const char *controller, bool *ret_v2)
{
	FILE *in = fopen(sysroot_path(a, "/proc/self/cgroup"), "re");
	const char *found = NULL;
	const char *mark = arena_printf(a, ":%s:", controller);
	char line[1024];

	*ret_v2 = false;
	while (in && fgets(line, sizeof(line), in)) {
		char *v1 = strstr(line, mark);

		line[strcspn(line, "\n")] = '\0';
		if (v1)
			found = arena_strdup(a, v1 + strlen(mark));
		if (v1)
			*ret_v2 = false;
		else if (starts_with(line, "0::") && !found) {
			found = arena_strdup(a, line + 3);
			*ret_v2 = true;
		}
	}
	if (in)
		(void)fclose(in);
	return found;
}

static const char *memory_file(struct arena *a, const char *path, bool v2, const char *name)
{
	return v2 ? arena_printf(a, "/sys/fs/cgroup%s/%s", path, name)
		  : arena_printf(a, "/sys/fs/cgroup/memory%s/%s", path, name);
}

/* "inactive_file 4096" of memory.stat; v1 counts those of groups inside under another name. */
static uint64_t cache_of(struct arena *a, const char *path, bool v2)
{
	const char *key = v2 ? "inactive_file " : "total_inactive_file ";
	FILE *in = fopen(sysroot_path(a, memory_file(a, path, v2, "memory.stat")), "re");
	char line[256];
	uint64_t v = 0;

	while (in && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (starts_with(line, key) && !parse_uint(line + strlen(key), &v))
			break;
	}
	if (in)
		(void)fclose(in);
	return v;
}

static uint64_t left_at(struct arena *a, const char *path, bool v2)
{
	const char *most = sysroot_line(
		a, "%s", memory_file(a, path, v2, v2 ? "memory.max" : "memory.limit_in_bytes"));
	const char *is = sysroot_line(
		a, "%s", memory_file(a, path, v2, v2 ? "memory.current" : "memory.usage_in_bytes"));
	uint64_t limit, used, cache;

	if (!most || !is || parse_uint(most, &limit) || parse_uint(is, &used))
		return UINT64_MAX;
	cache = cache_of(a, path, v2);
	used -= cache < used ? cache : used;
	return limit > used ? limit - used : 0;
}

uint64_t cgroup_memory_left(struct arena *a)
{
	uint64_t least = UINT64_MAX;
	bool v2;
	const char *own = cgroup_own(a, "memory", &v2);
	char *path = own ? arena_strdup(a, own) : NULL;

	for (char *slash = path ? path + strlen(path) : NULL; slash; slash = strrchr(path, '/')) {
		uint64_t left;

		*slash = '\0';
		left = left_at(a, path, v2);
		least = left < least ? left : least;
	}
	return least;
}
