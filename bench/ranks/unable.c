#include "bench/ranks/unable.h"

enum { UNABLE = 3 };

bool ranks_unable(const struct launch_result *l, struct err *e)
{
	const char *said = l->failure;
	size_t rank;

	if (!said || !starts_with(said, "rank ") || !strstr(said, " ended before it joined: "))
		return false;
	rank = strtoul(said + strlen("rank "), NULL, 10);
	if (rank >= l->nranks || l->ranks[rank].status != UNABLE || l->ranks[rank].host->trouble)
		return false;
	err_set(e, ERR_SYS, "%s", said);
	err_hint(e, "what it said itself is above: its host lacks that");
	return true;
}
