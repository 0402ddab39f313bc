/* One size, one way: warm up, time, verify. */
#include "bench/sweep/graph.h"
#include "bench/sweep/ledger.h"
#include "lib/core/stats.h"
#include "lib/core/units.h"

#include <math.h>

int sweep_agree(struct comm *c, double *values, size_t n, enum redop op, struct err *e)
{
	const struct comm_request q = {.kind = COLL_ALL_REDUCE,
				       .send = values,
				       .recv = values,
				       .count = n,
				       .type = DT_DOUBLE,
				       .op = op};

	return comm_run(c, &q, e);
}

int sweep_whom(const struct comm *c, double rank)
{
	return rank >= 0 && rank < c->size ? (int)rank : -1;
}

/* Of one operation; later of a loop's. */
struct took {
	double wall, cpu; /* cpu: only of -C */
};

/* As sweep_agree(), but for -a: one number each for the times of all ranks. */
static int average(struct sweep *s, struct took *t, struct err *e)
{
	static const enum redop ops[] = {OP_SUM, OP_AVG, OP_MIN, OP_MAX};
	double v[] = {t->wall, t->cpu};

	among_weigh(s, v, ARRAY_LEN(v));
	if (sweep_agree(s->comm, v, ARRAY_LEN(v), ops[s->o->average], e))
		return -1;
	*t = (struct took){v[0], v[1]};
	return 0;
}

static double clock_s(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct took look(const struct sweep *s)
{
	return (struct took){clock_s(CLOCK_MONOTONIC),
			     s->o->cpu_time ? clock_s(CLOCK_PROCESS_CPUTIME_ID) : 0};
}

/* -z: each operation is waited for, also those that -m puts together: else they are one group. */
static int start_one(struct sweep *s, const struct comm_request *q, struct err *e)
{
	enum sweep_blocking how = s->o->blocking;
	bool groups = s->o->aggregate > 1 && how == BLOCK_NOT;
	struct comm *c = among(s); /* not of who looks on, and meets the others at barriers */

	if (groups && c && comm_group_begin(c, e))
		return -1;
	for (uint64_t i = 0; i < s->o->aggregate; i++)
		if ((c && (comm_start(c, q, e) || (how != BLOCK_NOT && comm_wait(c, e)))) ||
		    (how == BLOCK_BARRIER && comm_barrier(s->comm, e)))
			return -1;
	return groups && c ? comm_group_end(c, e) : 0;
}

static int once(struct sweep *s, const struct comm_request *q, struct err *e)
{
	return start_one(s, q, e) || (among(s) && comm_wait(among(s), e)) ? -1 : 0;
}

/* What is timed: an iteration, or a graph of all of them; and how many operations that are. */
static int start_timed(struct sweep *s, const struct comm_request *q, struct err *e)
{
	return s->captured ? comm_replay(among(s), e) : start_one(s, q, e);
}

static double operations(const struct sweep *s)
{
	return (double)s->o->aggregate * (s->captured ? (double)s->captured : 1);
}

/* As nccl-tests measures: all of them are put on the stream, whose own clock has each one's time;
 * and its -C is of what that takes, for waiting keeps a processor busy. */
static int queue(struct sweep *s, const struct comm_request *q, size_t n, double *times,
		 double *busy_s, struct err *e)
{
	double start = clock_s(CLOCK_MONOTONIC);

	if (s->dev->mark(s->dev, 0, e))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (start_timed(s, q, e) || s->dev->mark(s->dev, i + 1, e))
			return -1;
	*busy_s += clock_s(CLOCK_MONOTONIC) - start;
	if (comm_wait(among(s), e))
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (s->dev->between(s->dev, i, i + 1, &times[i], e))
			return -1;
		times[i] /= operations(s);
	}
	return 0;
}

static int queued_loop(struct sweep *s, const struct comm_request *q, double *times, uint64_t iters,
		       struct took *ret, struct err *e)
{
	double start = clock_s(CLOCK_MONOTONIC), busy = 0;
	double n_all = (double)iters * operations(s);
	/* a launch into a stream that is full knows no deadline: no more operations than marks */
	uint64_t most = s->captured ? (DEV_MARKS - 2) / s->captured + 1 : DEV_MARKS - 1;

	for (uint64_t i = 0; i < iters; i += most) {
		uint64_t n = iters - i < most ? iters - i : most;

		if (queue(s, q, (size_t)n, times + i, &busy, e))
			return -1;
	}
	*ret = (struct took){(clock_s(CLOCK_MONOTONIC) - start) / n_all, busy / n_all};
	return 0;
}

