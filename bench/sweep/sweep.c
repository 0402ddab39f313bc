#include "bench/sweep/within.h"

#include "lib/core/units.h"
#include "lib/host/robbed.h"

#include <math.h>

static const uint64_t latency_sizes[] = {8, 1 << 10, 32 << 10};
static const uint64_t FIRST_LARGE = 1 << 20;
static const double GAIN = 1.03, SECONDS_PER_SIZE = 0.4;
enum { FEW = 4 }; /* iterations of an adaptive sweep, at least */

uint64_t sweep_memory(uint64_t max) { return 2 * (max + SWEEP_SLACK); }

uint64_t sweep_next_size(const struct sweep_opts *o, uint64_t bytes)
{
	uint64_t next;

	if (!o->factor)
		next = o->step && bytes <= UINT64_MAX - o->step ? bytes + o->step : 0;
	else if (!bytes)
		next = 1;
	else
		next = o->factor > 1 && bytes <= UINT64_MAX / o->factor ? bytes * o->factor : 0;
	return next > o->max ? 0 : next;
}

static unsigned bits(unsigned set) { return (unsigned)__builtin_popcount(set); }

/* Of -i 1 there may be billions: these are not counted one by one. */
uint64_t sweep_sizes(const struct sweep_opts *o)
{
	uint64_t sizes = 1;

	if (!o->factor)
		return o->step && o->max > o->min ? (o->max - o->min) / o->step + 1 : 1;
	for (uint64_t b = o->min; (b = sweep_next_size(o, b));)
		sizes++;
	return sizes;
}

uint64_t sweep_count(const struct sweep_opts *o, int ranks)
{
	if (o->adaptive || !o->cycles)
		return 0;
	return sweep_sizes(o) * o->cycles * bits(o->types) * (o->coll->reduces ? bits(o->ops) : 1) *
	       (o->coll->rooted && o->root < 0 ? (uint64_t)ranks : 1);
}

void sweep_give_room(struct sweep *s)
{
	for (size_t i = 0; i < 2; i++) {
		if (among(s))
			comm_unregister(among(s), s->allocated[i]);
		s->dev->free(s->dev, s->allocated[i]);
	}
	for (size_t i = 0; i < 2; i++) {
		free(s->times[i]);
		free(s->each[i]);
		free(s->by_rank[i]);
		s->times[i] = s->each[i] = s->by_rank[i] = NULL;
	}
	free(s->sorted);
	free(s->waited_ns);
	s->sorted = NULL;
	s->waited_ns = NULL;
}

static int take_memory(struct sweep *s, size_t bytes, struct err *e)
{
	size_t ranks = (size_t)s->comm->size;

	for (size_t i = 0; i < 2; i++) {
		s->by_rank[i] = calloc(2 * ranks, sizeof(*s->by_rank[i]));
		if (!s->by_rank[i])
			return err_sys(e, "cannot keep the times of %zu ranks", ranks);
		if (s->dev->alloc(s->dev, bytes, &s->allocated[i], e))
			return -1;
	}
	s->waited_ns = calloc(ranks, sizeof(*s->waited_ns));
	return s->waited_ns ? 0 : err_sys(e, "cannot keep the times of %zu ranks", ranks);
}

/* Of one that went without a word the others would say that nothing passes. */
int sweep_take_room(struct sweep *s, struct err *e)
{
	size_t bytes = (size_t)sweep_memory(s->o->max) / 2;
	struct err own = {0};
	int lacks = take_memory(s, bytes, &own);
	double who = lacks ? s->comm->rank : s->comm->size;
	const char *host;
	int first;

	if (sweep_agree(s->comm, &who, 1, OP_MIN, lacks ? &(struct err){0} : e)) {
		if (lacks)
			*e = own;
		return -1;
	}
	first = sweep_whom(s->comm, who);
	if (lacks || first >= 0) {
		s->all_know = true;
		first = first < 0 ? s->comm->rank : first;
		host = comm_peer(s->comm, first)->host;
		err_set(e, ERR_SYS, "rank %d (%s) has no memory for its buffers", first, host);
		return err_command(e, "%s   # on %s",
				   s->dev->available ? "nvidia-smi" : "ulimit -v; free -m", host);
	}
	for (size_t i = 0; i < 2 && among(s); i++)
		if (comm_register(among(s), s->allocated[i], bytes, e))
			return -1;
	return 0;
}

