#ifndef BENCH_SWEEP_ROBBED_H
#define BENCH_SWEEP_ROBBED_H
/* Processors that somebody else had: what is slow for that says nothing about a network. */

/* So long has this thread wanted a processor and got none; 0 also where nobody counts. */
double robbed_s(void);

#endif
