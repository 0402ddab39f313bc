#ifndef TESTS_UNIT_ERE_MAKER_H
#define TESTS_UNIT_ERE_MAKER_H
/*
 * Makes the strings that a POSIX extended regular expression matches: one for each
 * way through its alternatives, with every ?, * and + at its least and once more, and
 * every class of few members spelled out ([Cc]: both). Of larger classes it takes one
 * member. Where an expression has too many ways, a choice of them that
 * is the same in every run.
 *
 *	struct maker m = {.ere = "a(b|c)?"};
 *
 *	while (maker_next(&m))
 *		use(m.out);	a, ab, ac
 */
#include "lib/core/base.h"

enum { MAKER_CHOICES = 512, MAKER_TEXT = 4096, MAKER_FEW = 4 /* members of a class */ };

struct maker {
	const char *ere;
	size_t n;      /* of @ere; 0: all of it */
	uint64_t dice; /* not 0: choices are random */
	char out[MAKER_TEXT];
	/* private */
	size_t size;
	unsigned char digit[MAKER_CHOICES], base[MAKER_CHOICES];
	size_t ndigits, at;
	bool is_begun;
};

/* The next digit of the way through: all the ways are counted like a number. */
static unsigned maker_choose(struct maker *m, unsigned base)
{
	assert_true(m->at < MAKER_CHOICES && base && base < 256);
	if (m->dice) {
		m->dice = m->dice * 6364136223846793005 + 1442695040888963407;
		return (unsigned)(m->dice >> 33) % base;
	}
	if (m->at == m->ndigits) {
		m->digit[m->at] = 0;
		m->base[m->at] = (unsigned char)base;
		m->ndigits++;
	}
	return m->digit[m->at++];
}

static void maker_put(struct maker *m, char c)
{
	assert_true(m->size + 1 < MAKER_TEXT);
	m->out[m->size++] = c;
}

/* What is after the class, group, escape or character at @p. */
static const char *maker_skip(const char *p)
{
	unsigned depth = 0;

	do {
		if (*p == '[') {
			p += p[1] == '^' ? 3 : 2; /* a ] that comes first is a member */
			while (*p != ']')
				p++;
		} else if (*p == '\\') {
			p++;
		} else {
			depth += *p == '(';
			depth -= *p == ')';
		}
		p++;
	} while (depth);
	return p;
}

/* Is @c in the class at @p? Of "[a-z_]"; there are no names of classes. */
static bool maker_is_member(const char *p, const char *end, char c)
{
	bool is_not = p[1] == '^', yes = false;

	for (p += is_not ? 2 : 1; p < end - 1; p++) {
		if (p[1] == '-' && p + 2 < end - 1) {
			yes |= c >= p[0] && c <= p[2];
			p += 2;
		} else {
			yes |= c == *p;
		}
	}
	return yes != is_not;
}

static void maker_class(struct maker *m, const char *p)
{
	static const char usual[] = "x0 /;";
	const char *end = maker_skip(p);
	char few[256];
	unsigned n = 0;

	for (const char *c = usual; *c; c++)
		if (maker_is_member(p, end, *c))
			few[n++] = *c;
	if (p[1] != '^' && !memchr(p + 1, '-', (size_t)(end - p - 2)) && end - p - 2 <= MAKER_FEW) {
		maker_put(m, p[1 + maker_choose(m, (unsigned)(end - p - 2))]);
		return;
	}
	for (int c = ' '; c < 127 && !n; c++)
		if (maker_is_member(p, end, (char)c))
			few[n++] = (char)c;
	assert_true(n);
	maker_put(m, few[0]);
}

static void maker_group(struct maker *m, const char *p, const char *end);

static void maker_atom(struct maker *m, const char *p)
{
	if (*p == '(')
		maker_group(m, p + 1, maker_skip(p) - 1);
	else if (*p == '[')
		maker_class(m, p);
	else if (*p == '\\')
		maker_put(m, p[1]);
	else if (*p == '.')
		maker_put(m, ';');
	else if (*p != '^' && *p != '$')
		maker_put(m, *p);
}

/* How often an atom stands there; @p is at what is after it. */
static unsigned maker_times(struct maker *m, const char **p)
{
	unsigned n = 1;

	for (; **p && strchr("?*+{", **p); (*p)++) {
		if (**p == '{') {
			n = (unsigned)strtoul(*p + 1, NULL, 10);
			*p = strchr(*p, '}');
		} else {
			n = maker_choose(m, 2) + (**p == '+');
		}
	}
	return n;
}

static void maker_branch(struct maker *m, const char *p, const char *end)
{
	while (p < end && *p != '|') {
		const char *after = maker_skip(p);
		unsigned times = maker_times(m, &after);

		for (unsigned i = 0; i < times; i++)
			maker_atom(m, p);
		p = after;
	}
}

/* The alternative after the one at @p, or @end. */
static const char *maker_other(const char *p, const char *end)
{
	while (p < end && *p != '|')
		p = maker_skip(p);
	return p < end ? p + 1 : end;
}

static void maker_group(struct maker *m, const char *p, const char *end)
{
	unsigned n = 0, which;

	for (const char *q = p; q < end; q = maker_other(q, end))
		n++;
	n += n == 0 || end[-1] == '|'; /* an empty one */
	which = maker_choose(m, n);
	while (which--)
		p = maker_other(p, end);
	maker_branch(m, p, end);
}

/* False: all have been. Never with @dice. */
static bool maker_next(struct maker *m)
{
	while (m->is_begun && m->ndigits && m->digit[m->ndigits - 1] + 1 == m->base[m->ndigits - 1])
		m->ndigits--;
	if (m->is_begun && !m->dice && !m->ndigits)
		return false;
	if (m->is_begun && !m->dice)
		m->digit[m->ndigits - 1]++;
	m->is_begun = true;
	m->at = m->size = 0;
	maker_group(m, m->ere, m->ere + (m->n ? m->n : strlen(m->ere)));
	m->out[m->size] = '\0';
	return true;
}

#endif
