/* Nothing of NCCL's is waited for without a clock, an ear for bad news, and a look at its state. */
#include "bench/plugin/nccl/log.h"
#include "lib/core/fix.h"
#include "lib/core/units.h"
#include "lib/host/nccl_words.h"

#include <poll.h>
#include <sched.h>

enum {
	LOOKS = 64,   /* at the stream, between two at the clock */
	PATIENCE = 5, /* deadlines more, while NCCL's log grows: large jobs take long to begin */
	CONNECTS = 3, /* deadlines: NCCL makes some connections at the first use of a kind */
	NEWS_MS = 3000,
};

int nccl_fail(struct nccl_comm *c, const char *what, struct err *e)
{
	(void)what;
	nccl_abort_all(c);
	*e = c->root->failure;
	return -1;
}

static bool is_stopped(const struct nccl_comm *c, int timeout_ms)
{
	struct pollfd p[] = {{.fd = c->root->stop_fds[0], .events = POLLIN},
			     {.fd = c->root->stop_fds[1], .events = POLLIN}};

	return poll(p, ARRAY_LEN(p), timeout_ms) > 0;
}

/* What may be why, and is quickly ruled out. */
static int advise(struct nccl_comm *root, const char *what, const char *fix)
{
	if (!root->doubts || !starts_with(what, "ncclCommInit"))
		return err_take_fix(&root->failure, fix);
	return err_hint(&root->failure, "%s: set alike for every rank, which they are not now; %s",
			root->doubts, fix_text(fix));
}

static const char *fix_of(const struct nccl_comm *c)
{
	if (c->root->graph.is_open)
		return "- leave -G out: it was while operations were captured for a CUDA graph";
	return streq(plugin_check, "nccl.gpu")	  ? COMM_OWN_GPU
	       : streq(plugin_check, DEV_SICK)	  ? DEV_SICK_FIX
	       : streq(plugin_check, DEV_WATCHED) ? DEV_WATCHED_FIX
						  : NCCL_ASK;
}

/* The finding that NCCL's own words are. */
static const char *check_of(const char *what, const char *last)
{
	if (strstr(last, "Duplicate GPU") || strstr(last, "same GPU"))
		return "nccl.gpu";
	if (strstr(last, "launch timed out"))
		return DEV_WATCHED;
	if (driver_quoted_sick(last))
		return DEV_SICK;
	return starts_with(what, "nccl") ? "nccl.init" : "nccl.async";
}

/*
 * A peer that dies: its sockets are closed at once, and its process is gone, as others are
 * told, when its GPU has given back what it had. Who goes on before that knows of no death.
 */
static void wait_for_news(const struct nccl_comm *c, ncclResult_t r)
{
	if ((r == ncclRemoteError || r == ncclSystemError) && c->root->comm.size > 1)
		(void)is_stopped(c, NEWS_MS);
}

/* No finding: it would not work in any other program here. */
static int too_new(struct nccl_comm *c, const char *what, struct err *e)
{
	const struct vendor *v = &c->gpu->vendor;
	int knows = v->driver.version / 1000;

	err_set(&c->root->failure, ERR_ABSENT,
		"%s is made for a newer CUDA than this driver knows, which is %d.%d", v->nccl_path,
		knows, v->driver.version / 10 % 100);
	err_hint(&c->root->failure,
		 "install a newer driver, or pip install nvidia-nccl-cu%d and name it: --nccl FILE",
		 knows);
	return nccl_fail(c, what, e);
}

struct limit {
	uint64_t from_ns; /* nothing has moved since */
	int longer;
};

static uint64_t patience_ns(const struct nccl_comm *c)
{
	const struct pace *p = &c->root->pace;

	return c->root->deadline_ns * (p->is_new ? CONNECTS : 1) + pace_allows_ns(p);
}

bool nccl_grants(struct nccl_comm *c, bool connects, int *had)
{
	bool more = (connects && *had < CONNECTS - 1) ||
		    (*had < PATIENCE && log_grew(&c->root->logged));

	*had += more;
	return more;
}

