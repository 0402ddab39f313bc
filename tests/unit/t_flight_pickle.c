/* Pickles: what Python and torch write is read, what is broken or hostile is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/text.h"
#include "lib/flight/flight.h"
#include "lib/flight/pickle.h"

enum { ROOM = 1 << 20 };

struct read {
	struct arena a;
	struct value_room room;
	struct value v;
	struct err e;
	bool cut;
	int failed;
};

static void read_done(struct read *r) { arena_done(&r->a); }

static void read_it(struct read *r, const char *data, size_t n)
{
	*r = (struct read){.failed = 0};
	r->room = (struct value_room){.a = &r->a, .left = ROOM};
	r->failed = pickle_read(data, n, &r->room, &r->v, &r->cut, &r->e);
}

#define READ(r, text)                                                                              \
	AUTO(read_done) struct read r;                                                             \
	read_it(&r, text, sizeof(text) - 1)

/* As a text: {'a': [1, -2]} */
static void show(struct text *t, const struct value *v, int deep)
{
	static const char *const ends[][2] = {{"[", "]"}, {"{", "}"}};
	bool dict = v->kind == VALUE_DICT;

	if (deep > 6) {
		text_add(t, "...");
	} else if (v->kind == VALUE_LIST || dict) {
		text_add(t, ends[dict][0]);
		for (uint32_t i = 0; i < v->seq->n; i++) {
			text_add(t, !i ? "" : dict && i % 2 ? ": " : ", ");
			show(t, &v->seq->v[i], deep + 1);
		}
		text_add(t, ends[dict][1]);
	} else if (v->kind == VALUE_TEXT || v->kind == VALUE_NAME) {
		text_addf(t, "%c%.*s", v->kind == VALUE_TEXT ? '\'' : '<', (int)v->n, v->s);
	} else if (v->kind == VALUE_FLOAT) {
		text_addf(t, "%g", v->f);
	} else {
		text_addf(t,
			  v->kind == VALUE_NONE	   ? "None"
			  : v->kind == VALUE_OTHER ? "?"
						   : "%lld",
			  (long long)v->i);
	}
}

static void what_is_written_is_read(void **state UNUSED)
{
	static const struct {
		const char *data;
		size_t n;
		const char *is;
	} cases[] = {
#define CASE(data, is) {data, sizeof(data) - 1, is}
		CASE("\x80\x02K\x07.", "7"),
		CASE("\x80\x02M\x00\x01.", "256"),
		CASE("\x80\x02J\xff\xff\xff\xff.", "-1"),
		CASE("\x80\x02\x8a\x08\x00\x00\x00\x00\x01\x00\x00\x00.", "4294967296"),
		CASE("\x80\x02\x8a\x01\xff.", "-1"),
		CASE("\x80\x02\x8a\x00.", "0"),
		CASE("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.", "?"),
		CASE("\x80\x02G\x3f\xf8\x00\x00\x00\x00\x00\x00.", "1.5"),
		CASE("\x80\x02X\x02\x00\x00\x00hi.", "'hi"),
		CASE("\x80\x04\x8c\x02hi.", "'hi"),
		CASE("\x80\x02](K\x01\x88\x89Ne.", "[1, 1, 0, None]"),
		CASE("\x80\x02K\x01K\x02\x86.", "[1, 2]"),
		CASE("\x80\x02(K\x01K\x02K\x03K\x04t.", "[1, 2, 3, 4]"),
		CASE("\x80\x02}(X\x01\x00\x00\x00"
		     "aK\x01X\x01\x00\x00\x00"
		     "bK\x02u.",
		     "{'a: 1, 'b: 2}"),
		CASE("\x80\x02}X\x01\x00\x00\x00"
		     "aK\x01s.",
		     "{'a: 1}"),
		CASE("\x80\x02]q\x00K\x01"
		     "ah\x00\x86.",
		     "[[1], [1]]"), /* one list, twice */
		CASE("\x80\x04]\x94K\x01"
		     "ah\x00\x86.",
		     "[[1], [1]]"),
		CASE("\x80\x04\x95\x03\x00\x00\x00\x00\x00\x00\x00K\x01.", "1"),
		/* torch's own: a dict with its type */
		CASE("\x80\x02"
		     "ctorch.jit._pickle\nrestore_type_tag\nq\x00}(X\x01\x00\x00\x00"
		     "aK\x01uX\x0e\x00\x00\x00"
		     "Dict[Any, Any]q\x01\x86R.",
		     "{'a: 1}"),
		CASE("\x80\x02"
		     "ctorch.jit._pickle\nbuild_intlist\nq\x00(](K\x01K\x02"
		     "etR.",
		     "[1, 2]"),
		CASE("\x80\x02"
		     "ccollections\nOrderedDict\n)R(X\x01\x00\x00\x00"
		     "aK\x01u.",
		     "{'a: 1}"),
		/* nothing is called */
		CASE("\x80\x02"
		     "cos\nsystem\nX\x04\x00\x00\x00true\x85R.",
		     "?"),
		CASE("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.", "?"),
		CASE("\x80\x02"
		     "cm\nC\n)\x81}(X\x01\x00\x00\x00"
		     "aK\x01ub.",
		     "{'a: 1}"),
#undef CASE
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(read_done) struct read r;
		struct text t;

		read_it(&r, cases[i].data, cases[i].n);
		if (r.failed)
			fail_msg("case %zu: %s", i, r.e.msg);
		text_init(&t, &r.a);
		show(&t, &r.v, 0);
		assert_string_equal(t.s, cases[i].is);
	}
}

