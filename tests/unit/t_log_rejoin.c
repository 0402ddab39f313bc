/* Lines that were broken at a fixed width are read as they were; others are left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/text.h"
#include "probes/log/rejoin.h"
#include "tests/unit/told.h"

/* A line of its own, one that is much longer, and one that names the cause across any break. */
static const char log_text[] =
	"start of the run\n"
	"node1:4711:4720 [2] NCCL INFO NET/Socket : Using [0]ens3:10.3.0.4<0> [1]ens4:10.4.0.4<0>\n"
	"node1:4711:4720 [2] NCCL INFO Channel 00/02 :    0   1   2   3   4   5   6   7\n"
	"[rank3]: RuntimeError: this text only makes it longer; CUDA error: invalid device "
	"ordinal, "
	"of eight that are here\n"
	"ready to leave\n";

/* As fold does; @at_spaces: as fold -s. */
static char *fold(struct arena *a, const char *p, size_t width, bool at_spaces, const char *end)
{
	struct text t;

	text_init(&t, a);
	while (*p) {
		size_t n = strcspn(p, "\n"), take = n < width ? n : width;

		for (size_t i = take; at_spaces && n > width && i > 0; i--)
			if (p[i - 1] == ' ') {
				take = i;
				break;
			}
		text_addn(&t, p, take);
		text_add(&t, end);
		p += take + (take == n);
	}
	return t.s;
}

static uint64_t lines_before(const char *text, const char *word)
{
	uint64_t n = 1;

	for (const char *p = text, *at = strstr(text, word); p < at; p++)
		n += *p == '\n';
	return n;
}

static void expect(const char *text, size_t piece)
{
	AUTO(told_done) struct told t;
	const struct cause *c;
	struct why_stream s;

	told_begin(&t, &s);
	s.is_text = true;
	for (size_t i = 0; i < strlen(text); i += piece)
		why_feed(&s, text + i, strlen(text + i) < piece ? strlen(text + i) : piece);
	told_end(&t, &s);
	assert_true(t.x.causes.n > 0);
	c = &t.x.causes.v[0];
	assert_string_equal(c->sig->id, "GPU-003");
	assert_int_equal(c->first->line, lines_before(text, "[rank3]"));
	assert_int_equal(c->first->who.rank, 3);
	assert_int_equal(t.w.lines, lines_before(text, "to leave"));
	assert_int_equal(t.w.actors.offers.n, 2);
}

static void broken_lines_are_joined(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	static const size_t widths[] = {72, 80}, pieces[] = {1, 7, 100, 100000};

	for (size_t i = 0; i < ARRAY_LEN(widths); i++)
		for (size_t j = 0; j < ARRAY_LEN(pieces); j++) {
			expect(log_text, pieces[j]);
			expect(fold(&a, log_text, widths[i], false, "\n"), pieces[j]);
			expect(fold(&a, log_text, widths[i], false, "\r\n"), pieces[j]);
			expect(fold(&a, log_text, widths[i], true, "\n"), pieces[j]);
		}
}

/* The last line has no end. */
static void cut_off_at_the_end(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	char *text = fold(&a, log_text, 72, false, "\n");

	*strstr(text, "\nready to leave") = '\0';
	expect(arena_printf(&a, "%s\nready to leave", text), 7);
}

static size_t width_of(const char *text) { return rejoin_width(text, strlen(text)); }

#define TEN "0123456 89"
#define FIFTY TEN TEN TEN TEN TEN
#define NINETY FIFTY TEN TEN TEN TEN
#define EIGHTY FIFTY TEN TEN TEN
#define RULE_TEN "=========="

static void others_are_left_alone(void **state UNUSED)
{
	/* nothing ends at a width */
	assert_int_equal(width_of("one\n" FIFTY TEN "\ntwo\n"), 0);
	/* a longer line */
	assert_int_equal(width_of(EIGHTY "\nab\n" NINETY "\n"), 0);
	/* a line that is as long by chance, and the next begins anew */
	assert_int_equal(width_of(EIGHTY "\n  File \"a.py\", line 1\n"), 0);
	assert_int_equal(width_of(EIGHTY "\n[rank3]: here I am\n"), 0);
	assert_int_equal(width_of(EIGHTY "\nTraceback (most recent call last):\n"), 0);
	assert_int_equal(width_of(EIGHTY "\n\nnext\n"), 0);
	assert_int_equal(width_of(EIGHTY "\nPASSED        [ 50%]\n"), 0);
	assert_int_equal(width_of(EIGHTY "\n--- PASS: TestXid (0.00s)\n"), 0);
	/* a rule */
	assert_int_equal(
		width_of(RULE_TEN RULE_TEN RULE_TEN RULE_TEN RULE_TEN RULE_TEN RULE_TEN RULE_TEN
			 "\nnext\n"),
		0);
	/* another width has to be met more than once */
	assert_int_equal(width_of(NINETY "\nnext\n"), 0);
	assert_int_equal(width_of(NINETY "\n1" EIGHTY "123456789\n22" EIGHTY "12345678\nnext\n"),
			 90);
	/* what all ranks say in one's words */
	assert_int_equal(width_of(NINETY "\n" NINETY "\n" NINETY "\n" NINETY "\n"), 0);
	/* ... under numbers of their own */
	assert_int_equal(width_of("[ws-04:36606] " NINETY "\n[ws-04:36607] " NINETY
				  "\n[ws-04:36608] " NINETY "\n[ws-04:36605] " NINETY "\n"),
			 0);
	assert_int_equal(width_of(EIGHTY "\nnext\n"), 80);
	/* a word that had room, but not with the space behind it */
	assert_int_equal(width_of(FIFTY TEN " \n0123456789A b\n"), 72);
	assert_int_equal(width_of(FIFTY TEN " \n0123456789 b\n"), 0);
	assert_int_equal(width_of(""), 0);
}

/* A line that is longer comes later: from there on nothing is joined. */
static void a_longer_line_ends_it(void **state UNUSED)
{
	char text[] = EIGHTY "\nab\n" NINETY "\n" EIGHTY "\ncd\n";

	assert_int_equal(rejoin(text, strlen(text), 80), 0);
	assert_string_equal(text, EIGHTY "ab\n\n" NINETY "\n" EIGHTY "\ncd\n");
}

static void what_is_broken_waits(void **state UNUSED)
{
	static const char text[] = "one\n" EIGHTY "\n";

	assert_int_equal(rejoin_whole(text, strlen(text), 80), 4);
	assert_int_equal(rejoin_whole(text, 4, 80), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_lines_are_joined), cmocka_unit_test(cut_off_at_the_end),
		cmocka_unit_test(others_are_left_alone),   cmocka_unit_test(a_longer_line_ends_it),
		cmocka_unit_test(what_is_broken_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
