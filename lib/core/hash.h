#ifndef LIB_CORE_HASH_H
#define LIB_CORE_HASH_H
/*
 * FNV-1a: where a thing lies in a table, and whether two things may be one. Short texts spread
 * well; who wants collisions can make them, so equal hashes are compared where that matters.
 */
#include "lib/core/base.h"

#define HASH32 UINT32_C(2166136261) /* of nothing */
#define HASH64 UINT64_C(14695981039346656037)

static inline uint32_t hash32_add(uint32_t h, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)p)[i]) * UINT32_C(16777619);
	return h;
}

/* One more number, of whatever size. */
static inline uint64_t hash64_mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * UINT64_C(1099511628211);
}

static inline uint64_t hash64_add(uint64_t h, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = hash64_mix(h, ((const unsigned char *)p)[i]);
	return h;
}

#endif
