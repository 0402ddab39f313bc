#include "bench/sweep/rank.h"

#include "bench/plugin/counters.h"
#include "bench/ranks/address.h"
#include "bench/sweep/alike.h"
#include "bench/sweep/resent.h"
#include "bench/sweep/tell.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <math.h>

/* --- meeting ---------------------------------------------------------------------- */

static int exchange(void *arg, const void *mine, size_t n, void *all, struct err *e)
{
	return rdzv_all_gather(arg, mine, n, all, e);
}

/* The address that this rank's data uses. */
static int own_address(struct rank *r, union addr *ret, struct err *e)
{
	const char *at = r->o->bind;

	if (!at)
		return rank_address(r->w->rdzv, ret, e);
	if (addr_parse(at, ret))
		return err_set(e, ERR_USAGE, "'%s' is not an address", at);
	return 0;
}

static int learn_hardware(struct rank *r, struct err *e)
{
	const struct world *w = &r->w->world;
	struct hardware own = {.nic_gbps = w->nodes == 1 ? NAN : hardware_nic_gbps(&r->at, r->a)};

	if (w->nodes != 1) {
		rdma_list rdma = {0};

		(void)gethostname(own.host, sizeof(own.host) - 1);
		rdma_read(r->a, &rdma);
		hardware_cards(&own, comm_transport(r->comm), &rdma);
	}
	own.gpus = hardware_gpus(r->a);
	(void)snprintf(own.machine, sizeof(own.machine), "%s", comm_place_here(NULL).machine);
	(void)snprintf(own.instance, sizeof(own.instance), "%s", hardware_answer(&r->cloud) ?: "");
	r->hardware = arena_alloc(r->a, (size_t)w->size * sizeof(own));
	if (rdzv_all_gather(r->w->rdzv, &own, sizeof(own), r->hardware, e))
		return -1;
	hardware_add_up(r->hardware, (size_t)w->size);
	return 0;
}

static int meet(struct rank *r, int *ret_culprit, struct err *e)
{
	const struct world *w = &r->w->world;
	char host[256] = "localhost";
	struct comm_world cw = {.rank = w->rank,
				.size = w->size,
				.local_rank = w->local_rank > 0 ? w->local_rank : 0,
				.local_size = w->local_size > 0 ? w->local_size : 1,
				.host = host,
				.sockets = r->o->sockets,
				.library = r->o->library,
				.registers = r->o->registers,
				.calls_block = r->o->calls_block,
				.stop_fds = {interrupt_fd(), rdzv_failure_fd(r->w->rdzv)},
				.exchange = exchange,
				.arg = r->w->rdzv};

	(void)gethostname(host, sizeof(host) - 1);
	if (r->o->sweep.root >= w->size)
		return err_set(e, ERR_USAGE, "-r: %d is not one of %d ranks", r->o->sweep.root,
			       w->size);
	if (own_address(r, &r->at, e) || alike_check(r, e))
		return -1;
	cw.at = r->at;
	cw.deadline_ns = r->deadline_ns;
	cw.deadline_given = r->o->deadline_given;
	r->backend = rank_backend(r, &cw, e);
	r->dev = r->backend ? r->backend->dev_new(&cw, e) : NULL;
	r->comm = r->dev ? r->backend->comm_new(&cw, r->dev, ret_culprit, e) : NULL;
	return r->comm && !rank_fit_asked(r, e) ? learn_hardware(r, e) : -1;
}

/* --- measuring ---------------------------------------------------------------------- */

static void on_row(struct sweep *s, const struct sweep_row *row) { tell_row(s->arg, row); }

static void on_next(struct sweep *s, const struct coll_case *c)
{
	struct unit_buf size;
	char what[64];

	(void)snprintf(what, sizeof(what), "%s %s %s", c->coll->name, dtype_name(c->type),
		       format_size(&size, coll_bytes(c)));
	tell_next(s->arg, what, (double)s->rows, NAN);
}

static void on_no_graph(struct sweep *s, int rank, const char *why)
{
	tell_without_graph(s->arg, rank, why);
}

static bool on_stop(struct sweep *s)
{
	(void)s;
	return interrupt_pending();
}

static int run_sweep(struct rank *r, struct err *e)
{
	struct sweep s = {
		.o = &r->sweep, .comm = r->comm, .dev = r->dev, .stop = on_stop, .arg = r};
	int result;

	if (rank_fit_memory(r, e))
		return -1;
	if (!r->comm->rank) {
		s.row = on_row;
		s.next = on_next;
		s.without = on_no_graph;
	}
	if (groups_begin(r, &s, e))
		return -1;
	tell_begin(r);
	result = sweep_run(&s, e);
	if (!result && !s.groups)
		tell_ways(r);
	if (!result)
		resent_tell(r);
	groups_end(&s);
	r->all_know |= s.all_know;
	if ((s.timed_out || s.fewer) && !r->comm->rank)
		tell_fitted(r, &s);
	return result;
}

static int do_work(struct rank *r, struct err *e)
{
	switch (r->o->mode) {
	case RANK_PAIRS:
		return rank_pairs(r, tell_begin, e);
	case RANK_REPLAY:
		return rank_replay(r, tell_begin, e);
	case RANK_SWEEP:
		break;
	}
	return run_sweep(r, e);
}

/* --- the end ------------------------------------------------------------------------- */

int rank_run(const struct rank_opts *o, struct world_run *w, struct relay *relay, struct arena *a,
	     struct rank_end *ret_end, struct err *e)
{
	struct rank r = {.o = o, .w = w, .relay = relay, .a = a, .sweep = o->sweep, .culprit = -1};
	struct counter_watch watch = {0};
	bool counts = w->world.local_rank <= 0; /* one rank of each host */
	cJSON *counters;
	int culprit = -1, result;

	*ret_end = (struct rank_end){.lost = -1};
	if (counts && w->world.nodes != 1)
		hardware_ask(&r.cloud);
	if (counts)
		counters_watch_begin(&watch);
	result = meet(&r, &culprit, e);
	if (!result)
		result = do_work(&r, e);
	if (result && r.comm)
		culprit = r.culprit >= 0 ? r.culprit : comm_culprit(r.comm, NULL);
	if (result)
		result = rank_explain(&r, culprit, ret_end, e);
	counters = counters_watch_end(&watch);
	if (counters)
		relay_send(relay, counters);
	hardware_ask_done(&r.cloud);
	comm_free(r.comm);
	if (r.dev && r.backend->dev_free)
		r.backend->dev_free(r.dev);
	return result;
}
