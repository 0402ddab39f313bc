#ifndef PROBES_LOG_ERE_STEPS_H
#define PROBES_LOG_ERE_STEPS_H
/* What an expression is matched by, made of its parts (ere_steps.c); for ere.c alone. */
#include "probes/log/ere.h"
#include "probes/log/ere_tree.h"

#include <endian.h>

enum {
	MEMOS_MOST = 80, /* steps from which a place is not tried twice */
	NO_MEMO = MEMOS_MOST,
	GRAM = 3, /* bytes */
	GRAM_BITS = 10,
	ANY_GRAM = 1 << GRAM_BITS, /* every text has it */
	GRAMS_OF_WORD = 4,
};

struct step;

/* One of several to go on. All that it matches has a word, and these are grams of it: a text that
 * lacks one of them has no place for it. */
struct way {
	const struct step *first;
	uint16_t grams[GRAMS_OF_WORD];
};

/* What is to match from a place on, and what behind it. */
struct step {
	enum { STEP_TEXT, STEP_RUN, STEP_BEGIN, STEP_END, STEP_EITHER, STEP_FOUND } kind;
	unsigned memo;
	const struct step *next;
	const char *s; /* STEP_TEXT */
	size_t n;
	const struct bytes *set; /* STEP_RUN; NULL: any */
	struct bytes *begins;	 /* what may come behind it */
	size_t least, most;
	const struct step *word; /* STEP_TEXT, the longest one on every way from here; or NULL */
	struct way *ways;	 /* STEP_EITHER: all go on to @next by themselves */
	size_t nways;
	bool is_loop; /* the last way leads out */
};

struct ere {
	struct way all;
	unsigned memos;
};

/* Of the bytes at @p, behind which one more can be read. */
static inline uint16_t gram_at(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	v = le32toh(v) & ((UINT32_C(1) << 8 * GRAM) - 1);
	return (uint16_t)(v * UINT32_C(0x9e3779b1) >> (32 - GRAM_BITS));
}

#endif
