#include "bench/sweep/burnin.h"

#include "bench/sweep/row_event.h"
#include "bench/sweep/straggler.h"
#include "bench/sweep/table.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

static const uint64_t SAY_LEAST_NS = 2 * NS_PER_S, SAY_MOST_NS = 60 * NS_PER_S;
enum { SAY_PARTS = 20, SAY_TIMES = 120 }; /* lines of a short run, and of one of many hours */

/* --- what it will be ------------------------------------------------------------------------- */

static const char *sizes(const struct story *s)
{
	const struct sweep_opts *o = &s->sweep;
	uint64_t n = sweep_sizes(o), bytes = o->min;
	struct unit_buf b, last;
	struct text t;

	if (n > 6)
		return arena_printf(s->a, "%zu sizes from %s to %s", (size_t)n,
				    format_size(&b, o->min), format_size(&last, o->max));
	text_init(&t, s->a);
	for (uint64_t i = 0; i < n; i++, bytes = sweep_next_size(o, bytes))
		text_addf(&t, "%s%s", i ? ", " : "", format_size(&b, bytes));
	return t.s;
}

void burnin_begin(struct story *s)
{
	struct burnin *b = &s->burnin;
	struct unit_buf time;

	b->begun_ns = b->spoke_ns = now_ns();
	b->per_cycle = sweep_count(&s->sweep, (int)s->ranks.n);
	for (size_t i = 0; i < BURNIN_BINS; i++)
		b->waited[i] = arena_alloc(s->a, s->ranks.n * sizeof(*b->waited[i]));
	b->stalls.waited = arena_alloc(s->a, s->ranks.n * sizeof(*b->stalls.waited));
	*LIST_ADD(s->a, &s->notes) =
		arena_printf(s->a, "Burn-in of %s, again and again: %s",
			     format_duration(&time, s->sweep.for_ns), sizes(s));
}

/* --- rows ------------------------------------------------------------------------------------- */

static double elapsed_s(const struct burnin *b) { return (double)(now_ns() - b->begun_ns) / 1e9; }

/* They come in the order of a cycle. */
static struct course *course_of(struct story *s, const struct coll_case *c)
{
	struct burnin *b = &s->burnin;

	for (size_t i = 1; i <= b->courses.n; i++) {
		size_t at = (b->at + i) % b->courses.n;

		if (!course_is_of(b->courses.v[at], c))
			continue;
		b->at = at;
		return b->courses.v[at];
	}
	b->at = b->courses.n;
	course_init(*LIST_ADD(s->a, &b->courses) = ARENA_NEW(s->a, struct course), c);
	return b->courses.v[b->at];
}

static size_t bin_of(const struct story *s, double at_s)
{
	double n = at_s / ((double)s->sweep.for_ns / 1e9) * BURNIN_BINS;

	return n < BURNIN_BINS - 1 ? (size_t)n : BURNIN_BINS - 1;
}

static void add_waited(struct story *s, const struct sweep_row *row, double at_s)
{
	size_t bin = bin_of(s, at_s);

	s->burnin.took[bin] += straggler_add(s, row, s->burnin.waited[bin]);
}

double burnin_waited(const struct story *s, size_t from, size_t to, double *shares)
{
	double total = 0;

	for (size_t i = from; i < to; i++) {
		total += s->burnin.took[i];
		for (size_t p = 0; p < s->ranks.n; p++)
			shares[p] += s->burnin.waited[i][p];
	}
	for (size_t p = 0; p < s->ranks.n; p++)
		shares[p] /= total > 0 ? total : 1;
	return total;
}

/* What is said of the speed is that of the largest size, of one kind: others have another one. */
static const struct course *largest(const struct burnin *b)
{
	const struct course *best = NULL;

	for (size_t i = 0; i < b->courses.n; i++)
		if (!best || coll_bytes(&b->courses.v[i]->c) > coll_bytes(&best->c))
			best = b->courses.v[i];
	return best;
}

uint64_t burnin_cycles(const struct burnin *b) { return b->rows / (b->per_cycle ?: 1); }

