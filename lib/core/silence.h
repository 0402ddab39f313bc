#ifndef LIB_CORE_SILENCE_H
#define LIB_CORE_SILENCE_H
/*
 * For how long nothing was heard of a peer. Whoever did not run meanwhile (Ctrl-Z, a machine that
 * stood still) has not listened either. It can see that: its look at the clock comes much later
 * than it meant to look. Then the time begins anew, as it says nothing about the peer: once. After
 * that, until the next word, only what was slept through does not count, so that whoever hardly
 * runs at all still hears who is dead. What somebody said how long it may take is no silence: it
 * ends when it was to end.
 *
 *	silence_begin(&s, 30 * NS_PER_S, now_ns());	silence_heard(&s, now_ns()) at each word
 *	wait = silence_look(&s, now_ns(), 0);		0: it has lasted too long
 */
#include "lib/core/base.h"

struct silence {
	uint64_t most_ns;  /* that is believed */
	uint64_t since_ns; /* the last word */
	uint64_t due_ns;   /* when the next look was to be; 0: none was yet */
	bool forgiven;	   /* it has begun anew since the last word */
};
enum { SILENCE_LOOKS = 8 }; /* at least, in the time that it may last */

void silence_begin(struct silence *s, uint64_t most_ns, uint64_t now_ns);
void silence_heard(struct silence *s, uint64_t now_ns);
/* Look again in so long, @step_ns at most (0: an eighth of it all); 0: it has lasted too long. */
uint64_t silence_look(struct silence *s, uint64_t now_ns, uint64_t step_ns) MUST_CHECK;
/* For who listens to many: a look that was due is so late that nobody was listening; and then this
 * of each, once for that look. */
bool silence_overslept(uint64_t due_ns, uint64_t most_ns, uint64_t now_ns);
void silence_forgive(struct silence *s, uint64_t due_ns, uint64_t now_ns);

#endif
