#ifndef PROBES_LOG_SHELL_H
#define PROBES_LOG_SHELL_H
/*
 * Whose kernel speaks: dmesg names no host, but the command that was pasted with its
 * output does, or the prompt before it: "root@node3:~# dmesg -T", "$ ssh node3 'dmesg'".
 */
#include "probes/log/line.h"

struct why;
struct why_stream;

/* On which host @command, which is in @text, was typed: "ssh node3 ...", or the prompt's; "": not
 * said. */
void shell_host(const char *text, const char *command, char *ret, size_t size);
void shell_hear(struct why *w, struct why_stream *s, const struct log_line *l);
/* The kernel's line that names no host. */
void shell_fill(const struct why_stream *s, struct log_line *l);

#endif
