/*
 * Any bytes as dumps of PyTorch's Flight Recorder, pickles and JSON. Several, parted by a line of
 * %%, are those of ranks 0, 1 ...: what is accepted can be judged, and what is said is whole.
 */
#include "probes/flight/judge.h"

#include "lib/flight/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No more is taken than there was room for. */
static void as_pickle(const char *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	struct value_room room = {.a = &a, .left = 1 << 20};
	struct err e = {0};
	struct value v;
	bool cut;

	if (pickle_read(data, n, &room, &v, &cut, &e) && !*e.msg)
		abort();
	if (room.left > 1 << 20)
		abort();
}

static void take(struct flight *f, int rank, const char *data, size_t n)
{
	struct err e = {0};
	char name[32];

	(void)snprintf(name, sizeof(name), "rank_%d", rank);
	if (flight_take(f, name, 0, data, n, &e) && (!*e.msg || e.kind == ERR_NONE))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char part[] = "\n%%\n";
	AUTO(arena_done) struct arena a = {0};
	char *data = malloc(size + 1); /* reading beyond it is seen */
	struct flight *f = flight_new();
	struct flight_verdict v;
	size_t at = 0;

	memcpy(data, bytes, size);
	as_pickle(data, size);
	for (int rank = 0; rank < 8 && at <= size; rank++) {
		const char *end = memmem(data + at, size - at, part, sizeof(part) - 1);
		size_t n = end ? (size_t)(end - data) - at : size - at;
		char *own = malloc(n + 1);

		memcpy(own, data + at, n);
		if (flight_begins(own, n))
			take(f, rank, own, n);
		free(own);
		at += n + sizeof(part) - 1;
	}
	flight_judge(f, &a, &v);
	for (size_t i = 0; i < v.causes.n; i++)
		if (!v.causes.v[i].meaning || v.causes.v[i].weight > 99 || !v.causes.v[i].fix.n)
			abort();
	flight_free(f);
	free(data);
	return 0;
}
