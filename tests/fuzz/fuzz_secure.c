/*
 * Two ends and a hostile network, as a script: the first byte says who holds
 * which token, the rest what the network does with the bytes under way. Then:
 * an end with a token never opens to one without it, and what reaches it is
 * exactly what the other said, from the first word on.
 */
#include "lib/net/secure.h"

#include <sodium.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { WAY_MAX = 1 << 14, SAID_MAX = 64 };

struct side {
	struct secure *s;
	unsigned char way[WAY_MAX]; /* from this end, under way */
	size_t n;
	unsigned said, heard;
	uint16_t sizes[SAID_MAX];
	bool sealed, failed, ended;
};

static struct side sides[2];
static bool alike;

static void expect(bool truth)
{
	if (!truth)
		abort();
}

/* Nonces must be the same in every run of a script. */
static uint32_t seed;
static uint32_t next_random(void) { return seed = seed * 1664525u + 1013904223u; }
static void fill(void *const buf, const size_t n)
{
	for (size_t i = 0; i < n; i++)
		((unsigned char *)buf)[i] = (unsigned char)(next_random() >> 24);
}
static const char *name(void) { return "counting"; }
static struct randombytes_implementation counting = {
	.implementation_name = name, .random = next_random, .buf = fill};

/* The k-th message of an end is k's byte, as often as was noted. */
static int hear(void *arg, uint16_t type, const void *data, size_t n)
{
	struct side *to = arg, *from = &sides[to == &sides[0]];
	const unsigned char *p = data;

	if (!to->sealed) /* open to everybody, by its own choice */
		return type == 0xdead ? -1 : 0;
	expect(to->heard < from->said);
	expect(type == to->heard && n == from->sizes[to->heard]);
	for (size_t i = 0; i < n; i++)
		expect(p[i] == (unsigned char)to->heard);
	to->heard++;
	return 0;
}

static void collect(struct side *side)
{
	size_t n;
	const void *p = secure_output(side->s, &n);

	if (n > WAY_MAX - side->n)
		n = WAY_MAX - side->n;
	if (n)
		memcpy(side->way + side->n, p, n);
	side->n += n;
	secure_sent(side->s, n);
}

static void feed(struct side *to, const void *data, size_t n)
{
	const struct secure_sink sink = {.message = hear, .arg = to};
	AUTO_FREE void *exact = malloc(n + !n);
	struct err e;

	memcpy(exact, data, n);
	if (secure_feed(to->s, exact, n, &sink, &e)) {
		expect(e.kind == ERR_SYS && *e.msg);
		to->failed = true;
	}
	expect(!to->failed || !secure_is_open(to->s));
	expect(alike || !to->sealed || !secure_is_open(to->s));
}

static void deliver(struct side *from, struct side *to, size_t n)
{
	collect(from);
	n = n < from->n ? n : from->n;
	feed(to, from->way, n);
	from->n -= n;
	memmove(from->way, from->way + n, from->n);
}

static void say(struct side *side, uint16_t n)
{
	unsigned char text[1024];
	struct err e;

	n %= sizeof(text);
	memset(text, (int)side->said, sizeof(text));
	if (side->said == SAID_MAX)
		return;
	expect((secure_seal(side->s, (uint16_t)side->said, text, n, &e) == 0) ==
	       (secure_is_open(side->s) && !side->ended));
	if (secure_is_open(side->s) && !side->ended)
		side->sizes[side->said++] = n;
}

static void finish(struct side *side)
{
	struct err e;

	if (secure_end(side->s, &e) == 0)
		side->ended = true;
}

/* One act of the network on what @from has under way. */
static void act(unsigned op, struct side *from, struct side *to, unsigned x)
{
	collect(from);
	if (op == 0)
		deliver(from, to, x);
	else if (op == 1)
		deliver(from, to, WAY_MAX);
	else if (op == 2)
		say(from, (uint16_t)(x * 4));
	else if (op == 3 && from->n)
		from->way[x % from->n] ^= (unsigned char)(1u << x % 8);
	else if (op == 4 && from->n && from->n <= WAY_MAX / 2) /* again */
		memcpy(from->way + from->n, from->way, from->n), from->n *= 2;
	else if (op == 5)
		feed(to, &x, 1);
	else if (op == 6)
		from->n = from->n > x ? from->n - x : 0;
	else if (op == 7)
		finish(from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct token a = {"a token of a run"}, b = {"a token of a rum"};
	static const struct token *const pairs[][2] = {
		{&a, &a}, {&a, &b}, {NULL, NULL}, {&a, NULL}, {NULL, &b}};
	const struct token *const *pair = pairs[n ? data[0] % ARRAY_LEN(pairs) : 0];
	struct err e;

	if (sodium_init() == 0)
		randombytes_set_implementation(&counting);
	seed = 1;
	alike = pair[0] == pair[1];
	for (int i = 0; i < 2; i++) {
		sides[i] = (struct side){.s = secure_new((enum secure_role)i, pair[i], &e),
					 .sealed = pair[i] != NULL};
		expect(sides[i].s != NULL);
	}
	for (size_t i = 1; i + 1 < n; i += 2)
		act(data[i] & 7, &sides[data[i] >> 3 & 1], &sides[!(data[i] >> 3 & 1)],
		    data[i + 1]);
	/* Untouched and alike: it must work, or all this proves nothing. */
	expect(n > 1 ||
	       (deliver(&sides[0], &sides[1], WAY_MAX), deliver(&sides[1], &sides[0], WAY_MAX),
		deliver(&sides[0], &sides[1], WAY_MAX), secure_is_open(sides[0].s) == alike));
	for (int i = 0; i < 2; i++)
		secure_free(sides[i].s);
	return 0;
}
