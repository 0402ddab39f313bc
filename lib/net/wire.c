#include "lib/net/wire.h"

#include "lib/core/utf8.h"

#include <endian.h>

/* Room for @n more bytes, or NULL. */
static void *claim(struct wire_out *w, size_t n)
{
	w->full |= n > w->cap - w->n;
	if (w->full)
		return NULL;
	w->n += n;
	return w->p + w->n - n;
}

static void put(struct wire_out *w, const void *data, size_t n)
{
	void *at = claim(w, n);

	if (at && n)
		memcpy(at, data, n);
}

void wire_put_u32(struct wire_out *w, uint32_t v)
{
	v = htole32(v);
	put(w, &v, sizeof(v));
}

void wire_put_u64(struct wire_out *w, uint64_t v)
{
	v = htole64(v);
	put(w, &v, sizeof(v));
}

void wire_put_bytes(struct wire_out *w, const void *data, size_t n)
{
	size_t room = w->cap - w->n;

	w->full |= n > UINT32_MAX || room < sizeof(uint32_t) || n > room - sizeof(uint32_t);
	wire_put_u32(w, (uint32_t)n);
	put(w, data, n);
}

void wire_put_str(struct wire_out *w, const char *s) { wire_put_bytes(w, s, s ? strlen(s) : 0); }

static const void *take(struct wire_in *w, size_t n)
{
	const unsigned char *at = w->p;

	w->bad |= n > w->n;
	if (w->bad)
		return NULL;
	w->p += n;
	w->n -= n;
	return at;
}

uint32_t wire_u32(struct wire_in *w)
{
	const void *at = take(w, sizeof(uint32_t));
	uint32_t v = 0;

	if (at)
		memcpy(&v, at, sizeof(v));
	return le32toh(v);
}

uint64_t wire_u64(struct wire_in *w)
{
	const void *at = take(w, sizeof(uint64_t));
	uint64_t v = 0;

	if (at)
		memcpy(&v, at, sizeof(v));
	return le64toh(v);
}

const void *wire_bytes(struct wire_in *w, size_t *ret_n)
{
	size_t n = wire_u32(w);
	const void *at = take(w, n);

	*ret_n = at ? n : 0;
	return at;
}

/* C0, DEL and, in two bytes of UTF-8, C1: a terminal obeys them all. */
static bool is_control(uint32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

const char *wire_str(struct wire_in *w, struct arena *a)
{
	size_t n, len, took;
	const char *from = wire_bytes(w, &n);
	char *s = arena_strndup(a, "", 0);
	uint32_t c;

	if (!n)
		return s;
	s = arena_alloc(a, n + 1);
	for (len = 0; n; from += took, n -= took) {
		took = utf8_next(from, n, &c);
		if (is_control(c))
			s[len++] = '?';
		else
			memcpy(s + len, from, took), len += took;
	}
	return utf8_mend(a, s);
}

bool wire_end(const struct wire_in *w) { return !w->bad && !w->n; }
