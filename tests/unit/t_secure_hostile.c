/* Bytes from strangers and from somebody on the way: every bit, every length, every downgrade. */
#include "lib/net/hello.h"
#include "tests/unit/secure_pair.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct token ours = {"sixteen bytes!!"};

#define ENDS(c, a, c_token, a_token)                                                               \
	AUTO(end_free) struct end c = end_new(SECURE_CONNECTOR, c_token);                          \
	AUTO(end_free) struct end a = end_new(SECURE_ACCEPTOR, a_token)

static void refuses(struct end *end, const void *data, size_t n, const char *why)
{
	assert_int_equal(end_feed(end, data, n), -1);
	assert_false(secure_is_open(end->s));
	if (!strstr(end->err.msg, why))
		fail_msg("\"%s\" does not say \"%s\"", end->err.msg, why);
}

/* Strangers are sent nothing, and the first wrong byte is the last one read. */
static void t_strangers(void **state)
{
	static const char *const v[] = {
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 and so on and so on",
		"\x16\x03\x01\x02",
		"\x8fwindsc\x01",
		"\x8fWINDSCK",
		"x",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		for (int sealed = 0; sealed < 2; sealed++) {
			ENDS(c, a, sealed ? &ours : NULL, sealed ? &ours : NULL);

			refuses(&a, v[i], strlen(v[i]), "not one of ours");
			assert_int_equal(end_take(&a).n, 0);
			refuses(&c, v[i], strlen(v[i]), "not one of ours");
		}
}

static void t_more_than_a_hello(void **state)
{
	(void)state;
	for (int sealed = 0; sealed < 2; sealed++) {
		ENDS(c, a, sealed ? &ours : NULL, sealed ? &ours : NULL);
		struct flight f = end_take(&c);

		f.p[f.n++] = 0;
		refuses(&a, f.p, f.n, "more than a hello");
		assert_int_equal(end_take(&a).n, 0);
	}
}

static void t_other_version(void **state)
{
	static const unsigned char versions[][2] = {{0, 0}, {2, 0}, {1, 1}, {0xff, 0xff}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		ENDS(c, a, &ours, &ours);
		struct flight f = end_take(&c), answer;

		memcpy(f.p + HELLO_MAGIC_SIZE, versions[i], 2);
		refuses(&a, f.p, f.n, "version");
		assert_non_null(strstr(a.err.hint, "same windsock"));
		answer = end_take(&a); /* and tells the peer, which can then say it too */
		assert_int_equal(answer.n, HELLO_SIZE);
		memcpy(answer.p + HELLO_MAGIC_SIZE, versions[i], 2);
		refuses(&c, answer.p, answer.n, "version");
	}
}

/* One end without a token: both say so; nobody falls back to unsealed. */
static void t_token_on_one_side(void **state)
{
	(void)state;
	for (int connector = 0; connector < 2; connector++) {
		ENDS(c, a, connector ? &ours : NULL, connector ? NULL : &ours);
		struct flight f = end_take(&c);
		const char *without = "requires the token", *with = "has no token";

		refuses(&a, f.p, f.n, connector ? without : with);
		f = end_take(&a);
		assert_int_equal(f.n, HELLO_SIZE);
		refuses(&c, f.p, f.n, connector ? with : without);
		assert_non_null(strstr((connector ? a : c).err.hint, "WINDSOCK_TOKEN"));
	}
}

/* Somebody on the way who tells each that the other wants it unsealed. */
static void t_downgrade(void **state)
{
	enum { SEALED_AT = 11 };
	ENDS(c, a, &ours, &ours);
	AUTO(end_free) struct end a2 = end_new(SECURE_ACCEPTOR, &ours);
	struct flight f = end_take(&c), lie = f;

	(void)state;
	lie.p[SEALED_AT] = 0;
	refuses(&a, lie.p, lie.n, "has no token");
	assert_int_equal(end_feed(&a2, f.p, f.n), 0);
	lie = end_take(&a2);
	lie.p[SEALED_AT] = 0;
	refuses(&c, lie.p, lie.n, "has no token");
}

/*
 * Every bit of a whole connection turned around, one at a time. Flights: the
 * hello; the reply; proof and first message; the first message back. Nobody
 * who was lied to before the proof is open, and no changed message arrives.
 */
struct lie {
	size_t flight, bit;
	bool beyond; /* past the end of its flight */
};

static int pass(struct end *from, struct end *to, size_t flight, struct lie *lie)
{
	struct flight f = end_take(from);

	if (lie->flight == flight) {
		lie->beyond = lie->bit / 8 >= f.n;
		if (!lie->beyond)
			f.p[lie->bit / 8] ^= (unsigned char)(1u << lie->bit % 8);
	}
	return end_feed(to, f.p, f.n);
}

static bool converse(struct lie *lie)
{
	static const char hello[] = "how do you do", answer[] = "how do you do?";
	ENDS(c, a, &ours, &ours);

	(void)(pass(&c, &a, 0, lie) || pass(&a, &c, 1, lie));
	if (lie->flight == 0 && !lie->beyond)
		assert_false(secure_is_open(c.s) || secure_is_open(a.s));
	if (secure_is_open(c.s) && secure_seal(c.s, 1, hello, sizeof(hello), &c.err) == 0 &&
	    pass(&c, &a, 2, lie) == 0 && secure_is_open(a.s) &&
	    secure_seal(a.s, 2, answer, sizeof(answer), &a.err) == 0)
		(void)!pass(&a, &c, 3, lie);
	assert_true(!a.got || (a.types[0] == 1 && streq(a.last, hello)));
	assert_true(!c.got || (c.types[0] == 2 && streq(c.last, answer)));
	return a.got && c.got;
}

static void t_every_bit(void **state)
{
	enum { FLIGHTS = 4 };
	size_t bits = 0;

	(void)state;
	for (size_t flight = 0; flight < FLIGHTS; flight++) {
		struct lie lie = {.flight = flight};

		while (!converse(&lie)) {
			assert_false(lie.beyond);
			lie.bit++;
			bits++;
		}
		assert_true(lie.beyond); /* only the untouched one came through */
	}
	assert_int_equal(bits, 8 * (44 + 100 + 56 + 2 * (4 + 17 + 2) + 14 + 15));
}

static void t_impossible_lengths(void **state)
{
	enum { SEAL = 17, TYPE = 2, TOO_MUCH = 1 };
	static const struct {
		bool sealed;
		uint32_t len;
	} v[] = {
		{true, 0},
		{true, SEAL - 1},
		{true, SEAL + 1},
		{true, SEAL + TYPE + SECURE_MAX_MESSAGE + TOO_MUCH},
		{true, UINT32_MAX},
		{true, 0x80000000},
		{false, 1},
		{false, TYPE + SECURE_MAX_MESSAGE + TOO_MUCH},
		{false, UINT32_MAX},
		{false, UINT32_MAX - 3}, /* with the length before it: wraps to 0 */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		for (size_t cut = 0; cut < 2; cut++) {
			const struct token *t = v[i].sealed ? &ours : NULL;
			ENDS(c, a, t, t);
			unsigned char le[] = {
				(unsigned char)v[i].len, (unsigned char)(v[i].len >> 8),
				(unsigned char)(v[i].len >> 16), (unsigned char)(v[i].len >> 24)};

			assert_int_equal(pair_pump(&c, &a), 0);
			assert_int_equal(end_feed(&a, le, cut), 0);
			refuses(&a, le + cut, sizeof(le) - cut, "impossible length");
		}
}

/* A length that is allowed costs memory only as its bytes come. */
static void t_unkept_promise(void **state)
{
	ENDS(c, a, NULL, NULL);

	(void)state;
	assert_int_equal(pair_pump(&c, &a), 0);
	assert_int_equal(end_feed(&a, "\0\0\x10\0some", 8), 0);
	assert_int_equal(a.got, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_strangers),		cmocka_unit_test(t_more_than_a_hello),
		cmocka_unit_test(t_other_version),	cmocka_unit_test(t_token_on_one_side),
		cmocka_unit_test(t_downgrade),		cmocka_unit_test(t_every_bit),
		cmocka_unit_test(t_impossible_lengths), cmocka_unit_test(t_unkept_promise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
