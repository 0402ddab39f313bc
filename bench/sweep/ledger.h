#ifndef BENCH_SWEEP_LEDGER_H
#define BENCH_SWEEP_LEDGER_H
/* Whom a rank waited for and what it sent while iterations were timed. */
#include "bench/sweep/sweep.h"

struct ledger {
	bool counts;
	uint64_t started_ns, sent_bytes;
	double robbed;
};
struct ledger ledger_open(struct sweep *s);
/* All ranks get to know each one's time, how long it was waited for, how much who sent most sent,
 * and of what share of the time who was robbed most was robbed. */
int ledger_close(struct sweep *s, const struct ledger *w, double seconds, struct measurement *m,
		 struct err *e) MUST_CHECK;

#endif
