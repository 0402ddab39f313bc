#ifndef PROBES_PORT_MESH_JUDGE_H
#define PROBES_PORT_MESH_JUDGE_H
/*
 * Between mesh_gaps.c, which finds the gaps, mesh_fix.c, which knows what closes them, and
 * mesh_judge.c, which says so.
 */
#include "probes/port/mesh.h"

typedef LIST(size_t) index_list;

/*
 * Where something does not come through, in at @hosts or out of them, for one cause. A thousand
 * hosts with the same fault are one gap: the same rules stop it, and the same commands mend it.
 */
struct mesh_gap {
	bool in;
	bool all;   /* every other host is concerned, at each of @hosts */
	bool alike; /* the same others are, but for the hosts themselves */
	index_list hosts, others;
	index_list of_first; /* the others of the first of @hosts */
	size_t ports_bad, ports_all;
	const struct mesh_cell *example;
	const char *stops; /* the rules that do, as text; NULL: none is known */
	unsigned fits;	   /* CAUSE_BULK: packets that pass */
	str_list commands; /* mend it, typed on each of @hosts; none: it takes a person */
};
typedef LIST(struct mesh_gap) gap_list;

/* Small messages pass. */
static inline bool mesh_is_bulk(enum port_cause c)
{
	return c == CAUSE_BULK || c == CAUSE_NO_BULK || c == CAUSE_TRICKLE;
}

void mesh_gaps(const struct mesh *m, enum port_cause cause, gap_list *ret);

/* Those who ask, and those who are asked: the first of each told the others addresses of different
 * families. */
static inline bool mesh_families_differ(const struct mesh *m, const struct mesh_gap *x)
{
	int here = m->nodes[x->hosts.v[0]].addr.sa.sa_family,
	    there = m->nodes[x->of_first.v[0]].addr.sa.sa_family;

	return here && there && here != there;
}

static inline const char *mesh_names_of(const struct mesh *m, const index_list *l)
{
	return mesh_folded(m, l->v, l->n);
}

/* What mends it, typed on each of its hosts. */
void mesh_commands(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause,
		   str_list *ret);
/* All that is to be done, in @f: for many hosts the commands are one line, typed here. */
void mesh_fix(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause,
	      struct finding *f);
/* Of a card, twice, and a host: what loses packets or slows them down. */
#define MESH_LOOK_AT_CARD                                                                          \
	"ip -s link show dev %s; tc qdisc show dev %s   # on %s: errors, drops, a shaper; then "   \
	"its "                                                                                     \
	"cable, its port of the switch, or a rule that limits"
/* @commands as they are to be typed for @hosts. @provided: a word of warning, or NULL. */
void mesh_type(const struct mesh *m, const index_list *hosts, const str_list *commands,
	       const char *provided, struct finding *f);
/* Those of these hosts: portcheck names the rule, where it is in its place there; else all of them
 * are shown. */
void mesh_look_at_rules(const struct mesh *m, const index_list *hosts, const char *why,
			struct finding *f);
/* The @others: subnets where everybody is meant, or many, else addresses; each once. */
void mesh_peers(const struct mesh *m, const struct mesh_gap *x, str_list *ret);
/* Those of them whose firewall was not looked at. */
index_list mesh_unread(const struct mesh *m, const index_list *l);

/* ---- below TCP: mesh_link.c and its parts ---- */
/* Something is lost between the two, one way or the other, and no rule is known to stop it. */
bool mesh_any_lost(const struct mesh *m, size_t x, size_t y);
index_list mesh_lost_with(const struct mesh *m, size_t at); /* the others of whom that is so */
/* @from has found the card of @to, whatever is lost besides. */
bool mesh_has_met(const struct mesh *m, size_t from, size_t to);
/* One of the two has found the other's. */
bool mesh_have_met(const struct mesh *m, size_t x, size_t y);
/* What is lost between the two, both ways, is explained by what is said of a host. */
void mesh_settle(struct mesh *m, size_t x, size_t y);
/* Late, slow and cut short there is what a host is that is not always there. */
void mesh_settle_all(struct mesh *m, size_t at);
/* A finding of @at that explains all that is lost between it and @others. */
struct finding *mesh_say_link(struct mesh *m, const char *check, size_t at,
			      const index_list *others);
/* Three hosts or more, and all but @at are in one network. mesh_stranger.c */
bool mesh_is_stranger(const struct mesh *m, size_t at);
void mesh_strangers(struct mesh *m);
void mesh_astray(struct mesh *m); /* whom NCCL's settings let publish what leads to nobody */
void mesh_take_own(struct mesh *m, const cJSON *line, size_t me);
void mesh_rivals(struct mesh *m); /* who has an address that is another's, too: mesh_rival.c */
/* Those of @l that asked for nothing without ECN. mesh_ecn.c */
index_list mesh_ecn_always(const struct mesh *m, const index_list *l);
#define MESH_NO_ECN "sudo sysctl -w net.ipv4.tcp_ecn=2"
/* More of what --bandwidth sent had to be sent again than a healthy way asks for: said. And the end
 * of a sentence about what @host sends or gets, or a pair; "": it is not so. mesh_resent.c */
bool mesh_resent(const struct mesh *m);
const char *mesh_resent_of(const struct mesh *m, size_t host, bool in);
const char *mesh_resent_between(const struct mesh *m, const struct mesh_cell *c);
void mesh_flaps(struct mesh *m); /* whose link came and went meanwhile: mesh_flap.c */
void mesh_gone(struct mesh *m);	 /* whose address went away meanwhile: mesh_gone.c */

#endif
