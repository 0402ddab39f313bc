/*
 * The plug-in nccl.so: NCCL's collectives in GPU memory. Its communicator never
 * blocks: what it was asked for is polled, so that a deadline, bad news and an
 * asynchronous error end a wait and name themselves.
 */
#include "bench/plugin/nccl/log.h"
#include "bench/plugin/nccl/newer.h"
#include "bench/plugin/nccl/settings.h"
#include "lib/core/units.h"

static struct nccl_comm *nccl_of(const struct comm *c)
{
	return CONTAINER_OF(c, struct nccl_comm, comm);
}

static const struct comm_peer *peer(const struct comm *c, int rank)
{
	return &nccl_of(c)->root->cards.peers[comm_origin(c, rank)];
}

static const char *transport(const struct comm *c) { return nccl_of(c)->root->transport; }

/* --- requests in host memory: small ones, by which ranks agree ------------------------ */

static int room(struct nccl_comm *root, size_t n, struct err *e)
{
	if (n <= root->staged)
		return 0;
	for (size_t i = 0; i < 2; i++) {
		void *p;

		root->gpu->dev.free(&root->gpu->dev, root->stage[i]);
		root->stage[i] = NULL;
		if (root->gpu->dev.alloc(&root->gpu->dev, n, &p, e))
			return -1;
		root->stage[i] = p;
	}
	root->staged = n;
	return 0;
}

static int copy_failed(struct nccl_comm *c, CUresult r, struct err *e)
{
	(void)cuda_failed("copying to or from the GPU", r, &c->root->failure);
	return nccl_fail(c, "", e);
}

static int run_staged(struct nccl_comm *c, const struct comm_request *q, struct err *e)
{
	size_t n = q->count * dtype_size(q->type);
	struct comm_request s = *q;
	CUresult r = CUDA_SUCCESS;

	if (q->kind != COLL_ALL_REDUCE && q->kind != COLL_BROADCAST)
		return err_set(e, ERR_ABSENT, "nccl has no %s in host memory",
			       coll_kind_name(q->kind));
	if (room(c->root, n ? n : 1, e))
		return -1;
	s.send = c->root->stage[0];
	s.recv = c->root->stage[1];
	if (q->send && n)
		r = cuMemcpyHtoDAsync(gpu_at(s.send), q->send, n, c->gpu->stream);
	if (r != CUDA_SUCCESS)
		return copy_failed(c, r, e);
	if (nccl_submit(c, &s, e) || nccl_settle(c, coll_kind_name(q->kind), e))
		return -1;
	r = n ? gpu_fetch(c->gpu, q->recv, gpu_at(s.recv), n) : CUDA_SUCCESS;
	return r == CUDA_SUCCESS ? 0 : copy_failed(c, r, e);
}

static int run_barrier(struct nccl_comm *c, struct err *e)
{
	float one = 1, all;
	const struct comm_request q = {.kind = COLL_ALL_REDUCE,
				       .send = &one,
				       .recv = &all,
				       .count = 1,
				       .type = DT_FLOAT,
				       .op = OP_SUM};

	return run_staged(c, &q, e);
}

static int start(struct comm *comm, const struct comm_request *q, struct err *e)
{
	struct nccl_comm *c = nccl_of(comm);

	if (c->root->failure.kind) {
		*e = c->root->failure;
		return -1;
	}
	if (q->kind == COLL_BARRIER)
		return nccl_settle(c, "barrier", e) || run_barrier(c, e) ? -1 : 0;
	if (!gpu_owns(c->gpu, q->recv ? q->recv : q->send))
		return nccl_settle(c, coll_kind_name(q->kind), e) || run_staged(c, q, e) ? -1 : 0;
	return q->count || q->kind == COLL_ALLTOALLV ? nccl_submit(c, q, e) : 0;
}

static int test(struct comm *comm, bool *ret_finished, struct err *e)
{
	struct nccl_comm *c = nccl_of(comm);

	if (c->root->failure.kind) {
		*e = c->root->failure;
		return -1;
	}
	return nccl_poll(c, "a collective", ret_finished, e);
}

static int wait_for(struct comm *comm, struct err *e)
{
	struct nccl_comm *c = nccl_of(comm);

	if (!c->root->failure.kind)
		return nccl_settle(c, "a collective", e);
	*e = c->root->failure;
	return -1;
}

static void abort_comm(struct comm *c, const char *reason)
{
	struct nccl_comm *root = nccl_of(c)->root;

	__atomic_store_n(&root->abort_reason, reason, __ATOMIC_RELEASE);
	if (root->asking.blocks)
		watch_abort(&root->asking.watch, reason);
}

/* NCCL does not say whom it waits for: the rendezvous knows who died or fell silent. */
static int culprit(const struct comm *c, bool *ret_gone)
{
	(void)c;
	if (ret_gone)
		*ret_gone = false;
	return -1;
}

