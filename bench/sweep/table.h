#ifndef BENCH_SWEEP_TABLE_H
#define BENCH_SWEEP_TABLE_H
/*
 * nccl-tests' table, column by column and mark by mark, because scripts read
 * it; and the same rows as JSON. What it does not have comes as further lines
 * that begin with '#'.
 */
#include "bench/sweep/story.h"

void table_begin(struct story *s);
/* Of its head only who measures what. */
void table_intro(struct story *s);
void table_row(struct story *s, const struct sweep_row *row);
void table_end(struct story *s);
/* One more line: "# text". */
void table_note(struct report *r, const char *fmt, ...) PRINTF(2, 3);

#endif
