/* Message bodies: exact bytes, what does not fit, what is not there, what a terminal may see. */
#include "lib/net/wire.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void t_exact_bytes(void **state)
{
	static const unsigned char want[] = "\x04\x03\x02\x01"
					    "\xff\xff\xff\xff\xff\xff\xff\xff"
					    "\x03\0\0\0a\0b"
					    "\x05\0\0\0rank3"
					    "\0\0\0\0";
	unsigned char buf[64];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	(void)state;
	wire_put_u32(&w, 0x01020304);
	wire_put_u64(&w, UINT64_MAX);
	wire_put_bytes(&w, "a\0b", 3);
	wire_put_str(&w, "rank3");
	wire_put_str(&w, NULL);
	assert_false(w.full);
	assert_int_equal(w.n, sizeof(want) - 1);
	assert_memory_equal(buf, want, w.n);
}

static void t_round_trip(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	unsigned char buf[64];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};
	struct wire_in r = {.p = buf};
	size_t n;

	(void)state;
	wire_put_u32(&w, (uint32_t)-1);
	wire_put_u64(&w, 0x0102030405060708);
	wire_put_str(&w, "node1");
	wire_put_bytes(&w, "", 0);
	r.n = w.n;
	assert_int_equal((int)wire_u32(&r), -1);
	assert_true(wire_u64(&r) == 0x0102030405060708);
	assert_string_equal(wire_str(&r, &a), "node1");
	assert_false(wire_end(&r));
	assert_non_null(wire_bytes(&r, &n));
	assert_int_equal(n, 0);
	assert_true(wire_end(&r));
}

/* Every capacity: what fits is whole, the rest is left out, and it is said. */
static void t_full(void **state)
{
	enum { U32 = 4, U64 = 12, STR = 12 + 4 + 3, ALL = STR + 4 };

	(void)state;
	for (size_t cap = 0; cap <= ALL + 2; cap++) {
		AUTO_FREE unsigned char *buf = malloc(cap + !cap);
		struct wire_out w = {.p = buf, .cap = cap};
		size_t fits = cap >= ALL ? ALL : cap >= STR ? STR : cap >= U64 ? U64 : cap & U32;

		if (cap >= U32 && cap < U64)
			fits = U32;
		wire_put_u32(&w, 1);
		wire_put_u64(&w, 2);
		wire_put_str(&w, "abc");
		wire_put_u32(&w, 4);
		assert_int_equal(w.full, cap < ALL);
		assert_int_equal(w.n, fits);
	}
}

/* A small one behind a big one that did not fit must not slip in. */
static void t_full_stays_full(void **state)
{
	unsigned char buf[16];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	(void)state;
	wire_put_bytes(&w, "12345678901234567", 17);
	assert_true(w.full);
	wire_put_u32(&w, 1);
	assert_int_equal(w.n, 0);
	w = (struct wire_out){0};
	wire_put_u32(&w, 1);
	assert_true(w.full);
}

/* Cut anywhere: zeros from there on, never a byte from beyond. */
static void t_cut(void **state)
{
	static const unsigned char whole[] = "\x07\0\0\0\x08\0\0\0\0\0\0\0\x03\0\0\0abc\x09\0\0\0";
	enum { N = sizeof(whole) - 1 };

	(void)state;
	for (size_t n = 0; n <= N; n++) {
		AUTO(arena_done) struct arena a = {0};
		AUTO_FREE unsigned char *exact = malloc(n + !n);
		struct wire_in r = {.p = exact, .n = n};

		memcpy(exact, whole, n);
		assert_int_equal(wire_u32(&r), n >= 4 ? 7 : 0);
		assert_int_equal(wire_u64(&r), n >= 12 ? 8 : 0);
		assert_string_equal(wire_str(&r, &a), n >= 19 ? "abc" : "");
		assert_int_equal(wire_u32(&r), n >= 23 ? 9 : 0);
		assert_int_equal(r.bad, n < N);
		assert_int_equal(wire_end(&r), n == N);
	}
}

static void t_huge_length(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	static const unsigned char huge[] = "\xff\xff\xff\xffxyz\0\0\0\0\0";
	struct wire_in r = {.p = huge, .n = sizeof(huge)};
	size_t n = 1;

	(void)state;
	assert_null(wire_bytes(&r, &n));
	assert_int_equal(n, 0);
	assert_string_equal(wire_str(&r, &a), "");
	assert_int_equal(wire_u32(&r), 0);
	assert_true(r.bad);
}

static void t_text_for_a_terminal(void **state)
{
	static const struct {
		const char *from;
		size_t n;
		const char *to;
	} v[] = {
		{"node-1.x", 8, "node-1.x"},
		{"a\x1b[31m\nb", 8, "a?[31m?b"},
		{"a\0b\x7f", 4, "a?b?"},
		{"\xc2\x9b"
		 "31m",
		 5, "?31m"}, /* CSI, the C1 control */
		{"\x9b"
		 "31m",
		 4,
		 "\xef\xbf\xbd"
		 "31m"},
		{"m\xc3\xbcller", 7, "m\xc3\xbcller"},
		{"cut\xc3", 4, "cut\xef\xbf\xbd"},
		{"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		AUTO(arena_done) struct arena a = {0};
		unsigned char buf[32];
		struct wire_out w = {.p = buf, .cap = sizeof(buf)};
		struct wire_in r = {.p = buf};

		wire_put_bytes(&w, v[i].from, v[i].n);
		r.n = w.n;
		assert_string_equal(wire_str(&r, &a), v[i].to);
		assert_true(wire_end(&r));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_exact_bytes),
		cmocka_unit_test(t_round_trip),
		cmocka_unit_test(t_full),
		cmocka_unit_test(t_full_stays_full),
		cmocka_unit_test(t_cut),
		cmocka_unit_test(t_huge_length),
		cmocka_unit_test(t_text_for_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
