#include "probes/stacks/judge.h"

#include "lib/core/text.h"
#include "probes/stacks/advice.h"
#include "probes/stacks/inquest.h"

/* --- what is found ---------------------------------------------------------------- */

const char *inquest_subject(const struct inquest *q, const char *what)
{
	return q->is_one_of_many ? arena_printf(q->a, "%s: %s", q->all.v[0]->job, what) : what;
}

void inquest_find(struct inquest *q, const char *id, enum status status,
		  const struct advice *advice, const char *fmt, ...)
{
	struct stack_verdict *v = LIST_ADD(q->a, &q->found);
	va_list ap;

	*v = (struct stack_verdict){.check = "stack.job",
				    .subject = inquest_subject(q, advice->subject),
				    .id = id,
				    /* whose process is which is not known then */
				    .status =
					    q->has_doubles && status == ST_FAIL ? ST_WARN : status};
	va_start(ap, fmt);
	v->message = arena_vprintf(q->a, fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < ADVICE_FIXES && advice->fix[i]; i++)
		*LIST_ADD(q->a, &v->fix) = advice->fix[i];
}

static const char *are(const stand_set *set) { return set->n == 1 ? "is" : "are"; }

static const char *looked(const struct inquest *q)
{
	return arena_printf(q->a, "%.0f s", q->all.v[0]->seconds);
}

/* "; ranks 0-2 wait in all_reduce (train.py:88)", or "" */
const char *inquest_waiters(const struct inquest *q, const stand_set *wait)
{
	return wait->n ? arena_printf(q->a, "; %s", stacks_waiters(q->a, wait)) : "";
}

/* --- places ------------------------------------------------------------------------ */

static int fuller(const void *x, const void *y)
{
	const struct spot *p = x, *q = y;

	if (p->in.n != q->in.n)
		return p->in.n < q->in.n ? 1 : -1;
	return (p->in.v[0]->rank > q->in.v[0]->rank) - (p->in.v[0]->rank < q->in.v[0]->rank);
}

static void find_spots(struct inquest *q)
{
	for (size_t i = 0; i < q->all.n; i++) {
		const struct stand *s = q->all.v[i];
		struct spot *at = NULL;

		for (size_t k = 0; k < q->spots.n && !at; k++)
			if (stand_same(q->spots.v[k].of, s))
				at = &q->spots.v[k];
		if (!at) {
			at = LIST_ADD(q->a, &q->spots);
			at->of = s;
		}
		*LIST_ADD(q->a, &at->in) = s;
	}
	qsort(q->spots.v, q->spots.n, sizeof(*q->spots.v), fuller);
}

void inquest_select(const struct inquest *q, bool (*is_so)(const struct stand *), stand_set *ret)
{
	for (size_t i = 0; i < q->all.n; i++)
		if (is_so(q->all.v[i]))
			*LIST_ADD(q->a, ret) = q->all.v[i];
}

static bool moves(const struct stand *s) { return s->moved && !s->unread; }
static bool is_stopped(const struct stand *s) { return s->state == 'T' || s->state == 't'; }
/* Waits for others, and stands still. */
static bool waits(const struct stand *s) { return stand_waits(s) && !s->moved && !is_stopped(s); }
static bool is_stuck(const struct stand *s) { return s->state == 'D' && !s->moved; }
static bool is_idle(const struct stand *s) { return s->kind == STAND_IDLE; }
static bool is_debugged(const struct stand *s) { return s->kind == STAND_DEBUGGER; }

/* --- ranks that hold the others up ------------------------------------------------- */

/* For a reason that is plain. */
static const struct {
	bool (*is_so)(const struct stand *);
	const char *id, *how;
	struct advice advice;
} plain[] = {
	{is_stopped,
	 "STK-004",
	 "stopped, ",
	 {.subject = "stopped"}}, /* its fix has their numbers */
	{is_debugged,
	 "STK-005",
	 "",
	 {.subject = "breakpoint",
	  .fix = {"- take the breakpoint out, or let the others wait in no collective meanwhile",
		  NULL}}},
	{is_stuck,
	 "STK-007",
	 "stuck in the kernel, ",
	 {.subject = "kernel",
	  .fix = {"- it waits for a file system or a driver: does the storage answer that the line "
		  "reads (ls there)? What does dmesg say?",
		  "sudo dmesg -T | tail -50   # on its host", NULL}}},
};

static bool is_plain(const struct stand *s)
{
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (plain[i].is_so(s))
			return true;
	return false;
}

/* "kill -CONT 4711 4712   # on node1": those of the first one's host. */
static const char *go_on(struct inquest *q, const stand_set *set)
{
	const char *host = set->v[0]->host;
	struct text t;

	text_init(&t, q->a);
	text_add(&t, "kill -CONT");
	for (size_t i = 0; i < set->n; i++)
		if (streq(set->v[i]->host ?: "", host ?: ""))
			text_addf(&t, " %d", (int)set->v[i]->pid);
	if (host)
		text_addf(&t, "   # on %s", host);
	return t.s;
}

