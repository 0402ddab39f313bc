/* Why a rank cannot go on: another one that was lost, or itself. */
#include "bench/ranks/reason.h"
#include "bench/sweep/tell.h"
#include "bench/sweep/verdict.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <poll.h>

enum { NEWS_MS = 500, SILENCE_MS = 10000 };

/*
 * "rank 3 (node1, 10.0.0.2) died: ..." names its culprit; "rank 0 (...): no
 * connection with rank 3 (...)" is what rank 0 says of another one.
 */
static int culprit_of(const char *sentence, int size)
{
	const char *said = strstr(sentence, "): "), *rank = strstr(said ? said : sentence, "rank ");
	char *end;
	long n;

	if (!rank || (!said && rank != sentence))
		return -1;
	n = strtol(rank + 5, &end, 10);
	return end > rank + 5 && *end == ' ' && n >= 0 && n < size ? (int)n : -1;
}

static const char *failed_check(const struct rank *r)
{
	if (r->check)
		return r->check;
	return r->backend && r->backend->failed_check ? r->backend->failed_check() : NULL;
}

/* Another one's finding names ranks as it likes: "rank 1 (...): [nccl.gpu] rank 0 and rank 1 ..."
 */
static bool is_finding(struct arena *a, const char *news)
{
	const char *told;

	return reason_check(a, news, &told);
}

/* A library knows whose connection closed, and not why: who gave up waiting closes its own, too. */
static bool knows_no_reason(const struct rank *r, int culprit)
{
	return culprit >= 0 && r->backend && r->backend->failed_check;
}

/* A library that waits in vain names nobody. */
static bool names_nobody(const struct rank *r, int culprit)
{
	const char *check = failed_check(r);

	return culprit < 0 && check && streq(check, "comm.progress");
}

/*
 * With a deadline below the heartbeat a library gives up before the rendezvous knows who is
 * silent: for that word the rest of the heartbeat is waited.
 */
static int patience_ms(const struct rank *r, int culprit)
{
	uint64_t beat = rdzv_heartbeat_ns(r->w->rdzv);

	if (!(knows_no_reason(r, culprit) || names_nobody(r, culprit)) || r->w->world.size == 1 ||
	    beat <= r->deadline_ns)
		return NEWS_MS;
	beat += beat / 4 - r->deadline_ns; /* it is looked at now and then */
	return beat / NS_PER_MS > SILENCE_MS ? SILENCE_MS : NEWS_MS + (int)(beat / NS_PER_MS);
}

/*
 * Who gave up because of what all are told of may be heard before that is, and so may be that a
 * connection closed before why it did. What others saw of our own end is no news.
 */
static const char *bad_news(struct rank *r, int culprit)
{
	struct pollfd p[] = {{.fd = rdzv_failure_fd(r->w->rdzv), .events = POLLIN},
			     {.fd = interrupt_fd(), .events = POLLIN}};
	const char *news;

	if (!rdzv_failure(r->w->rdzv) && !interrupt_pending())
		(void)poll(p, ARRAY_LEN(p), patience_ms(r, culprit));
	news = reason_essence(rdzv_failure(r->w->rdzv));
	if (!news || is_finding(r->a, news))
		return news;
	return culprit_of(news, r->w->world.size) == r->w->world.rank ? NULL : news;
}

/* What ranks compare with each other, each of them finds. */
static bool was_compared(const char *check)
{
	return check && (streq(check, "comm.version") || streq(check, "nccl.settings"));
}

/* Was it others that this rank waited for in vain? */
static bool was_left(const struct rank *r, const char *news)
{
	return rdzv_why(r->w->rdzv) == RDZV_LOST && (news || !rdzv_failure(r->w->rdzv));
}

/* A person had enough, or the rendezvous itself cannot go on: whoever closes then is not lost. */
static bool is_no_ones(const struct rank *r)
{
	enum rdzv_why why = rdzv_why(r->w->rdzv);

	return why == RDZV_INTERRUPTED || why == RDZV_UNABLE;
}

/* What the rendezvous knows of a death, or of a silence, is more exact than a closed connection. */
static int find_culprit(const struct rank *r, const char *news, int culprit, struct err *e)
{
	bool counts = news && (culprit < 0 || strstr(news, "died: ") ||
			       (knows_no_reason(r, culprit) && strstr(news, " has been silent ")));
	int size = r->w->world.size, named = counts ? culprit_of(news, size) : -1;

	if (counts)
		(void)err_set(e, ERR_SYS, "%s", news);
	if (named >= 0)
		return named;
	return culprit < 0 && was_left(r, news) ? culprit_of(e->msg, size) : culprit;
}

/* Another rank left for what is a finding: it is that here, too. Where this one failed of the same
 * it is not the other's. */
static bool is_told(struct rank *r, const char *news, struct rank_end *ret, struct err *e)
{
	const char *told, *fix = reason_carried(r->a, news);

	ret->check = reason_check(r->a, news, &told);
	if (!ret->check)
		return false;
	if (ends_with(told, e->msg)) {
		tell_broke(r, ret->check, e);
		return true;
	}
	(void)err_set(e, ERR_SYS, "%s", reason_essence(told));
	if (fix)
		(void)err_take_fix(e, fix);
	tell_heard(r, ret->check, e);
	return true;
}

int rank_explain(struct rank *r, int culprit, struct rank_end *ret, struct err *e)
{
	const char *news;

	r->all_know |= was_compared(failed_check(r));
	news = r->all_know ? NULL : bad_news(r, culprit);
	if (interrupt_pending())
		return -1;
	if (news && is_no_ones(r)) {
		(void)err_set(e, ERR_SYS, "%s", news);
		tell_broke(r, NULL, e);
		return -1;
	}
	if (news && is_told(r, news, ret, e))
		return -1;
	ret->lost = find_culprit(r, news, culprit, e);
	if (ret->lost < 0) {
		ret->check = failed_check(r) ?: was_left(r, news) ? VERDICT_ALIVE : NULL;
		ret->all_know = r->all_know;
		tell_broke(r, ret->check, e);
		return -1;
	}
	tell_lost(r, ret->lost, e->msg);
	return 0;
}
