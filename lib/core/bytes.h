#ifndef LIB_CORE_BYTES_H
#define LIB_CORE_BYTES_H
/*
 * A queue of bytes in one piece: added behind, dropped in front. A zeroed one
 * is empty. It grows with what is put in, never beforehand, and gives a large
 * buffer back when it is empty.
 */
#include "lib/core/err.h"

struct bytes {
	unsigned char *p;
	size_t at, n, cap; /* what is in it lies from @at to @n */
};

/* How many there are, and where they begin; not to be asked of an empty one. */
static inline size_t bytes_left(const struct bytes *b) { return b->n - b->at; }
static inline unsigned char *bytes_first(const struct bytes *b) { return b->p + b->at; }
/* Room for @n > 0 bytes behind the last one, or NULL; @n of the queue is the caller's to move. */
unsigned char *bytes_room(struct bytes *b, size_t n) MUST_CHECK;
int bytes_add(struct bytes *b, const void *data, size_t n, struct err *e) MUST_CHECK;
void bytes_drop(struct bytes *b, size_t n);
void bytes_done(struct bytes *b); /* an empty one again */

#endif