static void judge_plain(struct inquest *q, const stand_set *wait)
{
	for (size_t i = 0; i < ARRAY_LEN(plain) && !q->odd; i++) {
		struct advice advice;
		stand_set set = {0};

		inquest_select(q, plain[i].is_so, &set);
		if (!set.n)
			continue;
		q->odd = set.v[0];
		advice = plain[i].advice;
		if (!advice.fix[0])
			advice.fix[0] = go_on(q, &set);
		inquest_find(q, plain[i].id, ST_FAIL, &advice, "%s %s %s%s%s",
			     stacks_who(q->a, &set), are(&set), plain[i].how,
			     stacks_where(q->a, set.v[0]), inquest_waiters(q, wait));
	}
}

/* What may take longer than we look, in a job that is well. */
static bool takes_long(const struct stand *s)
{
	return s->kind == STAND_SAVING || s->kind == STAND_COMPILING ||
	       s->kind == STAND_IMPORTING || s->kind == STAND_SERVICE || s->kind == STAND_LOCK;
}

/* What shows that ranks at one place get on; NULL: nothing does. */
static const char *gets_on(const struct spot *p)
{
	bool stands = true, works = false, below = false;

	for (size_t i = 0; i < p->in.n; i++) {
		stands &= !p->in.v[i]->moved;
		works |= stand_works(p->in.v[i]);
		below |= stand_below_works(p->in.v[i]);
	}
	return !stands ? ", and gets on"
	       : works ? ", and works"
	       : below ? ", and waits for processes that it started, which work"
		       : NULL;
}

/* They are where nobody waits for others, and the others wait for them. */
static void judge_astray(struct inquest *q, const stand_set *wait)
{
	for (size_t i = 0; i < q->spots.n; i++) {
		const struct spot *p = &q->spots.v[i];
		const struct stand *s = p->of;
		const char *on = gets_on(p);
		struct advice advice;

		if (s->unread || stand_waits(s) || is_plain(s))
			continue;
		advice_astray(s, wait->v[0], q->a, &advice);
		inquest_find(q, "STK-001", on || takes_long(s) ? ST_WARN : ST_FAIL, &advice,
			     "%s %s %s%s%s%s", stacks_who(q->a, &p->in), are(&p->in),
			     stacks_where(q->a, s),
			     on ?: arena_printf(q->a, " and did not move for %s", looked(q)),
			     inquest_waiters(q, wait), advice.worker);
		q->odd = q->odd ? q->odd : s;
	}
}

/* Messages go from one to one: who sends and who receives calls another function. */
static bool is_message(const struct stand *s)
{
	static const char *const calls[] = {"send",
					    "recv",
					    "isend",
					    "irecv",
					    "batch_isend_irecv",
					    "send_object_list",
					    "recv_object_list"};

	return s->what && is_among(s->what, calls, ARRAY_LEN(calls));
}

static bool is_in_collective(const struct stand *s)
{
	return waits(s) && s->what && !is_message(s);
}

/* All wait for others, but not in the same: in one group that never ends. Groups of ranks may each
 * be in one of their own; one rank alone is no group. */
static void judge_order(struct inquest *q)
{
	const struct stand *first = NULL;
	struct advice advice;
	struct text t;
	bool sure;

	for (size_t i = 0; i < q->spots.n; i++) {
		const struct stand *s = q->spots.v[i].of;

		if (!is_in_collective(s))
			continue;
		if (first && !streq(first->what, s->what))
			q->odd = s;
		first = first ? first : s;
	}
	if (!q->odd) /* one that is called in two places of the program is no fault */
		return;
	text_init(&t, q->a);
	for (size_t i = 0; i < q->spots.n; i++)
		text_addf(&t, "%s%s %s", i ? "; " : "", stacks_who(q->a, &q->spots.v[i].in),
			  stacks_where(q->a, q->spots.v[i].of));
	sure = q->spots.n == 2 && q->spots.v[1].in.n == 1;
	advice_order(sure, &advice);
	inquest_find(q, "STK-002", sure ? ST_FAIL : ST_WARN, &advice,
		     "ranks wait in different collectives, and none moved for %s: %s", looked(q),
		     t.s);
}

/* --- nobody stands out -------------------------------------------------------------- */

