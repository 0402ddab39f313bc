/* What an expression matches here, against what regexec() says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/log/catalogue.h"
#include "tests/unit/ere_maker.h"

#include <regex.h>
#include <time.h>

static const struct ere *made(struct arena *a, const char *ere)
{
	return ere_of(a, ere, strlen(ere));
}

static const struct {
	const char *ere, *text;
	bool is_in;
} cases[] = {
	{"abc", "xxabcxx", true},
	{"abc", "xxabxcx", false},
	{"abc", "", false},
	{"one.*two", "one and two", true},
	{"one.*two", "two and one", false},
	{"aba.*aba", "ababa", false},
	{"aba.*aba", "abaaba", true},
	{"a.*b.*c", "a b a c", true},
	{"a.*b.+c", "abc", false},
	/* alternatives, empty ones among them */
	{"(one|two)three", "four twothree", true},
	{"(one|two)three", "two three", false},
	{"one.*two|three", "three", true},
	{"one|two|", "", true},
	{"x(one|)y", "xy", true},
	{"a(b|bc)d", "abcd", true},
	{".*(one|two).*(three|four)", "two four", true},
	/* so often */
	{"on?e", "oe", true},
	{"(one)*two", "onontwo", true},
	{"^(one)*two", "onontwo", false},
	{"^(one)+two", "oneonetwo", true},
	{"^(a|ab)(c|bcd)*e", "abcdce", true},
	{"xn{0,2}y", "xnny", true},
	{"xn{0,2}y", "xnnny", false},
	{"xn{2}y", "xny", false},
	{"xn{2,}y", "xnnnny", true},
	{"x(no){2,3}y", "xnonoy", true},
	{"x(no){2,3}y", "xnononoy", true},
	{"x(no){2,3}y", "xnoy", false},
	{"x(no){2,3}y", "xnonononoy", false},
	{"xn{,3}y", "xnnnny", false},
	{"xn{0}y", "xy", true},
	{"x[0-9]{2}[.]y", "x12.y", true},
	/* where */
	{"^one$", "one", true},
	{"^one$", "one ", false},
	{"(^| )one( |$)", "and one", true},
	{"(^| )one( |$)", "one two", true},
	{"(^| )one( |$)", "none", false},
	{"$", "x", true},
	{"a^b", "a^b", false},
	{"x|^", "y", true},
	/* sets */
	{"a[(]b[.]c", "a(b.c", true},
	{"a[(]b[.]c", "a(b,c", false},
	{"a[]]b", "a]b", true},
	{"a[^]x]b", "ayb", true},
	{"a[^]x]b", "a]b", false},
	{"a[[:digit:]_]b", "a_b", true},
	{"a[[:digit:]_]b", "a1b", true},
	{"a[[:digit:]_]b", "axb", false},
	{"[[]one]", "[one]", true},
	{"[[]one]", "(one]", false},
	{"[a-c-]x", "-x", true},
	{"[Nn]o route", "No route", true},
	{"[^ ]+x", "\xc3\xa9x", true},
	{"a.b",
	 "a\x80"
	 "b",
	 true},
	/* escapes */
	{"a\\.b", "a.b", true},
	{"a\\.b", "axb", false},
	{"\\\\a", "\\a", true},
	{"a\\|b", "a|b", true},
};

static void matches_or_not(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct ere *e = made(&a, cases[i].ere);
		regex_t re;

		assert_int_equal(regcomp(&re, cases[i].ere, REG_EXTENDED | REG_NOSUB), 0);
		assert_int_equal(regexec(&re, cases[i].text, 0, NULL, 0) == 0, cases[i].is_in);
		regfree(&re);
		if (!e || ere_is_in(e, cases[i].text) != cases[i].is_in)
			fail_msg("%s and '%s'", cases[i].ere, cases[i].text);
	}
}

