#include "lib/core/lineage.h"

#include "lib/core/file.h"

#include <unistd.h>

enum { MOST_STEPS = 64, ENV_MAX = 4 << 20 };

pid_t parent_of(struct arena *a, pid_t pid)
{
	const char *stat = file_line(a, arena_printf(a, "/proc/%d/stat", (int)pid));
	const char *p = stat ? strrchr(stat, ')') : NULL; /* the name may hold anything */
	int ppid;

	return p && sscanf(p, ") %*c %d", &ppid) == 1 ? ppid : 0;
}

const char *environ_find(const char *text, size_t n, const char *name)
{
	const size_t len = strlen(name);

	for (size_t at = 0; at < n; at += strlen(text + at) + 1)
		if (starts_with(text + at, name) && text[at + len] == '=')
			return text + at + len + 1;
	return NULL;
}

/* As it was when its program began. */
static const char *env_of(struct arena *a, pid_t pid, const char *name)
{
	struct err ignored;
	char *text;
	size_t n;

	if (file_read(arena_printf(a, "/proc/%d/environ", (int)pid), ENV_MAX, a, &text, &n,
		      &ignored))
		return NULL;
	return environ_find(text, n, name);
}

const char *lineage_env(struct arena *a, const char *name)
{
	const char *v = getenv(name);
	pid_t pid = getpid();

	for (int i = 0; i < MOST_STEPS && !v && pid > 0; i++) {
		v = env_of(a, pid, name);
		pid = parent_of(a, pid);
	}
	return v;
}