static int run_size(struct sweep *s, struct coll_case *c, uint64_t bytes, uint64_t iters,
		    struct sweep_row *ret, struct err *e)
{
	measure_aim(s, c, bytes, s->o->unalign);
	*ret = (struct sweep_row){.c = c, .all = s->comm->size};
	if (s->next)
		s->next(s, c);
	if (measure(s, c, iters, &ret->out, e))
		return -1;
	s->buffers.in_place = true;
	return measure(s, c, iters, &ret->in, e);
}

double sweep_row_busbw(const struct sweep_row *r) { return fmax(r->out.busbw, r->in.busbw); }

void sweep_totals_add(struct sweep_totals *t, const struct sweep_row *r)
{
	enum { SMALL = 4096 }; /* of larger ones the time is bandwidth, not latency */
	double busbw = sweep_row_busbw(r);
	uint64_t bytes = coll_bytes(r->c);

	t->rows++;
	t->busbw_sum += r->out.busbw + r->in.busbw;
	if (!bytes) /* a call that does nothing: no latency of anything */
		return;
	t->carried++;
	t->checked += (r->out.wrong >= 0) + (r->in.wrong >= 0);
	t->bad += (r->out.wrong > 0) + (r->in.wrong > 0);
	if (busbw > t->best_busbw) {
		t->best_busbw = busbw;
		t->best_bytes = bytes;
	}
	if (bytes <= SMALL && (t->best_latency == 0 || r->out.p50 < t->best_latency))
		t->best_latency = r->out.p50;
}

static void count_row(struct sweep *s, const struct sweep_row *r)
{
	s->rows++;
	if (s->row)
		s->row(s, r);
}

/* Of the time since the row before, all that is not timed too, the share of who was robbed most. */
static int share_robbed(struct sweep *s, struct sweep_row *row, struct err *e)
{
	double now = (double)now_ns() / 1e9, robbed = robbed_s(), took = now - s->row_at_s;

	row->robbed = took > 0 ? (robbed - s->row_robbed_s) / took : 0;
	s->row_at_s = now;
	s->row_robbed_s = robbed;
	return sweep_agree(s->comm, &row->robbed, 1, OP_MAX, e);
}

/* All ranks stop if one was asked to, or its time is over. */
static int is_over(struct sweep *s, bool *ret, struct err *e)
{
	bool late = s->o->for_ns && now_ns() - s->started_ns >= s->o->for_ns;
	double over = late || (s->stop && s->stop(s));

	if (sweep_agree(s->comm, &over, 1, OP_MAX, e))
		return -1;
	*ret = over > 0;
	return 0;
}

static int run_listed(struct sweep *s, struct coll_case *c, bool *over, struct err *e)
{
	struct sweep_row row = {0};
	uint64_t bytes = s->o->min, iters;

	s->lists++;
	do {
		if (within_iters(s, c, bytes, &row, &iters, e))
			return -1;
		if (!iters) { /* of the smallest: nor has any list behind it */
			*over = bytes == s->o->min;
			return 0;
		}
		if (run_size(s, c, bytes, iters, &row, e) ||
		    (s->o->for_ns && share_robbed(s, &row, e)))
			return -1;
		count_row(s, &row);
		if (is_over(s, over, e))
			return -1;
		*over |= s->o->for_ns && (row.out.wrong > 0 || row.in.wrong > 0);
	} while (!*over && (bytes = sweep_next_size(s->o, bytes)));
	return 0;
}

/* -G: of how many launches each iteration is part; 0: there are no graphs. */
static uint64_t launches(const struct sweep *s) { return s->no_graph ? 0 : s->o->graph; }

/* How often, so that a size takes a while and no longer. */
static int choose_iters(struct sweep *s, struct coll_case *c, uint64_t bytes, uint64_t *ret,
			struct err *e)
{
	double many = launches(s) ? (double)launches(s) : 1, few = launches(s) ? 1 : FEW, t;

	if (measure_roughly(s, c, bytes, &t, e))
		return -1;
	t = SECONDS_PER_SIZE / 2 / fmax(t, 1e-7) / many;
	*ret = (uint64_t)(t < few ? few : t > 2000 ? 2000 : t);
	return 0;
}

static int run_one(struct sweep *s, struct coll_case *c, uint64_t bytes, struct sweep_row *ret,
		   struct err *e)
{
	uint64_t iters;

	if (choose_iters(s, c, bytes, &iters, e) || run_size(s, c, bytes, iters, ret, e))
		return -1;
	count_row(s, ret);
	return 0;
}

/* Would what takes so long end in time? */
static int is_too_long(struct sweep *s, double seconds, bool *ret, struct err *e)
{
	double over = seconds > within_left(s);

	if (sweep_agree(s->comm, &over, 1, OP_MAX, e))
		return -1;
	*ret = over > 0;
	return 0;
}

