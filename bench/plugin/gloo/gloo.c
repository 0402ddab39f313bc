/*
 * The plug-in gloo.so: Gloo's collectives over its TCP transport, which is what
 * PyTorch's "gloo" backend uses. Gloo's calls block; a thread beside them waits
 * for whatever ends the run early and closes the connections then.
 */
#include "bench/plugin/blocking.h"
#include "bench/plugin/gloo/ops.h"
#include "lib/core/units.h"

#include <signal.h>

struct gloo_comm {
	struct blocking b;
	struct gloo_ops *ops;
	struct gloo_comm *next; /* of the parts of one root, itself in front */

	/* the root's alone */
	struct addr_text address; /* of the interface that carries the data */
	pthread_mutex_t parts;	  /* the list has two readers: the watch's thread is one */
	void (*pipes)(int); /* what SIGPIPE did before us: Gloo writes to closed connections */
};

static struct gloo_comm *gloo_of(const struct comm *c)
{
	return CONTAINER_OF(blocking_of(c), struct gloo_comm, b);
}

static struct gloo_comm *root_of(const struct gloo_comm *g)
{
	return CONTAINER_OF(g->b.root, struct gloo_comm, b);
}

static void break_off(void *arg)
{
	struct gloo_comm *root = arg;

	(void)pthread_mutex_lock(&root->parts);
	for (struct gloo_comm *g = root; g; g = g->next)
		gloo_ops_break(g->ops);
	(void)pthread_mutex_unlock(&root->parts);
}

/* In our words: who was lost, or Gloo's sentence where it names nobody. */
static void explain(struct gloo_comm *g, const char *what, const char *why)
{
	struct blocking *root = g->b.root;
	char who[192];
	int rank;

	if (watch_explain(&root->watch, what, &root->failure))
		return;
	rank = gloo_ops_blames(g->ops, why);
	root->culprit = rank >= 0 ? comm_origin(&g->b.comm, rank) : -1;
	if (rank >= 0)
		err_set(&root->failure, ERR_SYS, "%s lost %s: Gloo says: %s", what,
			cards_name(&root->cards, root->culprit, who, sizeof(who)), why);
	else
		err_set(&root->failure, ERR_SYS, "%s failed: Gloo says: %s", what, why);
}

static int run(struct gloo_comm *g, const struct comm_request *q, char *why, size_t n)
{
	struct watch *w = &g->b.root->watch;
	uint64_t most;
	int result = -1;

	if (!watch_cause(w)) {
		most = watch_call(w, comm_bytes(q, g->b.comm.size));
		result = gloo_ops_run(g->ops, q, most / NS_PER_MS, why, n);
		watch_over(w);
	}
	return result;
}

static int start(struct comm *c, const struct comm_request *q, struct err *e)
{
	struct gloo_comm *g = gloo_of(c);
	char why[GLOO_WHY_MAX] = "";

	if (g->b.root->failure.kind)
		return blocking_failed(&g->b, e);
	if (!run(g, q, why, sizeof(why)))
		return 0;
	explain(g, coll_kind_name(q->kind), why);
	return blocking_failed(&g->b, e);
}

static void release(struct gloo_comm *g)
{
	struct gloo_comm *root = root_of(g), **at = &root->next;

	if (g != root) {
		(void)pthread_mutex_lock(&root->parts);
		while (*at && *at != g)
			at = &(*at)->next;
		*at = *at ? g->next : NULL;
		(void)pthread_mutex_unlock(&root->parts);
	}
	blocking_done(&g->b); /* first: its thread uses ops */
	gloo_ops_free(g->ops);
	if (g == root) {
		(void)signal(SIGPIPE, g->pipes);
		(void)pthread_mutex_destroy(&g->parts);
	}
	free(g);
}

static void free_comm(struct comm *c)
{
	const struct comm_request q = {.kind = COLL_BARRIER};
	struct gloo_comm *g = gloo_of(c);
	char why[GLOO_WHY_MAX];

	/* else the last to finish sees closed connections */
	if (!g->b.root->failure.kind)
		(void)run(g, &q, why, sizeof(why));
	release(g);
}

/* --- parts --------------------------------------------------------------------------- */

