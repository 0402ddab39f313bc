#ifndef TESTS_UNIT_SOAK_H
#define TESTS_UNIT_SOAK_H
/*
 * Work that takes minutes: which share of it is this process's, and how far it is.
 *
 *	WINDSOCK_SOAK=1      all of it
 *	WINDSOCK_SOAK=2/8    the second of eight shares, which together are all of it
 *
 * Progress goes to stderr: on a terminal one line that changes, else a line a minute.
 */
#include "lib/core/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct soak {
	uint64_t part, parts; /* part < parts */
	uint64_t cases, all_cases;
	double cost, all_cost; /* in whatever is proportional to time */
	uint64_t start_ns, said_ns;
};

/* Whether a soak is asked for by @s, which may be NULL; -1: it makes no sense. */
static inline int soak_parse(const char *s, struct soak *ret)
{
	char part[24];
	const char *slash = s ? strchr(s, '/') : NULL;

	*ret = (struct soak){.parts = 1};
	if (!s)
		return 0;
	if (!slash)
		return streq(s, "1") ? 1 : -1;
	(void)snprintf(part, sizeof(part), "%.*s", (int)(slash - s), s);
	if (parse_uint(part, &ret->part) || parse_uint(slash + 1, &ret->parts) || !ret->part ||
	    ret->part-- > ret->parts)
		return -1;
	return 1;
}

/* Whether the @i-th case of a world is ours. Every case is exactly one share's. */
static inline bool soak_takes(const struct soak *s, uint64_t i) { return i % s->parts == s->part; }

static inline void soak_say(const struct soak *s, uint64_t now)
{
	double passed = (double)(now - s->start_ns) / NS_PER_S, done = s->cost / s->all_cost;
	bool terminal = isatty(STDERR_FILENO);
	unsigned left;

	(void)fprintf(stderr, "%s%lu of %lu cases", terminal ? "\r" : "", s->cases, s->all_cases);
	if (s->cases) {
		left = (unsigned)(passed / done - passed);
		(void)fprintf(stderr, ", %u:%02u passed, about %u:%02u left", (unsigned)passed / 60,
			      (unsigned)passed % 60, left / 60, left % 60);
	}
	(void)fputs(terminal && s->cases < s->all_cases ? "   " : "\n", stderr);
}

/* After a case, by the one process that talks. */
static inline void soak_step(struct soak *s, double cost)
{
	uint64_t now = now_ns(), every = isatty(STDERR_FILENO) ? NS_PER_S / 2 : 60 * NS_PER_S;

	s->cases++;
	s->cost += cost;
	if (now - s->said_ns < every && s->cases != s->all_cases)
		return;
	s->said_ns = now;
	soak_say(s, now);
}

#endif
