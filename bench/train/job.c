#include "bench/train/job.h"

#include "bench/ranks/reason.h"
#include "bench/train/carrier.h"
#include "bench/train/lines.h"
#include "bench/train/patience.h"
#include "bench/train/say.h"
#include "bench/train/say_lost.h"
#include "bench/train/verdict.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <poll.h>

static const uint64_t READING_NS = 600 * NS_PER_S; /* data; besides the deadline */
static const uint64_t NEWS_NS = NS_PER_S;	   /* for the rendezvous to say how a rank ended */

struct job {
	struct train_opts *o;
	struct world_run *w;
	struct report *r;
	struct carrier carrier;
	struct data data;
	int culprit;
	const char *lost;	    /* the sentence about the culprit */
	const char *fix;	    /* where it is about something else than a lost rank */
	struct train_result result; /* rank 0 only */
	train_tell *tell;
};

static void progress(const struct train_result *r)
{
	const struct job *j = CONTAINER_OF(r, struct job, result);
	const struct train_step *s = &r->history.last_step;
	char what[96];

	(void)snprintf(what, sizeof(what), "epoch %zu, loss %.4f, %.0f %% right, %.0f samples/s",
		       (size_t)s->epoch + 1, s->loss, s->top1 * 100,
		       j->o->batch * j->o->np / s->seconds);
	j->tell(what, r->history.nsteps, r->total_steps);
}

static void proving(const struct train_result *r, uint64_t done, uint64_t total)
{
	const struct job *j = CONTAINER_OF(r, struct job, result);

	verdict_is_coming(j->w, j->o->deadline_ns);
	if (j->tell)
		j->tell("proving what each rank computed", done, total);
}

/* --- meeting ---------------------------------------------------------------------- */

static int open_data(struct job *j, struct err *e)
{
	struct train_opts *o = j->o;
	bool is_other = fault_is(&o->fault, FAULT_DATA, rdzv_rank(j->w->rdzv));

	fault_read(&o->fault, rdzv_rank(j->w->rdzv));
	o->data = &j->data;
	if (data_open(&j->data, o->data_spec, o->seed + is_other, o->asked, o->asked_validation, e))
		return -1;
	if (j->data.n[DATA_TRAIN] < (size_t)o->np)
		return err_set(e, ERR_USAGE, "--data: %zu samples are too few for %d ranks",
			       j->data.n[DATA_TRAIN], o->np);
	return 0;
}

/* From a slow file system that takes minutes, and longer on one host than on another. */
static int wait_for_data(struct job *j, struct err *e)
{
	const struct patience p = {.rdzv = j->w->rdzv,
				   .point = "ddpsmoke.data",
				   .doing = "read its data",
				   .ns = READING_NS,
				   .rank = rdzv_rank(j->w->rdzv),
				   .size = j->o->np};
	const struct rdzv_member *m;
	struct unit_buf time;
	size_t n;
	int late;

	if (!patience_wait(&p, &late, e))
		return 0;
	if (late < 0 || rdzv_members(p.rdzv, &m, &n, e))
		return -1;
	j->culprit = late;
	err_set(e, ERR_SYS, "rank %d (%.60s, %.60s) did not read its data within %s", late,
		m[late].host, m[late].data_addr, format_duration(&time, p.ns));
	return err_hint(e, "is it on a slow file system?");
}

/* The same device on all ranks, or everybody knows who was told of another one. */
static int agree(struct job *j, struct err *e)
{
	if (engine_agree(j->o->loaded, j->o->model, j->w, report_arena(j->r), &j->culprit, e)) {
		j->carrier.all_know = j->culprit >= 0;
		j->carrier.check = j->carrier.all_know ? "rank.alike" : NULL;
		return -1;
	}
	j->o->engine = j->o->loaded->engine;
	if (j->o->engine && j->o->engine->device) /* who carries gradients takes the same GPU */
		j->w->world.local_rank = j->o->loaded->local_rank;
	return 0;
}

/* What no rank can, and not just here. */
static const char *on_all_hosts(const struct job *j)
{
	return who_of_comm(j->carrier.comm, report_arena(j->r)).hosts > 1 ? "on all hosts: " : "";
}

/* The first says so; who typed what no rank can do is told by each. */
static int cannot_read(struct job *j, const struct err *why, struct err *e)
{
	if (rdzv_rank(j->w->rdzv) && why->kind != ERR_USAGE)
		return 0;
	j->carrier.all_know = true;
	(void)err_set(e, why->kind, "%s%.480s", on_all_hosts(j), why->msg);
	return err_hint_of(e, why);
}