/* What is no expression, and what is not understood here. */
static void others_are_refused(void **state UNUSED)
{
	static const char *const others[] = {
		"a(b",	"a[b",	  "a[[:digit:", "*a",	   "a|*b",  "(+a)",	   "a)b",   "ab{x",
		"a{",	"a{}",	  "a{3,2}",	"a{999}",  "^*ab",  "a\\",	   "a**",   "(a*)*",
		"\\ba", "(a)\\1", "[[.a.]]",	"[[=a=]]", "[z-a]", "[[:other:]]", "(a|)+",
	};
	AUTO(arena_done) struct arena a = {0};
	char long_one[64] = "";

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (made(&a, others[i]))
			fail_msg("%s is understood", others[i]);
	for (int i = 0; i < 4; i++)
		(void)snprintf(long_one + strlen(long_one), sizeof(long_one) - strlen(long_one),
			       "%s", i ? "){200}" : "(((ab");
	assert_null(made(&a, long_one));
}

/* A text that fits again and again, but for its end, is gone through once, and not as often as it
 * has places, nor 2^n times. */
static void takes_no_longer_than_the_text(void **state UNUSED)
{
	static const char *const dear[] = {"((a|aa)+ ?)+b", "a*a*a*a*a*a*a*b", "a.*a.*a.*a.*a.*b",
					   "[^0-9].*[^0-9][0-9]/", "(a|[^b]a)*(ab|.+b)"};
	AUTO(arena_done) struct arena a = {0};
	char text[ERE_TEXT];
	clock_t begun = clock();

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(dear); i++)
		for (int times = 0; times < 50; times++) /* squared: 50 ms each */
			assert_false(ere_is_in(made(&a, dear[i]), text));
	assert_true(clock() - begun < 2 * CLOCKS_PER_SEC);
}

static void so_much_is_looked_at(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	char text[2 * ERE_TEXT];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	text[ERE_TEXT - 1] = 'b';
	assert_true(ere_is_in(made(&a, "a.*b"), text));
	text[ERE_TEXT - 1] = 'a';
	text[ERE_TEXT] = 'b';
	assert_false(ere_is_in(made(&a, "a.*b"), text));
	assert_false(ere_is_in(made(&a, "ab"), text));
}

static unsigned dice(unsigned sides)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % sides;
}

/* What random expressions and texts are made of. */
struct dough {
	const char *const *pieces; /* of an expression */
	size_t npieces;
	const char *letters; /* of a text */
	unsigned longest;
};

static void make_ere(const struct dough *d, char *out, size_t size)
{
	unsigned n = 1 + dice(7);

	*out = '\0';
	while (n--)
		(void)strncat(out, d->pieces[dice((unsigned)d->npieces)], size - strlen(out) - 1);
}

static void make_text(const struct dough *d, char *out)
{
	unsigned n = dice(d->longest + 1);

	out[n] = '\0';
	while (n--)
		out[n] = d->letters[dice((unsigned)strlen(d->letters))];
}

static void compare(const struct dough *d)
{
	enum { EXPRESSIONS = 40000, TEXTS = 20 };
	size_t matched = 0, refused = 0, strange = 0;

	for (int i = 0; i < EXPRESSIONS; i++) {
		AUTO(arena_done) struct arena a = {0};
		const struct ere *e;
		char ere[128], text[64];
		regex_t re;

		make_ere(d, ere, sizeof(ere));
		e = made(&a, ere);
		if (regcomp(&re, ere, REG_EXTENDED | REG_NOSUB)) {
			assert_null(e);
			continue;
		}
		strange += !e;
		for (int j = 0; e && j < TEXTS; j++) {
			bool matches;

			make_text(d, text);
			matches = regexec(&re, text, 0, NULL, 0) == 0;
			if (ere_is_in(e, text) != matches)
				fail_msg("%s and '%s': %d", ere, text, matches);
			matched += matches;
			refused += !matches;
		}
		regfree(&re);
	}
	assert_true(matched > 10000 && refused > 10000 && strange < EXPRESSIONS / 4);
}

