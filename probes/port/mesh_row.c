/*
 * A cell of the matrix as its asker tells it: "STATES CAUSES MS", a letter per port. Nearly all
 * ports of a host are alike, so a run of one letter is told as that letter and its length: what is
 * told fits in one value of the rendezvous for as many ports and hosts as anybody has.
 */
#include "lib/core/text.h"
#include "probes/port/mesh.h"

#include <ctype.h>
#include <math.h>

typedef char letter_fn(const struct reach_result *x);

static char state_of(const struct reach_result *x) { return port_state_letter(x->state); }
static char cause_of(const struct reach_result *x) { return port_cause_letter(x->cause); }

static void fold(struct text *t, letter_fn *letter, const struct reach_result *v, size_t n)
{
	for (size_t i = 0, run; i < n; i += run) {
		const char one = letter(&v[i]);

		for (run = 1; i + run < n && letter(&v[i + run]) == one;)
			run++;
		text_addn(t, &one, 1);
		if (run > 1)
			text_addf(t, "%zu", run);
	}
	text_add(t, " ");
}

const char *mesh_row_fold(struct arena *a, const struct reach_result *v, size_t n)
{
	float ms = NAN;
	struct text t;

	for (size_t i = 0; i < n; i++)
		if (port_state_is_reached(v[i].state) && !(v[i].ms >= ms))
			ms = v[i].ms;
	text_init(&t, a);
	fold(&t, state_of, v, n);
	fold(&t, cause_of, v, n);
	if (isfinite(ms))
		text_addf(&t, "%.3f", (double)ms);
	else
		text_add(&t, "-");
	return t.s;
}

/* Behind the @n letters of @s, written out at @to, and their space; NULL: they are not that many.
 */
static const char *unfold(const char *s, char *to, size_t n)
{
	for (size_t i = 0, run; i < n; i += run) {
		const char one = *s;

		if (!one || one == ' ' || isdigit((unsigned char)one))
			return NULL;
		s++;
		for (run = isdigit((unsigned char)*s) ? 0 : 1;
		     isdigit((unsigned char)*s) && run <= n; s++)
			run = 10 * run + (size_t)(*s - '0');
		if (!run || run > n - i)
			return NULL;
		memset(to + i, one, run);
	}
	return *s == ' ' ? s + 1 : NULL;
}

const char *mesh_row_unfold(struct arena *a, const char *s, size_t n, float *ret_ms)
{
	char *row = arena_alloc(a, 2 * n + 2);
	float ms;

	row[n] = ' ';
	s = unfold(s, row, n);
	s = s ? unfold(s, row + n + 1, n) : NULL;
	if (!s)
		return NULL;
	row[2 * n + 1] = '\0';
	ms = strtof(s, NULL);
	*ret_ms = ms > 0 ? ms : NAN;
	return row;
}