/* Fills @times; *ret is the time of one operation in the whole loop. */
static int timed_loop(struct sweep *s, const struct comm_request *q, double *times, uint64_t iters,
		      struct took *ret, struct err *e)
{
	double n = (double)(iters * s->o->aggregate);
	enum sweep_blocking blocking = s->o->blocking;
	struct took last, sum = {0};

	if (s->dev->mark && blocking == BLOCK_NOT && among(s))
		return queued_loop(s, q, times, iters, ret, e);
	last = look(s);
	for (uint64_t i = 0; i < iters; i++) {
		struct took now;

		if (once(s, q, e))
			return -1;
		now = look(s);
		times[i] = (now.wall - last.wall) / (double)s->o->aggregate;
		sum.wall += now.wall - last.wall;
		sum.cpu += now.cpu - last.cpu;
		last = now;
		if (blocking != BLOCK_APART)
			continue;
		if (comm_barrier(s->comm, e))
			return -1;
		last = look(s);
	}
	*ret = (struct took){sum.wall / n, sum.cpu / n};
	return 0;
}

/* Graphs that have so many iterations. */
static uint64_t launches_of(const struct sweep *s, uint64_t iters)
{
	return iters < s->captured ? 1 : iters / s->captured;
}

/* All of them, in loops of @most each. */
static int timed_loops(struct sweep *s, const struct comm_request *q, uint64_t iters, uint64_t most,
		       struct took *ret, struct err *e)
{
	double *times = s->times[s->buffers.in_place];

	*ret = (struct took){0};
	for (uint64_t i = 0, n; i < iters; i += n) {
		struct took t;

		n = iters - i < most ? iters - i : most;
		if ((i && comm_barrier(s->comm, e)) || timed_loop(s, q, times + i, n, &t, e))
			return -1;
		ret->wall += t.wall * (double)n / (double)iters;
		ret->cpu += t.cpu * (double)n / (double)iters;
	}
	if (among(s))
		return 0;
	memset(times, 0, (size_t)iters * sizeof(*times)); /* it looked on */
	*ret = (struct took){0};
	return 0;
}

/* All ranks get to know each one's times, where somebody asked for them. */
static int keep_each(struct sweep *s, size_t iters, struct measurement *m, struct err *e)
{
	size_t n = iters * (size_t)s->comm->size;
	bool in = s->buffers.in_place;
	double *v = s->each[in];

	m->each = v;
	if (!v)
		return 0;
	memset(v, 0, n * sizeof(*v));
	memcpy(v + iters * (size_t)s->comm->rank, s->times[in], iters * sizeof(*v));
	return sweep_agree(s->comm, v, n, OP_SUM, e);
}

/* The slowest rank's time of every iteration counts. */
static int summarize(struct sweep *s, uint64_t iters, struct measurement *m, struct err *e)
{
	size_t skip = s->o->skip < iters ? (size_t)s->o->skip : 0, n = (size_t)iters - skip;
	double *times = s->times[s->buffers.in_place], *t = s->sorted, sum = 0, squares = 0;

	if (keep_each(s, (size_t)iters, m, e) ||
	    sweep_agree(s->comm, times, (size_t)iters, OP_MAX, e))
		return -1;
	m->times = times;
	m->ntimes = (size_t)iters;
	memcpy(t, times + skip, n * sizeof(*t));
	sort_doubles(t, n);
	for (size_t i = 0; i < n; i++) {
		sum += t[i];
		squares += t[i] * t[i];
	}
	m->min = t[0];
	m->max = t[n - 1];
	m->p50 = t[n / 2]; /* of an even number the upper one, as nccl-tests has it */
	m->p99 = t[(n * 99 + 99) / 100 - 1]; /* nearest rank */
	m->mean = sum /= (double)n;
	m->deviation = sqrt(fmax(0, squares / (double)n - sum * sum));
	return 0;
}

static int verify(struct sweep *s, struct coll_case *c, struct measurement *m, struct err *e)
{
	const struct comm_request q = coll_request(c, &s->buffers);
	double wrong = 0;

	m->wrong = -1;
	if (c->coll->exchanges && s->buffers.in_place && !comm_caps(s->comm)->in_place_exchange)
		return 0;
	for (uint64_t i = 0; i < s->o->check && wrong == 0; i++) {
		c->seed = ++s->seed;
		coll_fill(c, &s->buffers, s->dev);
		if (s->dev->sync(s->dev, e) || graph_run(s, &q, e))
			return -1;
		wrong = among(s) ? (double)coll_wrong(c, &s->buffers, s->dev) : 0;
		s->own_wrong += (uint64_t)wrong;
		if (sweep_agree(s->comm, &wrong, 1, OP_SUM, e))
			return -1;
		m->wrong = (int64_t)wrong;
	}
	return 0;
}

