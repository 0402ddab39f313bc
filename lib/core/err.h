#ifndef LIB_CORE_ERR_H
#define LIB_CORE_ERR_H
/*
 * An err says why *we* could not do our job: what we were doing, what the
 * system said and, in the hint, what to do next. A sick cluster is not an
 * err: that is a finding with status FAIL (see lib/report/report.h).
 * The caller owns the struct; it is always the last argument.
 */
#include "lib/core/base.h"

struct arena;

enum err_kind {
	ERR_NONE,
	ERR_USAGE,  /* the command line is wrong: exit 2 */
	ERR_SYS,    /* this host would not let us: exit 3 */
	ERR_ABSENT, /* what was asked for is not on this host: exit 4 */
};

struct err {
	enum err_kind kind;
	char msg[512];
	char hint[512];
	bool typed; /* the hint is a command for a shell */
};

/* All return -1, so a failing line reads `return err_set(...)`. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...) PRINTF(3, 4);
/* Appends ": " and what errno says. */
int err_sys(struct err *e, const char *fmt, ...) PRINTF(2, 3);
/* The same of what would start a process; the hint is what lets it, where a limit did not. */
int err_fork(struct err *e, const char *fmt, ...) PRINTF(2, 3);
/* What to do next, in words. Only the hint changes. */
int err_hint(struct err *e, const char *fmt, ...) PRINTF(2, 3);
/* What helps with @of helps here. */
int err_hint_of(struct err *e, const struct err *of);
/* What to type next: a command for a shell. */
int err_command(struct err *e, const char *fmt, ...) PRINTF(2, 3);
/* The hint as a fix (lib/core/fix.h), NULL: there is none; and a fix as the hint. */
const char *err_fix(const struct err *e, struct arena *a);
int err_take_fix(struct err *e, const char *fix);
int err_exit_code(const struct err *e);

#endif