/* As long as this row took, at least: with what is around the iterations, of both ways. */
static double row_time(const struct sweep *s, const struct sweep_row *r)
{
	enum { AROUND = 10, WAYS = 2 };
	double n = (double)launches(s);

	return n > 0 ? fmax(r->out.seconds, r->in.seconds) * (AROUND + WAYS * n)
		     : fmax(r->out.p50, r->in.p50) * (AROUND + WAYS * FEW);
}

/* On a slow network, or where each size is launched very often, large sizes begin earlier. */
static int first_large(struct sweep *s, const struct sweep_row *small, uint64_t *ret, struct err *e)
{
	enum { LEAST = 64 << 10 };
	const double known = (double)latency_sizes[ARRAY_LEN(latency_sizes) - 1];
	double all = row_time(s, small);
	bool over = true;

	for (*ret = FIRST_LARGE; *ret > LEAST; *ret /= 4) {
		if (is_too_long(s, all * (double)*ret / known, &over, e))
			return -1;
		if (!over)
			break;
	}
	return 0;
}

/* So many times the size at a time, while the next one, at this speed, has room. Speed is that of
 * the algorithm: one rank by itself, a group's, has no bus. */
static int run_large(struct sweep *s, struct coll_case *c, uint64_t bytes, bool *over,
		     struct err *e)
{
	double best = 0, algbw;
	int vain = 0; /* sizes in a row that gained nothing: one may be an accident */
	struct sweep_row row;

	for (; bytes && bytes <= s->o->max && !*over; bytes = sweep_next_size(s->o, bytes)) {
		uint64_t start = now_ns();

		if (run_one(s, c, bytes, &row, e) || is_over(s, over, e) ||
		    is_too_long(s, (double)s->o->factor * (double)(now_ns() - start) / 1e9,
				&s->timed_out, e))
			return -1;
		*over |= s->timed_out;
		algbw = fmax(row.out.algbw, row.in.algbw);
		vain = algbw < best * GAIN ? vain + 1 : 0;
		if (vain == 2)
			break;
		best = fmax(best, algbw);
	}
	return 0;
}

/* What max, or somebody, lets it: max is what memory has room for. */
static int run_adaptive(struct sweep *s, struct coll_case *c, bool *over, struct err *e)
{
	struct sweep_row row;
	uint64_t large;

	for (size_t i = 0; i < ARRAY_LEN(latency_sizes); i++) {
		if (i && is_too_long(s, row_time(s, &row), &s->timed_out, e))
			return -1;
		*over |= s->timed_out;
		if (latency_sizes[i] > s->o->max || *over)
			return 0;
		if (run_one(s, c, latency_sizes[i], &row, e) || is_over(s, over, e))
			return -1;
	}
	return first_large(s, &row, &large, e) ? -1 : run_large(s, c, large, over, e);
}

static int run_case(struct sweep *s, struct coll_case *c, bool *over, struct err *e)
{
	if (s->o->adaptive)
		return run_adaptive(s, c, over, e);
	for (uint64_t i = 0; (!s->o->cycles || i < s->o->cycles) && !*over; i++)
		if (run_listed(s, c, over, e))
			return -1;
	return 0;
}

static int run_roots(struct sweep *s, struct coll_case *c, bool *over, struct err *e)
{
	bool all = c->coll->rooted && s->o->root < 0;
	int first = all || !c->coll->rooted ? 0 : s->o->root;
	int last = all ? among_roots(s) - 1 : first;

	for (c->root = first; c->root <= last && !*over; c->root++)
		if (run_case(s, c, over, e))
			return -1;
	return 0;
}

static int run_all(struct sweep *s, bool *over, struct err *e)
{
	struct coll_case c = among_case(s);

	for (c.type = 0; c.type < DT_COUNT; c.type++)
		for (c.op = 0; c.op < OP_COUNT && !*over; c.op++) {
			bool once = !c.coll->reduces && c.op == OP_SUM;

			if ((s->o->types >> c.type & 1) &&
			    (once || (c.coll->reduces && (s->o->ops >> c.op & 1))) &&
			    run_roots(s, &c, over, e))
				return -1;
		}
	return 0;
}

int sweep_run(struct sweep *s, struct err *e)
{
	bool over = false;
	int result;

	s->started_ns = now_ns();
	s->row_at_s = (double)s->started_ns / 1e9;
	s->row_robbed_s = robbed_s();
	result = sweep_take_room(s, e);
	do
		result = result || run_all(s, &over, e) ? -1 : 0;
	while (!result && s->o->for_ns && s->rows && !over);
	if (!result && s->last)
		result = s->last(s, e);
	sweep_give_room(s);
	return result;
}
