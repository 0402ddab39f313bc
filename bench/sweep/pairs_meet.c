/* Two ranks in a communicator of their own: how long a word takes, how much goes each way. */
#include "bench/sweep/pairs.h"

#include "lib/core/units.h"
#include "lib/host/processors.h"
#include "lib/host/robbed.h"

#include <math.h>
#include <sched.h>

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

struct took { /* seconds, and those in which an end was robbed of its processor */
	double all, robbed;
};

/* One direction, and a meeting at the end: until then it is only in a buffer. */
static int stream(const struct pairs *p, struct comm *part, int from, size_t bytes,
		  struct took *ret, struct err *e)
{
	struct comm_request q = {.kind = COLL_BROADCAST,
				 .send = p->buffer,
				 .recv = p->buffer,
				 .type = DT_UINT8,
				 .root = from};
	double robbed = robbed_s();
	uint64_t start = now_ns();

	for (size_t at = 0; at < bytes; at += q.count) {
		q.count = bytes - at < p->chunk ? bytes - at : p->chunk;
		if (comm_start(part, &q, e))
			return -1;
	}
	if (comm_wait(part, e) || comm_barrier(part, e))
		return -1;
	ret->all = seconds_since(start);
	ret->robbed = robbed_s() - robbed;
	return sweep_agree(part, &ret->all, 2, OP_MAX, e);
}

struct way {
	double gbps, unhindered;
};

/* More until it takes a while: what a rate limit lets through at first says nothing. */
static int one_way(const struct pairs *p, struct comm *part, int from, struct way *ret,
		   struct err *e)
{
	double bytes = PROBE;
	struct took t;

	for (;;) {
		if (stream(p, part, from, (size_t)bytes, &t, e))
			return -1;
		if (t.all >= p->seconds / 2 || bytes >= (double)p->most)
			break;
		bytes = PROBE * floor(bytes / PROBE * fmin(8, fmax(2, p->seconds / t.all)));
	}
	ret->gbps = bytes / 1e9 / t.all;
	ret->unhindered = bytes / 1e9 / robbed_favour(t.all, t.robbed);
	return 0;
}

static int both_ways(const struct pairs *p, struct comm *part, double *ret_latency,
		     struct way *ret_ways, struct err *e)
{
	int result = -1;

	if (comm_register(part, p->buffer, p->chunk, e))
		return -1;
	if (!ping(p, part, ret_latency, e) && !one_way(p, part, 0, &ret_ways[0], e))
		result = one_way(p, part, 1, &ret_ways[1], e);
	comm_unregister(part, p->buffer);
	return result;
}

static int meet(const struct pairs *p, struct comm *part, struct pair_result *ret, struct err *e)
{
	struct comm_wire before = {0}, after = {0};
	struct way ways[2];

	(void)comm_wire(part, !part->rank, &before);
	if (both_ways(p, part, &ret->latency, ways, e))
		return -1;
	ret->gbps = ways[part->rank].gbps;
	ret->unhindered = ways[part->rank].unhindered;
	if (comm_wire(part, !part->rank, &after) && after.sent > before.sent) {
		ret->sent = (double)(after.sent - before.sent);
		ret->again = (double)(after.again - before.again);
	}
	return 0;
}

/*
 * Two who share a machine: the kernel may keep both on one processor, where a pair reaches
 * half of what it could. False: they stay as they are.
 */
static bool keep_apart(const struct pairs *p, int rank, cpu_set_t *ret_before)
{
	cpu_set_t one;
	unsigned n = processors_allowed();
	unsigned nth = ((unsigned)p->apart / 2 + (unsigned)rank * ((n + 1) / 2)) % n;

	if (!(p->apart & 1) || sched_getaffinity(0, sizeof(*ret_before), ret_before))
		return false;
	CPU_ZERO(&one);
	CPU_SET(processors_allowed_nth(nth), &one);
	return n > 1 && !sched_setaffinity(0, sizeof(one), &one);
}

int pairs_meet(const struct pairs *p, struct comm *part, struct pair_result *ret, struct err *e)
{
	cpu_set_t before_set;
	bool apart = keep_apart(p, part->rank, &before_set);
	int result = meet(p, part, ret, e);

	if (apart)
		(void)sched_setaffinity(0, sizeof(before_set), &before_set);
	return result;
}
