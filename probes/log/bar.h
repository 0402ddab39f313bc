#ifndef PROBES_LOG_BAR_H
#define PROBES_LOG_BAR_H
/*
 * A progress bar as tqdm and its kin draw it:
 *
 *	Running tokenizer:   9%|##        | 2800/29695 [29:55<4:48:08, 155.57 examples/s]
 *
 * It ends without a newline, so that what another process says next follows
 * it on the same line.
 */
#include "lib/core/base.h"

struct bar {
	const char *what; /* in the text: its description */
	size_t what_n;
	int percent;
	long elapsed_s;
	const char *end; /* what comes after it */
};

/* The last one in the text; false where there is none. */
bool bar_last(const char *text, size_t n, struct bar *ret);
/* The file whose download came to its end: "config.json: 100%|...". False where it is none. */
bool bar_of_file(const char *text, char *ret, size_t size);
/* Its description speaks of data or a model that is made ready, not of training; or it counts
 * bytes. */
bool bar_is_preparation(const struct bar *b);

#endif