static int connect_part(struct gloo_comm *g, struct gloo_comm *from, const struct comm_group *grp,
			struct err *e)
{
	struct gloo_comm *root = root_of(g);
	struct watch *w = &root->b.watch;
	const struct gloo_ops_world o = {.rank = grp->rank,
					 .size = grp->size,
					 .address = root->address.s,
					 .timeout_ms = w->deadline_ns / NS_PER_MS};
	char why[GLOO_WHY_MAX] = "";

	if (!watch_cause(w)) {
		watch_call(w, 0);
		g->ops = gloo_ops_part(from->ops, grp->members, &o, why, sizeof(why));
		watch_over(w);
	}
	if (!g->ops) {
		explain(from, "splitting", why);
		return blocking_failed(&root->b, e);
	}
	(void)pthread_mutex_lock(&root->parts);
	g->next = root->next;
	root->next = g;
	(void)pthread_mutex_unlock(&root->parts);
	return 0;
}

static int split(struct comm *c, const struct comm_group *grp, struct comm **ret, struct err *e)
{
	struct gloo_comm *from = gloo_of(c), *g;

	gloo_ops_count_part(from->ops);
	if (!grp->size)
		return 0;
	g = calloc(1, sizeof(*g));
	if (!g)
		return err_sys(e, "cannot make a communicator");
	blocking_init_part(&g->b, &from->b, grp);
	if (connect_part(g, from, grp, e)) {
		release(g);
		return -1;
	}
	*ret = &g->b.comm;
	return 0;
}

static const struct comm_impl impl = {
	.caps = {.backend = "gloo",
		 .kinds = ((1u << COLL_KINDS) - 1) & ~(1u << COLL_REDUCE_SCATTER),
		 .types = DT_COMMON,
		 .ops = OP_COMMON,
		 .memory = COMM_HOST},
	BLOCKING_IMPL,
	.start = start,
	.free = free_comm,
	.split = split,
};

struct meeting {
	const struct comm_world *w;
	struct err e;
};

static int exchange(void *arg, const void *mine, size_t n, void *all)
{
	struct meeting *m = arg;

	return m->w->exchange(m->w->arg, mine, n, all, &m->e);
}

static int connect_all(struct gloo_comm *g, const struct comm_world *w, struct err *e)
{
	struct meeting m = {.w = w};
	char why[GLOO_WHY_MAX];
	const struct gloo_ops_world o = {
		.rank = w->rank,
		.size = w->size,
		.address = addr_print(&w->at, &g->address),
		.timeout_ms = (w->deadline_ns ? w->deadline_ns : 10 * NS_PER_S) / NS_PER_MS,
		.exchange = exchange,
		.arg = &m};

	g->ops = gloo_ops_new(&o, why, sizeof(why));
	if (!g->ops && m.e.kind)
		*e = m.e;
	if (!g->ops && !m.e.kind)
		err_set(e, ERR_SYS, "Gloo cannot connect the ranks from %s: %s", g->address.s, why);
	return g->ops ? 0 : -1;
}

static struct comm *gloo_new(const struct comm_world *w, struct dev *d, int *ret_culprit,
			     struct err *e)
{
	struct gloo_comm *g = calloc(1, sizeof(*g));
	struct card own = card_of(w);

	(void)d;
	*ret_culprit = -1;
	if (!g) {
		err_sys(e, "cannot make a communicator");
		return NULL;
	}
	blocking_init(&g->b, &impl, w);
	g->pipes = signal(SIGPIPE, SIG_IGN);
	(void)pthread_mutex_init(&g->parts, NULL);
	(void)snprintf(own.version, sizeof(own.version), "%s", gloo_ops_version());
	(void)snprintf(g->b.transport, sizeof(g->b.transport),
		       "Gloo %s, its TCP transport, one connection per pair of ranks (averages: "
		       "sums, divided here)",
		       gloo_ops_version());
	if (!cards_exchange(&g->b.cards, w, &own, "Gloo", ret_culprit, e) &&
	    !connect_all(g, w, e) && !watch_start(&g->b.watch, w, break_off, g, e))
		return &g->b.comm;
	release(g);
	return NULL;
}

static int probe(const struct comm_world *w UNUSED, char *ret, size_t n, struct err *e UNUSED)
{
	(void)snprintf(ret, n, "Gloo %s", gloo_ops_version());
	return 0;
}

BLOCKING_PLUGIN("gloo", probe, gloo_new);