static void what_is_wrong_is_refused(void **state UNUSED)
{
	static const struct {
		const char *data;
		size_t n;
		const char *why;
	} cases[] = {
#define CASE(data, why) {data, sizeof(data) - 1, why}
		CASE("\x80\x02.", "never put"),
		CASE("\x80\x06K\x01.", "protocol"),
		CASE("\x80\x02K\x01"
		     "a.",
		     "adds to nothing"),
		CASE("\x80\x02](K\x01"
		     "a.",
		     "adds to nothing"), /* what is below a mark is not taken */
		CASE("\x80\x02"
		     "e.",
		     "mark"),
		CASE("\x80\x02h\x00.", "never kept"),
		CASE("\x80\x02q\x00.", "remembers nothing"),
		CASE("\x80\x02]r\xff\xff\xff\x7f.", "holes"),
		CASE("\x80\x02\xff.", "operation"),
		CASE("\x80\x02P1\n.", "operation"),
		CASE("\x80\x02X\xff\xff\xff\xffhi.", "too long"),
		CASE("\x80\x02X\xff\xff\xff\x7fhi.", "cut short"),
		CASE("\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xffhi.", "too long"),
		CASE("\x80\x02"
		     "cm",
		     "cut short"),
		CASE("\x80\x04K\x01K\x02\x93.", "no text"),
#undef CASE
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(read_done) struct read r;

		read_it(&r, cases[i].data, cases[i].n);
		assert_int_equal(r.failed, -1);
		if (!strstr(r.e.msg, cases[i].why))
			fail_msg("case %zu: %s", i, r.e.msg);
	}
}

/* Wherever it ends early, it is said to be cut, and nothing is read beyond. */
static void a_cut_one_is_said_to_be_cut(void **state UNUSED)
{
	static const char whole[] = "\x80\x04\x95\x03\x00\x00\x00\x00\x00\x00\x00"
				    "}\x94(\x8c\x01"
				    "a\x94](K\x01M\x01\x01J"
				    "\x01\x01\x01\x01G\x3f\xf8\x00\x00\x00\x00\x00\x00"
				    "e\x8c\x01"
				    "b\x8a\x02\x01\x01u.";

	for (size_t n = 2; n < sizeof(whole) - 1; n++) {
		AUTO(read_done) struct read r;
		char *own = malloc(n);

		memcpy(own, whole, n);
		read_it(&r, own, n);
		free(own);
		assert_int_equal(r.failed, -1);
		assert_true(r.cut);
	}
	READ(r, whole);
	assert_int_equal(r.failed, 0);
}

