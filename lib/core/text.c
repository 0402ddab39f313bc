#include "lib/core/text.h"

#include "lib/core/hash.h"

#include <stdarg.h>

static void reserve(struct text *t, size_t more)
{
	size_t cap = t->cap;

	while (cap - t->n <= more)
		cap *= 2;
	if (cap != t->cap)
		t->s = arena_grow(t->a, t->s, t->n, cap);
	t->cap = cap;
}

void text_init(struct text *t, struct arena *a)
{
	*t = (struct text){.a = a, .cap = 128};
	t->s = arena_alloc(a, t->cap);
}

void text_addn(struct text *t, const char *s, size_t n)
{
	reserve(t, n);
	memcpy(t->s + t->n, s, n);
	t->n += n;
	t->s[t->n] = '\0';
}

void text_add(struct text *t, const char *s) { text_addn(t, s, strlen(s)); }

void text_addf(struct text *t, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n > 0) {
		reserve(t, (size_t)n);
		vsnprintf(t->s + t->n, (size_t)n + 1, fmt, again);
		t->n += (size_t)n;
	}
	va_end(again);
}

void text_markup(struct text *t, const char *s)
{
	for (size_t n; s && *s; s += n) {
		n = strcspn(
			s, "&<>\"'\1\2\3\4\5\6\a\b\v\f\16\17\20\21\22\23\24\25\26\27\30\31\32\33\34"
			   "\35\36\37");
		text_addn(t, s, n);
		if (!s[n])
			return;
		if ((unsigned char)s[n] >= ' ')
			text_addf(t, "&#%d;", s[n]);
		n++;
	}
}

void text_more(struct text *t, const char *between, size_t all, size_t shown)
{
	if (all > shown)
		text_addf(t, "%s and %zu more", between, all - shown);
}

uint32_t text_hash(uint32_t h, const char *s)
{
	return hash32_add(h ? h : HASH32, s, s ? strlen(s) : 0);
}
