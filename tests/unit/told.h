#ifndef TESTS_UNIT_TOLD_H
#define TESTS_UNIT_TOLD_H
/* What is said of a log. */
#include "probes/log/explain.h"

struct told {
	struct arena a;
	struct why w;
	struct explanation x;
};

/* In between, @s is fed. */
static inline void told_begin(struct told *t, struct why_stream *s)
{
	*t = (struct told){0};
	why_init(&t->w);
	why_open(s, &t->w, "log");
}

static inline void told_end(struct told *t, struct why_stream *s)
{
	why_close(s);
	explain(&t->w, &t->a, &t->x);
}

static inline void tell_of(struct told *t, const char *log)
{
	struct why_stream s;

	told_begin(t, &s);
	why_feed(&s, log, strlen(log));
	told_end(t, &s);
}

static inline void told_done(struct told *t)
{
	why_done(&t->w);
	arena_done(&t->a);
}

#endif
