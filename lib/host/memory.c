#include "lib/host/memory.h"

#include "lib/core/file.h"
#include "lib/core/units.h"
#include "lib/host/cgroup.h"
#include "lib/host/sysroot.h"

#include <sys/resource.h>

uint64_t memory_info(const char *key)
{
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};
	char *text, *line;
	uint64_t v;
	size_t n;

	if (file_read(sysroot_path(&a, "/proc/meminfo"), 1 << 16, &a, &text, &n, &e))
		return 0;
	line = strstr(text, key);
	if (!line)
		return 0;
	line += strlen(key);
	line += strspn(line, " \t");
	line[strspn(line, "0123456789")] = '\0';
	return parse_uint(line, &v) ? 0 : v;
}

uint64_t memory_available(void)
{
	uint64_t most = memory_info("MemAvailable:") * 1024, group = cgroup_memory().left;

	if (!most && group == UINT64_MAX)
		return 0;
	return group < most || !most ? group + !group : most; /* nothing left is not unknown */
}

uint64_t memory_of_integrated(uint64_t free_bytes)
{
	uint64_t available = memory_available();

	return available > free_bytes ? available : free_bytes;
}

/* @used: a number of pages, the @field-th of /proc/self/statm. */
static uint64_t left_of(struct arena *a, int resource, int field)
{
	const char *statm = sysroot_line(a, "/proc/self/statm");
	struct rlimit l;
	uint64_t used = 0;

	if (getrlimit(resource, &l) || l.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	for (char *end; statm && field >= 0; field--, statm = end)
		used = strtoull(statm, &end, 10);
	used *= (uint64_t)sysconf(_SC_PAGESIZE);
	return l.rlim_cur > used ? l.rlim_cur - used : 1;
}

uint64_t memory_of_process(void)
{
	AUTO(arena_done) struct arena a = {0};
	uint64_t space = left_of(&a, RLIMIT_AS, 0), data = left_of(&a, RLIMIT_DATA, 5);

	return space < data ? space : data;
}
