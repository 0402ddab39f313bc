#include "bench/sweep/stall.h"

#include "bench/sweep/verdict.h"
#include "lib/core/units.h"

#include <math.h>

/* A lost packet is sent again after 0.2 s, a second time 0.4 s later: that is no link yet. */
static const double LEAST_S = 0.5;
/* So many usual operations, rows; and what others have of the processors' time in a stall at most:
 * who waits for a link wants none. */
static const double TIMES = 10, ROWS = 2, ROBBED = 0.2;

static void add(struct stalls *all, const struct stall *x)
{
	if (all->n < STALLS_KEPT)
		all->kept[all->n] = *x;
	all->least_s = all->n ? fmin(all->least_s, x->seconds) : x->seconds;
	all->most_s = fmax(all->most_s, x->seconds);
	all->total_s += x->seconds;
	all->last = *x;
	all->n++;
}

/* How much longer its slowest operation took, where that is out of all proportion. */
static double in_one(const struct measurement *m)
{
	bool stood = m->max - m->p50 >= LEAST_S && m->max >= TIMES * m->p50;

	return stood && m->robbed < ROBBED ? m->max - m->p50 : 0;
}

static void add_waited(struct stalls *all, const struct measurement *m, size_t ranks)
{
	for (size_t p = 0; p < ranks && m->waited; p++)
		all->waited[p] += m->waited[p] * m->took;
}

void stall_look(struct stalls *all, struct stall_usual *u, const struct sweep_row *row, double at_s,
		double row_s)
{
	double lost = u->row_s > 0 ? row_s - u->row_s : 0;
	double sure = fmax(in_one(&row->out), in_one(&row->in));
	struct stall doubt = u->doubt;

	u->doubt = (struct stall){0};
	u->row_s = u->row_s > 0 ? fmin(u->row_s, row_s) : row_s;
	if (doubt.seconds > 0 && lost - sure < doubt.seconds / 2) /* quick but for its own stall */
		add(all, &doubt);
	if (sure > 0) {
		add(all, &(struct stall){at_s, fmax(sure, fmin(lost, row_s))});
		all->sure_s += sure;
		add_waited(all, in_one(&row->out) > 0 ? &row->out : &row->in,
			   (size_t)row->c->ranks);
	} else if (row->robbed < ROBBED && lost >= LEAST_S && row_s >= ROWS * u->row_s) {
		u->doubt = (struct stall){at_s, lost};
	}
}

int stall_whom(const struct stalls *all, size_t ranks)
{
	const double SHARE = 0.25, AHEAD = 2;
	size_t most = 0;
	double next = 0;

	for (size_t p = 1; p < ranks; p++)
		if (all->waited[p] > all->waited[most])
			most = p;
	for (size_t p = 0; p < ranks; p++)
		next = p != most ? fmax(next, all->waited[p]) : next;
	return ranks > 2 && all->waited[most] >= SHARE * all->sure_s && all->sure_s > 0 &&
			       all->waited[most] >= AHEAD * next
		       ? (int)most
		       : -1;
}

/* "; meanwhile the others waited for rank 2 (node2, 10.77.0.3)"; of two there is one way. */
static const char *whom(const struct story *s)
{
	const struct stalls *all = &s->burnin.stalls;
	int who = stall_whom(all, s->ranks.n);

	if (s->ranks.n == 2 && story_hosts(s) == 2)
		return arena_printf(s->a, "; between %s (%s) and %s (%s)", s->ranks.v[0].host,
				    s->ranks.v[0].address, s->ranks.v[1].host,
				    s->ranks.v[1].address);
	if (who < 0)
		return "";
	return arena_printf(s->a, "; meanwhile the others waited for rank %d (%s, %s)", who,
			    s->ranks.v[who].host, s->ranks.v[who].address);
}

static void say_when(const struct story *s, struct finding *f)
{
	const struct stalls *all = &s->burnin.stalls;
	struct unit_buf least, most, total;

	(void)format_duration(&most, (uint64_t)(all->most_s * 1e9));
	if (all->n == 1)
		finding_set(f, ST_WARN, "nothing moved for %s, until %s%s", most.s,
			    burnin_when(s, all->last.at_s), whom(s));
	else
		finding_set(f, ST_WARN,
			    "%zu times nothing moved, for %s to %s, %s in all: the first until %s, "
			    "the last until %s%s",
			    all->n, format_duration(&least, (uint64_t)(all->least_s * 1e9)), most.s,
			    format_duration(&total, (uint64_t)(all->total_s * 1e9)),
			    burnin_when(s, all->kept[0].at_s), burnin_when(s, all->last.at_s),
			    whom(s));
}

void stall_verdict(const struct story *s)
{
	const struct stalls *all = &s->burnin.stalls;
	int who = all->n ? stall_whom(all, s->ranks.n) : -1;
	struct finding *f;

	if (!all->n)
		return;
	f = report_find(s->r, "coll.stalls", s->sweep.coll->name);
	f->rank = who;
	f->host = who < 0 ? NULL : s->ranks.v[who].host;
	say_when(s, f);
	finding_value(f, all->total_s, "s");
	finding_expect(f, "no operation stands still for %g s", LEAST_S);
	if (story_hosts(s) > 1)
		finding_fix(f,
			    "dmesg -T | grep -iE 'link is|link (up|down)|reset'  # on %s, at these "
			    "times: a port, cable or switch that goes down and comes up",
			    who < 0 ? "each host" : s->ranks.v[who].host);
	else
		finding_fix(f, "dmesg -T | tail; vmstat 1  # what stops the ranks at these times?");
	verdict_add(s->r, f);
}
