#include "bench/inspector/say.h"
#include "lib/core/units.h"

#include <math.h>

/* --- what sank ------------------------------------------------------------------------------- */

static double lost(const struct insp_stat *t) { return 1 - t->last / t->first; }

struct drifts {
	size_t looked_at, sunk;
	const struct insp_stat *worst; /* of those that sank the one that took most time */
};

static void look(const struct insp_say *s, struct drifts *d)
{
	for (size_t i = 0; i < s->stats.n; i++) {
		const struct insp_stat *t = &s->stats.v[i];
		bool is_worse;

		if (isnan(t->first) || t->bytes < INSP_LARGE || t->g->func >= INSP_COLLS ||
		    !t->whole)
			continue;
		is_worse =
			!d->worst || t->sunk > d->worst->sunk ||
			(t->sunk == d->worst->sunk &&
			 (t->sunk ? t->g->sum_us > d->worst->g->sum_us : lost(t) > lost(d->worst)));
		d->looked_at++;
		d->sunk += t->sunk;
		d->worst = is_worse ? t : d->worst;
	}
}

void insp_say_drift(const struct insp_say *s)
{
	struct finding *f;
	struct drifts d = {0};
	struct unit_buf size;

	look(s, &d);
	if (!d.looked_at)
		return;
	f = report_find(s->r, "coll.drift", NULL);
	finding_value(f, lost(d.worst) * 100, "%");
	finding_expect(f, "< 10 %%");
	if (!d.sunk) {
		finding_set(f, ST_PASS,
			    "no bandwidth sank: the last tenth of the time beside the first, of "
			    "%zu size%s from 1 MiB on",
			    d.looked_at, d.looked_at == 1 ? "" : "s");
	} else {
		finding_set(f, ST_WARN,
			    "%s of %s sank from %.1f to %.1f GB/s, by %.0f %%, between the first "
			    "and the last tenth of the time, in communicator %s, %s (%zu of %zu "
			    "sizes sank)",
			    insp_func_names[d.worst->g->func],
			    format_size(&size, (uint64_t)d.worst->bytes), d.worst->first,
			    d.worst->last, lost(d.worst) * 100, insp_say_comm(s, d.worst->c),
			    insp_say_shape(s, d.worst->c), d.sunk, d.looked_at);
		finding_fix(f, "nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE  # on its hosts: a "
			       "GPU that throttles");
		finding_fix(f, "dmesg -T | grep -iE 'link|xid|mlx5'  # or a link that went down");
	}
	report_add(s->r, f);
}

/* --- what stood still ----------------------------------------------------------------------------
 */

static const struct insp_stall *longest(const insp_stalls *l, bool together, size_t *ret_n)
{
	const struct insp_stall *best = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].together != together)
			continue;
		++*ret_n;
		if (!best || l->v[i].us > best->us)
			best = &l->v[i];
	}
	return best;
}

static const char *what(const struct insp_say *s, const struct insp_stall *x)
{
	struct unit_buf took, size;

	return arena_printf(s->a,
			    "%s %ju of %s took %s, %.0f times the usual, shortly before %s, in "
			    "communicator %s, %s",
			    insp_func_names[x->of->g->func], (uintmax_t)x->op->sn,
			    format_size(&size, (uint64_t)x->of->bytes),
			    format_duration(&took, (uint64_t)(x->us * 1000)), x->times,
			    insp_say_when(s, x->op->at_us), insp_say_comm(s, x->of->c),
			    insp_say_shape(s, x->of->c));
}

/* Where it is known: a line of the others, and a short one of the last. */
static const char *whom(const struct insp_say *s, const struct insp_stall *x)
{
	if (x->of->c->members < x->of->c->ranks)
		return "the network, or a rank whose lines are not here";
	if (!insp_is_whole(s->b, x->op) || x->op->least_us * 2 > x->op->most_us)
		return "a rank that came late, or the network";
	return arena_printf(s->a, "the others waited for %s", insp_say_rank(s, x->op->last));
}

static void say_stalls(const struct insp_say *s, const insp_stalls *l, size_t looked_at,
		       struct finding *f)
{
	size_t together, apart;
	const struct insp_stall *still = longest(l, true, &together),
				*late = longest(l, false, &apart);

	if (still) {
		finding_value(f, still->us / 1e6, "s");
		finding_set(
			f, ST_WARN,
			"%zu time%s a collective stood still for all its ranks; the longest: %s",
			together, together == 1 ? "" : "s", what(s, still));
		finding_fix(f, "dmesg -T  # of its hosts, at that time: a link that flapped, an "
			       "Xid; ibstat; ethtool -S IFACE");
	} else if (late) {
		finding_value(f, late->us / 1e6, "s");
		finding_set(f, ST_INFO,
			    "no collective stood still for all its ranks; %zu time%s ranks waited "
			    "long, as while one writes a checkpoint; the longest: %s: %s",
			    apart, apart == 1 ? "" : "s", what(s, late), whom(s, late));
	} else if (looked_at) {
		finding_set(f, ST_PASS, "no collective took 20 times as long as usual");
	} else {
		finding_set(f, ST_SKIP,
			    "no collective came 20 times with one size: how long it usually takes "
			    "cannot be told");
	}
}

void insp_say_stalls(const struct insp_say *s)
{
	struct finding *f = report_find(s->r, "coll.stall", NULL);
	insp_stalls l;
	size_t looked_at = insp_look_stalls(s->b, &s->stats, s->a, &l);

	finding_expect(f, "none that takes 20 times the median, and 10 ms");
	say_stalls(s, &l, looked_at, f);
	report_add(s->r, f);
}
