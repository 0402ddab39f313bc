/* A hostfile that somebody meant whose words name none. */
#include "lib/cluster/hostlist.h"
#include "lib/core/file.h"
#include "lib/core/opt.h"

#include <dirent.h>

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
	const char *slash = strrchr(arg, '/'), *name = slash ? slash + 1 : arg, *near, *path;
	const char *dir = slash ? arena_strndup(a, arg, (size_t)(name - arg)) : "";
	struct dirent **entries;
	str_list names = {0};
	int n = scandir(*dir ? dir : ".", &entries, NULL, alphasort);

	if (n < 0)
		return NULL;
	for (int i = 0; i < n; i++) {
		*LIST_ADD(a, &names) = arena_strdup(a, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	near = nearest_name(name, names.v, names.n);
	path = near ? arena_printf(a, "%s%s", dir, near) : NULL;
	return path && reads_as_hostfile(path, a) ? path : NULL;
}
