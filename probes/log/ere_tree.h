#ifndef PROBES_LOG_ERE_TREE_H
#define PROBES_LOG_ERE_TREE_H
/* What an expression is made of; for ere_steps.c and ere.c alone. */
#include "lib/core/arena.h"

struct bytes {
	uint64_t has[4];
};

static inline bool bytes_have(const struct bytes *b, char c)
{
	return b->has[(unsigned char)c / 64] >> ((unsigned char)c % 64) & 1;
}

static inline void bytes_add(struct bytes *b, unsigned char c)
{
	b->has[c / 64] |= UINT64_C(1) << (c % 64);
}

#define ERE_ENDLESS SIZE_MAX

struct ere_node {
	enum {
		NODE_TEXT,   /* these bytes */
		NODE_RUN,    /* of bytes of a set, so many */
		NODE_BEGIN,  /* ^ */
		NODE_END,    /* $ */
		NODE_ALL,    /* its parts, one behind the other */
		NODE_EITHER, /* one of them */
		NODE_AGAIN,  /* its only part, so often */
	} kind;
	const char *s;
	size_t n;
	struct bytes set;
	size_t least, most;
	struct ere_node *first, *next; /* its parts; the one behind it */
};

/* NULL: as ere_of(). */
struct ere_node *ere_read(struct arena *a, const char *pattern, size_t n);

#endif