static void says_what_regexec_says(void **state UNUSED)
{
	static const char *const pieces[] = {
		"a",  "b",	"ab",	"ba",	   "(",	      ")",     "|",	 ".*",	       "a?",
		"b*", "a+",	"b{2}", "[ab]",	   "[a]",     ".",     "(a|bb)", "(ab)?",      "^",
		"$",  "a{0,1}", "[^a]", "(a|ab)*", "(b|ba)+", "[^b]*", "(a|b|)", "(ab|b){1,3}"};

	compare(&(struct dough){pieces, ARRAY_LEN(pieces), "abbac", 8});
}

/* With words that a text may lack, wherever in an expression they stand. */
static void says_so_of_words(void **state UNUSED)
{
	static const char *const pieces[] = {
		"aba",	     "baba",   "abbab",	 "(aba|bab)",	  "(abb|aab)?",
		"(|.*baa)",  "(aba)*", "(bab)+", "(aab|b)*",	  "(abba){0,1}",
		".*",	     "[ab]*",  "[^b]*",	 "a|bbb",	  "|",
		"(",	     ")",      "b",	 "(baa){2}",	  "(abb){1,2}",
		"(a|.*bba)", "^",      "$",	 "(aab|bba|.+aa)"};

	compare(&(struct dough){pieces, ARRAY_LEN(pieces), "abab", 40});
}

/* Gone through, each is squared. */
static void words_that_a_text_lacks_cost_nothing(void **state UNUSED)
{
	static const char *const dear[] = {"a.*a.*a.*a.*a.*[xy]bcd", "x|a.*a.*a.*a.*a.*[xy]bcd"};
	AUTO(arena_done) struct arena a = {0};
	char text[ERE_TEXT];
	clock_t begun = clock();

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(dear); i++) {
		const struct ere *e = made(&a, dear[i]);

		for (int times = 0; times < 5000; times++)
			assert_false(ere_is_in(e, text));
	}
	assert_true(clock() - begun < 2 * CLOCKS_PER_SEC);
}

static bool is_as_regexec(const struct signature *g, const struct ere *e, const regex_t *re,
			  char *text)
{
	bool matches = regexec(re, text, 0, NULL, 0) == 0;

	if (ere_is_in(e, text) != matches)
		fail_msg("%s and '%s': %d", g->id, text, matches);
	return matches;
}

/* What the catalogue's expressions match, and the same with a byte less or another one. */
static void the_catalogue_is_understood(void **state UNUSED)
{
	enum { WAYS = 60 };
	size_t matched = 0, refused = 0;

	for (size_t i = 0; i < signature_count; i++) {
		const struct signature *g = &signatures[i];
		const char *but = strstr(g->ere, SIGNATURE_BUT);
		size_t n = but ? (size_t)(but - g->ere) : strlen(g->ere);
		AUTO(arena_done) struct arena a = {0};
		char *yes = arena_strndup(&a, g->ere, n);
		struct maker m = {.ere = yes};
		struct signature_re s;
		regex_t re;

		if (signature_compile(&a, g, &s))
			fail_msg("%s: is not understood: %s", g->id, g->ere);
		assert_int_equal(regcomp(&re, yes, REG_EXTENDED | REG_NOSUB), 0);
		for (size_t ways = 0; ways < 2 * WAYS && maker_next(&m); ways++) {
			char *at = m.out + dice((unsigned)strlen(m.out) + 1);

			matched += is_as_regexec(g, s.yes, &re, m.out);
			if (*at)
				*at = "x0 ;"[dice(4)];
			refused += !is_as_regexec(g, s.yes, &re, m.out);
			memmove(at, at + (*at != '\0'), strlen(at));
			refused += !is_as_regexec(g, s.yes, &re, m.out);
			m.dice = ways + 1 == WAYS ? 1 : m.dice; /* of the many others some */
		}
		regfree(&re);
	}
	assert_true(matched > 5 * signature_count && refused > 5 * signature_count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_or_not),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(takes_no_longer_than_the_text),
		cmocka_unit_test(so_much_is_looked_at),
		cmocka_unit_test(says_what_regexec_says),
		cmocka_unit_test(says_so_of_words),
		cmocka_unit_test(words_that_a_text_lacks_cost_nothing),
		cmocka_unit_test(the_catalogue_is_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
