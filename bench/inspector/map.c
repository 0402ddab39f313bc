#include "bench/inspector/map.h"

#include "lib/core/hash.h"

/* The finalizer of MurmurHash3: every bit of @v moves half of the result's. */
uint64_t insp_mix(uint64_t v)
{
	v ^= v >> 33;
	v *= 0xff51afd7ed558ccdull;
	v ^= v >> 33;
	v *= 0xc4ceb9fe1a85ec53ull;
	return v ^ v >> 33;
}

uint64_t insp_hash(const char *s, size_t n) { return insp_mix(hash64_add(HASH64, s, n)); }

static void grow(struct insp_map *m, struct arena *a)
{
	struct insp_map old = *m;

	m->cap = old.cap ? old.cap * 2 : 64;
	m->slots = arena_alloc(a, m->cap * sizeof(*m->slots));
	for (size_t i = 0; i < old.cap; i++) {
		size_t at = old.slots[i].tag & (m->cap - 1);

		if (!old.slots[i].value)
			continue;
		while (m->slots[at].value)
			at = (at + 1) & (m->cap - 1);
		m->slots[at] = old.slots[i];
	}
}

uint32_t insp_map_find(struct insp_map *m, const struct insp_book *b, uint64_t hash,
		       insp_same *same, const void *key, uint32_t next)
{
	uint32_t tag = (uint32_t)hash;
	size_t at;

	if (m->n * 3 >= m->cap * 2)
		grow(m, b->a);
	for (at = tag & (m->cap - 1); m->slots[at].value; at = (at + 1) & (m->cap - 1))
		if (m->slots[at].tag == tag && same(b, m->slots[at].value - 1, key))
			return m->slots[at].value - 1;
	m->slots[at] = (struct insp_slot){tag, next + 1};
	m->n++;
	return next;
}

void insp_map_clear(struct insp_map *m)
{
	if (m->cap)
		memset(m->slots, 0, m->cap * sizeof(*m->slots));
	m->n = 0;
}
