/* The ranks of a benchmark: where they are, how they are called, and by whom they are started. */
#include "bench/ranks/mpirun.h"
#include "bench/sweep/ask.h"

/* Ranks are this program; what the link that it was called by says is said to them. */
static const char *const *rank_argv(const char *coll, const char *groups, char *const *argv,
				    struct arena *a)
{
	str_list l = {0};

	*LIST_ADD(a, &l) = "ncclbench";
	if (coll) {
		*LIST_ADD(a, &l) = "--coll";
		*LIST_ADD(a, &l) = coll;
	}
	if (groups) {
		*LIST_ADD(a, &l) = "--groups";
		*LIST_ADD(a, &l) = groups;
	}
	for (; *argv; argv++)
		*LIST_ADD(a, &l) = *argv;
	*LIST_ADD(a, &l) = NULL;
	return l.v;
}

/* MPI's ranks have to be started by its own mpirun. */
static int ask_mpirun(const char *backend, struct arena *a, struct job_opts *ret, struct err *e)
{
	if (!starts_with(backend, "mpi"))
		return 0;
	if (mpirun_plan(backend, &ret->launch, a, &ret->mpirun, e))
		return -1;
	ret->world.launching |= ret->mpirun != NULL;
	return 0;
}

int ask_where(const struct ask_where *in, struct arena *a, struct job_opts *ret, struct err *e)
{
	if (!in->role->is_rank && in->role->here > ASK_RANKS_MAX)
		return err_set(e, ERR_USAGE, "%zu ranks on this machine are more than %d",
			       (size_t)in->role->here, ASK_RANKS_MAX);
	ret->world = where_world(in->where);
	ret->world.device = "host memory";
	ret->ours = in->role->ours;
	if (ret->ours) /* has no business with the list of hosts, which may not even be there
			*/
		return 0;
	where_launch(in->where, &ret->launch);
	ret->launch.argv = rank_argv(in->coll, in->groups, in->argv, a);
	return ask_mpirun(in->backend, a, ret, e);
}