static void free_comm(struct comm *comm)
{
	struct nccl_comm *c = nccl_of(comm);
	struct nccl_comm **at = &c->root->next;
	struct err e = {0};

	if (c->handle && !c->root->failure.kind && !nccl_settle(c, "the last collective", &e)) {
		nccl_capture_forget(comm);
		nccl_end(c);
	}
	if (c->root != c) {
		while (*at && *at != c)
			at = &(*at)->next;
		*at = *at ? c->next : NULL;
		nccl_discard(c);
		return;
	}
	for (size_t i = 0; i < 2 && c->gpu; i++)
		c->gpu->dev.free(&c->gpu->dev, c->stage[i]);
	if (!c->gpu->dev.is_lost)
		pace_done(&c->pace);
	nccl_ask_end(c);
	cards_done(&c->cards);
	arena_done(&c->arena);
	log_end();
	nccl_discard(c);
}

static struct comm_impl impl = {
	/* its types are known once ranks have met */
	.caps = {.backend = "nccl",
		 .kinds = (1u << COLL_KINDS) - 1,
		 .types = DT_COMMON,
		 .ops = OP_ALL,
		 .memory = COMM_CUDA},
	.peer = peer,
	.transport = transport,
	.start = start,
	.test = test,
	.wait = wait_for,
	.abort = abort_comm,
	.culprit = culprit,
	.free = free_comm,
	.split = nccl_split,
	.group_begin = nccl_group_begin,
	.group_end = nccl_group_end,
	.capture_begin = nccl_capture_begin,
	.capture_end = nccl_capture_end,
	.replay = nccl_replay,
	.capture_forget = nccl_capture_forget,
	.add_memory = nccl_add_memory,
	.drop_memory = nccl_drop_memory,
};

/* --- its beginning ---------------------------------------------------------------------- */

/*
 * NCCL refuses two ranks on one GPU, or on two parts of one (MIG). Before 2.30 they have to look
 * like two hosts, and then talk over the network transport; since then a variable allows it.
 */
static void allow_sharing(const struct nccl_comm *c)
{
	char id[64];

	c->gpu->sharers = cards_sharers(&c->cards, c->comm.rank);
	c->gpu->in_memory = cards_in_memory(&c->cards, c->comm.rank);
	if (c->gpu->sharers < 2)
		return;
	(void)snprintf(id, sizeof(id), "windsock-%d", c->comm.rank);
	(void)setenv("NCCL_HOSTID", id, 0);
	(void)setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
}

static int meet(struct nccl_comm *c, const struct comm_world *w, int *ret_culprit, struct err *e)
{
	struct card own = card_of(w);

	(void)snprintf(own.device, sizeof(own.device), "%s", c->gpu->name);
	(void)snprintf(own.bus, sizeof(own.bus), "%s", c->gpu->bus);
	own.gpu = c->gpu->number;
	(void)snprintf(own.unique, sizeof(own.unique), "%s", c->gpu->uuid);
	vendor_version(c->gpu->vendor.nccl, own.version, sizeof(own.version));
	own.settings = settings_digest();
	if (cards_exchange(&c->cards, w, &own, "NCCL", ret_culprit, e))
		return -1;
	return settings_compare(&c->cards, w, &c->arena, &c->doubts, e);
}

static int share_id(struct nccl_comm *c, const struct comm_world *w, ncclUniqueId *ret,
		    struct err *e)
{
	struct {
		ncclUniqueId id;
		int32_t result;
	} mine = {.result = ncclSuccess}, *all = calloc((size_t)w->size, sizeof(*all));
	int result = -1;

	if (!all)
		return err_sys(e, "no memory for %d ranks", w->size);
	if (!w->rank)
		mine.result = (int32_t)ncclGetUniqueId(&mine.id);
	if (!w->exchange(w->arg, &mine, sizeof(mine), all, e)) {
		*ret = all[0].id;
		result = all[0].result == ncclSuccess
				 ? 0
				 : nccl_fail_result(c, "ncclGetUniqueId",
						    (ncclResult_t)all[0].result, e);
	}
	free(all);
	return result;
}

static ncclResult_t init_rank(struct nccl_comm *c, void *id)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

	config.blocking = c->asking.blocks;
	return ncclCommInitRankConfig(&c->handle, c->comm.size, *(ncclUniqueId *)id, c->comm.rank,
				      &config);
}

static int connect_all(struct nccl_comm *c, const struct comm_world *w, struct err *e)
{
	ncclUniqueId id;
	ncclResult_t r;

	allow_sharing(c);
	log_begin();
	if (nccl_ask_begin(c, w, e) || share_id(c, w, &id, e))
		return -1;
	r = nccl_ask(c, init_rank, &id);
	if (r != ncclSuccess && r != ncclInProgress)
		return nccl_fail_result(c, "ncclCommInitRank", r, e);
	if (nccl_await(c, "ncclCommInitRank", false, e) || run_barrier(c, e))
		return -1;
	return log_gather(c, e);
}

