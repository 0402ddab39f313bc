#ifndef LIB_NET_WIRE_H
#define LIB_NET_WIRE_H
/*
 * Bounded writer and reader for message bodies: integers little-endian, bytes
 * and strings behind their length (u32). What does not fit is never half
 * written, and what is not there reads as zero; one look at @full or @bad at
 * the end is enough. Nothing here says what a message means.
 */
#include "lib/core/arena.h"

struct wire_out {
	unsigned char *p; /* the caller's, @cap long */
	size_t n, cap;
	bool full; /* something did not fit; it and what followed was left out */
};
void wire_put_u32(struct wire_out *w, uint32_t v);
void wire_put_u64(struct wire_out *w, uint64_t v);
void wire_put_bytes(struct wire_out *w, const void *data, size_t n);
void wire_put_str(struct wire_out *w, const char *s); /* NULL: "" */

struct wire_in {
	const unsigned char *p; /* what is left */
	size_t n;
	bool bad; /* something was not there; every later read yields zero */
};
uint32_t wire_u32(struct wire_in *w);
uint64_t wire_u64(struct wire_in *w);
/* Into the message, no copy; NULL and 0 when bad. */
const void *wire_bytes(struct wire_in *w, size_t *ret_n);
/* A copy in @a fit for a terminal: '?' for control characters, U+FFFD for what is no UTF-8. */
const char *wire_str(struct wire_in *w, struct arena *a);
/* Nothing was missing and nothing is left over. */
bool wire_end(const struct wire_in *w);

#endif