/* Numbers of one way: beyond, nobody reads them, and an event would be longer than
 * RELAY_LINE_MAX. (Of -n 1000000 there is room for the times of all as one.) */
enum { EACH_MAX = 1 << 20 };

static int room(double **v, size_t n, struct err *e)
{
	free(*v);
	*v = calloc(n, sizeof(**v));
	return *v ? 0 : err_sys(e, "cannot keep %zu times", n);
}

static int room_for_times(struct sweep *s, uint64_t iters, struct err *e)
{
	size_t n = (size_t)iters, all = n * (size_t)s->comm->size;

	if (iters <= s->ntimes)
		return 0;
	s->ntimes = n;
	for (size_t i = 0; i < 2; i++) {
		free(s->each[i]); /* of fewer iterations */
		s->each[i] = NULL;
		if (room(&s->times[i], n, e) ||
		    (s->o->keep_each && all + n <= EACH_MAX && room(&s->each[i], all, e)))
			return -1;
	}
	return room(&s->sorted, n, e);
}

void measure_aim(struct sweep *s, struct coll_case *c, uint64_t bytes, uint64_t late)
{
	size_t shift = (size_t)late * dtype_size(c->type);

	s->bytes = bytes;
	c->sizes = coll_sizes(c->coll, (size_t)bytes, c->type, c->ranks);
	s->buffers = (struct coll_buffers){.send = (char *)s->allocated[0] + shift,
					   .recv = (char *)s->allocated[1] + shift};
}

int measure_roughly(struct sweep *s, struct coll_case *c, uint64_t bytes, double *ret,
		    struct err *e)
{
	struct comm_request q;
	uint64_t start;
	int n = 0;

	measure_aim(s, c, bytes, 0);
	q = coll_request(c, &s->buffers);
	if (among_run(s, &q, e) || comm_barrier(s->comm, e))
		return -1;
	for (start = now_ns(); n < 3; n++)
		if (among_meet(s, &q, e))
			return -1;
	*ret = (double)(now_ns() - start) / 1e9 / n;
	return sweep_agree(s->comm, ret, 1, OP_MAX, e);
}

/*
 * What queues up on a stream is waited for by what such things have taken before: a first
 * size that is large is come up to, so that a network that stands still is known soon.
 */
static int come_up_to(struct sweep *s, const struct coll_case *c, struct err *e)
{
	enum { FIRST = 1 << 20, TIMES = 16 };
	size_t bytes = coll_bytes(c);
	struct coll_case smaller = *c;

	if (!s->dev->mark || bytes <= s->paced)
		return 0;
	for (size_t b = s->paced ? s->paced : FIRST; b < bytes && b <= SIZE_MAX / TIMES;
	     b *= TIMES) {
		struct comm_request q;

		smaller.sizes = coll_sizes(c->coll, b, c->type, c->ranks);
		q = coll_request(&smaller, &s->buffers);
		if (among_run(s, &q, e))
			return -1;
	}
	s->paced = bytes;
	return 0;
}

int measure(struct sweep *s, struct coll_case *c, uint64_t iters, struct measurement *ret,
	    struct err *e)
{
	uint64_t samples = iters > s->o->graph ? iters : s->o->graph, most;
	struct took took = {0};
	struct coll_case shown;
	struct comm_request q;
	struct ledger w;
	int result;

	if (room_for_times(s, samples, e) || come_up_to(s, c, e))
		return -1;
	q = coll_request(c, &s->buffers); /* of all requests the last one is good */
	c->seed = s->seed;
	coll_fill(c, &s->buffers, s->dev);
	if (among_warm(s, &q, s->o->warmup + 1, &most, e) ||
	    graph_capture(s, &q, start_one, iters, e) || comm_barrier(s->comm, e))
		return -1;
	samples = s->captured ? s->o->graph : iters;
	w = ledger_open(s);
	if (timed_loops(s, &q, samples, s->captured ? launches_of(s, most) : most, &took, e) ||
	    ledger_close(s, &w, took.wall, ret, e) || average(s, &took, e) ||
	    summarize(s, samples, ret, e))
		return -1;
	ret->seconds = took.wall;
	ret->shown = s->o->cpu_time ? took.cpu : took.wall;
	shown = among_shown(s, c);
	ret->algbw = coll_algbw(&shown, took.wall);
	ret->busbw = ret->algbw * c->coll->factor(shown.ranks);
	result = verify(s, c, ret, e);
	graph_forget(s);
	return result;
}
