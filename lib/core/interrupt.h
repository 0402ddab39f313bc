#ifndef LIB_CORE_INTERRUPT_H
#define LIB_CORE_INTERRUPT_H
/*
 * Ctrl-C, SIGTERM, a closed terminal and the passing of the command's budget
 * as a state that loops look at, so that what was finished is still reported
 * and what was made is removed. A second signal ends the process the hard way;
 * so does a command that has not stopped INTERRUPT_GRACE_S after its budget. The
 * same signal again at once (timeout(1) sends two) is not a second one. And a
 * file at its limit of size becomes an error of write(), not our end.
 */
#include "lib/core/err.h"

#include <signal.h>

enum { INTERRUPT_GRACE_S = 10 };

void interrupt_install(void);
/* Of those signals, adds what whoever started us had blocked: for a command that is to begin as if
 * we had not been there. */
void interrupt_as_started(sigset_t *mask);
/* From now on; 0 means no budget. May be called before or after interrupt_install(). */
void interrupt_budget(uint64_t budget_ns);
int interrupt_pending(void);	/* the signal's number (SIGALRM: the budget), or 0 */
bool interrupt_by_budget(void); /* is it pending because the budget passed? */
/* We end as after a signal, since nobody can read on: a write that failed says why at the end. */
void interrupt_unread(void);
/* A person has ended the run on @host, where a part of it is: as by @sig here. */
void interrupt_elsewhere(int sig, const char *host);
/* Becomes readable then and stays so, for an event loop; -1 where the kernel gave none. */
int interrupt_fd(void);
/* poll() for @events of @fd (-1: of none) that a signal ends: true once there are any. @ms: at most
 * that long; -1: for ever. */
bool interrupt_poll(int fd, short events, int ms);
/* What is pending was waited for, as the end of what has no other: interrupt_err() has nothing to
 * say of it. A budget that passed is none. */
void interrupt_is_end(void);
/* Says which of them it was: -1 with @e filled (ERR_SYS), or 0 when there was none, or
 * interrupt_unread(). */
int interrupt_err(struct err *e);

#endif
