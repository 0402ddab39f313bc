/* The handshake and the sealed frames: who is let in, and every way to be refused. */
#include "lib/net/hello.h"
#include "tests/unit/secure_pair.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <sodium.h>

enum { HEADER = 24, REPLY = HELLO_SIZE + PROOF_SIZE + HEADER, PROVE = PROOF_SIZE + HEADER };

static const struct token ours = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
static const struct token theirs = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16}};

#define ENDS(c, a, c_token, a_token)                                                               \
	AUTO(end_free) struct end c = end_new(SECURE_CONNECTOR, c_token);                          \
	AUTO(end_free) struct end a = end_new(SECURE_ACCEPTOR, a_token)

static void both_open(struct end *c, struct end *a)
{
	assert_int_equal(pair_pump(c, a), 0);
	assert_true(secure_is_open(c->s) && secure_is_open(a->s));
}

static void say(struct end *from, uint16_t type, const char *text)
{
	assert_int_equal(secure_seal(from->s, type, text, strlen(text), &from->err), 0);
}

static void heard(const struct end *end, unsigned got, const char *last)
{
	assert_int_equal(end->got, got);
	assert_int_equal(end->last_n, strlen(last));
	assert_memory_equal(end->last, last, end->last_n);
}

static void refuses(struct end *end, const void *data, size_t n, const char *why)
{
	assert_int_equal(end_feed(end, data, n), -1);
	assert_false(secure_is_open(end->s));
	assert_int_equal(end->err.kind, ERR_SYS);
	if (!strstr(end->err.msg, why))
		fail_msg("\"%s\" does not say \"%s\"", end->err.msg, why);
	/* For good: the right bytes do not mend it. */
	assert_int_equal(end_feed(end, "x", 1), -1);
	assert_int_equal(secure_seal(end->s, 1, "x", 1, &end->err), -1);
}

static struct hello counted_hello(enum secure_role role, unsigned char from)
{
	struct hello h;

	hello_make(&h, role, true);
	for (unsigned i = 0; i < HELLO_SIZE - HELLO_NONCE_AT; i++)
		h.bytes[HELLO_NONCE_AT + i] = (unsigned char)(from + i);
	return h;
}

/* The hashes were computed apart, with Python's hashlib.blake2b(key=...). */
static void t_known_bytes(void **state)
{
	static const char *const want[] = {
		"9d33d298c37b83c22beb6c5c8a6d8fd191208293264ecd070534ab6a51fb7001",
		"253156b3502dc7f42e10c3e4134dfd92e7748687ef5505c389dc77890841d159",
		"67d31a2bd5d08c77b39865f9d2e1e904327f1d39ebcbe50120f04dd109f4dd49",
		"2077d4940dbf05d8d6b5472a458f7340a2e532e6f5160008274abefef80cc248",
	};
	const struct hello c = counted_hello(SECURE_CONNECTOR, 0);
	const struct hello a = counted_hello(SECURE_ACCEPTOR, 32);
	struct pact pact;
	const unsigned char *have[] = {pact.proof[0], pact.proof[1], pact.key[0], pact.key[1]};
	char hex[65];

	(void)state;
	assert_memory_equal(c.bytes, "\x8fwindsck\x01\0\0\x01\0\x01\x02", 15);
	assert_memory_equal(a.bytes, "\x8fwindsck\x01\0\x01\x01\x20\x21\x22", 15);
	pact_make(&pact, &ours, &c, &a);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(sodium_bin2hex(hex, sizeof(hex), have[i], 32), want[i]);
}

static void t_flights(void **state)
{
	ENDS(c, a, &ours, &ours);
	struct flight f;

	(void)state;
	assert_int_equal(end_take(&a).n, 0); /* silent to who has not spoken */
	f = end_take(&c);
	assert_int_equal(f.n, HELLO_SIZE);
	assert_int_equal(end_feed(&a, f.p, f.n), 0);
	f = end_take(&a);
	assert_int_equal(f.n, REPLY);
	assert_false(secure_is_open(a.s));
	assert_int_equal(end_feed(&c, f.p, f.n), 0);
	assert_true(secure_is_open(c.s));
	say(&c, 7, "first");
	f = end_take(&c);
	assert_int_equal(f.n, PROVE + 4 + 17 + 2 + 5);
	assert_null(memmem(f.p, f.n, "first", 5));
	assert_int_equal(end_feed(&a, f.p, f.n), 0);
	assert_true(secure_is_open(a.s));
	heard(&a, 1, "first");
	assert_int_equal(a.types[0], 7);
}

