#ifndef BENCH_SWEEP_HARDWARE_H
#define BENCH_SWEEP_HARDWARE_H
/*
 * What this host's network should be able to do: the speed that the card with
 * our address reports, and in a cloud the instance type. The metadata service is
 * asked on a thread while the ranks connect, by one rank of each host; in no
 * cloud nothing is sent.
 */
#include "lib/host/cloud.h"

#include <pthread.h>

struct hardware {	   /* of the host of a rank; it travels between ranks */
	double nic_gbps;   /* of the card that carries its data; NAN: not known */
	char instance[48]; /* only its first rank's; "": not known */
};

/* Gb/s; NAN: not known. A virtual card makes its speed up. */
double hardware_nic_gbps(const union addr *at, struct arena *a);

struct hardware_ask { /* zero: not started */
	pthread_t thread;
	bool is_running;
	struct arena a; /* the thread's, then ours */
	struct cloud cloud;
};
enum { HARDWARE_ASK_MS = 300 }; /* the longest */

/* Without a thread to be had nothing is asked. */
void hardware_ask(struct hardware_ask *q);
/* Waits for it. The instance type, or NULL; @q's own text. */
const char *hardware_answer(struct hardware_ask *q);
void hardware_ask_done(struct hardware_ask *q);

#endif
