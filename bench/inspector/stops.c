/* Whose lines stop before the others'. */
#include "bench/inspector/look.h"

#include <math.h>

/* Less than that is how a job ends: what was not yet written is lost, here more and there less. */
static const double STOP_US = 10e6;

/* The highest value, and the highest of the others. */
struct top {
	double v, next;
	uint32_t whose;
};

/* How far the ranks of a communicator came, and until when. */
struct ends {
	struct top most[INSP_COLLS], least[INSP_COLLS] /* below zero */, last_us;
};

static void top_see(struct top *t, double v, uint32_t whose)
{
	if (v > t->v)
		*t = (struct top){v, t->v, whose};
	else
		t->next = v > t->next ? v : t->next;
}

static double top_but(const struct top *t, uint32_t member)
{
	return t->whose == member ? t->next : t->v;
}

static void look_ends(const struct insp_book *b, const uint32_t *members, size_t n,
		      struct ends *ret)
{
	const struct top none = {-INFINITY, -INFINITY, UINT32_MAX};

	for (size_t f = 0; f < INSP_COLLS; f++)
		ret->most[f] = ret->least[f] = none;
	ret->last_us = none;
	for (size_t i = 0; i < n; i++) {
		const struct insp_member *m = &b->members.v[members[i]];

		for (size_t f = 0; f < INSP_COLLS; f++) {
			top_see(&ret->most[f], (double)m->last[f], members[i]);
			top_see(&ret->least[f], -(double)m->last[f], members[i]);
		}
		top_see(&ret->last_us, m->last_us, members[i]);
	}
}

/* How long it took to get so much further, by the rank's own pace: clocks of hosts differ. */
static double by_pace(const struct insp_member *m, size_t f, uint64_t gap)
{
	if (!m->last[f])
		return INFINITY;
	return (double)gap / (double)m->last[f] * (m->last_us - m->first_us);
}

/* false: it went as far as the others, but for what the end of a job cuts off. */
static bool is_behind(const struct insp_member *m, uint32_t member, const struct ends *e, size_t n,
		      struct insp_stop *ret)
{
	double ago = top_but(&e->last_us, member) - m->last_us, pace = 0;
	bool alike = true; /* all others ended with the same collective */
	uint64_t gap = 0;

	for (size_t f = 0; f < INSP_COLLS; f++) {
		uint64_t most = (uint64_t)top_but(&e->most[f], member);

		alike &= most == (uint64_t)-top_but(&e->least[f], member);
		if (most <= m->last[f] + gap)
			continue;
		gap = most - m->last[f];
		pace = by_pace(m, f, gap);
		*ret = (struct insp_stop){.member = member,
					  .coll = insp_func_names[f],
					  .at = m->last[f] ? m->last[f] - 1 : 0,
					  .others = most - 1,
					  .took_part = f < INSP_EVEN && gap > 1};
	}
	ret->ago_s = ago / 1e6;
	ret->sure = gap && ago > STOP_US && pace > STOP_US / 2 && ago > 2 * m->gap_us;
	return ret->sure || (gap && alike && n > 2);
}

/* A process is in several communicators, and stops in all: once is enough. */
static void keep(const struct insp_book *b, struct arena *a, const struct insp_stop *s,
		 insp_stops *ret)
{
	for (size_t i = 0; i < ret->n; i++) {
		const struct insp_member *m = &b->members.v[ret->v[i].member];

		if (m->process != b->members.v[s->member].process)
			continue;
		if (s->sure > ret->v[i].sure ||
		    (s->sure == ret->v[i].sure && s->ago_s > ret->v[i].ago_s))
			ret->v[i] = *s;
		return;
	}
	*LIST_ADD(a, ret) = *s;
}

enum { STOPS_MAX = 1024 };

/* Are there collectives, and of two ranks? */
static bool can_tell(const struct ends *e, size_t n)
{
	bool any = false;

	for (size_t f = 0; f < INSP_COLLS; f++)
		any |= e->most[f].v > 0;
	return any && n > 1;
}

size_t insp_look_stops(const struct insp_book *b, struct arena *a, insp_stops *ret)
{
	struct insp_order o = insp_order(b, a);
	size_t looked_at = 0;

	*ret = (insp_stops){0};
	for (uint32_t c = 0; c < b->comms.n; c++) {
		const uint32_t *v = o.v + o.from[c];
		size_t n = o.from[c + 1] - o.from[c];
		struct ends e;

		look_ends(b, v, n, &e);
		if (!can_tell(&e, n))
			continue;
		looked_at += n;
		for (size_t i = 0; i < n && ret->n < STOPS_MAX; i++) {
			struct insp_stop s = {0};

			if (is_behind(&b->members.v[v[i]], v[i], &e, n, &s))
				keep(b, a, &s, ret);
		}
	}
	return looked_at;
}