static int run_rank(struct job *j, struct err *e)
{
	struct carrier_want want = {.backend = j->o->backend,
				    .deadline_ns = j->o->deadline_ns,
				    .deadline_given = j->o->deadline_given};
	struct trouble with_data = {0};
	struct comm *comm;

	if (open_data(j, &with_data.why))
		j->o->trouble = &with_data;
	fault_process(&j->o->fault, rdzv_rank(j->w->rdzv), FAULT_STEP(FAULT_AT_JOIN));
	if (wait_for_data(j, e) || agree(j, e))
		return -1;
	want.on_gpu = j->o->engine && j->o->engine->device && !j->o->is_sharded;
	if (carrier_connect(&j->carrier, &want, j->w, report_arena(j->r), &j->culprit, e))
		return -1;
	comm = j->carrier.comm;
	j->o->deadline_ns = j->carrier.world.deadline_ns;
	j->o->gpu_comm = j->carrier.gpu_comm;
	j->o->gpu_dev = j->carrier.gpu_dev;
	j->o->rdzv = j->w->rdzv;
	fault_process(&j->o->fault, comm->rank, FAULT_STEP(FAULT_AT_CONNECT));
	if (!train_rank(j->o, comm, comm->rank ? NULL : &j->result, e))
		return with_data.is_common ? cannot_read(j, &with_data.why, e) : 0;
	j->culprit = comm_culprit(comm, NULL);
	return -1;
}

/* --- a rank that was lost ----------------------------------------------------------- */

/* The rendezvous knows better why a connection closed; everybody is told the same sentence. */
static const char *wait_for_news(struct job *j)
{
	uint64_t until = now_ns() + NEWS_NS;
	struct pollfd p = {.fd = rdzv_failure_fd(j->w->rdzv), .events = POLLIN};

	while (!rdzv_failure(j->w->rdzv) && !interrupt_pending() && now_ns() < until)
		(void)poll(&p, 1, 20);
	return rdzv_failure(j->w->rdzv);
}

static int say_silent(struct job *j, const struct rdzv_member *m, int rank, struct err *e)
{
	struct unit_buf time;

	j->culprit = rank;
	/* it lives, as far as the rendezvous knows: this is all that can be said of it */
	return err_set(e, ERR_SYS,
		       "rank %d (%.60s, %.60s) did nothing for %s: it hangs, was stopped, or "
		       "computes for longer than --deadline",
		       rank, m[rank].host, m[rank].data_addr,
		       format_duration(&time, j->o->deadline_ns));
}

/*
 * A library that waits for somebody does not know for whom, and blames whoever gave up
 * before it did. Those that live answer here: the first that does not is the one.
 * Where one is known to have died, these calls end at once. Returns that news, if any.
 */
static const char *call_the_roll(struct job *j, struct err *e)
{
	struct arena *a = report_arena(j->r);
	struct rdzv *z = j->w->rdzv;
	const struct rdzv_member *m;
	struct err ignored = {0};
	const void *value;
	size_t n, size;

	j->carrier.check = NULL; /* until it is known that nobody is missing */
	if (rdzv_members(z, &m, &n, &ignored) ||
	    rdzv_set(z, arena_printf(a, "alive.%d", rdzv_rank(z)), "", 0, &ignored))
		return wait_for_news(j);
	for (int i = 0; i < (int)n; i++) {
		if (i == rdzv_rank(z) ||
		    !rdzv_get(z, arena_printf(a, "alive.%d", i), a, &value, &size, &ignored))
			continue;
		if (!rdzv_failure(z) && !interrupt_pending())
			(void)say_silent(j, m, i, e);
		return rdzv_failure(z);
	}
	j->culprit = -1;
	j->carrier.check = CARRIER_STANDS_STILL;
	return wait_for_news(j);
}

static const char *doing(const struct job *j)
{
	uint64_t total = j->result.total_steps, done = j->result.history.nsteps;
	struct arena *a = report_arena(j->r);

	if (!j->carrier.comm || (j->carrier.gpu_plugin && !j->carrier.gpu_comm))
		return "while the ranks connected";
	if (!done)
		return "before the first step had ended";
	if (done >= total)
		return "after the last step";
	return arena_printf(a, "in step %zu of %zu", (size_t)done + 1, (size_t)total);
}

/* Where that rank is, unless it is here; else both stay as they are. */
static void find_other(struct job *j, int rank, struct say_lost *ret)
{
	const struct who met = who_met(&j->carrier, j->w->rdzv, report_arena(j->r));

	if (rank < 0 || rank >= met.size ||
	    streq(met.peers[rank].at, met.peers[rdzv_rank(j->w->rdzv)].at))
		return;
	ret->host = met.peers[rank].at;
	ret->address = *met.peers[rank].address ? met.peers[rank].address : ret->host;
}

/* Collectives alone, of a fabric on which no data arrives. */
static const char *shows_it(struct job *j)
{
	struct arena *a = report_arena(j->r);
	const struct who met = who_met(&j->carrier, j->w->rdzv, a);

	return lines_bench(&(const struct lines){j->o, &met, a}, "");
}

/* What a library says of itself, or that nobody is missing. */
static void advise(struct job *j, struct err *e)
{
	struct arena *a = report_arena(j->r);

	if (!carrier_stands_still(&j->carrier)) {
		j->fix = err_fix(e, a);
		return;
	}
	j->fix = shows_it(j);
	(void)err_set(e, ERR_SYS, "%.400s; all ranks still answer, but no data arrives",
		      arena_strdup(a, e->msg));
}

