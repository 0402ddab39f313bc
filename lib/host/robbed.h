#ifndef LIB_HOST_ROBBED_H
#define LIB_HOST_ROBBED_H
/* Processors that somebody else had: what is slow for that says nothing about a network. */

/* So long has this thread wanted a processor and got none; 0 also where nobody counts. */
double robbed_s(void);
/* What took @all seconds of which an end was robbed for @robbed, in its favour: but not less than
 * a quarter of it, for what is slower than that is slow, however busy the machine. */
double robbed_favour(double all, double robbed);

#endif
