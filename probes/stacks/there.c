/* Who is there to be judged at all: ranks that are missing, twice there, or not ours to see. */
#include "probes/stacks/advice.h"
#include "probes/stacks/inquest.h"
#include "probes/tally/ranks.h"

enum { MOST_NAMED = 4096 /* ranks of a host: an answer may say any number */ };
/* Are ranks of a host absent, and does somebody wait for them? */
enum lack { LACK_NONE, LACK_SOME, LACK_AWAITED };

bool stand_is_unread(const struct stand *s) { return s->unread != NULL; }

static bool is_of_host(const struct stand *p, const struct stand *q)
{
	return streq(p->host ?: "", q->host ?: "");
}

static void of_host(const struct inquest *q, const struct stand *any, stand_set *ret)
{
	for (size_t i = 0; i < q->all.n; i++)
		if (is_of_host(q->all.v[i], any))
			*LIST_ADD(q->a, ret) = q->all.v[i];
}

/* "rank 2 has": by name where all of the job are on this host, and who is there is known. */
static const char *who_lacks(const struct inquest *q, const stand_set *here)
{
	const struct stand *any = here->v[0];
	int *absent, size = any->size;
	size_t n = 0, k = 0;

	if (size != any->local_size || size > MOST_NAMED || (int)here->n != any->present ||
	    q->has_doubles)
		return NULL;
	absent = arena_alloc(q->a, (size_t)size * sizeof(*absent));
	for (int r = 0; r < size; r++) {
		while (k < here->n && here->v[k]->rank < r) /* they are sorted */
			k++;
		if (k == here->n || here->v[k]->rank != r)
			absent[n++] = r;
	}
	if (n + here->n != (size_t)size) /* one has no number */
		return NULL;
	return arena_printf(q->a, "%s %s", say_ranks(q->a, absent, n), n == 1 ? "has" : "have");
}

/* Of one host, by what its launcher counts there. */
static enum lack judge_host(struct inquest *q, const struct stand *any, const stand_set *wait)
{
	struct advice advice;
	stand_set here = {0};
	const char *only, *who;

	if (any->local_size <= 0 || any->present >= any->local_size)
		return LACK_NONE;
	of_host(q, any, &here);
	who = who_lacks(q, &here);
	only = arena_printf(q->a, "of %d ranks%s%s only %d %s there, %s", any->local_size,
			    any->host ? " on " : "", any->host ?: "", any->present,
			    any->present == 1 ? "is" : "are", stacks_who(q->a, &here));
	advice_missing(true, false, &advice);
	if (wait->n) {
		inquest_find(q, "STK-003", ST_FAIL, &advice, "%s; %s ended, or not begun%s", only,
			     who ?: "the processes of the others have", inquest_waiters(q, wait));
		return LACK_AWAITED;
	}
	/* a last checkpoint, an upload, or the way out: one rank ends before another */
	inquest_find(q, NULL, ST_INFO, &advice,
		     "%s%s; %s ended, or not begun, and nobody waits for %s", only,
		     here.n > 1
			     ? ""
			     : arena_printf(q->a, ", which is %s", stacks_where(q->a, here.v[0])),
		     who ?: "the others have", any->local_size - any->present == 1 ? "it" : "them");
	return LACK_SOME;
}

bool there_missing(struct inquest *q, const stand_set *wait)
{
	const struct stand *first = q->all.v[0];
	enum lack lack = LACK_NONE;
	struct advice advice;
	size_t present = 0;

	if (first->is_guessed)
		return false;
	for (size_t i = 0; i < q->all.n; i++) {
		bool is_first = true;
		enum lack its;

		for (size_t k = 0; k < i && is_first; k++)
			is_first = !is_of_host(q->all.v[k], q->all.v[i]);
		if (!is_first)
			continue;
		present += q->all.v[i]->present > 0 ? (size_t)q->all.v[i]->present : 0;
		its = judge_host(q, q->all.v[i], wait);
		lack = its > lack ? its : lack;
	}
	if (lack || first->size <= 0 || present >= (size_t)first->size)
		return lack == LACK_AWAITED;
	advice_missing(false, q->hosts > 0, &advice);
	inquest_find(q, NULL, q->hosts ? ST_WARN : ST_INFO, &advice,
		     "%zu of the job's %d ranks are on %s: what the others do is not known",
		     present, first->size, q->hosts ? "these hosts" : "this host");
	return false;
}

/* One number, two processes: what an earlier run left, or another job that is called alike. */
void there_twice(struct inquest *q)
{
	struct stack_verdict *v;

	for (size_t i = 1; i < q->all.n; i++) {
		const struct stand *p = q->all.v[i - 1], *s = q->all.v[i];

		if (p->rank != s->rank || p->rank < 0)
			continue;
		v = LIST_ADD(q->a, &q->found);
		*v = (struct stack_verdict){
			.check = "stack.job",
			.subject = inquest_subject(q, "doubles"),
			.status = ST_WARN,
			.message = arena_printf(
				q->a,
				"rank %d is there twice (pids %d and %d): left by an earlier run, "
				"or "
				"of another job that is called alike; nothing is sure then",
				s->rank, (int)p->pid, (int)s->pid)};
		*LIST_ADD(q->a, &v->fix) =
			arena_printf(q->a, "ps -o pid,ppid,lstart,args -p %d,%d   # on %s",
				     (int)p->pid, (int)s->pid, s->host ?: "this host");
		q->has_doubles = true;
		return;
	}
}

void there_unread(struct inquest *q)
{
	struct stack_verdict *v;
	stand_set set = {0};

	inquest_select(q, stand_is_unread, &set);
	if (!set.n)
		return;
	v = LIST_ADD(q->a, &q->found);
	*v = (struct stack_verdict){
		.check = "stack.read",
		.subject = inquest_subject(q, "ranks"),
		.status = set.n == q->all.n ? ST_ERROR : ST_WARN,
		.is_unread = true,
		.message = arena_printf(q->a, "%s %s not looked at: %s", stacks_who(q->a, &set),
					set.n == 1 ? "was" : "were", set.v[0]->unread)};
	if (set.v[0]->unread_fix)
		*LIST_ADD(q->a, &v->fix) = set.v[0]->unread_fix;
}
