/* Copies from the host into x, from x to y within the GPU, and from y back: and what came back. */
#include "plugins/burst/work.h"

static const size_t words = WORK_COPY_BYTES / sizeof(uint32_t);

/* Different at each place, and no run of bits stays the same. */
static uint32_t word_at(size_t i) { return (uint32_t)i * 2654435761u; }

int copies_begin(struct work *w)
{
	uint32_t *to;

	TRY(w, alloc_host, &w->host, WORK_COPY_BYTES);
	to = w->host;
	for (size_t i = 0; i < words; i++)
		to[i] = word_at(i);
	return 0;
}

int copies_in(struct work *w)
{
	TRY(w, to_gpu, w->x, w->host, WORK_COPY_BYTES, w->stream);
	return 0;
}

int copies_inside(struct work *w)
{
	TRY(w, inside, w->y, w->x, WORK_COPY_BYTES, w->stream);
	return 0;
}

int copies_out(struct work *w)
{
	TRY(w, from_gpu, w->host, w->y, WORK_COPY_BYTES, w->stream);
	return 0;
}

void copies_verify(struct work *w)
{
	uint32_t *back = w->host;

	w->b->copied_wrong = 0;
	for (size_t i = 0; i < words; i++)
		w->b->copied_wrong += back[i] != word_at(i);
}
