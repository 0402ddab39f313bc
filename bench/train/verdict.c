#include "bench/train/verdict.h"

#include "bench/dev/dev.h"
#include "bench/train/say_lost.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/net/own_addr.h"

static const char key[] = "ddpsmoke.verdict", sign_key[] = "ddpsmoke.judging";
enum { PATIENCE = 60 }; /* deadlines without a sign: rank 0 may have much to do once more */

void verdict_is_coming(struct world_run *w, uint64_t deadline_ns)
{
	static uint64_t told_ns;
	const uint64_t now = now_ns();
	struct err unheard = {0};

	if (!launcher_is_person(w->world.launcher) || (told_ns && now - told_ns < deadline_ns))
		return;
	told_ns = now;
	if (rdzv_set(w->rdzv, sign_key, &now, sizeof(now), &unheard))
		log_debug("%s", unheard.msg);
}

/* Rank 0 has given another sign than @last. */
static bool has_given_sign(struct world_run *w, struct arena *a, uint64_t *last)
{
	struct err none = {0};
	uint64_t sign = 0;
	const void *p;
	size_t n;

	if (rdzv_get(w->rdzv, sign_key, a, &p, &n, &none) || n != sizeof(sign))
		return false;
	memcpy(&sign, p, sizeof(sign));
	if (sign == *last)
		return false;
	*last = sign;
	return true;
}

/* Is everybody there to hear it? */
static int call(struct world_run *w, struct err *e)
{
	return rdzv_set(w->rdzv, "ddpsmoke.judged", "", 1, e);
}

void verdict_tell(struct world_run *w, const struct verdict *v)
{
	struct err unheard = {0};

	if (rdzv_set(w->rdzv, key, v, sizeof(*v), &unheard))
		log_debug("%s", unheard.msg);
}

/* Rank 0 lives, for all we hear, and the key is no word for a user. */
static int say_mute(const struct rdzv_member *first, uint64_t waited_ns, struct err *e)
{
	struct unit_buf b;

	return err_set(e, ERR_SYS, "rank 0 (%.60s, %.60s) did not say for %s whether all is well",
		       first->host, first->data_addr, format_duration(&b, waited_ns));
}

static int wait_for(struct world_run *w, const struct rdzv_member *first, struct arena *a,
		    struct verdict *ret, struct err *e)
{
	uint64_t since = now_ns(), sign = 0;
	const void *p;
	size_t n;

	for (int i = 0; i < PATIENCE; i++) {
		if (!rdzv_get(w->rdzv, key, a, &p, &n, e)) {
			memcpy(ret, p, n < sizeof(*ret) ? n : sizeof(*ret));
			*e = (struct err){0};
			return 0;
		}
		if (rdzv_failure(w->rdzv) || interrupt_pending())
			return -1;
		if (has_given_sign(w, a, &sign)) {
			since = now_ns();
			i = 0;
		}
	}
	return say_mute(first, now_ns() - since, e);
}

static const char *plural(uint32_t n) { return n == 1 ? "" : "s"; }

/* Its own failure is this rank's, too: a full disk, a picture that could not be written. */
static int take_error(const struct verdict *v, const char *host, struct err *e)
{
	return err_set(e, v->code == 4 ? ERR_ABSENT : ERR_SYS, "rank 0 (%s): %.*s", host,
		       (int)sizeof(v->said) - 1, *v->said ? v->said : "ended with an error");
}

static int hear(struct world_run *w, struct report *r, struct err *e)
{
	const struct rdzv_member *m;
	struct verdict v = {0};
	struct finding *f;
	size_t n;

	if (rdzv_members(w->rdzv, &m, &n, e) || wait_for(w, m, report_arena(r), &v, e))
		return -1;
	if (v.code > 1)
		return take_error(&v, m[0].host, e);
	if (!v.code)
		return 0;
	f = report_find(r, "rank.verdict", NULL);
	if (v.failed)
		finding_set(f, ST_FAIL, "rank 0 (%s) has the report: %u check%s failed", m[0].host,
			    v.failed, plural(v.failed));
	else
		finding_set(f, ST_FAIL, "rank 0 (%s) has the report: --strict, and %u warning%s",
			    m[0].host, v.warned, plural(v.warned));
	finding_fix(f, "- look at rank 0's output, on %s", m[0].host);
	report_add(r, f);
	log_say("%s", f->message);
	return 0;
}

