/* How the calls of a rank wait: for its thread, for the others, and not for ever. */
#include "lib/cluster/rdzv_rank.h"
#include "lib/core/interrupt.h"
#include "lib/core/silence.h"
#include "lib/core/units.h"

#include <errno.h>
#include <stdarg.h>

enum { ANSWER_S = 5 };

void rdzv_lock(struct rdzv *r) { pthread_mutex_lock(&r->lock); }
void rdzv_unlock(struct rdzv *r) { pthread_mutex_unlock(&r->lock); }

/* False when the time has come. */
bool rdzv_wait_until(struct rdzv *r, uint64_t at_ns)
{
	struct timespec ts = {.tv_sec = (time_t)(at_ns / NS_PER_S),
			      .tv_nsec = (long)(at_ns % NS_PER_S)};

	return pthread_cond_timedwait(&r->changed, &r->lock, &ts) != ETIMEDOUT;
}

uint64_t rdzv_deadline(uint64_t delay_ns)
{
	uint64_t now = now_ns();

	return delay_ns < INT64_MAX - now ? now + delay_ns : INT64_MAX;
}

/* -1 with the reason when nothing more can come. */
int rdzv_check(struct rdzv *r, struct err *e)
{
	const char *failure = atomic_load(&r->failure);

	if (failure)
		return err_set(e, ERR_SYS, "%s", failure);
	if (r->interrupted && interrupt_err(e) < 0) {
		r->call_why = RDZV_INTERRUPTED;
		return -1;
	}
	return r->state == RDZV_OVER ? err_set(e, ERR_SYS, "the rendezvous is over") : 0;
}

int rdzv_in_vain(struct rdzv *r, struct err *e, const char *fmt, ...)
{
	char sentence[sizeof(e->msg)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	r->call_why = RDZV_LOST;
	return err_set(e, ERR_SYS, "%s", sentence);
}

int rdzv_post(struct rdzv *r, uint16_t type, const void *data, size_t n, struct err *e)
{
	void *copy = malloc(n ? n : 1);

	if (!copy)
		return err_sys(e, "cannot keep a message of %zu bytes", n);
	if (n)
		memcpy(copy, data, n);
	while (r->post.full && !rdzv_check(r, e))
		(void)rdzv_wait_until(r, rdzv_deadline(NS_PER_S));
	if (rdzv_check(r, e) < 0) {
		free(copy);
		return -1;
	}
	r->post = (struct rdzv_request){true, type, copy, n};
	rdzv_wake(r);
	return 0;
}

/*
 * Our own patience is over: the server knows whether somebody came in the
 * meantime, and who did not. @ret_idle_ns: for how long nobody has.
 */
static int ask(struct rdzv *r, uint32_t seq, uint64_t *ret_idle_ns, struct err *e)
{
	unsigned char buf[4];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};
	struct silence server;

	wire_put_u32(&w, seq);
	r->status.there = false;
	if (rdzv_post(r, RDZV_ASK, buf, w.n, e) < 0)
		return -1;
	silence_begin(&server, ANSWER_S * NS_PER_S, now_ns());
	while (!r->status.there || r->status.seq != seq) {
		uint64_t wait = silence_look(&server, now_ns(), 0);

		if (rdzv_check(r, e) < 0)
			return -1;
		if (wait)
			(void)rdzv_wait_until(r, rdzv_deadline(wait));
		else
			return rdzv_in_vain(r, e, "the rendezvous has not answered for %d s",
					    ANSWER_S);
	}
	*ret_idle_ns = r->status.idle_ns;
	return 0;
}

/*
 * What the server has answered is there before its status; only of a long
 * table there may be more to read.
 */
static int judge(struct rdzv *r, uint64_t idle_ns, size_t got, struct err *e)
{
	if (idle_ns >= r->o.deadline_ns)
		return rdzv_in_vain(r, e, "%s", r->status.text);
	if (!*r->status.text && got == r->table.got)
		return rdzv_in_vain(r, e, "the rendezvous keeps back its answer");
	return 0;
}

int rdzv_wait_meeting(struct rdzv *r, uint32_t seq, bool (*over)(const struct rdzv *r),
		      struct err *e)
{
	uint64_t until = rdzv_deadline(r->o.deadline_ns), idle = 0;
	size_t got;

	while (!over(r)) {
		if (rdzv_check(r, e) < 0)
			return -1;
		got = r->table.got;
		if (rdzv_wait_until(r, until) || over(r))
			continue;
		if (ask(r, seq, &idle, e) < 0 || (!over(r) && judge(r, idle, got, e) < 0))
			return -1;
		until = rdzv_deadline(idle < r->o.deadline_ns ? r->o.deadline_ns - idle : 0);
	}
	return 0;
}
