/*
 * Latency, bandwidth and loss of every pair: one rank per host (where there is
 * one host only: every rank), everybody in one pair at a time, in rounds. What
 * looks slow while all pairs are busy is measured again alone, with the same and
 * with a proven-good partner, before anybody is blamed.
 */
#include "bench/sweep/rank.h"

#include "bench/sweep/slow.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

enum {
	CHUNK = 4 << 20,
	PROBE = 256 << 10,
	MOST = 1 << 30,
	PINGS = 40,
	TRIES = 3,
	SUSPECTS_MAX = 16
};
/* Of each direction of a pair. */
static const double SECONDS = 0.12, SECONDS_SERIAL = 0.05;

struct result { /* doubles only: it travels in an all_gather */
	double partner, latency, gbps, lost;
};
enum { RESULT_DOUBLES = sizeof(struct result) / sizeof(double) };

struct pairs {
	struct rank *r;
	struct comm *c;
	char *out, *in;
	size_t *send_counts, *recv_counts;
	int n, me;		       /* units; -1: not one */
	int *units;		       /* their ranks */
	double *gbps, *latency, *lost; /* n * n, directed */
	struct result *all;
	bool serial; /* units share a machine: pairs at a time would measure each other */
	double seconds;
};

static int trade(struct pairs *p, int with, size_t out, size_t in, struct err *e)
{
	const struct comm_request q = {.kind = COLL_ALLTOALLV,
				       .send = p->out,
				       .recv = p->in,
				       .type = DT_UINT8,
				       .send_counts = p->send_counts,
				       .recv_counts = p->recv_counts};
	int result;

	p->send_counts[with] = out;
	p->recv_counts[with] = in;
	result = comm_run(p->c, &q, e);
	p->send_counts[with] = p->recv_counts[with] = 0;
	return result;
}

static double seconds_since(uint64_t ns) { return (double)(now_ns() - ns) / 1e9; }

/* Both sides: the same number of bytes back and forth. */
static int ping(struct pairs *p, int with, double *ret, struct err *e)
{
	uint64_t start = 0;

	for (int i = -4; i < PINGS; i++) {
		if (!i)
			start = now_ns();
		if (trade(p, with, 8, 8, e))
			return -1;
	}
	*ret = seconds_since(start) / PINGS;
	return 0;
}

static int agree_on(struct pairs *p, int with, double *value, struct err *e)
{
	double theirs;

	memcpy(p->out, value, sizeof(*value));
	if (trade(p, with, sizeof(theirs), sizeof(theirs), e))
		return -1;
	memcpy(&theirs, p->in, sizeof(theirs));
	*value = fmax(*value, theirs);
	return 0;
}

/* One direction, an answer at the end: until then it is only in a buffer. */
static int stream(struct pairs *p, int with, bool sends, size_t bytes, double *ret, struct err *e)
{
	uint64_t start = now_ns();

	for (size_t at = 0; at < bytes; at += CHUNK) {
		size_t n = bytes - at < CHUNK ? bytes - at : CHUNK;

		if (trade(p, with, sends ? n : 0, sends ? 0 : n, e))
			return -1;
	}
	if (trade(p, with, !sends, sends, e))
		return -1;
	*ret = seconds_since(start);
	return 0;
}

/* More until it takes a while: what a rate limit lets through at first says nothing. */
static int one_way(struct pairs *p, int with, bool sends, double *ret_gbps, struct err *e)
{
	double t, bytes = PROBE;

	for (;;) {
		if (stream(p, with, sends, (size_t)bytes, &t, e) || agree_on(p, with, &t, e))
			return -1;
		if (t >= p->seconds / 2 || bytes >= MOST)
			break;
		bytes = PROBE * floor(bytes / PROBE * fmin(8, fmax(2, p->seconds / t)));
	}
	*ret_gbps = bytes / 1e9 / t;
	return 0;
}

/* Each side keeps what it sent. */
static int meet(struct pairs *p, int other, struct result *ret, struct err *e)
{
	int with = p->units[other];
	bool first = p->me < other;
	struct comm_wire before = {0}, after = {0};
	double ignored;

	ret->partner = other;
	comm_wire(p->c, with, &before);
	if (ping(p, with, &ret->latency, e) ||
	    one_way(p, with, first, first ? &ret->gbps : &ignored, e) ||
	    one_way(p, with, !first, first ? &ignored : &ret->gbps, e))
		return -1;
	comm_wire(p->c, with, &after);
	if (after.sent > before.sent)
		ret->lost =
			(double)(after.again - before.again) / (double)(after.sent - before.sent);
	return 0;
}

static int share(struct pairs *p, const struct result *mine, struct err *e)
{
	const struct comm_request q = {.kind = COLL_ALL_GATHER,
				       .send = mine,
				       .recv = p->all,
				       .count = RESULT_DOUBLES,
				       .type = DT_DOUBLE};

	if (comm_run(p->c, &q, e))
		return -1;
	for (int i = 0; i < p->n; i++) {
		const struct result *x = &p->all[p->units[i]];
		int to = i * p->n + (int)x->partner;

		if (x->partner < 0)
			continue;
		p->gbps[to] = fmax(p->gbps[to], x->gbps); /* the better of two tries */
		p->latency[to] = fmin(p->latency[to], x->latency);
		p->lost[to] = fmin(p->lost[to], x->lost);
	}
	return 0;
}

