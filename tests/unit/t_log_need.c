/* What an expression needs, against the expression: nothing that it matches may lack it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/log/catalogue.h"
#include "probes/log/need.h"
#include "tests/unit/ere_maker.h"

static const struct {
	const char *ere, *text;
	bool met;
} cases[] = {
	{"abc", "xxabcxx", true},
	{"abc", "xxabxcx", false},
	{"abc", "", false},
	/* their order, and that they do not overlap */
	{"one.*two", "one and two", true},
	{"one.*two", "two and one", false},
	{"aba.*aba", "ababa", false},
	/* alternatives: what follows stands behind the one that ends first */
	{"(abcdef|cd)g?.*ef", "abcdef", true},
	{"(one|two)three", "two three", true},
	{"(one|two)three", "four three", false},
	{"one.*two|three", "two", false},
	{"one.*two|three", "three", true},
	{"one|two|", "", true},
	{"(one|[0-9]+)", "7", true},
	/* what may lack is not needed; what comes again is needed once */
	{"on?e", "oe", true},
	{"(one)*two", "two", true},
	{"(one)+two", "two", false},
	{"one{0,2}two", "ontwo", true},
	{"one{2}two", "onee two", true},
	{"one{2}two", "on two", false},
	{"(one){,3}two", "two", true},
	/* classes of one are literals, others are not */
	{"a[(]b[.]c", "a(b.c", true},
	{"a[(]b[.]c", "a(b,c", false},
	{"a[]]b", "a]b", true},
	{"a[^]x]b", "ayb", true},
	{"a[[:digit:]]b", "a1b", true},
	{"[[]one]", "[one]", true},
	{"[[]one]", "(one]", false},
	{"[Nn]o route", "No route", true},
	{"[Nn]o route", "Nroute", false},
	/* escapes */
	{"a\\.b", "a.b", true},
	{"a\\.b", "axb", false},
	{"\\bone\\w", "onex", true},
	{"(a)\\1one", "aatwo", true},
	{"^one$", "one", true},
	{"one !! two", "one", true},
	{"one !! two", "two", false},
};

static void is_met_or_not(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (need_met(need_of(&a, cases[i].ere), cases[i].text) != cases[i].met)
			fail_msg("%s: '%s' is %s", cases[i].ere, cases[i].text,
				 cases[i].met ? "refused" : "let through");
}

/* What regcomp() would not take must not lead anywhere else either. */
static void broken_ones_need_nothing(void **state UNUSED)
{
	static const char *const broken[] = {"a(b", "a[b",  "a[[:digit:", "*a",	  "a|*b", "(+a)",
					     "a)b", "ab{x", "a{",	  "^*ab", "a\\"};
	AUTO(arena_done) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(broken); i++)
		if (!need_met(need_of(&a, broken[i]), "xyz"))
			fail_msg("%s needs something", broken[i]);
}

static unsigned dice(unsigned sides)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % sides;
}

static void make_ere(char *out, size_t size)
{
	static const char *const pieces[] = {"a",  "b",	     "ab",    "ba", "(",    ")",     "|",
					     ".*", "a?",     "b*",    "a+", "b{2}", "[ab]",  "[a]",
					     ".",  "(a|bb)", "(ab)?", "^",  "$",    "a{0,1}"};
	unsigned n = 1 + dice(7);

	*out = '\0';
	while (n--)
		(void)strncat(out, pieces[dice(ARRAY_LEN(pieces))], size - strlen(out) - 1);
}

static void never_refuses_a_match(void **state UNUSED)
{
	enum { EXPRESSIONS = 30000, TEXTS = 20 };
	size_t matched = 0, refused = 0;

	for (int i = 0; i < EXPRESSIONS; i++) {
		AUTO(arena_done) struct arena a = {0};
		char ere[128], text[16];
		struct need *need;
		regex_t re;

		make_ere(ere, sizeof(ere));
		if (regcomp(&re, ere, REG_EXTENDED | REG_NOSUB))
			continue;
		need = need_of(&a, ere);
		for (int j = 0; j < TEXTS; j++) {
			unsigned n = dice(9);
			bool met, matches;

			text[n] = '\0';
			while (n--)
				text[n] = "abbac"[dice(5)];
			met = need_met(need, text);
			matches = regexec(&re, text, 0, NULL, 0) == 0;
			if (matches && !met)
				fail_msg("%s matches '%s', which is refused", ere, text);
			matched += matches;
			refused += !met;
		}
		regfree(&re);
	}
	assert_true(matched > 10000 && refused > 10000);
}

/* Nothing that the catalogue's expressions match is refused, and none of them needs nothing. */
static void the_catalogue_is_met(void **state UNUSED)
{
	enum { WAYS = 300 };
	size_t made = 0;

	for (size_t i = 0; i < signature_count; i++) {
		const char *ere = signatures[i].ere, *but = strstr(ere, SIGNATURE_BUT);
		struct maker m = {.ere = ere, .n = but ? (size_t)(but - ere) : strlen(ere)};
		AUTO(arena_done) struct arena a = {0};
		struct need *need = need_of(&a, ere);

		assert_non_null(need);
		assert_false(need_met(need, ""));
		for (size_t ways = 0; ways < 2 * WAYS && maker_next(&m); ways++, made++) {
			if (!need_met(need, m.out))
				fail_msg("%s refuses '%s'", signatures[i].id, m.out);
			m.dice = ways + 1 == WAYS ? 1 : m.dice; /* of the many others some */
		}
	}
	assert_true(made > 10 * signature_count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_met_or_not),
		cmocka_unit_test(broken_ones_need_nothing),
		cmocka_unit_test(never_refuses_a_match),
		cmocka_unit_test(the_catalogue_is_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
