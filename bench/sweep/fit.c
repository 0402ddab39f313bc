/* What was asked for, as far as every rank can do it: types, and sizes. */
#include "bench/sweep/graph.h"
#include "bench/sweep/rank.h"
#include "lib/core/units.h"
#include "lib/host/memory.h"

#include <math.h>

static int fit_ops(struct rank *r, struct err *e)
{
	const struct comm_caps *caps = comm_caps(r->comm);
	unsigned *ops = &r->sweep.ops;

	if (!r->sweep.coll->reduces)
		return 0;
	for (enum redop op = 0; *ops != OP_ALL && op < OP_COUNT; op++)
		if ((*ops >> op & 1) && comm_check_op(r->comm, op, e)) {
			r->all_know = true;
			return -1;
		}
	if (*ops & ~caps->ops)
		*LIST_ADD(r->a, &r->notes) =
			arena_printf(r->a, "Without mulsum: %s does not know it", caps->backend);
	*ops &= caps->ops;
	return 0;
}

const char *rank_graph_beside(const struct rank_opts *o)
{
	const struct sweep_opts *s = &o->sweep;

	return s->blocking		      ? "-z, which waits for each operation"
	       : s->for_ns		      ? "--for, which looks for one that stands still"
	       : s->within_ns && !s->adaptive ? "--within, which counts them"
	       : o->mode == RANK_PAIRS	      ? "--pairs and --find-slow, which have none"
	       : o->mode == RANK_REPLAY	      ? "--replay, which has its own"
					      : NULL;
}

/* What of other options it leaves out. */
static void note_beside_graph(struct rank *r)
{
	const struct sweep_opts *s = &r->sweep;

	if (s->skip >= s->graph && s->skip)
		*LIST_ADD(r->a, &r->notes) = arena_printf(
			r->a, "-K %zu is left out: it leaves nothing of %zu launches (-G)",
			(size_t)s->skip, (size_t)s->graph);
	if (!s->adaptive && s->iters > GRAPH_MOST)
		*LIST_ADD(r->a, &r->notes) = arena_printf(
			r->a,
			"-n %zu: %d of these iterations are in the graph, for a stream "
			"takes no more at once",
			(size_t)s->iters, GRAPH_MOST);
}

/* What -G is here. */
static void fit_graph(struct rank *r)
{
	const char *backend = comm_caps(r->comm)->backend, *beside = rank_graph_beside(r->o);
	uint64_t n = r->sweep.graph;
	char *note;

	if (!n)
		return;
	r->sweep.graph = comm_can_capture(r->comm) && !beside ? n : 0;
	note = r->sweep.graph
		       ? arena_printf(r->a,
				      "-G %zu: the iterations are one CUDA graph, launched so "
				      "often: times of single iterations are those of launches, "
				      "each the mean of its operations",
				      (size_t)n)
	       : beside && comm_can_capture(r->comm)
		       ? arena_printf(r->a, "-G does nothing with %s", beside)
		       : arena_printf(r->a,
				      "-G does nothing with %s: there are no CUDA graphs in host "
				      "memory",
				      backend);
	*LIST_ADD(r->a, &r->notes) = note;
	if (r->sweep.graph)
		note_beside_graph(r);
}

/* What nobody here has is known before anybody begins. */
int rank_fit_asked(struct rank *r, struct err *e)
{
	const struct comm_caps *caps = comm_caps(r->comm);
	unsigned *types = &r->sweep.types;

	fit_graph(r);
	if (fit_ops(r, e))
		return -1;
	for (enum dtype t = 0; *types != DT_ALL && t < DT_COUNT; t++)
		if ((*types >> t & 1) && comm_check_type(r->comm, t, e)) {
			r->all_know = true;
			return -1;
		}
	if (!(*types & ~caps->types))
		return 0;
	*types &= caps->types;
	*LIST_ADD(r->a, &r->notes) = arena_printf(
		r->a, "Without 8-bit floats: %s",
		caps->lacks_types ? caps->lacks_types
				  : arena_printf(r->a, "%s does not know them", caps->backend));
	return 0;
}

/* It is known to all that they do not fit: to whom the least is left, and how much. */
static int too_little(struct rank *r, double fits, double all_fit, uint64_t most, struct err *e)
{
	double who = fits <= all_fit ? -r->comm->rank : -r->comm->size, left;
	struct unit_buf is, was;
	int least;

	if (sweep_agree(r->comm, &who, 1, OP_MAX, e))
		return -1;
	least = sweep_whom(r->comm, -who);
	left = r->comm->rank == least ? (double)most : 0;
	if (sweep_agree(r->comm, &left, 1, OP_SUM, e))
		return -1;
	err_set(e, ERR_SYS, "%d ranks with buffers of %s do not fit into memory", r->comm->size,
		format_size(&was, r->sweep.min));
	if (least < 0)
		return -1;
	return err_hint(e,
			"%s is available to each %s where it is least: rank %d (%s); begin with "
			"less (-b)",
			format_size(&is, (uint64_t)left),
			r->dev->available ? "rank on its GPU" : "host's ranks", least,
			comm_peer(r->comm, least)->host);
}

/* In host memory what is multiplied has a place of its own. */
static double buffers(const struct rank *r)
{
	bool multiplies = (r->sweep.ops >> OP_MULSUM & 1) && r->sweep.coll->reduces;

	return multiplies && !r->dev->available ? 3 : 2;
}

/* What fits everywhere; the ranks of a host share its memory. */
int rank_fit_memory(struct rank *r, struct err *e)
{
	struct sweep_opts *s = &r->sweep;
	uint64_t ranks = r->w->world.local_size > 0 ? (uint64_t)r->w->world.local_size : 1;
	uint64_t most = memory_available(), own = memory_of_process(), wanted = s->max;
	double fits = (double)s->max, all_fit;

	if (own < UINT64_MAX / ranks && (!most || own * ranks < most))
		most = own * ranks;
	if (r->dev->available) { /* a GPU's, and this rank's share of it alone */
		most = r->dev->available(r->dev);
		ranks = 1;
	}
	most = s->adaptive ? most / 4 : most / 10 * 8;
	while (most && fits >= 1 &&
	       (double)ranks * buffers(r) * (fits + SWEEP_SLACK) > (double)most)
		fits = floor(fits / 2);
	all_fit = fits;
	if (sweep_agree(r->comm, &all_fit, 1, OP_MIN, e))
		return -1;
	/* what another rank made up is nothing: buffers would be shorter than what is put in them
	 */
	s->max = all_fit >= 1 && all_fit <= fits ? (uint64_t)all_fit : 0;
	if (s->max == wanted)
		return 0;
	if (s->max < s->min || !s->max)
		return too_little(r, fits, all_fit, most, e);
	if (!s->adaptive)
		*LIST_ADD(r->a, &r->notes) = arena_printf(
			r->a, "Reducing maxBytes to %zu due to memory limitation", (size_t)s->max);
	return 0;
}