static bool is_own_address(const char *text)
{
	union addr at;

	return !addr_parse(text, &at) && own_addr(&at);
}

static bool is_own_name(const char *host)
{
	char own[256] = "";

	(void)gethostname(own, sizeof(own) - 1);
	return streq(host, own);
}

/* What leads to the host of "node1, 10.0.0.2": another of this one's name is known by its address.
 * NULL: it is this one. */
static const char *way_to(const char *host, const char *address)
{
	if (is_own_address(host))
		return NULL;
	if (!is_own_name(host))
		return host;
	return *address && !is_own_address(address) ? address : NULL;
}

/*
 * Where "rank 0 (node1, 10.0.0.2) died", or "the rendezvous at 10.0.0.2:29500", was; NULL: it is
 * not said, or here.
 */
static const char *host_in(const char *sentence, struct arena *a)
{
	const char *mark = starts_with(sentence, "rank ") ? " (" : " at ";
	const char *at = strstr(sentence, mark), *host, *address = "";

	if (!at)
		return NULL;
	at += strlen(mark);
	host = *at == '[' ? arena_strndup(a, at + 1, strcspn(at + 1, "]"))
			  : arena_strndup(a, at, strcspn(at, ",): "));
	if (starts_with(at + strlen(host), ", "))
		address = arena_strndup(a, at + strlen(host) + 2,
					strcspn(at + strlen(host) + 2, ",)"));
	return *host ? way_to(host, address) : NULL;
}

/* It was there, and is no more: why, its host knows. */
static bool was_there(const char *sentence)
{
	return starts_with(sentence, "the rendezvous at ") || strstr(sentence, " died: ") ||
	       strstr(sentence, "has been silent");
}

int verdict_missing(struct report *r, bool silent, struct err *e)
{
	struct finding *f = report_find(r, "rank.joined", "ranks");

	finding_set(f, ST_FAIL, "%s", e->msg);
	finding_expect(f, "every rank joins");
	if (*e->hint)
		finding_fix(f, "%s", err_fix(e, f->a));
	else if (strstr(e->msg, " does not take part: "))
		finding_fix(f, "- mend that there, and start all ranks again");
	else if (was_there(e->msg))
		say_fix_lost(f, e->msg, host_in(e->msg, f->a));
	else
		finding_fix(f, "- start it there, with the same command line as here");
	report_add(r, f);
	if (silent) {
		log_say("%s", e->msg);
		log_hint("%s", f->fix.v[0]);
	}
	*e = (struct err){0};
	return 0;
}

int verdict_sick(struct report *r, int rank, struct err *e)
{
	struct arena *a = report_arena(r);

	say_lost(r, &(const struct say_lost){.rank = rank < 0 ? 0 : rank,
					     .sentence = arena_strdup(a, e->msg),
					     .doing = "before the ranks met",
					     .check = DEV_SICK,
					     .fix = err_fix(e, a)});
	*e = (struct err){0};
	return 0;
}

/* @e says who was lost. */
static const char *say_gone(struct report *r, struct err *e)
{
	const char *sentence = arena_strdup(report_arena(r), e->msg);

	say_lost(r, &(const struct say_lost){.rank = say_rank_in(sentence),
					     .sentence = sentence,
					     .doing = "after the last step",
					     .host = host_in(sentence, report_arena(r))});
	*e = (struct err){0};
	return sentence;
}

int verdict_share(struct world_run *w, struct report *r, const char **ret_lost, struct err *e)
{
	*ret_lost = NULL;
	if (!launcher_is_person(w->world.launcher))
		return 0;
	if (!(rdzv_rank(w->rdzv) ? hear(w, r, e) : call(w, e)))
		return 0;
	if (interrupt_pending() || rdzv_why(w->rdzv) != RDZV_LOST)
		return -1;
	*ret_lost = say_gone(r, e);
	return 0;
}
