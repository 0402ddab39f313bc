#include "bench/train/fault.h"

#include "lib/core/units.h"

#include <math.h>
#include <poll.h>
#include <signal.h>

static const char *const kinds[] = {"none",  "flip", "wire",   "nan",	 "hole",  "data", "read",
				    "shard", "seed", "build",  "layout", "old",	  "slow", "lag",
				    "pause", "torn", "forget", "order",	 "stuck", "stop", "die"};

static const char *const moments[FAULT_MOMENTS] = {"start", "join", "connect", "epoch", "end"};

static int parse_param(const char *s, uint64_t *ret)
{
	*ret = UINT64_MAX;
	return *s ? parse_uint(s, ret) : 0;
}

static int parse_step(const char *s, uint64_t *ret)
{
	for (unsigned i = 0; i < FAULT_MOMENTS; i++)
		if (streq(s, moments[i])) {
			*ret = FAULT_STEP(i);
			return 0;
		}
	return parse_uint(s, ret);
}

int fault_parse(const char *s, struct fault *ret, struct err *e)
{
	char word[4][32] = {"", "", "2", ""};
	uint64_t rank, step, param;
	size_t part = 0, n = 0;

	for (; *s && part < ARRAY_LEN(word); s++) {
		n = *s == ':' ? 0 : n;
		part += *s == ':';
		if (part < ARRAY_LEN(word) && *s != ':' && n < sizeof(word[0]) - 1) {
			word[part][n++] = *s;
			word[part][n] = '\0';
		}
	}
	for (size_t k = 1; k < ARRAY_LEN(kinds) && part >= 1; k++)
		if (streq(word[1], kinds[k]) && !parse_uint(word[0], &rank) && rank < 1 << 20 &&
		    !parse_step(word[2], &step) && !parse_param(word[3], &param)) {
			*ret = (struct fault){(enum fault_kind)k, (int)rank, step, param};
			return 0;
		}
	return err_set(e, ERR_USAGE, "--fault is RANK:KIND[:STEP[:PARAMETER]]");
}

static bool now(const struct fault *f, enum fault_kind kind, int rank, uint64_t step)
{
	return fault_is(f, kind, rank) && f->step == step;
}

void fault_process(const struct fault *f, int rank, uint64_t step)
{
	if (now(f, FAULT_PAUSE, rank, step))
		(void)poll(NULL, 0, 900);
	if (now(f, FAULT_STOP, rank, step))
		(void)raise(SIGSTOP);
	if (now(f, FAULT_DIE, rank, step))
		(void)raise(SIGKILL);
}

static void flip(float *g)
{
	uint32_t bits;

	memcpy(&bits, g, sizeof(bits));
	bits ^= UINT32_C(1) << 25 /* 16 times as much, or as little */;
	memcpy(g, &bits, sizeof(bits));
}

void fault_read(const struct fault *f, int rank)
{
	if (fault_is(f, FAULT_READ, rank))
		(void)poll(NULL, 0, (int)f->step * 1000);
}

void fault_batch(const struct fault *f, int rank)
{
	if (fault_is(f, FAULT_LAG, rank))
		(void)poll(NULL, 0, 20);
}

void fault_gradient(const struct fault *f, int rank, uint64_t step, float *g)
{
	if (now(f, FAULT_FLIP, rank, step))
		flip(g);
	if (now(f, FAULT_NAN, rank, step))
		*g = NAN;
}

void fault_average(const struct fault *f, int rank, uint64_t step, float *g)
{
	if (now(f, FAULT_WIRE, rank, step))
		flip(g);
	if (now(f, FAULT_HOLE, rank, step))
		*g = NAN;
}
