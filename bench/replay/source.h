#ifndef BENCH_REPLAY_SOURCE_H
#define BENCH_REPLAY_SOURCE_H
/* From files and folders to what a training did: dumps of PyTorch's Flight Recorder, one of each
 * rank, or what NCCL's Inspector wrote. */
#include "bench/inspector/book.h"
#include "bench/replay/traffic.h"
#include "lib/core/err.h"
#include "lib/flight/flight.h"

/* All of @paths are of one recording. @ret is closed. */
int source_read(const str_list *paths, struct arena *a, struct traffic *ret,
		struct err *e) MUST_CHECK;

/* --- between source.c, dumps.c and recorded.c ---------------------------------------------- */
/* Both fill an empty one, whose arena is set. -1: no collective is in there that could be done. */
int source_dumps(const struct flight *f, struct traffic *t, struct err *e) MUST_CHECK;
int source_inspector(struct insp_book *b, struct traffic *t, struct err *e) MUST_CHECK;

#endif
