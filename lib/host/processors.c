#include "lib/host/processors.h"

#include "lib/host/cgroup.h"

#include <ctype.h>
#include <math.h>
#include <sched.h>

/* cpu_set_t has 1024, and the call fails where the kernel has more. */
struct mask {
	cpu_set_t set[8];
};

static bool read_mask(struct mask *ret)
{
	return !sched_getaffinity(0, sizeof(ret->set), ret->set);
}

unsigned processors_allowed(void)
{
	struct mask m;

	return (unsigned)(read_mask(&m) ? CPU_COUNT_S(sizeof(m.set), m.set)
					: sysconf(_SC_NPROCESSORS_ONLN));
}

int processors_allowed_nth(unsigned nth)
{
	struct mask m;

	if (!read_mask(&m))
		return -1;
	for (int cpu = 0; cpu < (int)sizeof(m.set) * 8; cpu++)
		if (CPU_ISSET_S((size_t)cpu, sizeof(m.set), m.set) && !nth--)
			return cpu;
	return -1;
}

unsigned processors_usable(void)
{
	double allowed = processors_allowed(), time = ceil(cgroup_processors());

	return (unsigned)(time < allowed ? time : allowed);
}

uint64_t processors_budget(void)
{
	return processors_usable() < processors_allowed() ? cgroup_processors_group() : 0;
}

static void add_range(struct mask *m, unsigned long from, unsigned long to)
{
	for (; from <= to && from < sizeof(m->set) * 8; from++)
		CPU_SET_S(from, sizeof(m->set), m->set);
}

static struct mask mask_of(const char *list)
{
	struct mask m = {0};
	char *end;

	for (; list && isdigit((unsigned char)*list); list = *end == ',' ? end + 1 : NULL) {
		unsigned long from = strtoul(list, &end, 10), to = from;

		if (*end == '-' && isdigit((unsigned char)end[1]))
			to = strtoul(end + 1, &end, 10);
		add_range(&m, from, to);
	}
	return m;
}

void processors_stay(const char *list)
{
	static struct mask first;
	static bool is_known;
	struct mask m = mask_of(list);

	if (!is_known && !read_mask(&first))
		return;
	is_known = true;
	CPU_AND_S(sizeof(m.set), m.set, m.set, first.set);
	(void)sched_setaffinity(0, sizeof(m.set),
				CPU_COUNT_S(sizeof(m.set), m.set) ? m.set : first.set);
}
