/*
 * Any bytes read as any sequence of fields: nothing is read from beyond, text is
 * fit for a terminal, and what was read writes the same bytes again.
 */
#include "lib/core/utf8.h"
#include "lib/net/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void expect(bool truth)
{
	if (!truth)
		abort();
}

static void fit_for_a_terminal(const char *s)
{
	uint32_t c;

	for (; *s; s += utf8_next(s, 4, &c)) {
		utf8_next(s, 4, &c);
		expect(c != UTF8_BAD && c >= 0x20 && (c < 0x7f || c >= 0xa0));
	}
}

static void copy_field(unsigned kind, struct wire_in *r, struct wire_out *w, struct arena *a)
{
	struct wire_in text = *r;
	const void *bytes;
	size_t n;

	if (kind == 0) {
		wire_put_u32(w, wire_u32(r));
	} else if (kind == 1) {
		wire_put_u64(w, wire_u64(r));
	} else {
		bytes = wire_bytes(r, &n);
		wire_put_bytes(w, bytes, n);
		fit_for_a_terminal(wire_str(&text, a));
		expect(text.n == r->n && text.bad == r->bad);
	}
}

/* The first byte says how many bytes of kinds follow; the rest is the message. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO_FREE unsigned char *exact = NULL, *copy = NULL;
	size_t kinds = n ? data[0] : 0, body = kinds + 1 < n ? n - kinds - 1 : 0, good = 0;
	struct wire_in r;
	struct wire_out w;

	if (!body)
		return 0;
	exact = malloc(body);
	copy = malloc(body);
	memcpy(exact, data + 1 + kinds, body);
	r = (struct wire_in){.p = exact, .n = body};
	w = (struct wire_out){.p = copy, .cap = body};
	for (size_t i = 0; i < kinds && !r.bad; i++) {
		good = w.n;
		copy_field(data[1 + i] % 3, &r, &w, &a);
	}
	expect(r.bad || (!w.full && w.n == body - r.n));
	if (!r.bad)
		good = w.n;
	expect(memcmp(copy, exact, good) == 0);
	expect(!r.bad || (wire_u32(&r) == 0 && wire_u64(&r) == 0));
	return 0;
}
