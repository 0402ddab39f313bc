#include "bench/train/job.h"

#include "bench/comm/tcp.h"
#include "bench/train/say.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <poll.h>

static const uint64_t NEWS_NS = NS_PER_S; /* for the rendezvous to say how a rank ended */

struct job {
	struct train_opts *o;
	struct world_run *w;
	struct report *r;
	struct comm *comm;
	struct data data;
	int culprit;
	const char *lost;	    /* the sentence about the culprit */
	struct train_result result; /* rank 0 only */
	void (*tell)(const char *what, uint64_t done, uint64_t total);
};

static void progress(const struct train_result *r)
{
	const struct job *j = CONTAINER_OF(r, struct job, result);
	const struct train_step *s = &r->steps.v[r->steps.n - 1];
	char what[96];

	(void)snprintf(what, sizeof(what), "epoch %zu, loss %.4f, %.0f %% right, %.0f samples/s",
		       (size_t)s->epoch + 1, s->loss, s->top1 * 100,
		       j->o->batch * j->o->np / s->seconds);
	j->tell(what, r->steps.n, r->total_steps);
}

/* --- meeting ---------------------------------------------------------------------- */

static int exchange(void *arg, const void *mine, size_t n, void *all, struct err *e)
{
	struct rdzv *z = arg;

	return rdzv_all_gather(z, mine, n, all, e);
}

static int connect_ranks(struct job *j, struct err *e)
{
	const struct world *world = &j->w->world;
	const struct rdzv_member *m;
	struct tcp_opts o = {.rank = rdzv_rank(j->w->rdzv),
			     .size = world->size,
			     .deadline_ns = j->o->deadline_ns,
			     .stop_fds = {interrupt_fd(), rdzv_failure_fd(j->w->rdzv)},
			     .exchange = exchange,
			     .arg = j->w->rdzv};
	size_t n;

	if (rdzv_members(j->w->rdzv, &m, &n, e))
		return -1;
	o.host = m[o.rank].host;
	if (addr_parse(m[o.rank].data_addr, &o.at) && addr_parse("127.0.0.1", &o.at))
		return err_set(e, ERR_SYS, "no address");
	j->comm = tcp_comm_new(&o, &j->culprit, e);
	return j->comm ? 0 : -1;
}

static int open_data(struct job *j, struct err *e)
{
	struct train_opts *o = j->o;
	bool is_other = fault_is(&o->fault, FAULT_DATA, rdzv_rank(j->w->rdzv));

	o->data = &j->data;
	if (data_open(&j->data, o->data_spec, o->seed + is_other, o->asked, o->asked_validation, e))
		return -1;
	if (j->data.n[DATA_TRAIN] < (size_t)o->np)
		return err_set(e, ERR_SYS, "%zu samples are too few for %d ranks",
			       j->data.n[DATA_TRAIN], o->np);
	return 0;
}

static int run_rank(struct job *j, struct err *e)
{
	bool is_first = !rdzv_rank(j->w->rdzv);
	struct err sick = {0};

	if (open_data(j, &sick))
		j->o->trouble = sick.msg;
	fault_process(&j->o->fault, rdzv_rank(j->w->rdzv), FAULT_STEP(FAULT_AT_JOIN));
	if (connect_ranks(j, e))
		return -1;
	fault_process(&j->o->fault, j->comm->rank, FAULT_STEP(FAULT_AT_CONNECT));
	if (!train_rank(j->o, j->comm, is_first ? &j->result : NULL, e)) {
		*e = is_first ? sick : *e;
		return is_first && sick.kind ? -1 : 0;
	}
	j->culprit = comm_culprit(j->comm, NULL);
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

static int rank_in(const char *sentence)
{
	char digits[8] = "";
	uint64_t rank;

	if (sentence && starts_with(sentence, "rank "))
		(void)snprintf(digits, sizeof(digits), "%.*s",
			       (int)strspn(sentence + 5, "0123456789"), sentence + 5);
	return parse_uint(digits, &rank) ? -1 : (int)rank;
}

static const char *doing(const struct job *j)
{
	const struct train_result *r = &j->result;
	struct arena *a = report_arena(j->r);

	if (!j->comm)
		return "while the ranks connected";
	if (!r->steps.n)
		return "before the first step had ended";
	if (r->steps.n >= r->total_steps)
		return "after the last step";
	return arena_printf(a, "in step %zu of %zu", r->steps.n + 1, (size_t)r->total_steps);
}

/* Where that rank is, unless it is here. */
static const char *other_host(struct job *j, int rank)
{
	const struct rdzv_member *m;
	struct err unknown;
	size_t n;

	if (rank < 0 || rdzv_members(j->w->rdzv, &m, &n, &unknown) || (size_t)rank >= n ||
	    streq(m[rank].host, m[rdzv_rank(j->w->rdzv)].host))
		return NULL;
	return arena_strdup(report_arena(j->r), m[rank].host);
}

/* A rank that is at fault is a finding; anything else is our own failure. */
static int explain(struct job *j, struct err *e)
{
	const char *news = interrupt_pending() ? NULL : wait_for_news(j);

	if (interrupt_pending() || (j->culprit < 0 && !news))
		return -1;
	if (rank_in(news) >= 0)
		j->culprit = rank_in(news);
	j->lost = news ? news : arena_strdup(report_arena(j->r), e->msg);
	say_lost(j->r, &(const struct say_lost){.rank = j->culprit,
						.sentence = j->lost,
						.doing = doing(j),
						.host = other_host(j, j->culprit),
						.connecting = !j->comm});
	*e = (struct err){0};
	return 0;
}

/* --- all of it ------------------------------------------------------------------------ */

static bool can_compare(const struct train_result *r)
{
	return r->proven && r->epochs.n && !interrupt_pending();
}

static void say_there(struct report *r)
{
	struct finding *f = report_find(r, "rank.joined", NULL);

	finding_set(f, ST_PASS, "took part");
	report_add(r, f);
}

static int say(struct job *j, const struct say_world *w, int result, struct err *e)
{
	struct train_alone alone, *compared = NULL;

	if (!result && can_compare(&j->result)) {
		result = train_alone(j->o, &j->result, &alone, e);
		compared = result ? NULL : &alone;
	}
	if (w->size)
		say_all(j->r, j->o, w, &j->result, compared);
	return result;
}

int train_job(struct train_opts *o, struct world_run *w,
	      void (*tell)(const char *what, uint64_t done, uint64_t total), struct report *r,
	      const char **ret_lost, struct err *e)
{
	struct job j = {.o = o, .w = w, .r = r, .culprit = -1, .tell = tell};
	bool is_first = !rdzv_rank(w->rdzv);
	struct say_world world;
	int result;

	o->np = w->world.size;
	j.result = (struct train_result){.a = report_arena(r), .progress = tell ? progress : NULL};
	result = run_rank(&j, e);
	if (result)
		result = explain(&j, e);
	else if (!is_first)
		say_there(r);
	*ret_lost = j.lost;
	world = say_world(j.comm, report_arena(r));
	comm_free(j.comm);
	if (is_first)
		result = say(&j, &world, result, e);
	data_close(&j.data);
	return result;
}
