#ifndef PROBES_LOG_TRAITS_H
#define PROBES_LOG_TRAITS_H
/*
 * What hosts and ranks say of themselves that should be alike everywhere: the commit of the
 * program ("host=n2 commit=9e1d77c"), versions of packages ("torch=2.5.1"), the MTU of an
 * interface ("3: ens6: <UP> mtu 9000"). Of each the first two different values are kept.
 */
#include "lib/core/base.h"

enum { TRAITS_MAX = 32 };

struct trait {
	char name[32]; /* "commit", "torch", "MTU of ens6" */
	struct {
		char text[48];
		char by[64]; /* a host, "rank 3", an interface's hardware address; "": not said */
	} value[2];	     /* the second's text is "" where all are alike */
};

struct traits {
	size_t n;
	struct trait v[TRAITS_MAX];
};

struct why;
struct why_stream;
struct log_line;

void traits_hear(struct why *w, struct why_stream *s, const struct log_line *l);
void traits_hear_link(struct why *w, struct why_stream *s, const struct log_line *l);
/* The MTU of an RDMA port, which is kept in why.mtus. */
void traits_hear_port(struct why *w, struct why_stream *s, const struct log_line *l);

#endif