/* "12 cycles, bus bandwidth 2.13 GB/s at 256 MiB (lowest 2.01, highest 2.2)" */
static void put_speed(const struct burnin *b, char *buf, size_t n)
{
	const struct course *c = largest(b);
	struct unit_buf size;
	size_t cycles = (size_t)burnin_cycles(b);
	int used = snprintf(buf, n, "%zu cycle%s", cycles, cycles == 1 ? "" : "s");

	if (c && used > 0 && (size_t)used < n)
		(void)snprintf(buf + used, n - (size_t)used,
			       ", bus bandwidth %.3g GB/s at %s (lowest %.3g, highest %.3g)",
			       course_busbw(&c->latest), format_size(&size, coll_bytes(&c->c)),
			       c->least, c->most);
}

static void say(struct story *s)
{
	struct burnin *b = &s->burnin;
	uint64_t all = s->sweep.for_ns, every = all / SAY_PARTS, now = now_ns();
	struct unit_buf is, of;
	char speed[160];

	every = every < SAY_LEAST_NS ? SAY_LEAST_NS : every > SAY_MOST_NS ? SAY_MOST_NS : every;
	if (every < all / SAY_TIMES)
		every = all / SAY_TIMES;
	if (log_draws() || now - b->spoke_ns < every || now - b->begun_ns >= all)
		return;
	b->spoke_ns = now;
	put_speed(b, speed, sizeof(speed));
	log_say("%s of %s: %s", format_duration(&is, now - b->begun_ns), format_duration(&of, all),
		speed);
}

void burnin_row(struct story *s, const cJSON *event)
{
	AUTO(arena_done) struct arena passing = {0};
	struct burnin *b = &s->burnin;
	struct sweep_row row = {0};
	struct coll_case c;
	struct course *course;
	double before_s = b->latest_s;

	if (row_event_unpack(event, s->sweep.coll, (int)s->ranks.n, &passing, &c, &row))
		return;
	row.c = &c;
	b->rows++;
	b->latest_s = elapsed_s(b);
	if (!b->wrong_row && (row.out.wrong > 0 || row.in.wrong > 0)) {
		b->wrong_row = b->rows;
		b->wrong_s = b->latest_s;
	}
	story_note_wrong(s, &row);
	sweep_totals_add(&s->totals, &row);
	course = course_of(s, &c);
	course_add(course, s->a, &row, b->latest_s);
	stall_look(&b->stalls, &course->usual, &row, b->latest_s, b->latest_s - before_s);
	add_waited(s, &row, b->latest_s);
	say(s);
}

void burnin_next(struct story *s, const char *what)
{
	struct burnin *b = &s->burnin;
	uint64_t all = s->sweep.for_ns, is = now_ns() - b->begun_ns;
	struct unit_buf left;
	char speed[160], line[320];

	put_speed(b, speed, sizeof(speed));
	(void)snprintf(line, sizeof(line), "%s left, %s; %s; second",
		       format_duration(&left, is < all ? (all - is) / NS_PER_S * NS_PER_S : 0),
		       speed, what);
	log_progress(line, (is < all ? is : all) / NS_PER_S, all / NS_PER_S);
}

/* --- the end -------------------------------------------------------------------------------- */

/* What is judged is what was there all the time, not the best moment of it. */
static void judge_by_means(struct story *s)
{
	struct sweep_totals means = {0};

	for (size_t i = 0; i < s->rows.n; i++)
		sweep_totals_add(&means, &s->rows.v[i].row);
	s->totals.best_busbw = means.best_busbw;
	s->totals.best_bytes = means.best_bytes;
	s->totals.best_latency = means.best_latency;
}

void burnin_end(struct story *s)
{
	struct burnin *b = &s->burnin;

	if (!s->sweep.for_ns)
		return;
	for (size_t i = 0; i < b->courses.n; i++) {
		struct story_row *r = LIST_ADD(s->a, &s->rows);

		course_row(b->courses.v[i], s->a, &r->row);
		r->c = b->courses.v[i]->c;
	}
	for (size_t i = 0; i < s->rows.n; i++) { /* the list stays where it is from here on */
		s->rows.v[i].row.c = &s->rows.v[i].c;
		table_row(s, &s->rows.v[i].row);
	}
	judge_by_means(s);
}