static bool is_over(struct nccl_comm *c, struct limit *l)
{
	struct pace *p = &c->root->pace;
	uint64_t now;

	(void)pace_look(p); /* what fails is seen where the stream is asked */
	if (p->moved_ns > l->from_ns)
		l->from_ns = p->moved_ns;
	now = now_ns();
	if (now <= l->from_ns + patience_ns(c))
		return false;
	if (!nccl_grants(c, false, &l->longer))
		return true;
	l->from_ns = now;
	return false;
}

/* --- what is given up, and why ------------------------------------------------------------ */

/* Between GPUs of one machine nothing of a network is in the way. */
static bool is_within_machine(const struct nccl_comm *c)
{
	const struct nccl_comm *root = c->root;
	int together = 0;

	for (int r = 0; r < root->comm.size; r++)
		together += root->cards.peers[r].same_machine;
	return together == root->comm.size && root->gpu->sharers < 2;
}

static void tell_late(struct nccl_comm *c, const char *what, uint64_t ns)
{
	bool begins = starts_with(what, "ncclCommInit");
	const char *by = begins ? log_meets_by(&c->root->arena) : NULL;

	plugin_check = starts_with(what, "nccl") ? "nccl.init" : "comm.progress";
	err_set(&c->root->failure, ERR_SYS,
		"%s did not finish within %.1f s on rank %d of %d%s%.100s", what, (double)ns / 1e9,
		comm_origin(&c->comm, c->comm.rank), c->root->comm.size,
		by ? ", which meets the others by " : "", by ?: "");
	(void)advise(c->root, what,
		     is_within_machine(c)
			     ? "- all are on this machine: with NCCL_P2P_DISABLE=1 it works where "
			       "the GPUs cannot reach each other's memory (windsock looks at ACS "
			       "and the IOMMU), with NCCL_SHM_DISABLE=1 where /dev/shm is too "
			       "small; NCCL_DEBUG=INFO shows where"
			     : "- NCCL waits for a peer that cannot be reached: ifprobe "
			       "--check, portcheck --hosts ...; NCCL_DEBUG=INFO shows where");
}

static int give_up(struct nccl_comm *c, const char *what, enum watch_cause why, uint64_t ns,
		   struct err *e)
{
	const char *reason = __atomic_load_n(&c->root->abort_reason, __ATOMIC_ACQUIRE);

	if (why == WATCH_ABORTED)
		err_set(&c->root->failure, ERR_SYS, "%s was aborted: %s", what, reason);
	else if (why == WATCH_STOPPED)
		err_set(&c->root->failure, ERR_SYS, "%s was stopped", what);
	else
		tell_late(c, what, ns);
	return nccl_fail(c, what, e);
}

int nccl_fail_result(struct nccl_comm *c, const char *what, ncclResult_t r, struct err *e)
{
	const struct nccl_asking *a = &c->root->asking;
	const char *last;

	log_pass_on();
	if (a->was_cut)
		return give_up(c, what, watch_cause(&a->watch), now_ns() - a->since_ns, e);
	last = ncclGetLastError(c->handle) ?: "";
	if (r == ncclUnhandledCudaError && strstr(last, "driver version is insufficient"))
		return too_new(c, what, e);
	plugin_check = check_of(what, last);
	err_set(&c->root->failure, ERR_SYS, "%s failed: " NCCL_SAYS "%s%s%.300s", what,
		ncclGetErrorString(r), *last ? ": " : "", last);
	(void)advise(c->root, what, fix_of(c));
	(void)nccl_fail(c, what, e);
	wait_for_news(c, r);
	return -1;
}

