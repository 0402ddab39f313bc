/* What NCCL's Inspector recorded: of each communicator, collective and size how often and how long.
 * Neither an order nor types are in there. */
#include "bench/replay/apart.h"
#include "bench/replay/source.h"
#include "lib/core/stats.h"
#include "lib/core/units.h"

#include <math.h>

/* Whose rank of the training each process is. */
struct numbering {
	const struct insp_book *b;
	struct insp_order order;
	struct apart job;
	int *rank; /* by process; -1: not known */
	int ranks;
	uint32_t *seen; /* by rank: the look, from 1 on, that met it last */
	uint32_t looks;
};

static size_t members(const struct numbering *n, uint32_t comm)
{
	return n->order.from[comm + 1] - n->order.from[comm];
}

static const struct insp_member *member(const struct numbering *n, uint32_t comm, size_t i)
{
	return &n->b->members.v[n->order.v[n->order.from[comm] + i]];
}

/* Is it of the job that is done again? */
static bool is_ours(const struct numbering *n, uint32_t comm)
{
	return members(n, comm) && n->job.keep[member(n, comm, 0)->process];
}

/* The communicator of most ranks numbers them, where each process has one of it. */
static bool number_by(struct numbering *n, uint32_t comm)
{
	for (size_t i = 0; i < n->b->processes.n; i++)
		n->rank[i] = -1;
	for (size_t i = 0; i < members(n, comm); i++) {
		const struct insp_member *m = member(n, comm, i);

		if (n->rank[m->process] >= 0)
			return false;
		n->rank[m->process] = (int)m->rank;
	}
	n->ranks = (int)n->b->comms.v[comm].ranks;
	return members(n, comm) >= n->job.kept;
}

struct process { /* as sorted: beside each other on a host, as launchers number them */
	const char *host;
	uint64_t pid;
	size_t was;
};

