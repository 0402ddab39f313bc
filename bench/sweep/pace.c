#include "bench/sweep/pace.h"

#include <math.h>

/* A small row takes as long as one of so many bytes: latency, and what ranks agree on. */
static const double LEAST = 64 << 10;
static const double MOST_NS = 1e18; /* 30 years: nobody need be told */

static double weight(uint64_t bytes) { return (double)bytes + LEAST; }

/* Of all sizes from @bytes on, each once. */
static double pass(const struct sweep_opts *o, uint64_t bytes)
{
	double all = 0, more;

	if (!o->factor) { /* as many steps on average as there are sizes before the middle */
		more = o->step ? floor((double)(o->max - bytes) / (double)o->step) : 0;
		return (more + 1) * (weight(bytes) + (double)o->step * more / 2);
	}
	do
		all += weight(bytes);
	while ((bytes = sweep_next_size(o, bytes)));
	return all;
}

double pace_share(const struct sweep_opts *o, uint64_t bytes, uint64_t lists)
{
	return weight(bytes) / (pass(o, bytes) + (double)lists * pass(o, o->min));
}

double pace_scaled(double once_s, uint64_t from, uint64_t to)
{
	return once_s * weight(to) / weight(from);
}

uint64_t pace_iters(const struct sweep_opts *o, double left_s, double share, double once_s)
{
	enum { WAYS = 2, FEWEST = 3 }; /* in place and not */
	const double ODD = 0.01;       /* so much of what is left nobody misses */
	double one = WAYS * fmax(once_s, 1e-9), aggregate = (double)o->aggregate;
	double around = 1 + (double)o->warmup + (double)o->check; /* as measure() does */
	double room = (left_s * fmax(share, ODD) / one - around) / aggregate;
	uint64_t few = o->skip + FEWEST, fewest = o->iters < few ? o->iters : few;

	if (room >= (double)o->iters)
		return o->iters;
	if (room >= (double)fewest)
		return (uint64_t)room;
	return left_s >= one * ((double)fewest * aggregate + around) ? fewest : 0;
}

void pace_begin(struct pace *p, const struct sweep_opts *o, uint64_t rows)
{
	*p = (struct pace){.o = o};
	if (rows && !o->adaptive)
		p->left = pass(o, o->min) * (double)(rows / sweep_sizes(o));
}

uint64_t pace_next(struct pace *p, uint64_t now)
{
	uint64_t took = now - p->begun_ns;
	bool is_first = !p->begun_ns;
	double was = p->latest, left;

	if (p->left <= 0)
		return 0;
	p->bytes = is_first ? p->o->min : sweep_next_size(p->o, p->bytes);
	if (!is_first && !p->bytes) /* once more, with another type */
		p->bytes = p->o->min;
	p->left -= was;
	p->latest = weight(p->bytes);
	p->begun_ns = now;
	left = (double)took * p->left / was;
	return is_first || p->left <= 0 || left > MOST_NS ? 0 : (uint64_t)left;
}
