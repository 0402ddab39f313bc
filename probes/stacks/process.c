#include "probes/stacks/process.h"

#include "lib/core/file.h"
#include "lib/core/units.h"
#include "lib/python/runtime.h"

#include <fcntl.h>

enum { FILE_MAX = 16 << 20 };

bool process_stat(const char *path, struct process *ret)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned long long user, system, of_user, of_system;
	char line[1024], *p;
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	int parent;

	if (n <= 0)
		return false;
	line[n] = '\0';
	p = strrchr(line, ')'); /* the name may hold anything */
	if (!p || sscanf(p, ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
			 &ret->state, &parent, &user, &system, &of_user, &of_system) != 6)
		return false;
	ret->parent = parent;
	ret->ticks = user + system;
	ret->waited = of_user + of_system;
	return true;
}

static int by_pid(const void *x, const void *y)
{
	const struct process *p = x, *q = y;

	return (p->pid > q->pid) - (p->pid < q->pid);
}

void processes_read(struct arena *a, struct processes *ret)
{
	AUTO_DIR DIR *d = opendir("/proc");
	LIST(struct process) all = {0};

	for (struct dirent *one; d && (one = readdir(d));) {
		struct process p = {0};
		char path[64];
		uint64_t pid;

		if (parse_uint(one->d_name, &pid) || pid > INT32_MAX)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		p.pid = (pid_t)pid;
		if (process_stat(path, &p))
			*LIST_ADD(a, &all) = p;
	}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_pid);
	*ret = (struct processes){.v = all.v, .n = all.n};
}

const struct process *process_find(const struct processes *all, pid_t pid)
{
	const struct process key = {.pid = pid};

	return all->n ? bsearch(&key, all->v, all->n, sizeof(*all->v), by_pid) : NULL;
}

bool process_is_below(const struct processes *all, pid_t pid, pid_t top)
{
	for (int i = 0; i < 64 && pid > 0; i++) {
		const struct process *p = process_find(all, pid);

		if (pid == top)
			return true;
		pid = p ? p->parent : 0;
	}
	return false;
}

/* One that ends takes its time along to who waited for it: the sum never falls for that. */
uint64_t processes_below_ticks(const struct processes *all, pid_t top)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct process *p = &all->v[i];

		if (p->pid == top)
			sum += p->waited;
		else if (process_is_below(all, p->pid, top))
			sum += p->ticks + p->waited;
	}
	return sum;
}

bool process_is_python(pid_t pid)
{
	AUTO(arena_done) struct arena scratch = {0};
	struct py_runtime r;

	py_find(pid, &scratch, &r);
	return r.at != 0;
}

bool process_holds(pid_t pid, const char *file, const char *words)
{
	AUTO(arena_done) struct arena a = {0};
	struct err ignored;
	char *text;
	size_t n;

	return file_read(arena_printf(&a, "/proc/%d/%s", (int)pid, file), FILE_MAX, &a, &text, &n,
			 &ignored) == 0 &&
	       memmem(text, n, words, strlen(words)) != NULL;
}

bool process_has_torch(pid_t pid) { return process_holds(pid, "maps", "/libtorch"); }
