#ifndef PROBES_LOG_SAID_H
#define PROBES_LOG_SAID_H
/* What a line says behind a key: "nranks 8", "rank      : 3", "OpType=ALLREDUCE, ". */
#include "probes/log/line.h"

/* What follows @key; "" where the line does not have it. */
const char *said_after(const struct log_line *l, const char *key);
/* Of NCCL or RCCL, however it is said: "NCCL version 2.21.5", "RCCL version : 2.18.3-HEAD:2f6d59e";
 * "" where none is. */
const char *said_version(const struct log_line *l);
/* False, and *ret untouched, where no number follows. */
bool said_number(const struct log_line *l, const char *key, long *ret);
/* 0 where none follows. */
uint64_t said_hex(const struct log_line *l, const char *key);
/* Of a text that is kept of a line, right behind @key; @otherwise where that does not have it. */
long said_in(const char *text, const char *key, long otherwise);
/* Behind the blanks at @p; and where the word behind the one at @p begins. */
const char *said_spaces(const char *p);
const char *said_next(const char *p);
/* Is one of @words, up to a NULL, in these @n bytes? */
bool said_any(const char *p, size_t n, const char *const *words);
/* strcasestr() of two letters and more, which for words and lines as short as these takes several
 * times as long. */
const char *said_anyhow(const char *text, const char *words);
/* Is one of @words, up to a NULL, so in it? */
bool said_any_anyhow(const char *text, const char *const *words);
/* Copies @from up to the first of @ends, cut to @size. */
void said_word(char *out, size_t size, const char *from, const char *ends);

#endif
