/*
 * What --replay reads: any text as what ranks get to do again, or any bytes as the dumps of some
 * ranks. What is taken can be told to the ranks, and is taken again.
 *
 *	t TEXT			as traffic_pack() has it
 *	d [RANK LENGTH DUMP]...	a byte, two bytes (the low one first), a dump of so many
 */
#include "bench/replay/source.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void look(const struct traffic *t, struct arena *a)
{
	for (size_t i = 0; i < t->kinds.n; i++) {
		const struct traffic_kind *k = &t->kinds.v[i];
		uint32_t *turn = arena_alloc(a, (k->groups.n + 1) * sizeof(*turn));

		if (!(traffic_bytes(t, k) >= 0) || !*traffic_where(t, k, a) ||
		    traffic_turns(t, k->groups.v, k->groups.n, turn) > k->groups.n)
			abort();
	}
	for (size_t i = 0; i < t->moves.n; i++)
		if (t->moves.v[i].kind >= t->kinds.n || !t->moves.v[i].n)
			abort();
	for (size_t i = 0; i < t->groups.n; i++)
		for (uint32_t k = 0; k < t->groups.v[i].n; k++)
			if (t->groups.v[i].ranks[k] < 0 || t->groups.v[i].ranks[k] >= t->ranks)
				abort();
}

static void tell(struct traffic *t, struct arena *a)
{
	const char *text = traffic_pack(t);
	struct traffic again;

	if (text && traffic_unpack(text, strlen(text), a, &again)) {
		(void)fprintf(stderr, "refused: %s\n", text);
		abort();
	}
	if (text)
		look(&again, a);
}

static void free_flight(struct flight **f) { flight_free(*f); }

static void as_dumps(const uint8_t *p, size_t n, struct arena *a)
{
	AUTO(free_flight) struct flight *f = flight_new();
	struct traffic t = {.a = a};
	size_t length, whole = 0;
	struct err e = {0};

	for (int i = 0; f && i < 6 && n > 3; i++, p += length, n -= length) {
		const char *path = arena_printf(a, "runs/nccl_trace_rank_%d", p[0] % 16);

		length = p[1] | (size_t)p[2] << 8;
		p += 3;
		n -= 3;
		length = length < n ? length : n;
		(void)flight_take(f, path, 0, (const char *)p, length, &e);
	}
	for (size_t i = 0; f && i < f->dumps.n; i++)
		whole += !f->dumps.v[i].is_cut;
	if (!whole || source_dumps(f, &t, &e))
		return;
	if (!t.files || t.files > whole || !t.judge)
		abort();
	look(&t, a);
	tell(&t, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	struct traffic t;

	if (n && data[0] == 'd') {
		as_dumps(data + 1, n - 1, &a);
	} else if (n && data[0] == 't' && !traffic_unpack((const char *)data + 1, n - 1, &a, &t)) {
		look(&t, &a);
		tell(&t, &a);
	}
	return 0;
}
