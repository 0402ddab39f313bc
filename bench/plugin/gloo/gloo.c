/*
 * The plug-in gloo.so: Gloo's collectives over its TCP transport, which is what
 * PyTorch's "gloo" backend uses. Gloo's calls block; a thread beside them waits
 * for whatever ends the run early and closes the connections then.
 */
#include "bench/plugin/cards.h"
#include "bench/plugin/gloo/ops.h"
#include "bench/plugin/watch.h"
#include "lib/core/units.h"

#include <signal.h>

struct gloo_comm {
	struct comm comm;
	struct gloo_ops *ops;
	struct cards cards;
	char transport[160];
	struct watch watch;
	void (*pipes)(int); /* what SIGPIPE did before us: Gloo writes to closed connections */
	struct err failure; /* kind ERR_NONE: healthy */
	int culprit;
};

static struct gloo_comm *gloo_of(const struct comm *c)
{
	return CONTAINER_OF(c, struct gloo_comm, comm);
}

static void break_off(void *arg) { gloo_ops_break(((struct gloo_comm *)arg)->ops); }

static const struct comm_peer *peer(const struct comm *c, int rank)
{
	return &gloo_of(c)->cards.peers[rank];
}

static const char *transport(const struct comm *c) { return gloo_of(c)->transport; }

/* In our words: who was lost, or Gloo's sentence where it names nobody. */
static void explain(struct gloo_comm *g, const char *what, const char *why)
{
	char who[192];

	if (watch_explain(&g->watch, what, &g->failure))
		return;
	g->culprit = gloo_ops_blames(g->ops, why);
	if (g->culprit >= 0)
		err_set(&g->failure, ERR_SYS, "%s lost %s: Gloo says: %s", what,
			cards_name(&g->cards, g->culprit, who, sizeof(who)), why);
	else
		err_set(&g->failure, ERR_SYS, "%s failed: Gloo says: %s", what, why);
}

static int failed(const struct gloo_comm *g, struct err *e)
{
	*e = g->failure;
	return -1;
}

static int start(struct comm *c, const struct comm_request *q, struct err *e)
{
	struct gloo_comm *g = gloo_of(c);
	const char *what = coll_kind_name(q->kind);
	char why[GLOO_WHY_MAX];
	int result = -1;

	if (g->failure.kind)
		return failed(g, e);
	if (!watch_cause(&g->watch)) {
		watch_call(&g->watch, q->count * dtype_size(q->type) * (size_t)c->size);
		result = gloo_ops_run(g->ops, q, why, sizeof(why));
		watch_over(&g->watch);
	}
	if (result)
		explain(g, what, why);
	return result ? failed(g, e) : 0;
}

static int test(struct comm *c, bool *ret_finished, struct err *e)
{
	*ret_finished = !gloo_of(c)->failure.kind;
	*e = gloo_of(c)->failure;
	return *ret_finished ? 0 : -1;
}

static int wait_for(struct comm *c, struct err *e)
{
	bool finished;

	return test(c, &finished, e);
}

static void abort_comm(struct comm *c, const char *reason)
{
	watch_abort(&gloo_of(c)->watch, reason);
}

static int culprit(const struct comm *c, bool *ret_gone)
{
	if (ret_gone)
		*ret_gone = gloo_of(c)->culprit >= 0;
	return gloo_of(c)->culprit;
}

static void release(struct gloo_comm *g)
{
	watch_done(&g->watch);
	gloo_ops_free(g->ops);
	cards_done(&g->cards);
	(void)signal(SIGPIPE, g->pipes);
	free(g);
}

static void free_comm(struct comm *c)
{
	const struct comm_request q = {.kind = COLL_BARRIER};
	char why[GLOO_WHY_MAX];

	/* else the last to finish sees closed connections */
	if (!gloo_of(c)->failure.kind)
		(void)gloo_ops_run(gloo_of(c)->ops, &q, why, sizeof(why));
	release(gloo_of(c));
}

static const struct comm_impl impl = {
	.caps = {.backend = "gloo",
		 .kinds = ((1u << COLL_KINDS) - 1) & ~(1u << COLL_REDUCE_SCATTER),
		 .types = (1u << DT_COUNT) - 1,
		 .ops = (1u << OP_COUNT) - 1,
		 .memory = COMM_HOST},
	.peer = peer,
	.transport = transport,
	.start = start,
	.test = test,
	.wait = wait_for,
	.abort = abort_comm,
	.culprit = culprit,
	.free = free_comm,
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
	struct addr_text address;
	char why[GLOO_WHY_MAX];
	const struct gloo_ops_world o = {
		.rank = w->rank,
		.size = w->size,
		.address = addr_print(&w->at, &address),
		.timeout_ms = (w->deadline_ns ? w->deadline_ns : 10 * NS_PER_S) / NS_PER_MS,
		.exchange = exchange,
		.arg = &m};

	g->ops = gloo_ops_new(&o, why, sizeof(why));
	if (!g->ops && m.e.kind)
		*e = m.e;
	if (!g->ops && !m.e.kind)
		err_set(e, ERR_SYS, "Gloo cannot connect the ranks from %s: %s", address.s, why);
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
	*g = (struct gloo_comm){.comm = {.impl = &impl, .rank = w->rank, .size = w->size},
				.pipes = signal(SIGPIPE, SIG_IGN),
				.culprit = -1};
	(void)snprintf(own.version, sizeof(own.version), "%s", gloo_ops_version());
	(void)snprintf(g->transport, sizeof(g->transport),
		       "Gloo %s, its TCP transport, one connection per pair of ranks (averages: "
		       "sums, divided here)",
		       gloo_ops_version());
	if (!cards_exchange(&g->cards, w, &own, "Gloo", ret_culprit, e) && !connect_all(g, w, e) &&
	    !watch_start(&g->watch, w, break_off, g, e))
		return &g->comm;
	release(g);
	return NULL;
}

static int probe(const struct comm_world *w, char *ret, size_t n, struct err *e)
{
	(void)w;
	(void)e;
	(void)snprintf(ret, n, "Gloo %s", gloo_ops_version());
	return 0;
}

static struct dev *host_memory(const struct comm_world *w, struct err *e)
{
	(void)w;
	(void)e;
	return &dev_host;
}

__attribute__((visibility("default"))) const struct comm_plugin windsock_comm = {
	.version = COMM_PLUGIN_VERSION,
	.name = "gloo",
	.probe = probe,
	.failed_check = plugin_failed_check,
	.dev_new = host_memory,
	.comm_new = gloo_new,
};