/* Is there a reason to give up? */
static int look(struct nccl_comm *c, const char *what, struct limit *l, struct err *e)
{
	enum watch_cause why = __atomic_load_n(&c->root->abort_reason, __ATOMIC_ACQUIRE)
				       ? WATCH_ABORTED
			       : is_stopped(c, 0) ? WATCH_STOPPED
			       : is_over(c, l)	  ? WATCH_DEADLINE
						  : WATCH_NOTHING;

	log_pass_on();
	return why ? give_up(c, what, why, patience_ns(c), e) : 0;
}

/* 1: still at work; 0: done; -1: failed. */
static int step(struct nccl_comm *c, const char *what, bool stream, struct err *e)
{
	ncclResult_t state = ncclSuccess, r = ncclCommGetAsyncError(c->handle, &state);
	CUresult done;

	r = r == ncclSuccess || r == ncclInProgress ? state : r;
	if (r == ncclInProgress)
		return 1;
	if (r != ncclSuccess)
		return nccl_fail_result(c, what, r, e);
	done = stream ? cuStreamQuery(c->gpu->stream) : CUDA_SUCCESS;
	if (done == CUDA_SUCCESS || done == CUDA_ERROR_NOT_READY)
		return done == CUDA_ERROR_NOT_READY;
	err_set(&c->root->failure, ERR_SYS, "%s failed on %s: CUDA says: %s", what, c->gpu->name,
		driver_words(done));
	(void)cuda_blames(done, &c->root->failure);
	return nccl_fail(c, what, e);
}

int nccl_await(struct nccl_comm *c, const char *what, bool stream, struct err *e)
{
	struct limit limit = {.from_ns = now_ns()};
	int left;

	for (unsigned i = 1; (left = step(c, what, stream, e)) > 0; i++) {
		if (i % LOOKS)
			continue;
		if (look(c, what, &limit, e))
			return -1;
		(void)sched_yield(); /* to NCCL's own threads, where processors are few */
	}
	return left;
}

int nccl_note(struct nccl_comm *c, enum coll_kind kind, uint64_t bytes, struct err *e)
{
	const char *what = coll_kind_name(kind);
	struct limit limit = {.from_ns = now_ns()};
	CUresult failed;

	while (!pace_add(&c->root->pace, bytes, &c->speed[kind], &failed)) {
		if (step(c, what, true, e) < 0 || look(c, what, &limit, e))
			return -1;
		(void)sched_yield();
	}
	if (failed == CUDA_SUCCESS)
		return 0;
	(void)cuda_failed(what, failed, &c->root->failure);
	return nccl_fail(c, what, e);
}

int nccl_poll(struct nccl_comm *c, const char *what, bool *ret_finished, struct err *e)
{
	int left = c->root->busy ? step(c->root->busy, what, true, e) : 0;

	if (left < 0)
		return -1;
	*ret_finished = !left;
	if (!left)
		c->root->busy = NULL;
	if (left)
		(void)pace_look(&c->root->pace);
	else
		pace_clear(&c->root->pace);
	return 0;
}

static ncclResult_t finalize(struct nccl_comm *c, void *arg)
{
	(void)arg;
	return ncclCommFinalize(c->handle);
}

static ncclResult_t destroy(struct nccl_comm *c, void *arg)
{
	(void)arg;
	return ncclCommDestroy(c->handle);
}

/* Destroying waits for whatever finalizing has left over, and without end. */
void nccl_end(struct nccl_comm *c)
{
	static const char what[] = "ncclCommFinalize";
	struct err ignored = {0};
	ncclResult_t r;

	nccl_calls_done(c);
	r = nccl_ask(c, finalize, NULL);
	if (r != ncclSuccess && r != ncclInProgress) {
		(void)nccl_fail_result(c, what, r, &ignored);
		return;
	}
	if (!nccl_await(c, what, false, &ignored))
		r = nccl_ask(c, destroy, NULL);
	if (c->root->asking.was_cut &&
	    !c->root->failure.kind) /* so of its family nothing is asked */
		(void)nccl_fail_result(c, what, r, &ignored);
	c->handle = NULL;
}
