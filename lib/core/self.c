#include "lib/core/self.h"

#include "lib/core/file.h"
#include "lib/core/quote.h"

#include <limits.h>
#include <sys/auxv.h>

static const char *from_proc(struct arena *a)
{
	static const char gone[] = " (deleted)";
	const size_t end = sizeof(gone) - 1;
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	if ((size_t)n > end && streq(path + n - end, gone) && access(path, F_OK))
		path[(size_t)n - end] = '\0';
	return arena_strdup(a, path);
}

/* What execve() was told, which the kernel hands to every program. */
static const char *from_start(struct arena *a)
{
	const char *told = (const char *)getauxval(AT_EXECFN);
	char path[PATH_MAX];

	return told && realpath(told, path) ? arena_strdup(a, path) : NULL;
}

const char *self_path(struct arena *a)
{
	const char *path = from_proc(a);

	return path ? path : from_start(a);
}

void self_words(struct arena *a, str_list *ret)
{
	AUTO_FILE FILE *f = fopen("/proc/self/cmdline", "re");
	AUTO_FREE char *word = NULL;
	size_t room = 0;

	*ret = (str_list){0};
	while (f && getdelim(&word, &room, '\0', f) > 0)
		*LIST_ADD(a, ret) = arena_strdup(a, word);
}

const char *self_beside(struct arena *a, const char *other)
{
	const char *self = self_path(a), *slash = self ? strrchr(self, '/') : NULL;

	return slash ? arena_printf(a, "%.*s/%s", (int)(slash - self), self, other) : NULL;
}

/* A folder as lib/cluster/sh/copy.sh makes them, "/tmp/windsock.x7Q2mA/bin/NAME" or in a cache:
 * root has not the path to the libraries there either, and most of them go. */
static bool is_brought(const char *path)
{
	return strstr(path, "/windsock.") || strstr(path, "/.cache/windsock/");
}

const char *self_as_root(struct arena *a, const char *name)
{
	/* of secure_path what Debian and RHEL have both */
	static const char usual[] = "/usr/sbin:/usr/bin:/sbin:/bin";
	const char *own = self_beside(a, name);

	if (own && is_brought(own))
		return NULL;
	if (!own || file_in_path(a, usual, name))
		own = name;
	return arena_printf(a, "sudo %s", shell_quote(a, own));
}
