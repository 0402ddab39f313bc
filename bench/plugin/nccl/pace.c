#include "bench/plugin/nccl/pace.h"

#include "lib/core/units.h"

/* Before anything was seen it is COMM_LEAST_BYTES_PER_S. After: several times worse than that. */
static const double TIMES_WORSE = 10;

static CUevent *nth(struct pace *p, unsigned i) { return &p->events[(p->first + i) % PACE_STEPS]; }

bool pace_add(struct pace *p, uint64_t bytes, double *speed, CUresult *ret_failed)
{
	CUevent *e = nth(p, p->n);

	*ret_failed = CUDA_SUCCESS;
	if (p->n == PACE_STEPS)
		return false;
	if (!p->n && !p->loose)
		p->moved_ns = now_ns();
	p->loose += bytes;
	if (p->loose < PACE_LEAST)
		return true;
	if (!*e)
		*ret_failed = cuEventCreate(e, CU_EVENT_DISABLE_TIMING);
	if (*ret_failed == CUDA_SUCCESS)
		*ret_failed = cuEventRecord(*e, p->stream);
	p->steps[(p->first + p->n++) % PACE_STEPS] = (struct pace_step){speed, p->loose};
	p->loose = 0;
	return true;
}

/* One that stumbles once is not slow: it may halve at most from one to the next. */
static void learn(const struct pace_step *s, uint64_t bytes, uint64_t took_ns)
{
	double seen = (double)bytes / (double)(took_ns ? took_ns : 1);

	*s->speed = seen > *s->speed / 2 ? seen : *s->speed / 2;
}

CUresult pace_look(struct pace *p)
{
	const struct pace_step *last = NULL;
	CUresult r = CUDA_SUCCESS;
	uint64_t bytes = 0, now;

	while (p->n && (r = cuEventQuery(*nth(p, 0))) == CUDA_SUCCESS) {
		last = &p->steps[p->first];
		bytes += last->bytes;
		p->first = (p->first + 1) % PACE_STEPS;
		p->n--;
	}
	if (last) { /* several at once: somebody else kept us from looking */
		now = now_ns();
		learn(last, bytes, now - p->moved_ns);
		p->is_new = false;
		p->moved_ns = now;
	}
	return r == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : r;
}

void pace_clear(struct pace *p)
{
	(void)pace_look(p);
	p->first = p->n = 0;
	p->loose = 0;
	p->is_new = false;
}

uint64_t pace_allows_ns(const struct pace *p)
{
	const struct pace_step *s = p->n ? &p->steps[p->first] : NULL;

	if (!s || *s->speed <= 0)
		return (s ? s->bytes : p->loose) * (NS_PER_S / COMM_LEAST_BYTES_PER_S);
	return (uint64_t)(TIMES_WORSE * (double)s->bytes / *s->speed);
}

void pace_done(struct pace *p)
{
	for (unsigned i = 0; i < PACE_STEPS; i++)
		if (p->events[i])
			(void)cuEventDestroy(p->events[i]);
	*p = (struct pace){.stream = p->stream};
}
