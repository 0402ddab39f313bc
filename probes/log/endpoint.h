#ifndef PROBES_LOG_ENDPOINT_H
#define PROBES_LOG_ENDPOINT_H
/*
 * The hosts and ports that torch's store was asked for, as the log names them
 * plainly: "(node0, 29500)". Of a socket whose address has no name torch prints
 * bytes of its own memory, "[100::e073:a1fa:197f:0]:63606" or "88.85.0.0:63606":
 * those are no addresses, and what was named plainly stands for them.
 */
#include "probes/log/extract.h"
#include "probes/log/line.h"

enum { ENDPOINTS_MAX = 16 /* different ones */ };

struct endpoints {
	bool is_nameless; /* torch said that it could not find out a name */
	unsigned n;
	struct {
		struct extract said;
		unsigned file;
		uint64_t line;
	} v[ENDPOINTS_MAX];
};

struct why;
struct log_event;

/* A line that may name one. */
void endpoints_hear(struct endpoints *t, unsigned file, uint64_t line, const struct log_line *l);
/* What the line of @e names; never torch's memory. */
void endpoint_of(const struct why *w, const struct log_event *e, struct extract *ret);

#endif