static void t_byte_by_byte(void **state)
{
	static const struct token *const tokens[] = {&ours, NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
		ENDS(c, a, tokens[i], tokens[i]);
		struct end *from = &c, *to = &a, *swap;

		for (int turn = 0; turn < 8; turn++) {
			const struct flight f = end_take(from);

			for (size_t n = 0; n < f.n; n++)
				assert_int_equal(end_feed(to, f.p + n, 1), 0);
			if (secure_is_open(to->s))
				say(to, 0xffff, "a message of ours");
			swap = from, from = to, to = swap;
		}
		assert_true(secure_is_open(a.s) && secure_is_open(c.s));
		assert_true(a.got >= 2 && c.got >= 2);
		heard(&a, a.got, "a message of ours");
		heard(&c, c.got, "a message of ours");
	}
}

static void t_sizes(void **state)
{
	static const size_t sizes[] = {0, 1, 2, 63, 1024, 65535, SECURE_MAX_MESSAGE};
	static const struct token *const tokens[] = {&ours, NULL};
	AUTO_FREE char *big = calloc(1, SECURE_MAX_MESSAGE + 1);

	(void)state;
	for (size_t t = 0; t < ARRAY_LEN(tokens); t++) {
		ENDS(c, a, tokens[t], tokens[t]);

		both_open(&c, &a);
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			assert_int_equal(secure_seal(c.s, 1, big, sizes[i], &c.err), 0);
			assert_int_equal(secure_seal(a.s, 1, big, sizes[i], &a.err), 0);
			assert_int_equal(pair_pump(&c, &a), 0);
			assert_int_equal(a.last_n, sizes[i]);
			assert_int_equal(c.last_n, sizes[i]);
		}
		assert_int_equal(secure_seal(c.s, 1, big, SECURE_MAX_MESSAGE + 1, &c.err), -1);
		say(&c, 2, "still fine");
		assert_int_equal(pair_pump(&c, &a), 0);
		heard(&a, ARRAY_LEN(sizes) + 1, "still fine");
	}
}

/* The same words twice look different, and differ from other connections'. */
static void t_nothing_repeats(void **state)
{
	ENDS(c, a, &ours, &ours);
	ENDS(c2, a2, &ours, &ours);
	struct flight first, second, other;

	(void)state;
	both_open(&c, &a);
	both_open(&c2, &a2);
	say(&c, 1, "the same words");
	first = end_take(&c);
	say(&c, 1, "the same words");
	second = end_take(&c);
	say(&c2, 1, "the same words");
	other = end_take(&c2);
	assert_int_equal(first.n, second.n);
	assert_memory_not_equal(first.p + 4, second.p + 4, first.n - 4);
	assert_memory_not_equal(first.p + 4, other.p + 4, first.n - 4);
	refuses(&a, other.p, other.n, "changed on its way"); /* nor does it fit elsewhere */
}

static void t_wrong_token(void **state)
{
	ENDS(c, a, &ours, &theirs);
	struct flight f = end_take(&c);

	(void)state;
	assert_int_equal(end_feed(&a, f.p, f.n), 0);
	f = end_take(&a);
	refuses(&c, f.p, f.n, "another token");
	assert_int_equal(end_take(&c).n, 0); /* no proof for a stranger */
}

/* One who knows how to talk but guesses. */
static void t_guessed_proof(void **state)
{
	ENDS(c, a, &ours, &ours);
	struct flight f = end_take(&c), guess = {.n = PROVE};

	(void)state;
	assert_int_equal(end_feed(&a, f.p, f.n), 0);
	randombytes_buf(guess.p, guess.n);
	refuses(&a, guess.p, guess.n, "another token");
}

/* The acceptor's own proof is no proof for it, nor the connector's hello a hello for it. */
static void t_reflection(void **state)
{
	ENDS(c, a, &ours, &ours);
	struct flight hello = end_take(&c), reply;

	(void)state;
	assert_int_equal(end_feed(&a, hello.p, hello.n), 0);
	reply = end_take(&a);
	refuses(&a, reply.p + HELLO_SIZE, PROVE, "another token");
	hello.p[10] = 0;
	refuses(&c, hello.p, hello.n, "same part");
}

/* An echo that turns the role around still lacks the proof. */
static void t_reflected_with_other_role(void **state)
{
	ENDS(c, a, &ours, &ours);
	struct flight hello = end_take(&c), reply;

	(void)state;
	assert_int_equal(end_feed(&a, hello.p, hello.n), 0);
	reply = end_take(&a);
	hello.p[10] = 1;
	assert_int_equal(end_feed(&c, hello.p, hello.n), 0);
	refuses(&c, reply.p + HELLO_SIZE, PROVE, "another token");
}

static void t_replayed_connection(void **state)
{
	ENDS(c, a, &ours, &ours);
	AUTO(end_free) struct end again = end_new(SECURE_ACCEPTOR, &ours);
	struct flight hello = end_take(&c), reply, proof;

	(void)state;
	assert_int_equal(end_feed(&a, hello.p, hello.n), 0);
	reply = end_take(&a);
	assert_int_equal(end_feed(&c, reply.p, reply.n), 0);
	say(&c, 1, "pay 100");
	proof = end_take(&c);
	assert_int_equal(end_feed(&again, hello.p, hello.n), 0);
	refuses(&again, proof.p, proof.n, "another token");
	assert_int_equal(again.got, 0);
}

