#ifndef PROBES_IFACE_ASK_H
#define PROBES_IFACE_ASK_H
/*
 * What a person asks of ifprobe: one struct, the table of options that fills it, and the way
 * from there to a run.
 *
 *	.rows = iface_ask_rows, .nrows = IFACE_ASK_NROWS, .cfg = &ask	in the struct app_spec
 *
 *	iface_ask_check(&ask, a, e)		what goes with what
 *	iface_ask_write(&ask)			--bashrc and --write
 *	iface_ask_remote(&ask, a, &args)	the same question, for another host
 */
#include "lib/core/opt.h"
#include "probes/iface/write.h"

struct iface_ask {
	const char *ip, *suggest, *bashrc, *write;
	bool predict, check, copy_self, keep;
	str_list peers;
	const char *hosts, *rsh;
	bool name_only;
	const char *nccl_version, *accelerate;
	const char *to, *unit;
	bool fixed, dry_run, undo;
	unsigned version; /* what iface_ask_check() read of nccl_version */
};

enum { IFACE_ASK_NROWS = 22 };
extern const struct opt iface_ask_rows[IFACE_ASK_NROWS];

/* ERR_USAGE. --name-only alone means --suggest, and each peer is an entry of its own then. */
int iface_ask_check(struct iface_ask *q, struct arena *a, struct err *e) MUST_CHECK;
bool iface_ask_writes(const struct iface_ask *q); /* --bashrc or --write */
/* Of one that writes. */
struct write_request iface_ask_write(const struct iface_ask *q);
/* Our own mode, without --hosts: what each host is to do by itself. */
void iface_ask_remote(const struct iface_ask *q, struct arena *a, str_list *args);

#endif
