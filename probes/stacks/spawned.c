#include "probes/stacks/spawned.h"

#include "lib/core/interrupt.h"
#include "lib/python/stack.h"

/* multiprocessing's "python -c from multiprocessing.spawn import spawn_main; ..." */
static bool is_spawned(pid_t pid) { return process_holds(pid, "cmdline", "spawn_main("); }
static bool has_torch(pid_t pid) { return process_holds(pid, "maps", "/libtorch"); }

/* A DataLoader's: it has no rank. */
static bool is_worker(pid_t pid)
{
	AUTO(arena_done) struct arena a = {0};
	struct py_stack stack;

	if (!py_glance(pid, &a, &stack))
		return false;
	for (size_t i = 0; i < stack.n; i++)
		if (ends_with(stack.frames[i].file, "/torch/utils/data/_utils/worker.py"))
			return true;
	return false;
}

static void add_first(const struct processes *all, pid_t below, struct arena *a,
		      struct rank_processes *ret)
{
	for (size_t i = 0; i < all->n; i++) {
		if (!process_is_below(all, all->v[i].pid, below) ||
		    !process_is_python(all->v[i].pid))
			continue;
		ret->v = ARENA_NEW(a, struct rank_process);
		*ret->v = (struct rank_process){.pid = all->v[i].pid,
						.job = arena_printf(a, "process %d", (int)below),
						.rank = 0,
						.size = 1,
						.local_size = 1,
						.present = 1,
						.is_guessed = true};
		ret->n = 1;
		return;
	}
}

void ranks_spawned(const struct processes *all, pid_t below, struct arena *a,
		   struct rank_processes *ret)
{
	LIST(struct rank_process) found = {0};
	pid_t parent = 0;

	for (size_t i = 0; i < all->n && !interrupt_pending(); i++) {
		const struct process *p = &all->v[i];

		if ((below && !process_is_below(all, p->pid, below)) || !is_spawned(p->pid) ||
		    is_spawned(p->parent) || (!below && !has_torch(p->pid)) ||
		    (parent && p->parent != parent) || is_worker(p->pid))
			continue;
		parent = p->parent;
		*LIST_ADD(a, &found) = (struct rank_process){
			.pid = p->pid,
			.job = arena_printf(a, "spawned by process %d", (int)parent),
			.rank = (int)found.n - 1,
			.is_guessed = true};
	}
	for (size_t i = 0; i < found.n; i++)
		found.v[i].size = found.v[i].local_size = found.v[i].present = (int)found.n;
	ret->v = found.v;
	ret->n = found.n;
	if (!found.n && below)
		add_first(all, below, a, ret);
}
