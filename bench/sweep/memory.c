#include "bench/sweep/memory.h"

#include "lib/core/file.h"
#include "lib/core/units.h"

static uint64_t meminfo(struct arena *a, const char *key)
{
	struct err e = {0};
	char *text, *line;
	uint64_t kib;
	size_t n;

	if (file_read("/proc/meminfo", 1 << 16, a, &text, &n, &e))
		return 0;
	line = strstr(text, key);
	if (!line)
		return 0;
	line += strlen(key);
	line += strspn(line, " \t");
	line[strspn(line, "0123456789")] = '\0';
	return parse_uint(line, &kib) ? 0 : kib * 1024;
}

/* What is left of a limit; UINT64_MAX where there is none. */
static uint64_t left(struct arena *a, const char *limit, const char *used)
{
	const char *most = file_line(a, limit), *is = file_line(a, used);
	uint64_t l, u;

	if (!most || !is || parse_uint(most, &l) || parse_uint(is, &u))
		return UINT64_MAX;
	return l > u ? l - u : 0;
}

uint64_t memory_available(void)
{
	AUTO(arena_done) struct arena a = {0};
	uint64_t most = meminfo(&a, "MemAvailable:");
	const uint64_t groups[] = {
		left(&a, "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
		left(&a, "/sys/fs/cgroup/memory/memory.limit_in_bytes",
		     "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
	};

	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		if (groups[i] < most)
			most = groups[i];
	return most;
}
