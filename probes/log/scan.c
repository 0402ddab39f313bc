#include "probes/log/scan.h"

enum { BLOCK = 3, BITS = 15, SLOTS = 1 << BITS, NONE = UINT16_MAX };

struct entry {
	struct literal lit;
	uint32_t head; /* its first bytes: most candidates differ in them */
	uint16_t next; /* of the same slot */
};

struct scan {
	uint8_t shift[SLOTS]; /* by the last block of the window */
	uint16_t first[SLOTS];
	struct entry *v;
	size_t n;
	size_t window; /* the shortest literal */
};

/* The three bytes that end at @end, by one load: the byte before them is read and dropped. */
static inline unsigned slot(const char *end)
{
	uint32_t v;

	memcpy(&v, end - sizeof(v), sizeof(v));
	v = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v >> 8 : v & 0xffffff;
	return v * 2654435761u >> (32 - BITS);
}

/* What ends at a block within the window can begin no nearer than this. */
static void enter(struct scan *s, size_t i)
{
	char lit[1 + UINT8_MAX] = {0}; /* with a byte before it */
	unsigned last;

	memcpy(lit + 1, s->v[i].lit.s, s->window);
	last = slot(lit + 1 + s->window);
	for (size_t end = BLOCK; end <= s->window; end++) {
		uint8_t *shift = &s->shift[slot(lit + 1 + end)];
		size_t d = s->window - end;

		if (d < *shift)
			*shift = (uint8_t)d;
	}
	memcpy(&s->v[i].head, s->v[i].lit.s, sizeof(s->v[i].head));
	s->v[i].next = s->first[last];
	s->first[last] = (uint16_t)i;
}

struct scan *scan_new(struct arena *a, const struct literal *v, size_t n)
{
	struct scan *s = ARENA_NEW(a, struct scan);

	s->v = arena_alloc(a, n * sizeof(*s->v));
	s->n = n;
	s->window = UINT8_MAX;
	for (size_t i = 0; i < n; i++) {
		s->v[i].lit = v[i];
		if (v[i].n < s->window)
			s->window = v[i].n;
	}
	if (n >= NONE || s->window < SCAN_MIN)
		return NULL;
	memset(s->shift, (int)(s->window - BLOCK + 1), sizeof(s->shift));
	memset(s->first, 0xff, sizeof(s->first));
	for (size_t i = n; i-- > 0;)
		enter(s, i);
	return s;
}

/* @state is one more than the entry to go on with at this very place. */
size_t scan_next(const struct scan *s, const char *text, size_t n, size_t at, unsigned *state,
		 size_t *ret_at, unsigned *ret_tag)
{
	while (at + s->window <= n) {
		const char *p = text + at;
		unsigned h = slot(p + s->window);
		uint32_t head;
		uint16_t i;

		if (s->shift[h]) {
			at += s->shift[h];
			continue;
		}
		memcpy(&head, p, sizeof(head));
		for (i = *state ? (uint16_t)(*state - 1) : s->first[h]; i != NONE;
		     i = s->v[i].next) {
			const struct literal *l = &s->v[i].lit;

			if (s->v[i].head != head || l->n > n - at || memcmp(p, l->s, l->n) != 0)
				continue;
			*state = s->v[i].next + 1u;
			*ret_at = at;
			*ret_tag = l->tag;
			return at;
		}
		*state = 0;
		at++;
	}
	return n;
}
