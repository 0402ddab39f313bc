#ifndef BENCH_INSPECTOR_MAP_H
#define BENCH_INSPECTOR_MAP_H
/* Numbers found by what they stand for, which the caller keeps and compares. */
#include "bench/inspector/book.h"

typedef bool insp_same(const struct insp_book *b, uint32_t value, const void *key);

/* The one that is the same as @key; else @next is put there and returned. */
uint32_t insp_map_find(struct insp_map *m, const struct insp_book *b, uint64_t hash,
		       insp_same *same, const void *key, uint32_t next);
void insp_map_clear(struct insp_map *m);

uint64_t insp_mix(uint64_t v);
uint64_t insp_hash(const char *s, size_t n);

#endif