static int by_host(const void *a, const void *b)
{
	const struct process *x = a, *y = b;
	int order = strverscmp(x->host, y->host);

	return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

/* Where none has all: by host and process, as most launchers would. */
static void number_by_place(struct numbering *n, struct arena *a)
{
	size_t all = 0;
	struct process *v = arena_alloc(a, (n->job.kept + 1) * sizeof(*v));

	for (size_t i = 0; i < n->b->processes.n; i++)
		if (n->job.keep[i])
			v[all++] = (struct process){n->b->hosts.v[n->b->processes.v[i].host],
						    n->b->processes.v[i].pid, i};
	qsort(v, all, sizeof(*v), by_host);
	for (size_t i = 0; i < all; i++)
		n->rank[v[i].was] = (int)i;
	n->ranks = (int)all;
}

static void number(struct numbering *n, struct traffic *t, struct arena *a)
{
	uint32_t most = 0, found = 0;

	n->rank = arena_alloc(a, (n->b->processes.n + 1) * sizeof(*n->rank));
	for (uint32_t i = 0; i < n->b->comms.n; i++)
		if (is_ours(n, i) &&
		    (!found++ || n->b->comms.v[i].ranks > n->b->comms.v[most].ranks))
			most = i;
	if (found && number_by(n, most))
		return;
	number_by_place(n, a);
	*LIST_ADD(t->a, &t->notes) =
		"no communicator has all ranks: they are numbered by host and process";
}

/* Its ranks, where every one's files are there, or it is all of the training. */
static bool ranks_of(struct numbering *n, uint32_t comm, struct arena *a, int **ret)
{
	uint32_t size = n->b->comms.v[comm].ranks;
	int *v = arena_alloc(a, (size + 1) * sizeof(*v));

	for (uint32_t i = 0; i < size; i++)
		v[i] = (int)size == n->ranks ? (int)i : -1;
	for (size_t i = 0; i < members(n, comm); i++) {
		const struct insp_member *m = member(n, comm, i);

		if (m->rank < size)
			v[m->rank] = n->rank[m->process];
	}
	*ret = v;
	n->looks++;
	for (uint32_t i = 0; i < size; i++) {
		if (v[i] < 0 || v[i] >= n->ranks || n->seen[v[i]] == n->looks)
			return false;
		n->seen[v[i]] = n->looks;
	}
	return true;
}

static const char *const colls_of[INSP_FUNCS] = {
	[INSP_ALL_REDUCE] = "all_reduce",
	[INSP_ALL_GATHER] = "all_gather",
	[INSP_REDUCE_SCATTER] = "reduce_scatter",
	[INSP_ALLTOALL] = "alltoall",
	[INSP_ALL_GATHER_V] = "all_gather",
	[INSP_BROADCAST] = "broadcast",
	[INSP_REDUCE] = "reduce",
};

static void take_times(const struct insp_book *b, const struct insp_group *g,
		       struct traffic_kind *k, struct arena *a)
{
	double *least = arena_alloc(a, (g->to - g->from + 1) * sizeof(*least)),
	       *mean = arena_alloc(a, (g->to - g->from + 1) * sizeof(*mean));
	size_t n = 0;

	for (size_t i = g->from; i < g->to; i++) {
		const struct insp_op *o = &b->ops.v[i];

		if (o->outlier || !o->seen)
			continue;
		/* of one rank's data others have done their part before it is over */
		least[n] = (double)(k->coll->rooted ? o->most_us : o->least_us);
		mean[n++] = k->coll->rooted ? (double)o->most_us : (double)o->sum_us / o->seen;
	}
	k->then_us = median(least, n);
	k->waited_us = median(mean, n);
}

static void take(struct numbering *n, const struct insp_group *g, struct traffic *t,
		 struct arena *a)
{
	const struct insp_comm *c = &n->b->comms.v[g->comm];
	double bytes = g->n ? g->sum_bytes / (double)g->n : 0, calls;
	struct traffic_kind k = {.type = DT_FLOAT, .uneven = g->func == INSP_ALL_GATHER_V};
	uint32_t group, kind;
	int *ranks;

	calls = (double)g->n / c->members;
	if (c->ranks < 2 || !(calls > 0) || !is_ours(n, g->comm))
		return;
	if (!colls_of[g->func])
		return traffic_leave_out(t, insp_func_names[g->func], g->n);
	if (!ranks_of(n, g->comm, a, &ranks))
		return traffic_leave_out(t, "of communicators that have ranks without a file",
					 g->n);
	k.as = g->func == INSP_ALL_GATHER_V ? "all_gather_v" : colls_of[g->func];
	k.coll = coll_find(colls_of[g->func]);
	k.count = (size_t)(bytes / 4 / (k.coll->is_of_parts ? c->ranks : 1));
	k.count = k.count >> TRAFFIC_COUNT_BITS ? (size_t)1 << TRAFFIC_COUNT_BITS : k.count;
	k.count += !k.count;
	group = traffic_group(t, c->name ? c->name : "", ranks, c->ranks);
	k.family = t->groups.v[group].family;
	take_times(n->b, g, &k, a);
	kind = traffic_kind(t, &k);
	traffic_joins(t, kind, group);
	t->kinds.v[kind].times += calls; /* of all its groups, for now */
}

static void say_others(const struct numbering *n, struct traffic *t)
{
	size_t left = n->b->processes.n - n->job.kept;
	struct unit_buf ago;

	if (isnan(n->job.ago_s))
		return;
	t->is_mixed = true;
	*LIST_ADD(t->a, &t->notes) = arena_printf(
		t->a,
		"%zu process%s of another job, which ended %s before this one began, %s left out",
		left, left == 1 ? "" : "es", format_duration(&ago, (uint64_t)(n->job.ago_s * 1e9)),
		left == 1 ? "was" : "were");
}

int source_inspector(struct insp_book *b, struct traffic *t, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	struct numbering n = {.b = b};

	t->source = "NCCL's Inspector";
	t->files = b->files;
	t->step_s = NAN;
	insp_book_close(b);
	n.order = insp_order(b, &a);
	n.job = apart_newest(b, &n.order, &a);
	say_others(&n, t);
	number(&n, t, &a);
	t->ranks = n.ranks;
	n.seen = arena_alloc(&a, ((size_t)n.ranks + 1) * sizeof(*n.seen));
	for (size_t i = 0; i < b->groups.n; i++)
		take(&n, &b->groups.v[i], t, &a);
	for (size_t i = 0; i < t->kinds.n; i++)
		t->kinds.v[i].times /= (double)t->kinds.v[i].groups.n;
	if (!t->kinds.n) {
		err_set(e, ERR_USAGE,
			"the Inspector's files hold no collective that could be done again%s%s",
			t->left.n ? ": " : "", t->left.n ? t->left.v[0].what : "");
		return err_hint(e,
				"give the files of all ranks: the whole NCCL_INSPECTOR_DUMP_DIR");
	}
	*LIST_ADD(t->a, &t->notes) = "types and order are not recorded: float, each size by itself";
	traffic_close(t);
	return 0;
}