/* A few bytes may not unfold to much: each operation costs, whatever it is. */
static void memory_is_bounded(void **state UNUSED)
{
	static const char *const ops[] = {"}",	"]",	  "(",	   ")",	 "N",
					  "](", "}q\x01", "]\x94", "N2", "]0"};
	enum { N = 1 << 20 };
	char *data = malloc(N + 8);

	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		AUTO(read_done) struct read r;
		size_t len = strlen(ops[i]), n = 2;

		memcpy(data, "\x80\x04", 2);
		for (; n + len < N; n += len)
			memcpy(data + n, ops[i], len);
		read_it(&r, data, n);
		assert_int_equal(r.failed, -1);
		assert_non_null(strstr(r.e.msg, "too much"));
		assert_true(r.room.left <= ROOM);
	}
	free(data);
}

/* Lists of lists that are shared double with every level; a list may hold itself. */
static void shared_values_are_not_copied(void **state UNUSED)
{
	char data[2048] = "\x80\x04]\x94";
	size_t n = 4;
	AUTO(read_done) struct read r;

	for (int i = 0; i < 100; i++) {
		const char level[] = {']', '(', 'h', (char)i, 'h', (char)i, 'e', '\x94'};

		memcpy(data + n, level, sizeof(level));
		n += sizeof(level);
	}
	data[n++] = '.';
	read_it(&r, data, n);
	assert_int_equal(r.failed, 0);
	assert_true(r.room.left > ROOM - (64 << 10));
	READ(self, "\x80\x04]\x94h\x00"
		   "a.");
	assert_int_equal(self.failed, 0);
	assert_ptr_equal(self.v.seq->v[0].seq, self.v.seq);
}

static void numbers_are_read_from_texts_too(void **state UNUSED)
{
	static const struct {
		const char *s;
		bool ok;
		int64_t is;
	} cases[] = {{"12", true, 12},
		     {"-1", true, -1},
		     {"", false, 0},
		     {"1x", false, 0},
		     {"99999999999999999999", false, 0}};
	int64_t i;

	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct value v = {.kind = VALUE_TEXT, .s = cases[k].s};

		v.n = (uint32_t)strlen(v.s);
		i = 0;
		assert_int_equal(value_int(&v, &i), cases[k].ok);
		if (cases[k].ok)
			assert_int_equal(i, cases[k].is);
	}
	assert_false(value_int(NULL, &i));
	assert_false(value_int(&(struct value){.kind = VALUE_FLOAT, .f = 1e300}, &i));
}

static void flight_done(struct flight **f) { flight_free(*f); }

/* Two texts of one hash, the longer one a NUL behind the other: whoever compares them must not look
 * for the other's end where this one has its own. */
static void a_word_ends_at_its_nul(void **state UNUSED)
{
	enum { ZEROS = 40003 };
	static const unsigned char makes_it_collide[] = {68, 62, 175, 179};
	static char text[2 + ZEROS + sizeof(makes_it_collide)] = "x";
	AUTO(flight_done) struct flight *f = flight_new();
	flight_word x;

	assert_non_null(f);
	x = flight_keep(f, "x", 1);
	memcpy(text + 2 + ZEROS, makes_it_collide, sizeof(makes_it_collide));
	assert_int_equal(flight_keep(f, text, sizeof(text)), x);
	assert_int_equal(flight_keep(f, "x\0y", 3), x);
	assert_int_not_equal(flight_keep(f, "xy", 2), x);
	assert_int_equal(flight_keep(f, "\0", 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(what_is_wrong_is_refused),
		cmocka_unit_test(a_cut_one_is_said_to_be_cut),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(shared_values_are_not_copied),
		cmocka_unit_test(numbers_are_read_from_texts_too),
		cmocka_unit_test(a_word_ends_at_its_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
