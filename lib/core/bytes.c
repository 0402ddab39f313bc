#include "lib/core/bytes.h"

/* A bigger buffer goes when it is empty: there may be thousands of them. */
enum { KEEP = 4096 };

unsigned char *bytes_room(struct bytes *b, size_t n)
{
	size_t used = b->n - b->at, cap = b->cap ? b->cap : 256;
	unsigned char *p;

	if (n <= b->cap - b->n)
		return b->p + b->n;
	if (b->at && b->at >= b->cap / 2) {
		memmove(b->p, b->p + b->at, used);
		b->at = 0;
		b->n = used;
		return bytes_room(b, n);
	}
	while (cap - b->n < n)
		cap *= 2;
	p = realloc(b->p, cap);
	if (!p)
		return NULL;
	b->p = p;
	b->cap = cap;
	return p + b->n;
}

void bytes_done(struct bytes *b)
{
	free(b->p);
	*b = (struct bytes){0};
}

void bytes_drop(struct bytes *b, size_t n)
{
	b->at += n;
	if (b->at < b->n)
		return;
	b->at = b->n = 0;
	if (b->cap > KEEP)
		bytes_done(b);
}

int bytes_add(struct bytes *b, const void *data, size_t n, struct err *e)
{
	unsigned char *to = n ? bytes_room(b, n) : NULL;

	if (!n)
		return 0;
	if (!to)
		return err_sys(e, "cannot keep %zu bytes of a message", n);
	memcpy(to, data, n);
	b->n += n;
	return 0;
}
