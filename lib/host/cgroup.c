#include "lib/host/cgroup.h"

#include "lib/core/file.h"
#include "lib/core/units.h"
#include "lib/host/sysroot.h"

#include <math.h>
#include <sys/stat.h>

static const uint64_t UNLIMITED = 1ull << 62; /* v1 says LONG_MAX, down to a whole page */

/* One that this process is in, as its controller's folder: "/sys/fs/cgroup/memory/a/b". */
struct group {
	char *folder;
	size_t top; /* of which every group's folder begins with so much */
	bool v2;
};

/* The innermost, from "0::/a/b" (v2) or "4:cpu,cpuacct:/a/b" (v1, which has what it lists). */
static bool group_own(struct group *ret, struct arena *a, const char *controller)
{
	const char *mark = arena_printf(a, ",%s,", controller), *list, *top;
	struct err e = {0};
	char *text, *path;
	size_t n;

	*ret = (struct group){0};
	if (file_read(sysroot_path(a, "/proc/self/cgroup"), 1 << 16, a, &text, &n, &e))
		return false;
	while ((path = strsep(&text, "\n"))) {
		bool v1;

		(void)strsep(&path, ":");
		list = strsep(&path, ":");
		v1 = path && strstr(arena_printf(a, ",%s,", list), mark);
		if (!path || (!v1 && (*list || ret->folder)))
			continue;
		if (v1 && sysroot_exists("/sys/fs/cgroup/%s", controller))
			list = controller; /* the kernel's order is not always the folder's */
		top = arena_printf(a, "/sys/fs/cgroup%s%s", v1 ? "/" : "", list);
		*ret = (struct group){arena_printf(a, "%s%s", top, path), strlen(top), !v1};
	}
	return ret->folder;
}

/* The one around it; false: there is none. */
static bool group_up(struct group *g)
{
	char *slash = strrchr(g->folder + g->top, '/');

	if (slash)
		*slash = '\0';
	return slash;
}

static const char *line_of(struct arena *a, const struct group *g, const char *file)
{
	return sysroot_line(a, "%s/%s", g->folder, file);
}

static uint64_t number_of(struct arena *a, const struct group *g, const char *file,
			  uint64_t otherwise)
{
	const char *line = line_of(a, g, file);
	uint64_t v;

	return line && !parse_uint(line, &v) ? v : otherwise;
}

/* "KEY 4096", a line of several; 0: there is none. */
static uint64_t keyed(struct arena *a, const struct group *g, const char *file, const char *key)
{
	struct err e = {0};
	char *text, *line;
	uint64_t v;
	size_t n;

	if (file_read(sysroot_path(a, arena_printf(a, "%s/%s", g->folder, file)), 1 << 16, a, &text,
		      &n, &e))
		return 0;
	while ((line = strsep(&text, "\n")))
		if (starts_with(line, key) && !parse_uint(line + strlen(key), &v))
			return v;
	return 0;
}

/* v1 counts those of groups inside under another name. */
static uint64_t cache_of(struct arena *a, const struct group *g)
{
	return keyed(a, g, "memory.stat", g->v2 ? "inactive_file " : "total_inactive_file ");
}

/* A controller's files in v1 and in v2. */
struct counter {
	const char *controller, *most[2], *used[2];
	bool has_cache;
};

static struct cgroup_room tightest(const struct counter *c)
{
	struct cgroup_room r = {UINT64_MAX, UINT64_MAX};
	AUTO(arena_done) struct arena a = {0};
	struct group g;

	for (bool is = group_own(&g, &a, c->controller); is; is = group_up(&g)) {
		uint64_t most = number_of(&a, &g, c->most[g.v2], UINT64_MAX);
		uint64_t used = number_of(&a, &g, c->used[g.v2], 0), cache, left;

		if (most >= UNLIMITED)
			continue;
		cache = c->has_cache ? cache_of(&a, &g) : 0;
		used -= cache < used ? cache : used;
		left = most > used ? most - used : 0;
		r.most = most < r.most ? most : r.most;
		r.left = left < r.left ? left : r.left;
	}
	return r;
}

struct cgroup_room cgroup_memory(void)
{
	return tightest(&(struct counter){"memory",
					  {"memory.limit_in_bytes", "memory.max"},
					  {"memory.usage_in_bytes", "memory.current"},
					  true});
}

uint64_t cgroup_memory_kills(void)
{
	AUTO(arena_done) struct arena a = {0};
	struct group g;

	if (!group_own(&g, &a, "memory"))
		return 0;
	return keyed(&a, &g, g.v2 ? "memory.events" : "memory.oom_control", "oom_kill ");
}

struct cgroup_room cgroup_tasks(void)
{
	return tightest(&(struct counter){
		"pids", {"pids.max", "pids.max"}, {"pids.current", "pids.current"}, false});
}

/* "200000 100000" of cpu.max (v2), or two files (v1), of which the quota is -1 for none. */
static double time_of(uint64_t *ret_group)
{
	AUTO(arena_done) struct arena a = {0};
	double least = HUGE_VAL;
	struct group g;
	struct stat st;

	for (bool is = group_own(&g, &a, "cpu"); is; is = group_up(&g)) {
		const char *line = line_of(&a, &g, g.v2 ? "cpu.max" : "cpu.cfs_quota_us");
		double quota = 0, period = 0;

		if (line)
			(void)sscanf(line, "%lf %lf", &quota, &period);
		if (!g.v2)
			period = (double)number_of(&a, &g, "cpu.cfs_period_us", 0);
		if (quota <= 0 || period <= 0 || quota / period >= least)
			continue;
		least = quota / period;
		/* seen from another namespace its path is another, and its inode the same */
		*ret_group = stat(sysroot_path(&a, g.folder), &st) ? 0 : (uint64_t)st.st_ino;
	}
	return least;
}

double cgroup_processors(void)
{
	uint64_t ignored;

	return time_of(&ignored);
}

uint64_t cgroup_processors_group(void)
{
	uint64_t group = 0;

	(void)time_of(&group);
	return group;
}
