#include "bench/sweep/pace.h"

/* A small row takes as long as one of so many bytes: latency, and what ranks agree on. */
static const double LEAST = 64 << 10;

static double weight(uint64_t bytes) { return (double)bytes + LEAST; }

void pace_begin(struct pace *p, const struct sweep_opts *o, uint64_t rows)
{
	double pass = 0;
	uint64_t n = 0;

	*p = (struct pace){.o = o};
	if (!rows || o->adaptive)
		return;
	for (uint64_t bytes = o->min; !n || bytes; bytes = sweep_next_size(o, bytes), n++)
		pass += weight(bytes);
	p->left = pass * (double)(rows / n);
}

uint64_t pace_next(struct pace *p, uint64_t now)
{
	uint64_t took = now - p->begun_ns;
	bool is_first = !p->begun_ns;
	double was = p->latest;

	if (p->left <= 0)
		return 0;
	p->bytes = is_first ? p->o->min : sweep_next_size(p->o, p->bytes);
	if (!is_first && !p->bytes) /* once more, with another type */
		p->bytes = p->o->min;
	p->left -= was;
	p->latest = weight(p->bytes);
	p->begun_ns = now;
	return is_first || p->left <= 0 ? 0 : (uint64_t)((double)took * p->left / was);
}
