#ifndef LIB_NET_BYTES_H
#define LIB_NET_BYTES_H
/*
 * A queue of bytes in one piece: added behind, dropped in front. A zeroed one
 * is empty; free(p) ends it. It grows with what is put in, never beforehand,
 * and gives a large buffer back when it is empty.
 */
#include "lib/core/err.h"

struct bytes {
	unsigned char *p;
	size_t at, n, cap; /* what is in it lies from @at to @n */
};

/* Room for @n bytes behind the last one, or NULL; @n of the queue is the caller's to move. */
unsigned char *bytes_room(struct bytes *b, size_t n) MUST_CHECK;
int bytes_add(struct bytes *b, const void *data, size_t n, struct err *e) MUST_CHECK;
void bytes_drop(struct bytes *b, size_t n);

#endif
