#ifndef PROBES_LOG_RELAY_H
#define PROBES_LOG_RELAY_H
/*
 * While a command runs under us, the signals that we are sent are meant for it:
 * each is passed on, as often as it comes, and ends neither of us by itself. What
 * reaches the command without us (a terminal's, or one that was sent to the whole
 * group, job or container, as scancel and timeout do) is not passed on a second
 * time. Where there is no command (any more), they are meant for us: see
 * relay_told().
 */
#include "lib/core/base.h"

#include <signal.h>

enum { RELAYED = 6 };
struct relay {
	struct sigaction was[RELAYED];
	sigset_t mask;
};

/* From here signals are held back, until relay_to(): none is lost on the way to the command. */
void relay_start(struct relay *r);
void relay_to(const struct relay *r, pid_t pid);
/* In the child: as if we had not been there. */
void relay_forget(const struct relay *r);
/* It has ended: before its number is given back, and may be another's. */
void relay_ended(void);
/* Has a signal come that had nobody to go to? */
bool relay_told(void);
/* As before relay_start(). */
void relay_done(const struct relay *r);

#endif
