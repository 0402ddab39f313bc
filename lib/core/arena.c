#include "lib/core/arena.h"

#include <errno.h>

enum { BLOCK = 16 << 10, ALIGN = 16 };

struct arena_block {
	struct arena_block *below;
	size_t used, size;
	_Alignas(ALIGN) char data[];
};

static _Noreturn void out_of_memory(void)
{
	static const char said[] = ": out of memory; with fewer hosts at once it needs less\n";
	const char *who = program_invocation_short_name;

	(void)!write(2, who, strlen(who));
	(void)!write(2, said, sizeof(said) - 1);
	_exit(3);
}

void *arena_alloc(struct arena *a, size_t n)
{
	struct arena_block *b = a->top;
	void *p;

	if (n > SIZE_MAX / 2)
		out_of_memory();
	n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!b || b->size - b->used < n) {
		size_t size = n > BLOCK ? n : BLOCK;

		b = malloc(sizeof(*b) + size);
		if (!b)
			out_of_memory();
		*b = (struct arena_block){.below = a->top, .size = size};
		a->top = b;
	}
	p = b->data + b->used;
	b->used += n;
	return memset(p, 0, n); /* not calloc(): pages that nobody uses are never touched */
}

void *arena_grow(struct arena *a, void *old, size_t old_n, size_t n)
{
	void *p = arena_alloc(a, n);

	if (old_n)
		memcpy(p, old, old_n);
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	memcpy(p, s, n);
	return p;
}

char *arena_strdup(struct arena *a, const char *s) { return arena_strndup(a, s, strlen(s)); }

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char *p;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	p = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
	if (n >= 0)
		vsnprintf(p, (size_t)n + 1, fmt, ap);
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;

	va_start(ap, fmt);
	p = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return p;
}

void arena_done(struct arena *a)
{
	for (struct arena_block *b = a->top, *below; b; b = below) {
		below = b->below;
		free(b);
	}
	a->top = NULL;
}

bool list_has(const str_list *l, const char *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i], s))
			return true;
	return false;
}
