#ifndef LIB_FLIGHT_VALUE_H
#define LIB_FLIGHT_VALUE_H
/*
 * What a pickle or a JSON document holds: plain values. Texts point into the
 * bytes that were read, which must outlive them; lists and dicts may be shared,
 * and a hostile document can make one hold itself: whoever walks them goes down
 * by the shape he expects, never by recursion.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

#include <stdint.h>

enum value_kind {
	VALUE_NONE,
	VALUE_BOOL,
	VALUE_INT,
	VALUE_FLOAT,
	VALUE_TEXT, /* not terminated */
	VALUE_LIST, /* and tuples */
	VALUE_DICT, /* a key and its value in turn */
	VALUE_NAME, /* of something that a pickle would call; nothing ever is */
	VALUE_OTHER
};

struct value_seq;

struct value {
	uint8_t kind;
	uint32_t n; /* bytes of a text */
	union {
		int64_t i;
		double f;
		const char *s;
		struct value_seq *seq;
	};
};

struct value_seq {
	struct value *v;
	uint32_t n, cap;
	uint32_t mark; /* for whoever reads it: 0 at first */
};

/* What a document may cost, whatever its bytes say. */
struct value_room {
	struct arena *a;
	size_t left; /* bytes */
};

/* NULL: it would cost more than there is room for. */
void *value_alloc(struct value_room *room, size_t n);
struct value_seq *value_seq_new(struct value_room *room, size_t cap);
/* False where there is no room. */
bool value_push(struct value_room *room, struct value_seq *seq, const struct value *v, size_t n);

/* Of a dict, by its key; NULL: there is none, or it is no dict. */
const struct value *value_get(const struct value *dict, const char *key);
bool value_is(const struct value *v, const char *text);
/* As a whole number, also where it is written as a text (JSON's dumps do so). */
bool value_int(const struct value *v, int64_t *ret);
/* NULL where it is no text. */
const char *value_text(struct arena *a, const struct value *v);
/* The elements of a list or tuple; 0 where it is none. */
size_t value_items(const struct value *v, const struct value **ret);

#endif
