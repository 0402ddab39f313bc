#ifndef PROBES_LOG_REPLY_H
#define PROBES_LOG_REPLY_H
/*
 * What a rank failed of as it told torchrun: the "reply file" error.json in its folder of
 * --log-dir, which torch.distributed.elastic's @record writes. One JSON object holds the message,
 * the call stack as Python prints it and the time, which Python prints nowhere.
 */
#include "probes/log/why.h"

enum { REPLY_MAX = 1 << 20 /* bytes */ };

struct reply {
	const char *message; /* its first line: "RuntimeError: no GPU" */
	const char *stack;   /* its lines; NULL: it has none */
	int64_t time_ms;     /* as stamp.h counts; 0: not said */
};

/* May a file that begins so be one? */
bool reply_begins(const char *head, size_t n);
/* False: @text is something else. All of it lives in @a. */
bool reply_parse(const char *text, size_t n, struct arena *a, struct reply *ret);

/* What the rank whose output @path is has told; NULL: nothing. */
const struct reply *reply_beside(const char *path, struct arena *a);
/* The line that says the same, and not when, was said then. */
void reply_date(const struct reply *r, struct log_line *l);

/* Reads it as if its call stack had been printed, and not at all where the rank printed it into a
 * file beside it. False: @fd is no such file, and is where it was. */
bool reply_read(struct why *w, int fd, const char *path, const char *name, const char *host);

#endif
