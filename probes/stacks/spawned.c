#include "probes/stacks/spawned.h"

#include "lib/core/interrupt.h"
#include "lib/python/stack.h"

/* multiprocessing's "python -c from multiprocessing.spawn import spawn_main; ..." */
static bool is_spawned(pid_t pid) { return process_holds(pid, "cmdline", "spawn_main("); }

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
	struct rank_process one;

	for (size_t i = 0; i < all->n; i++) {
		if (!process_is_below(all, all->v[i].pid, below) ||
		    !process_is_python(all->v[i].pid))
			continue;
		one = (struct rank_process){.pid = all->v[i].pid,
					    .job = arena_printf(a, "process %d", (int)below),
					    .rank = 0,
					    .size = 1,
					    .local_size = 1,
					    .present = 1,
					    .is_guessed = true};
		ranks_add(ret, a, &one, 1);
		return;
	}
}

typedef LIST(struct rank_process) rank_list;

/* The children of one process are one job. */
static void number(rank_list *found)
{
	for (size_t i = 0; i < found->n; i++) {
		struct rank_process *r = &found->v[i];
		int n = 0;

		for (size_t k = 0; k < found->n; k++)
			if (streq(r->job, found->v[k].job)) {
				r->rank += k < i;
				n++;
			}
		r->size = r->local_size = r->present = n;
	}
}

void ranks_spawned(const struct processes *all, pid_t below, struct arena *a,
		   struct rank_processes *ret)
{
	rank_list found = {0};

	for (size_t i = 0; i < all->n && !interrupt_pending(); i++) {
		const struct process *p = &all->v[i];

		if ((below && !process_is_below(all, p->pid, below)) || !is_spawned(p->pid) ||
		    is_spawned(p->parent) || ranks_have(ret, all, p->pid) ||
		    (!below && !process_has_torch(p->pid)) || is_worker(p->pid))
			continue;
		*LIST_ADD(a, &found) = (struct rank_process){
			.pid = p->pid,
			.job = arena_printf(a, "spawned by process %d", (int)p->parent),
			.is_guessed = true};
	}
	number(&found);
	ranks_add(ret, a, found.v, found.n);
	if (!ret->n && below)
		add_first(all, below, a, ret);
}
