/* Logs of a few lines, whole: what failed first, and what is harmless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/file.h"
#include "probes/log/explain.h"

static void judge(const char *name, const char *want, const char *text, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(why_done) struct why w = {0};
	struct explanation x;
	struct why_stream s;
	const struct cause *c;

	why_init(&w);
	why_open(&s, &w, name);
	why_feed(&s, text, n);
	why_close(&s);
	explain(&w, &a, &x);
	c = x.causes.n ? &x.causes.v[0] : NULL;
	if (streq(want, "-")) {
		for (size_t i = 0; i < x.causes.n; i++)
			if (x.causes.v[i].weight >= CONFIDENT)
				fail_msg("%s: %s is said with %d %%", name, x.causes.v[i].sig->id,
					 x.causes.v[i].weight);
	} else if (!c || !streq(c->sig->id, want) || c->weight < CONFIDENT) {
		fail_msg("%s: first is %s with %d %%, not %s", name, c ? c->sig->id : "nothing",
			 c ? c->weight : 0, want);
	}
}

static void every_case(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};
	size_t n, cases = 0;
	char *text, *p;

	assert_int_equal(file_read("tests/logs/cases.txt", 1 << 20, &a, &text, &n, &e), 0);
	for (p = strstr(text, "\n@@ "); p;) {
		char *name = p + 4, *end = strchr(name, '\n'), *want, *next;

		assert_non_null(end);
		next = strstr(end, "\n@@ ");
		*end = '\0';
		want = strchr(name, ' ');
		assert_non_null(want);
		*want++ = '\0';
		if (!streq(want, "-") && signature_find(want) < 0)
			fail_msg("%s: no signature is called %s", name, want);
		judge(name, want, end + 1, next ? (size_t)(next - end) : strlen(end + 1));
		cases++;
		p = next;
	}
	assert_true(cases >= 26);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_case)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
