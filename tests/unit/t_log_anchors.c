/* Nothing of the catalogue is dead: all that an expression matches has one of its anchors, as
 * the scan of a log finds them, and every anchor is in something that it matches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/log/scan.h"
#include "probes/log/why.h"
#include "tests/unit/ere_maker.h"

enum { WAYS = 20000 /* through one alternative; of more, so many at random */ };

static void makes_what_is_matched(void **state UNUSED)
{
	static const struct {
		const char *ere, *all;
	} cases[] = {
		{"a(b|c)?", "a ab ac "},
		{"(x|y(z|)|)[.]$", "x. yz. y. . "},
		{"^[Nn]o[]]{2}", "No]] no]] "},
		{"[0-9]+[^x0]*\\[", "0[ 0 [ 00[ 00 [ "},
		{"[^]]|q", "x q "},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct maker m = {.ere = cases[i].ere};
		char all[100] = "";

		while (maker_next(&m)) {
			size_t n = strlen(all);

			(void)snprintf(all + n, sizeof(all) - n, "%.20s ", m.out);
		}
		assert_string_equal(all, cases[i].all);
	}
}

/* What else a line has that these match, where the anchor is. */
static const char *const elsewhere[] = {
	"IF-004", /* "[1]br-0a1b:172.18.0.1<0>": the address; a group names the interface, so
		   * that the two forms cannot be two alternatives */
};

enum { ANCHORS = 64 };

struct lint {
	struct why w;
	const struct signature *g;
	struct signature_re re;
	bool has_hit[ANCHORS]; /* of @g: is in something that it matches */
	bool is_elsewhere, is_excused;
	bool is_fault; /* of one alternative: it was told */
	size_t faults, samples;
};

static void fault(struct lint *l, const char *what, const char *s, size_t n)
{
	print_error("%s %s: %.*s\n", l->g->id, what, (int)n, s);
	l->faults++;
}

/* Of each alternative one sample is told. */
static void sample_fault(struct lint *l, const char *what, const struct maker *m)
{
	if (!l->is_fault) {
		fault(l, what, m->out, m->size);
		print_error("\tof the alternative: %.*s\n", (int)m->n, m->ere);
	}
	l->is_fault = true;
}

static bool is_found(const struct scan *s, unsigned tag, const char *text)
{
	struct scan_walk walk;
	struct scan_hit hit;
	size_t n = strlen(text);

	scan_begin(&walk, s, text, n);
	while (scan_next(&walk, n, &hit))
		if (hit.tag == tag)
			return true;
	return false;
}

/* The next of "a|b|c". */
static const char *each_anchor(const char **list, size_t *ret_n)
{
	const char *p = *list;

	*ret_n = strcspn(p, "|");
	*list += *ret_n + (p[*ret_n] == '|');
	return *p ? p : NULL;
}

static void note_anchors(struct lint *l, const char *text)
{
	const char *list = l->g->anchors, *p;
	size_t n, len = strlen(text);

	for (size_t i = 0; (p = each_anchor(&list, &n)); i++) {
		assert_true(i < ANCHORS);
		l->has_hit[i] |= memmem(text, len, p, n) != NULL;
	}
}

/* Whether it matches. */
static bool judge(struct lint *l, const struct maker *m)
{
	unsigned tag = (unsigned)(l->g - signatures);
	char line[MAKER_TEXT + 16];

	l->samples++;
	if (!signature_says(l->g, &l->re, m->out, m->out))
		return false;
	note_anchors(l, m->out);
	if (!is_found(l->w.scan, tag, m->out)) {
		l->is_excused |= l->is_elsewhere;
		if (!l->is_elsewhere)
			sample_fault(l, "has no anchor in", m);
	}
	(void)snprintf(line, sizeof(line), "[rank1]: %s", m->out);
	if (!signature_says(l->g, &l->re, line, line + strlen("[rank1]: ")))
		sample_fault(l, "does not match what a rank says", m);
	return true;
}

/* One alternative of the whole expression. */
static void try_alternative(struct lint *l, const char *ere, size_t n)
{
	struct maker m = {.ere = ere, .n = n};
	size_t ways = 0, matched = 0;

	l->is_fault = false;
	for (; ways < WAYS && maker_next(&m); ways++)
		matched += judge(l, &m);
	if (ways == WAYS)
		for (m.dice = 1; ways < 2 * WAYS && maker_next(&m); ways++)
			matched += judge(l, &m);
	if (!matched)
		fault(l, "matches nothing of", ere, n);
}

static void try_alternatives(struct lint *l)
{
	const char *ere = l->g->ere, *but = strstr(ere, SIGNATURE_BUT), *next;

	for (const char *end = but ? but : ere + strlen(ere); ere < end; ere = next) {
		next = maker_other(ere, end);
		try_alternative(l, ere, (size_t)(next - ere) - (next < end));
	}
}

/* Each anchor is of use: something has it, and no other of the same in it. */
static void judge_anchors(struct lint *l)
{
	const char *list = l->g->anchors, *p, *other;
	size_t n, len;

	for (size_t i = 0; (p = each_anchor(&list, &n)); i++) {
		if (!l->has_hit[i] && !l->is_elsewhere)
			fault(l, "matches nothing that has its anchor", p, n);
		for (const char *all = l->g->anchors; (other = each_anchor(&all, &len));)
			if (other != p && memmem(p, n, other, len))
				fault(l, "has an anchor within its anchor", p, n);
	}
}

static void nothing_is_dead(void **state UNUSED)
{
	struct lint l = {0};

	why_init(&l.w);
	for (l.g = signatures; l.g < signatures + signature_count; l.g++) {
		memset(l.has_hit, 0, sizeof(l.has_hit));
		l.is_elsewhere = l.is_excused = false;
		for (size_t i = 0; i < ARRAY_LEN(elsewhere); i++)
			l.is_elsewhere |= streq(elsewhere[i], l.g->id);
		assert_int_equal(signature_compile(&l.w.a, l.g, &l.re), 0);
		try_alternatives(&l);
		judge_anchors(&l);
		if (l.is_elsewhere && !l.is_excused)
			fault(&l, "needs no exception", l.g->ere, strlen(l.g->ere));
	}
	why_done(&l.w);
	if (l.faults)
		fail_msg("%zu alternatives or anchors are dead", l.faults);
	assert_true(l.samples > 10 * signature_count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(makes_what_is_matched),
		cmocka_unit_test(nothing_is_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
