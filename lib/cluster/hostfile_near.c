/* A hostfile that somebody meant whose words name none. */
#include "lib/cluster/hostlist.h"
#include "lib/core/file.h"

enum { LOOKED_AT = 1 << 20 };

/* A log that is called almost so is none. */
static bool reads_as_hostfile(const char *path, struct arena *a)
{
	struct err ignored = {0};
	host_list hosts;
	char *text;
	size_t n;

	return !file_read(path, LOOKED_AT, a, &text, &n, &ignored) &&
	       !hostfile_parse(text, n, path, a, &hosts, &ignored);
}

const char *hostfile_near(const char *arg, struct arena *a)
{
	const char *path = file_near(arg, a);

	return path && reads_as_hostfile(path, a) ? path : NULL;
}
