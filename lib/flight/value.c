#include "lib/flight/value.h"

#include <errno.h>

void *value_alloc(struct value_room *room, size_t n)
{
	enum { OVERHEAD = 16 /* what rounding up costs at most */ };

	if (n > room->left || room->left - n < OVERHEAD)
		return NULL;
	room->left -= n + OVERHEAD;
	return arena_alloc(room->a, n);
}

struct value_seq *value_seq_new(struct value_room *room, size_t cap)
{
	struct value_seq *seq = value_alloc(room, sizeof(*seq));

	if (!seq || !cap)
		return seq;
	seq->v = cap < UINT32_MAX ? value_alloc(room, cap * sizeof(*seq->v)) : NULL;
	seq->cap = (uint32_t)cap;
	return seq->v ? seq : NULL;
}

bool value_push(struct value_room *room, struct value_seq *seq, const struct value *v, size_t n)
{
	size_t want = seq->n + n, cap = seq->cap ? seq->cap : 4;
	struct value *bigger;

	if (want > UINT32_MAX / 2)
		return false;
	if (want > seq->cap) {
		/* what comes at once is mostly all that comes */
		cap = !seq->cap && n > 1 ? n : cap;
		while (cap < want)
			cap *= 2;
		bigger = value_alloc(room, cap * sizeof(*bigger));
		if (!bigger)
			return false;
		if (seq->n)
			memcpy(bigger, seq->v, seq->n * sizeof(*bigger));
		seq->v = bigger;
		seq->cap = (uint32_t)cap;
	}
	if (n)
		memcpy(seq->v + seq->n, v, n * sizeof(*v));
	seq->n = (uint32_t)want;
	return true;
}

bool value_is(const struct value *v, const char *text)
{
	return v && v->kind == VALUE_TEXT && v->n == strlen(text) && memcmp(v->s, text, v->n) == 0;
}

const struct value *value_get(const struct value *dict, const char *key)
{
	if (!dict || dict->kind != VALUE_DICT)
		return NULL;
	for (uint32_t i = 0; i + 1 < dict->seq->n; i += 2)
		if (value_is(&dict->seq->v[i], key))
			return &dict->seq->v[i + 1];
	return NULL;
}

bool value_int(const struct value *v, int64_t *ret)
{
	char digits[24], *end;

	if (!v)
		return false;
	if (v->kind == VALUE_INT || v->kind == VALUE_BOOL)
		return *ret = v->i, true;
	if (v->kind == VALUE_FLOAT && v->f > -9e15 && v->f < 9e15)
		return *ret = (int64_t)v->f, true;
	if (v->kind != VALUE_TEXT || !v->n || v->n >= sizeof(digits))
		return false;
	memcpy(digits, v->s, v->n);
	digits[v->n] = '\0';
	errno = 0;
	*ret = strtoll(digits, &end, 10);
	return !*end && !errno;
}

const char *value_text(struct arena *a, const struct value *v)
{
	return v && v->kind == VALUE_TEXT ? arena_strndup(a, v->s, v->n) : NULL;
}

size_t value_items(const struct value *v, const struct value **ret)
{
	if (!v || v->kind != VALUE_LIST)
		return 0;
	*ret = v->seq->v;
	return v->seq->n;
}
