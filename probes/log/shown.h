#ifndef PROBES_LOG_SHOWN_H
#define PROBES_LOG_SHOWN_H
/*
 * What `kubectl describe` and `kubectl get -o yaml` show of NetworkPolicies and Services, where a
 * log has that: which ports a policy lets in, whose labels a Service looks for. Bounded: of more
 * than SHOWN_MAX of a kind, or SHOWN_PODS pods, nothing is known.
 */
#include "probes/log/line.h"

struct why;
struct why_stream;

enum { SHOWN_MAX = 32, SHOWN_PODS = 64 };

/* One direction of a policy. */
struct policy_side {
	bool is_affected; /* it isolates pods in this direction */
	bool has_rules;
	bool lets_all;	/* between pods, whatever the port */
	bool is_open;	/* the text ends within a rule of which no port was read */
	char ports[96]; /* "29500/TCP, 8080/TCP"; "": none */
};

struct policy {
	char name[128], space[64], pods[128]; /* pods: whom it is of; "": all */
	struct policy_side in, out;
	bool is_row;	/* of a table: no more than its name is known */
	bool is_cilium; /* a CiliumNetworkPolicy, whose words are others */
	unsigned file;
	uint64_t first, last; /* its lines */
};

struct service {
	char name[128], space[64], selector[128];
	bool lacks_endpoints;
};

/* Whose labels were shown. */
struct labelled {
	char pod[128], labels[256]; /* "app=x,role=y" */
};

struct shown {
	struct policy policies[SHOWN_MAX];
	struct service services[SHOWN_MAX];
	struct labelled pods[SHOWN_PODS];
	unsigned npolicies, nservices, npods;
};

/* Of one stream: what is being read. */
struct showing {
	enum {
		SHOWS_NOTHING,
		SHOWS_OBJECT,
		SHOWS_POLICY,
		SHOWS_MANIFEST,
		SHOWS_ENDPOINTS,
		SHOWS_POLICIES
	} what;
	char name[128], space[64];
	char selector[128]; /* a Service's */
	bool is_pod, is_cilium, in_metadata, has_space;
	struct policy *policy; /* NULL: none yet */
	struct policy_side *side;
	int side_at, rule_at; /* columns where they begin; -1: none */
	bool in_rule, has_ports, has_pods, has_peers;
};

#define SHOWN_ANCHORS                                                                              \
	"Name:   |kind: NetworkPolicy|kind: CiliumNetworkPolicy|POD-SELECTOR|ENDPOINTS  |"         \
	"Allowing ingress traffic|Not affecting ingress traffic"
/* The line begins an object ("Name:   x", "kind: NetworkPolicy"), one whose head was left out, or a
 * table. */
void shown_begin(struct why *w, struct why_stream *s, const struct log_line *l);
/* The lines behind it. False: it has ended. */
bool shown_next(struct why_stream *s, const struct log_line *l);
/* The row of a pod, with its labels. */
void shown_pod(struct why *w, struct why_stream *s, const struct log_line *l);

/* It keeps the ranks' own ports from pods. */
bool policy_is_narrow(const struct policy *p);
/* A pod that has all of @selector's keys, and another value; NULL: none was shown. */
const struct labelled *shown_near(const struct shown *t, const char *selector);
/* All of "app=x,role=y" is among the labels. */
bool labels_have(const char *labels, const char *selector);

/* The value of that key among them; "": none. */
const char *labels_value(const char *labels, const char *key);

/* --- between shown.c and shown_policy.c ------------------------------------------------------- */
/* What stands behind @key, where the line begins with it; NULL: it does not. */
const char *shown_value(const struct log_line *l, const char *key);
/* ... kept, up to a blank. False: it is not there. */
bool shown_keep(const struct log_line *l, const char *key, char *out, size_t size);
/* The policy that is read, made where it is its first line; NULL: one too many. */
struct policy *shown_policy_of(struct why_stream *s);
/* "Allowing ingress traffic:", "Not affecting egress traffic"; false: it is another line. */
bool shown_begin_side(struct why_stream *s, const struct log_line *l);
/* The lines behind, of `describe` and of a manifest. False: it has ended. */
bool shown_next_described(struct why_stream *s, const struct log_line *l);
bool shown_next_of_manifest(struct why_stream *s, const struct log_line *l);

#endif