/*
 * "rank 2 (c): rank 1 (b) did nothing": that is rank 1, unless it is us, or we miss rank 2
 * ourselves: who is cut off misses the others.
 */
static const char *believe(const struct job *j, const char *news)
{
	const char *inner = reason_essence(news);
	bool is_us = say_rank_in(inner) == rdzv_rank(j->w->rdzv);

	return is_us || (j->culprit >= 0 && j->culprit == say_rank_in(news)) ? news : inner;
}

/* Somebody had enough, or the rendezvous itself cannot go on: no rank is at fault. */
static bool is_no_ones(const struct job *j)
{
	enum rdzv_why why = rdzv_why(j->w->rdzv);

	return why == RDZV_INTERRUPTED || why == RDZV_UNABLE;
}

/* A rank that is at fault is a finding; anything else is our own failure. */
static int explain(struct job *j, struct err *e)
{
	bool is_told = e->kind == ERR_ABSENT || e->kind == ERR_USAGE; /* to all ranks alike */
	struct arena *a = report_arena(j->r);
	struct carrier *c = &j->carrier;
	const char *news = NULL, *sentence;
	struct say_lost lost;

	if (interrupt_pending() || is_told || c->lacks_address)
		return -1;
	if (!c->check && engine_failed_check(j->o->loaded)) {
		c->check = engine_failed_check(j->o->loaded);
		j->culprit = rdzv_rank(j->w->rdzv);
	}
	if (c->all_know)
		; /* the others end for the same reason */
	else if (carrier_has_failed(c) && (!c->check || carrier_stands_still(c)) &&
		 (j->culprit < 0 || !carrier_is_tcp(c)))
		news = call_the_roll(j, e);
	else
		news = wait_for_news(j);
	if (interrupt_pending() || (j->culprit < 0 && !news && !c->check))
		return -1;
	if (news && is_no_ones(j))
		return err_set(e, ERR_SYS, "%s", news);
	if (news) {
		news = believe(j, news);
		j->fix = reason_carried(a, news);
		c->check = reason_check(a, news, &news);
	} else if (c->check) {
		advise(j, e);
	}
	if (news && carrier_stands_still(c))
		j->fix = shows_it(j); /* whoever said so */
	if (say_rank_in(news) >= 0)
		j->culprit = say_rank_in(news);
	sentence = news ? news : arena_strdup(a, e->msg);
	j->lost = reason_make(a, c->check, sentence, news ? NULL : j->fix);
	lost = (struct say_lost){.rank = j->culprit,
				 .sentence = sentence,
				 .doing = doing(j),
				 .check = c->check,
				 .fix = j->fix,
				 .connecting = !c->comm};
	find_other(j, j->culprit, &lost);
	say_lost(j->r, &lost);
	*e = (struct err){0};
	return 0;
}

/* --- all of it ------------------------------------------------------------------------ */

static bool can_compare(const struct train_result *r)
{
	return r->lowest && r->history.nepochs && !interrupt_pending();
}

static void say_there(struct report *r)
{
	struct finding *f = report_find(r, "rank.joined", NULL);

	finding_set(f, ST_PASS, "took part");
	report_add(r, f);
}

/* No step, and nothing that would be the reason. */
static bool came_to_nothing(const struct job *j)
{
	return !j->result.history.nepochs && !report_count(j->r, ST_FAIL) && !interrupt_pending();
}

static int say(struct job *j, const struct who *w, int result, struct err *e)
{
	struct train_alone alone, *compared = NULL;

	verdict_is_coming(j->w, j->o->deadline_ns);
	if (!result && can_compare(&j->result)) {
		result = train_alone(j->o, &j->result, &alone, e);
		compared = result ? NULL : &alone;
	}
	if (w->size)
		say_all(j->r, j->o, w, &j->result, compared);
	if (!result && came_to_nothing(j))
		return err_set(e, ERR_SYS,
			       "the ranks ended well, but no step was done: nothing was trained");
	return result;
}

int train_job(struct train_opts *o, struct world_run *w, train_tell *tell, struct report *r,
	      const char **ret_lost, struct err *e)
{
	struct job j = {.o = o, .w = w, .r = r, .culprit = -1, .tell = tell};
	bool is_first = !rdzv_rank(w->rdzv);
	struct who world;
	int result;

	o->np = w->world.size;
	o->tell = tell;
	j.result = (struct train_result){.a = report_arena(r),
					 .history = HISTORY_EMPTY,
					 .odd = {.rank = -1},
					 .progress = tell ? progress : NULL,
					 .proving = proving};
	result = run_rank(&j, e);
	if (result)
		result = explain(&j, e);
	else if (!is_first)
		say_there(r);
	*ret_lost = j.lost;
	world = who_trained(&j.carrier, w->rdzv, o->engine && o->engine->device, report_arena(r));
	if (!result && !j.lost)
		door_try(w->rdzv, &world, report_arena(r), &world.door);
	if (j.carrier.check) /* else it is that connection, or others hear of it there */
		carrier_give_up(&j.carrier);
	carrier_free(&j.carrier);
	if (is_first)
		result = say(&j, &world, result, e);
	data_close(&j.data);
	return result;
}