static void t_replayed_server(void **state)
{
	ENDS(c, a, &ours, &ours);
	AUTO(end_free) struct end again = end_new(SECURE_CONNECTOR, &ours);
	struct flight hello = end_take(&c), reply;

	(void)state;
	assert_int_equal(end_feed(&a, hello.p, hello.n), 0);
	reply = end_take(&a);
	refuses(&again, reply.p, reply.n, "another token");
}

static void t_frames_twice_swapped_lost(void **state)
{
	enum { TWICE, SWAPPED, LOST, OTHER_WAY, CASES };

	(void)state;
	for (int i = 0; i < CASES; i++) {
		ENDS(c, a, &ours, &ours);
		struct flight one, two;

		both_open(&c, &a);
		say(&c, 1, "one");
		one = end_take(&c);
		say(&c, 1, "two");
		two = end_take(&c);
		if (i == TWICE)
			assert_int_equal(end_feed(&a, one.p, one.n), 0);
		if (i == OTHER_WAY)
			refuses(&c, one.p, one.n, "changed on its way");
		else if (i == TWICE)
			refuses(&a, one.p, one.n, "changed on its way");
		else
			refuses(&a, two.p, two.n, "changed on its way");
		assert_int_equal(a.got, i == TWICE);
		assert_int_equal(c.got, 0);
	}
}

/* Cut anywhere, a message is not there; and a cut is not an end. */
static void t_truncated(void **state)
{
	ENDS(c, a, &ours, &ours);
	struct flight f;

	(void)state;
	both_open(&c, &a);
	say(&c, 1, "a message that is cut");
	f = end_take(&c);
	for (size_t n = 0; n + 1 < f.n; n++) {
		assert_int_equal(end_feed(&a, f.p + n, 1), 0);
		assert_int_equal(a.got, 0);
	}
	assert_false(secure_is_ended(a.s));
	assert_int_equal(end_feed(&a, f.p + f.n - 1, 1), 0);
	heard(&a, 1, "a message that is cut");
}

static void t_end(void **state)
{
	static const struct token *const tokens[] = {&ours, NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
		ENDS(c, a, tokens[i], tokens[i]);
		struct flight f;

		assert_int_equal(secure_end(c.s, &c.err), -1); /* it has not begun */
		both_open(&c, &a);
		say(&c, 1, "bye");
		assert_int_equal(secure_end(c.s, &c.err), 0);
		assert_int_equal(secure_end(c.s, &c.err), -1);
		assert_int_equal(secure_seal(c.s, 1, "", 0, &c.err), -1);
		f = end_take(&c);
		assert_int_equal(end_feed(&a, f.p, f.n), 0);
		heard(&a, 1, "bye");
		assert_true(secure_is_ended(a.s) && !secure_is_ended(c.s));
		say(&a, 1, "the other way goes on");
		f = end_take(&a);
		assert_int_equal(end_feed(&c, f.p, f.n), 0);
		heard(&c, 1, "the other way goes on");
		refuses(&a, "\0\0\0\0", 4, "after the end");
	}
}

static void t_stopped_by_its_owner(void **state)
{
	ENDS(c, a, &ours, &ours);
	struct flight f;

	(void)state;
	both_open(&c, &a);
	say(&c, 1, "one");
	say(&c, 1, "two");
	f = end_take(&c);
	a.refuse = -1;
	refuses(&a, f.p, f.n, "makes no sense");
	assert_int_equal(a.got, 1);
}

/* Behind the sealed frame lay the message itself, for as long as the connection had it. */
static void t_nothing_plain_stays(void **state)
{
	static const char text[] = "the code of another run";
	ENDS(c, a, &ours, &ours);
	const char *p;
	size_t n;

	(void)state;
	both_open(&c, &a);
	say(&c, 1, text);
	p = secure_output(c.s, &n);
	assert_null(memmem(p, n + 2 + strlen(text), text, strlen(text)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_known_bytes),
		cmocka_unit_test(t_flights),
		cmocka_unit_test(t_byte_by_byte),
		cmocka_unit_test(t_sizes),
		cmocka_unit_test(t_nothing_repeats),
		cmocka_unit_test(t_wrong_token),
		cmocka_unit_test(t_guessed_proof),
		cmocka_unit_test(t_reflection),
		cmocka_unit_test(t_reflected_with_other_role),
		cmocka_unit_test(t_replayed_connection),
		cmocka_unit_test(t_replayed_server),
		cmocka_unit_test(t_frames_twice_swapped_lost),
		cmocka_unit_test(t_truncated),
		cmocka_unit_test(t_end),
		cmocka_unit_test(t_stopped_by_its_owner),
		cmocka_unit_test(t_nothing_plain_stays),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
