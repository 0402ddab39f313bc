/* What somebody meant who named a file that is not there. */
#include "lib/core/file.h"
#include "lib/core/near.h"

#include <dirent.h>

const char *file_near(const char *path, struct arena *a)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *near;
	const char *dir = slash ? arena_strndup(a, path, (size_t)(name - path)) : "";
	struct dirent **entries;
	str_list names = {0};
	int n = scandir(*dir ? dir : ".", &entries, NULL, alphasort);

	if (n < 0)
		return NULL;
	for (int i = 0; i < n; i++) {
		if (!streq(entries[i]->d_name, name)) /* a link that leads nowhere */
			*LIST_ADD(a, &names) = arena_strdup(a, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	near = nearest_name(name, names.v, names.n);
	return near ? arena_printf(a, "%s%s", dir, near) : NULL;
}
