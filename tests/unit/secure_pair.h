#ifndef TESTS_UNIT_SECURE_PAIR_H
#define TESTS_UNIT_SECURE_PAIR_H
/*
 * Two ends of a secure connection with the test as the network between them:
 * what one sends is taken out as bytes, and given to the other or not.
 */
#include "lib/net/secure.h"

struct flight {
	unsigned char p[4096];
	size_t n;
};

struct end {
	struct secure *s;
	unsigned got; /* messages */
	uint16_t types[64];
	char last[4096]; /* the last message */
	size_t last_n;
	int refuse; /* what @message answers */
	struct err err;
};

static inline int end_message(void *arg, uint16_t type, const void *data, size_t n)
{
	struct end *end = arg;

	end->types[end->got++ % ARRAY_LEN(end->types)] = type;
	end->last_n = n;
	memcpy(end->last, data, n < sizeof(end->last) ? n : sizeof(end->last));
	return end->refuse;
}

static inline void end_free(struct end *end) { secure_free(end->s); }

static inline struct end end_new(enum secure_role role, const struct token *t)
{
	struct end end = {0};

	end.s = secure_new(role, t, &end.err);
	if (!end.s)
		abort();
	return end;
}

/* From an exact block, so that one byte too far is seen. */
static inline int end_feed(struct end *end, const void *data, size_t n)
{
	const struct secure_sink to = {.message = end_message, .arg = end};
	AUTO_FREE void *exact = malloc(n + !n);

	if (!exact)
		abort();
	memcpy(exact, data, n);
	return secure_feed(end->s, exact, n, &to, &end->err);
}

static inline struct flight end_take(struct end *end)
{
	struct flight f = {.n = 0};
	const void *p = secure_output(end->s, &f.n);

	if (f.n > sizeof(f.p))
		abort();
	if (f.n)
		memcpy(f.p, p, f.n);
	secure_sent(end->s, f.n);
	return f;
}

/* Everything that waits, to and fro until both are silent; -1 when one refused. */
static inline int pair_pump(struct end *a, struct end *b)
{
	for (int silent = 0; silent < 2; silent++) {
		size_t n;
		const void *p = secure_output(a->s, &n);
		const struct secure_sink to = {.message = end_message, .arg = b};
		struct end *swap = a;

		if (n) {
			if (secure_feed(b->s, p, n, &to, &b->err))
				return -1;
			secure_sent(a->s, n);
			silent = -1;
		}
		a = b;
		b = swap;
	}
	return 0;
}

#endif