static const char *ways(struct nccl_comm *c)
{
	const char *by = log_hidden_by();

	if (c->pairs.n)
		return transport_text(&c->pairs, &c->arena);
	return by ? arena_printf(&c->arena, COMM_WAY_UNKNOWN " (%s is set)", by) : COMM_WAY_UNKNOWN;
}

static void describe(struct nccl_comm *c)
{
	const char *own = transport_cards_text(&c->own_cards, &c->arena);
	char what[288];
	int twin = -1;

	vendor_describe(&c->gpu->vendor, what, sizeof(what));
	for (int r = 0; r < c->comm.size && twin < 0; r++)
		twin = cards_twin(&c->cards, r);
	(void)snprintf(c->transport, sizeof(c->transport), "%s%s%s%s%s%s; %s%s%s", what,
		       c->asking.blocks ? "; its calls block, as in PyTorch" : "",
		       /* whether it takes them NCCL does not say */
		       !c->gpu->registers	? ""
		       : c->gpu->registers == 1 ? "; buffers registered where NCCL can"
						: "; buffers in symmetric memory where NCCL can",
		       twin >= 0 ? "; " COMM_SHARED_GPU : "",
		       c->doubts ? "; not alike on all ranks: " : "", c->doubts ?: "", ways(c),
		       own ? "; " : "", own ?: "");
}

/* Ours do not block, so that they can be given up well; PyTorch's usually do. */
static const char *words_of_small_sizes(const struct nccl_comm *c)
{
	enum { STARTS_THREADS = 22304 };

	return c->asking.blocks || c->gpu->vendor.nccl < STARTS_THREADS
		       ? NULL
		       : "Times of small sizes contain the start of a thread, which NCCL since "
			 "2.23.4 needs for each operation that must not block: --nccl-blocking "
			 "measures without, as PyTorch and nccl-tests do it.";
}

static const char *words_of_exchanges(const struct nccl_comm *c)
{
	return c->own_calls
		       ? "By NCCL's own ncclAlltoAll, ncclGather and ncclScatter, as nccl-tests."
		       : "By a group of ncclSend and ncclRecv, as nccl-tests: NCCL has a call "
			 "of its own since 2.28.";
}

static struct comm *nccl_new(const struct comm_world *w, struct dev *d, int *ret_culprit,
			     struct err *e)
{
	struct nccl_comm *c = calloc(1, sizeof(*c));

	*ret_culprit = -1;
	if (!c) {
		err_sys(e, "cannot make a communicator");
		return NULL;
	}
	*c = (struct nccl_comm){.comm = {.impl = &impl, .rank = w->rank, .size = w->size},
				.root = c,
				.gpu = gpu_of(d),
				.pace = {.stream = gpu_of(d)->stream},
				.exchange = w->exchange,
				.exchange_arg = w->arg,
				.deadline_ns = w->deadline_ns ? w->deadline_ns : 10 * NS_PER_S,
				.stop_fds = {w->stop_fds[0], w->stop_fds[1]}};
	c->own_calls = newer_has(NEWER_EXCHANGE);
	impl.caps.exchanges = words_of_exchanges(c);
	impl.caps.version = c->gpu->vendor.nccl;
	if (!meet(c, w, ret_culprit, e) && !nccl_float8(c, w, &impl.caps, e) &&
	    !connect_all(c, w, e)) {
		impl.caps.small_sizes = words_of_small_sizes(c);
		describe(c);
		return &c->comm;
	}
	c->failure.kind = ERR_SYS;
	free_comm(&c->comm);
	return NULL;
}

/* Connections are made when something needs them first: since 2.22 for each algorithm. */
static int look(struct comm *comm, struct err *e)
{
	struct nccl_comm *c = nccl_of(comm);

	if (log_gather(c, e))
		return -1;
	describe(c);
	return 0;
}

static int probe(const struct comm_world *w, char *ret, size_t n, struct err *e)
{
	struct vendor v;

	if (vendor_load(w->library, &v, e) || newer_register_needs(&v, w->registers, e))
		return -1;
	vendor_describe(&v, ret, n);
	return 0;
}

static struct dev *gpu_memory(const struct comm_world *w, struct err *e)
{
	struct gpu_dev *g;

	return gpu_dev_new(w, &g, e) ? NULL : &g->dev;
}

static void gpu_memory_done(struct dev *d) { gpu_dev_free(gpu_of(d)); }

__attribute__((visibility("default"))) const struct comm_plugin windsock_comm = {
	.version = COMM_PLUGIN_VERSION,
	.name = "nccl",
	.probe = probe,
	.failed_check = plugin_failed_check,
	.look = look,
	.judge = nccl_judge,
	.dev_new = gpu_memory,
	.dev_free = gpu_memory_done,
	.comm_new = nccl_new,
};