/* @a and @b meet (me in one of them, or not); all wait for them. */
static int try_pair(struct pairs *p, int a, int b, struct err *e)
{
	struct result mine = {-1, NAN, NAN, NAN};

	if (a != b && (p->me == a || p->me == b) && meet(p, p->me == a ? b : a, &mine, e))
		return -1;
	return share(p, &mine, e);
}

static void tell_progress(struct pairs *p, const char *what, int done, int of)
{
	cJSON *event = relay_event("next");

	if (p->c->rank) {
		cJSON_Delete(event);
		return;
	}
	json_str(event, "what", what);
	json_num(event, "done", done);
	json_num(event, "of", of);
	relay_send(p->r->relay, event);
}

/* Whom unit @i meets in round @k: each of the others in one of n rounds. */
static int partner_of(const struct pairs *p, int i, int k)
{
	return ((k - i) % p->n + p->n) % p->n;
}

static int serial_round(struct pairs *p, int k, struct err *e)
{
	for (int i = 0; i < p->n; i++) {
		int other = partner_of(p, i, k);

		if (i < other && try_pair(p, i, other, e))
			return -1;
	}
	return 0;
}

static int rounds(struct pairs *p, struct err *e)
{
	for (int k = 0; k < p->n; k++) {
		tell_progress(p, "pairs of hosts", k, p->n);
		if (p->serial ? serial_round(p, k, e)
			      : try_pair(p, p->me, p->me < 0 ? -1 : partner_of(p, p->me, k), e))
			return -1;
	}
	return 0;
}

/* Everybody has the same numbers, so everybody knows who is tried again. */
static int retest(struct pairs *p, struct err *e)
{
	const struct slow_input in = {p->n, p->gbps, p->lost};
	slow_list suspects = {0};

	for (int k = 0; k < TRIES && (!k || suspects.n); k++) {
		slow_find(&in, p->r->a, &suspects);
		for (size_t i = 0; i < suspects.n && i < SUSPECTS_MAX; i++) {
			const struct slow_verdict *v = &suspects.v[i];

			tell_progress(p, "suspects again, alone", (int)i, (int)suspects.n);
			if (v->partner >= 0 && v->partner != v->a &&
			    try_pair(p, v->a, v->partner, e))
				return -1;
		}
	}
	return 0;
}

static void tell_pairs(const struct pairs *p)
{
	cJSON *event = relay_event("units"), *units = json_array(event, "ranks");

	for (int i = 0; i < p->n; i++)
		cJSON_AddItemToArray(units, cJSON_CreateNumber(p->units[i]));
	relay_send(p->r->relay, event);
	for (int a = 0; a < p->n; a++)
		for (int b = 0; b < p->n; b++) {
			if (a == b)
				continue;
			event = relay_event("pair");
			json_num(event, "a", a);
			json_num(event, "b", b);
			json_num(event, "latency", p->latency[a * p->n + b]);
			json_num(event, "gbps", p->gbps[a * p->n + b]);
			json_num(event, "lost", p->lost[a * p->n + b]);
			relay_send(p->r->relay, event);
		}
}

/* The first rank of every host. */
static void find_units(struct pairs *p)
{
	int size = p->c->size;

	p->units = arena_alloc(p->r->a, (size_t)size * sizeof(*p->units));
	for (int i = 0; i < size; i++) {
		int k = 0;

		while (k < i && !streq(comm_peer(p->c, k)->host, comm_peer(p->c, i)->host))
			k++;
		if (k == i)
			p->units[p->n++] = i;
	}
	if (p->n == 1)
		for (p->n = 0; p->n < size; p->n++)
			p->units[p->n] = p->n;
	p->me = -1;
	for (int i = 0; i < p->n; i++)
		if (p->units[i] == p->c->rank)
			p->me = i;
}

static int see_machines(struct pairs *p, struct err *e)
{
	double shared = 0;

	for (int i = 0; i < p->n && p->me >= 0; i++)
		shared = fmax(shared, i != p->me && comm_peer(p->c, p->units[i])->same_machine);
	if (sweep_agree(p->c, &shared, 1, OP_MAX, e))
		return -1;
	p->serial = shared > 0;
	p->seconds = p->serial ? SECONDS_SERIAL : SECONDS;
	return 0;
}

static double *matrix(struct pairs *p)
{
	size_t n = (size_t)p->n * (size_t)p->n;
	double *v = arena_alloc(p->r->a, n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = NAN;
	return v;
}

int rank_pairs(struct rank *r, struct err *e)
{
	size_t size = (size_t)r->comm->size;
	struct pairs p = {.r = r, .c = r->comm};

	find_units(&p);
	p.out = arena_alloc(r->a, CHUNK);
	p.in = arena_alloc(r->a, CHUNK);
	p.send_counts = arena_alloc(r->a, size * sizeof(size_t));
	p.recv_counts = arena_alloc(r->a, size * sizeof(size_t));
	p.all = arena_alloc(r->a, size * sizeof(*p.all));
	p.gbps = matrix(&p);
	p.latency = matrix(&p);
	p.lost = matrix(&p);
	if (see_machines(&p, e) || rounds(&p, e) || retest(&p, e))
		return -1;
	if (!r->comm->rank)
		tell_pairs(&p);
	return 0;
}
