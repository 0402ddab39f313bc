/* Two ranks in a communicator of their own: how long a word takes, how much goes each way. */
#include "bench/sweep/pairs.h"

#include "lib/core/units.h"

#include <math.h>

enum { PROBE = 256 << 10, PINGS = 40 };

static double seconds_since(uint64_t ns) { return (double)(now_ns() - ns) / 1e9; }

/* Both send 8 bytes and wait for the other's. */
static int ping(const struct pairs *p, struct comm *part, double *ret, struct err *e)
{
	const struct comm_request q = {.kind = COLL_SENDRECV,
				       .send = p->buffer,
				       .recv = p->buffer + p->chunk / 2,
				       .count = 8,
				       .type = DT_UINT8};
	uint64_t start = 0;

	for (int i = -4; i < PINGS; i++) {
		if (!i)
			start = now_ns();
		if (comm_run(part, &q, e))
			return -1;
	}
	*ret = seconds_since(start) / PINGS;
	return 0;
}

/* One direction, and a meeting at the end: until then it is only in a buffer. */
static int stream(const struct pairs *p, struct comm *part, int from, size_t bytes, double *ret,
		  struct err *e)
{
	struct comm_request q = {.kind = COLL_BROADCAST,
				 .send = p->buffer,
				 .recv = p->buffer,
				 .type = DT_UINT8,
				 .root = from};
	uint64_t start = now_ns();

	for (size_t at = 0; at < bytes; at += q.count) {
		q.count = bytes - at < p->chunk ? bytes - at : p->chunk;
		if (comm_start(part, &q, e))
			return -1;
	}
	if (comm_wait(part, e) || comm_barrier(part, e))
		return -1;
	*ret = seconds_since(start);
	return 0;
}

/* More until it takes a while: what a rate limit lets through at first says nothing. */
static int one_way(const struct pairs *p, struct comm *part, int from, double *ret_gbps,
		   struct err *e)
{
	double t, bytes = PROBE;

	for (;;) {
		if (stream(p, part, from, (size_t)bytes, &t, e) ||
		    sweep_agree(part, &t, 1, OP_MAX, e))
			return -1;
		if (t >= p->seconds / 2 || bytes >= (double)p->most)
			break;
		bytes = PROBE * floor(bytes / PROBE * fmin(8, fmax(2, p->seconds / t)));
	}
	*ret_gbps = bytes / 1e9 / t;
	return 0;
}

static int both_ways(const struct pairs *p, struct comm *part, double *ret_latency,
		     double *ret_ways, struct err *e)
{
	int result = -1;

	if (comm_register(part, p->buffer, p->chunk, e))
		return -1;
	if (!ping(p, part, ret_latency, e) && !one_way(p, part, 0, &ret_ways[0], e))
		result = one_way(p, part, 1, &ret_ways[1], e);
	comm_unregister(part, p->buffer);
	return result;
}

int pairs_meet(const struct pairs *p, struct comm *part, struct pair_result *ret, struct err *e)
{
	struct comm_wire before = {0}, after = {0};
	double ways[2];

	(void)comm_wire(part, !part->rank, &before);
	if (both_ways(p, part, &ret->latency, ways, e))
		return -1;
	ret->gbps = ways[part->rank];
	if (comm_wire(part, !part->rank, &after) && after.sent > before.sent)
		ret->lost =
			(double)(after.again - before.again) / (double)(after.sent - before.sent);
	return 0;
}
