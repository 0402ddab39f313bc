#ifndef PROBES_PORT_OWN_H
#define PROBES_PORT_OWN_H
/*
 * Is it this host's own doing? A rule that drops on the way out looks like any
 * other silence, so where something failed the rules are asked; those results
 * get CAUSE_OWN_FIREWALL, and @r the rule and what to type. And a neighbour that
 * is silent but not in the ARP table was never asked for: the table is full, as
 * happens in large subnets (CAUSE_NEIGHBOURS).
 */
#include "probes/port/local.h"
#include "probes/port/reach.h"

/*
 * Linux sends one host no more than six ICMP errors at once, and then one a
 * second: where many ports are rejected, most look silent (CAUSE_LIMITED).
 */
void own_limits(struct reach *r);
/* One-sided only: silence of a host that answers some, and many of them late (CAUSE_COUNTED).
 * Between hosts there is more to tell that from. */
void own_counted(struct reach *r);
void own_neighbours(struct reach *r, const target_list *targets);
/* One-sided only, between hosts all are known to be up: @began_ns: before the first question. */
void own_seen(struct reach *r, const target_list *targets, struct facts *f, uint64_t began_ns);
/* Between hosts: silence of who is not found by ARP is that, however short we wait for it. */
void own_unfound(struct reach *r, const target_list *targets, struct facts *f);
/*
 * Is it a route or a policy rule of ours? One that forbids it, or that leads silence away from the
 * card in whose network it is, as a VPN's may (CAUSE_OTHER_WAY): what takes it away, to each way.
 * Not where the way was asked for (--from).
 */
void own_ways(struct reach *r, const target_list *targets, struct facts *f);
/* No answer, or nobody is seen to have the address. */
bool own_is_silent(const struct reach_result *x);
/* Has the card that it leaves by no link (CAUSE_OWN_LINK)? One-sided only: between hosts such a
 * card has no address that others are told. Behind own_ways(): a tunnel's that leads astray has
 * none either. */
void own_links(struct reach *r, const target_list *targets, struct facts *f);
/* The port to other hosts that keeps @bridge from them; NULL: none does, or another leads there. */
const struct iface *own_waiting_port(struct facts *f, int bridge);
/* One of several ways to it is dead (CAUSE_PATHS), or may be: what is known of them, and what takes
 * it out, to each way. Before whatever takes that for an option of TCP. */
void own_paths(struct reach *r, const target_list *targets, const struct reach_opts *o,
	       struct facts *f);
/* An option of TCP that something drops (CAUSE_TIMESTAMPS and its kin), where we may ask for that.
 */
void own_options(struct reach *r, const target_list *targets);
void own_rules(struct reach *r, const target_list *targets, struct facts *f, uint64_t deadline_ns);

#endif
