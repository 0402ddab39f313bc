#ifndef PROBES_IFACE_MODES_H
#define PROBES_IFACE_MODES_H
/*
 * The modes of ifprobe on this host: each reads the facts that it needs,
 * judges, and reports. What they do on many hosts is in fleet.h.
 */
#include "probes/iface/write.h"

struct request {
	struct arena *a;
	struct report *r;
	uint64_t deadline_ns;  /* of one peer's answer */
	const str_list *peers; /* --peer, as typed and found well formed */
	unsigned nccl_version; /* 0: the installed one */
	bool verbose;
	const char *accelerate; /* the file to --check; NULL: the one that it finds */
};

/* The network of this host, and what will hurt. */
int mode_bare(const struct request *q, struct err *e) MUST_CHECK;
/* @form is an emit form's name. */
int mode_suggest(const struct request *q, const char *form, bool name_only,
		 struct err *e) MUST_CHECK;
int mode_predict(const struct request *q, struct err *e) MUST_CHECK;
int mode_check(const struct request *q, struct err *e) MUST_CHECK;
int mode_ip(const struct request *q, const char *addr, bool name_only, struct err *e) MUST_CHECK;
/* A form that cannot compute its values gets those found now, whatever @w says. */
int mode_write(const struct request *q, const struct write_request *w, struct err *e) MUST_CHECK;

#endif
