#include "bench/sweep/pace.h"

/* A small row takes as long as one of so many bytes: latency, and what ranks agree on. */
static const double LEAST = 64 << 10;
static const double MOST_NS = 1e18; /* 30 years: nobody need be told */

static double weight(uint64_t bytes) { return (double)bytes + LEAST; }

/* Of @n sizes, each once. */
static double pass(const struct sweep_opts *o, uint64_t n)
{
	double all = 0, count = (double)n;

	if (!o->factor) /* as many steps on average as there are sizes before the middle */
		return count * (weight(o->min) + (double)o->step * (count - 1) / 2);
	for (uint64_t bytes = o->min; n--; bytes = sweep_next_size(o, bytes))
		all += weight(bytes);
	return all;
}

void pace_begin(struct pace *p, const struct sweep_opts *o, uint64_t rows)
{
	uint64_t n = sweep_sizes(o);

	*p = (struct pace){.o = o};
	if (rows && !o->adaptive)
		p->left = pass(o, n) * (double)(rows / n);
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
