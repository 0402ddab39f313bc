#ifndef PROBES_LOG_DENIED_H
#define PROBES_LOG_DENIED_H
/*
 * What a line says that there is not: "no row remapping is pending", "Detected 0 ECC errors on
 * GPU 3", "spot interruption: none", "is_preempted=False"; and what it only speaks of: 'If you see
 * "Connection refused", set ...', as READMEs and comments do; not what somebody tells of his own
 * job, or asks about. Failures have such words of their own ("no space left"): without the word an
 * entry of the catalogue does not match those any more.
 */
#include "lib/core/base.h"

struct denial {
	size_t word, word_n; /* that denies */
	size_t from, n;	     /* what it denies */
	bool is_quoted;	     /* nothing is denied unless the quotation alone is a failure */
};

enum { DENIALS_MAX = 8 };

/* How many of them are in @text: what is quoted, then the others, each from left to right.
 * @is_said: a host, a rank or a time stands before it, as before no advice but "if you see". */
size_t denied_find(const char *text, bool is_said, struct denial v[DENIALS_MAX]);

#endif
