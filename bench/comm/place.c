#include "bench/comm/place.h"

#include "lib/core/file.h"

struct comm_place comm_place_here(const char *host)
{
	AUTO(arena_done) struct arena a = {0};
	const char *machine = file_line(&a, "/proc/sys/kernel/random/boot_id");
	struct comm_place p = {.pid = (uint32_t)getpid()};

	(void)snprintf(p.host, sizeof(p.host), "%s", host ? host : "localhost");
	(void)snprintf(p.machine, sizeof(p.machine), "%s", machine ? machine : p.host);
	return p;
}

void comm_place_end(struct comm_place *p)
{
	p->host[sizeof(p->host) - 1] = p->machine[sizeof(p->machine) - 1] = '\0';
}

bool comm_place_is_beside(const struct comm_place *a, const struct comm_place *b)
{
	return streq(a->machine, b->machine);
}