static void judge_alike(struct inquest *q, const stand_set *wait)
{
	const struct spot *p = &q->spots.v[0];
	struct advice advice;
	stand_set going = {0};

	inquest_select(q, moves, &going);
	if (wait->n == q->all.n && q->spots.n == 1) {
		advice_together(p->of, q->all.n, q->a, &advice);
		inquest_find(q, "STK-006", ST_WARN, &advice,
			     "%s %s %s, and did not move for %s: no rank%s is elsewhere",
			     stacks_who(q->a, &p->in), are(&p->in), stacks_where(q->a, p->of),
			     looked(q), (int)q->all.n < p->of->size ? " that was looked at" : "");
		return;
	}
	advice_again(p->of, &advice);
	if (going.n)
		inquest_find(q, NULL, ST_PASS, &(struct advice){.subject = "ranks"},
			     "the job moves: %s did not stand still for %s",
			     stacks_who(q->a, &going), looked(q));
	else
		inquest_find(q, NULL, ST_WARN, &advice, "%s %s %s, and did not move for %s",
			     stacks_who(q->a, &p->in), are(&p->in), stacks_where(q->a, p->of),
			     looked(q));
}

/* Where one waits for work, and all others do, or wait for it to hand some on. */
static bool judge_idle(struct inquest *q)
{
	stand_set idle = {0}, rest = {0};

	inquest_select(q, is_idle, &idle);
	inquest_select(q, stand_may_be_idle, &rest);
	if (!idle.n || rest.n < q->all.n)
		return false;
	inquest_find(q, NULL, ST_PASS, &(struct advice){.subject = "ranks"},
		     "%s: nobody asks for any, or who hands it out hangs itself",
		     stacks_waiters(q->a, &idle));
	return true;
}

static void judge(struct inquest *q)
{
	stand_set wait = {0}, blind = {0};
	bool idle, lacks;

	find_spots(q);
	there_twice(q);
	there_unread(q);
	inquest_select(q, waits, &wait);
	inquest_select(q, stand_is_unread, &blind);
	judge_plain(q, &wait);
	idle = !q->odd && judge_idle(q);
	if (!q->odd && !idle && wait.n)
		judge_astray(q, &wait);
	if (!q->odd && !idle)
		judge_order(q);
	lacks = there_missing(q, &wait);
	if (!q->odd && !idle && !lacks && blind.n < q->all.n)
		judge_alike(q, &wait);
	q->odd = q->odd ? q->odd : q->all.v[0];
}

/* --- jobs --------------------------------------------------------------------------- */

static int by_rank(const void *x, const void *y)
{
	const struct stand *const *p = x, *const *q = y;

	return ((*p)->rank > (*q)->rank) - ((*p)->rank < (*q)->rank);
}

static bool is_same_job(const struct stand *p, const struct stand *q)
{
	return streq(p->job, q->job) && p->size == q->size;
}

typedef LIST(struct inquest) inquest_list;

static void judge_jobs(const stand_list *all, size_t hosts, struct arena *a, inquest_list *ret)
{
	bool *done = arena_alloc(a, all->n + 1);

	for (size_t i = 0; i < all->n; i++) {
		struct inquest *q;

		if (done[i])
			continue;
		q = LIST_ADD(a, ret);
		*q = (struct inquest){.a = a, .hosts = hosts};
		for (size_t k = i; k < all->n; k++) {
			if (done[k] || !is_same_job(&all->v[i], &all->v[k]))
				continue;
			done[k] = true;
			*LIST_ADD(a, &q->all) = &all->v[k];
		}
		qsort(q->all.v, q->all.n, sizeof(*q->all.v), by_rank);
		q->is_one_of_many = q->all.n < all->n;
		judge(q);
	}
}

void stacks_judge(const stand_list *all, size_t hosts, struct report *r)
{
	struct arena *a = report_arena(r);
	inquest_list jobs = {0};

	judge_jobs(all, hosts, a, &jobs);
	for (size_t i = 0; i < jobs.n; i++)
		stacks_tell(&jobs.v[i], r);
	report_covers(r, "%zu rank%s of %zu job%s%s", all->n, all->n == 1 ? "" : "s", jobs.n,
		      jobs.n == 1 ? "" : "s",
		      hosts ? arena_printf(a, " on %zu host%s", hosts, hosts == 1 ? "" : "s")
			    : ", this host only");
}

static struct stacks_brief brief_of(const struct stack_verdict *v)
{
	return (struct stacks_brief){.kind = v->is_unread ? BRIEF_UNREAD : BRIEF_WRONG,
				     .said = v->message,
				     .fix = v->fix.n ? v->fix.v[0] : NULL};
}

struct stacks_brief stacks_brief(const stand_list *all, struct arena *a)
{
	inquest_list jobs = {0};

	judge_jobs(all, 0, a, &jobs);
	for (size_t i = 0; i < jobs.n; i++)
		for (size_t k = 0; k < jobs.v[i].found.n; k++) {
			const struct stack_verdict *v = &jobs.v[i].found.v[k];

			if (v->status == ST_FAIL || v->status == ST_WARN || v->is_unread)
				return brief_of(v);
		}
	return (struct stacks_brief){.kind = jobs.n ? BRIEF_WELL : BRIEF_NOBODY};
}
