/* Who came last: the cost of each is the time that all others would have saved, had it come with
 * the next one. Ranks are held against the collectives that they have part in: one of a thousand
 * GPUs has none in most. */
#include "bench/inspector/look.h"

#include <math.h>

/* Of all ranks' time; so many times what the next is waited for; of the collectives; and of so
 * many: a single wait of half a minute, while one rank writes a checkpoint, is no habit. */
static const double SHARE = 0.1, TIMES = 3, OFTEN = 0.5;
enum { LATE_MIN = 20 };
/* Of the mean time: less is how a ring ends, not somebody late. */
static const double CLEARLY = 0.1;

struct part {			 /* of a rank, or a host, or in a communicator */
	double cost_us, took_us; /* what it cost, of what its collectives took */
	double often, n;	 /* came clearly last, of so many that have its line */
};

struct tally {
	struct part *v;
	size_t n;
};

static struct tally tally_of(size_t n, struct arena *a)
{
	return (struct tally){arena_alloc(a, (n + 1) * sizeof(struct part)), n};
}

static void add(struct part *to, const struct part *p)
{
	to->took_us += p->took_us;
	to->n += p->n;
}

static void count(struct part *p, double us, double mean, double weight)
{
	if (!isfinite(us))
		return;
	p->cost_us += us * weight;
	p->often += us >= CLEARLY * mean;
}

static size_t most_of(const struct tally *t, size_t but)
{
	size_t best = t->n;

	for (size_t i = 0; i < t->n; i++)
		if (i != but && (best == t->n || t->v[i].cost_us > t->v[best].cost_us))
			best = i;
	return best;
}

static double share_of(const struct part *p)
{
	return p->took_us > 0 ? p->cost_us / p->took_us : 0;
}

/* The most waited for; what is there stays, where that does not stand out and this does. */
static void judge_late(const struct tally *t, bool is_host, struct insp_late *ret)
{
	size_t who = most_of(t, t->n), next = most_of(t, who);
	struct insp_late l = *ret;
	const struct part *p = &t->v[who];

	if (who == t->n || next == t->n)
		return;
	l.is_host = is_host;
	l.who = (uint32_t)who;
	l.share = share_of(p);
	l.next = share_of(&t->v[next]);
	l.often = p->n > 0 ? fmin(1, p->often / p->n) : 0;
	l.known = true;
	l.stands_out = p->n >= LATE_MIN && l.share >= SHARE && l.often >= OFTEN &&
		       p->cost_us >= TIMES * t->v[next].cost_us;
	if (!ret->known || (l.stands_out && !ret->stands_out))
		*ret = l;
}

static bool tells(const struct insp_book *b, const struct insp_op *o)
{
	return b->groups.v[o->group].func < INSP_EVEN && o->seen > 1 && !o->outlier;
}

/* Has a process several ranks of one communicator? */
static bool has_threads(const struct insp_book *b, const struct insp_order *o, struct arena *a)
{
	uint32_t *latest = arena_alloc(a, (b->processes.n + 1) * sizeof(*latest));

	for (size_t i = 0; i < b->members.n; i++) {
		const struct insp_member *m = &b->members.v[o->v[i]];

		if (latest[m->process] == m->comm + 1)
			return true;
		latest[m->process] = m->comm + 1;
	}
	return false;
}

struct late {
	const struct insp_book *b;
	struct tally hosts, single; /* who may be late */
	struct tally across, all;   /* by communicator: with lines of several hosts, and all */
	double wait_us, sum_us;	    /* of all ranks */
	bool threads;
};

static void look_op(struct late *x, const struct insp_op *o, struct insp_late *ret)
{
	const struct insp_member *m = &x->b->members.v[o->last];
	double sum = (double)o->sum_us, mean = sum / o->seen, least = (double)o->least_us;
	double weight = (double)x->b->groups.v[o->group].every; /* it stands for so many */
	const struct part one = {.took_us = (double)o->most_us * weight, .n = 1};
	/* not all ranks have a line of each */
	const struct part its = {.took_us = (double)o->most_us * weight,
				 .n = fmin(1, (double)o->seen / x->b->comms.v[m->comm].ranks)};

	ret->n++;
	x->sum_us += sum * weight;
	x->wait_us += (sum - least * o->seen) * weight;
	add(&x->all.v[m->comm], &its);
	if (isfinite(o->elsewhere_us))
		add(&x->across.v[m->comm], &one);
	count(&x->hosts.v[m->host], (double)o->elsewhere_us - least, mean, weight);
	count(&x->single.v[x->threads ? o->last : m->process], (double)o->second_us - least, mean,
	      weight);
}

/* What each has part in. A host has it once, however many of its ranks have. */
static void add_parts(struct late *x, const struct insp_order *o, struct arena *a)
{
	uint32_t *latest = arena_alloc(a, (x->b->hosts.n + 1) * sizeof(*latest));

	for (size_t i = 0; i < x->b->members.n; i++) {
		const struct insp_member *m = &x->b->members.v[o->v[i]];

		add(&x->single.v[x->threads ? o->v[i] : m->process], &x->all.v[m->comm]);
		if (latest[m->host] != m->comm + 1)
			add(&x->hosts.v[m->host], &x->across.v[m->comm]);
		latest[m->host] = m->comm + 1;
	}
}

void insp_look_late(const struct insp_book *b, struct arena *a, struct insp_late *ret)
{
	struct insp_order o = insp_order(b, a);
	struct late x = {.b = b,
			 .hosts = tally_of(b->hosts.n, a),
			 .across = tally_of(b->comms.n, a),
			 .all = tally_of(b->comms.n, a),
			 .threads = has_threads(b, &o, a)};

	x.single = tally_of(x.threads ? b->members.n : b->processes.n, a);
	*ret = (struct insp_late){.is_member = x.threads};
	for (size_t i = 0; i < b->ops.n; i++)
		if (tells(b, &b->ops.v[i]))
			look_op(&x, &b->ops.v[i], ret);
	if (ret->n < LATE_MIN || !(x.sum_us > 0))
		return;
	ret->waited = x.wait_us / x.sum_us;
	add_parts(&x, &o, a);
	judge_late(&x.single, false, ret);
	judge_late(&x.hosts, true, ret);
}
