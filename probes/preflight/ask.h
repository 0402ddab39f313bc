#ifndef PROBES_PREFLIGHT_ASK_H
#define PROBES_PREFLIGHT_ASK_H
/*
 * What a person asks of a pre-flight: one struct, the table of options that fills it, and the
 * way from there to a run.
 *
 *	.rows = preflight_ask_rows, .nrows = PREFLIGHT_ASK_NROWS, .cfg = &ask
 *
 *	preflight_ask_check(&ask, e)		what goes with what
 *	preflight_ask_hosts(&ask, a)		nothing said: those of the job we are in
 *	preflight_ask_alone(&ask, e)		what goes with those
 *	preflight_ask_fill(&ask, &p)		what the run has of it
 *	preflight_ask_files(&ask, &p, e)	those to be written, and the one to be read
 */
#include "lib/core/opt.h"
#include "probes/preflight/preflight.h"

struct preflight_ask {
	bool quick, full, burst, here, asked, serve, copy_self, keep;
	bool is_slurms;		      /* no option: the hosts are those of a job of Slurm's */
	uint64_t wait, wait_ns, port; /* 0: not given */
	const char *hosts, *rsh, *nodes, *page, *baseline, *master, *checkpoint;
	str_list same;
};

enum { PREFLIGHT_ASK_NROWS = 22 };
extern const struct opt preflight_ask_rows[PREFLIGHT_ASK_NROWS];

/* ERR_USAGE. */
int preflight_ask_check(const struct preflight_ask *q, struct err *e) MUST_CHECK;
void preflight_ask_hosts(struct preflight_ask *q, struct arena *a);
/* What goes with the hosts that are known then. ERR_USAGE. */
int preflight_ask_alone(const struct preflight_ask *q, struct err *e) MUST_CHECK;
void preflight_ask_fill(const struct preflight_ask *q, struct preflight *p);
/* What would fail at the end of a long run fails before it; the baseline is in @p then. */
int preflight_ask_files(const struct preflight_ask *q, struct preflight *p,
			struct err *e) MUST_CHECK;

#endif
