#ifndef PROBES_STACKS_MEANWHILE_H
#define PROBES_STACKS_MEANWHILE_H
/* What goes on while ranks are looked at: who looks has others to serve. */
#include "lib/core/base.h"

struct meanwhile {
	/* Takes at most that long; it may be 0. False: nobody wants to know any more. */
	bool (*serve)(int ms, void *arg);
	void *arg;
};

#endif
