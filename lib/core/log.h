#ifndef LIB_CORE_LOG_H
#define LIB_CORE_LOG_H
/*
 * The conversation on stderr: one process, one log. A progress line is drawn
 * on a terminal only and is wiped before anything else is said.
 */
#include "lib/core/base.h"

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE, LOG_DEBUG };

void log_init(const char *tool, enum log_level level);
const char *log_tool(void); /* which command this is, whatever its file is called */
void log_say(const char *fmt, ...) PRINTF(1, 2);   /* "ifprobe: ..."; not when quiet */
void log_ask(const char *fmt, ...) PRINTF(1, 2);   /* what a person is to do now; always */
void log_warn(const char *fmt, ...) PRINTF(1, 2);  /* "ifprobe: warning: ..."; even when quiet */
void log_error(const char *fmt, ...) PRINTF(1, 2); /* always */
void log_hint(const char *fmt, ...) PRINTF(1, 2);  /* the fix below it: lib/core/fix.h */
void log_said(void); /* what follows are hints to what stdout has just said in the same place */
void log_detail(const char *fmt, ...) PRINTF(1, 2); /* --verbose */
void log_debug(const char *fmt, ...) PRINTF(1, 2);  /* --debug */

/* @done of @total (0 when unknown). Redraws at most ten times a second; no-op off a terminal. */
void log_progress(const char *what, uint64_t done, uint64_t total);
void log_progress_end(void);
bool log_draws(void); /* is there a terminal that shows it? */

#endif
