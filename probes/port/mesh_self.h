#ifndef PROBES_PORT_MESH_SELF_H
#define PROBES_PORT_MESH_SELF_H
/* A rank of the mesh while it works: between mesh_rank.c and its parts. */
#include "probes/port/mesh.h"
#include "probes/port/talk.h"

enum { MESH_MACS = 16, MESH_NETS = 4, MESH_CARRIERS = 32 };
struct mesh_net {
	union addr at; /* family 0: none */
	unsigned prefix;
};
/* What ranks tell each other of themselves; all of them run the same version. */
struct mesh_card {
	char host[64], addr[64];
	uint32_t seed; /* of the sample of its range */
	uint16_t master, first, last, talk_port;
	uint16_t idle; /* another rank of its host speaks for it */
	unsigned char secret[TALK_SECRET];
	struct mesh_net nets[MESH_NETS]; /* its addresses that others may use, the first is @addr */
	unsigned char macs[MESH_MACS][6]; /* of its cards, the first is that of @addr; 0: none */
	unsigned char machine[16]; /* of this network stack, whatever its names; 0: not known */
};

/* How often an interface had lost its link, or found it, before we asked. */
struct mesh_carrier {
	const char *iface;
	uint64_t changes;
};

struct mesh_self {
	const struct mesh_opts *o;
	struct facts *f;
	struct arena *a;
	struct rdzv *rdzv;
	struct report *report;
	size_t n, me, active; /* active: ranks that are not idle */
	size_t same;	      /* the first rank of this very machine; me: there is no other */
	const char *astray;   /* a card where others are, and NCCL's settings chose another; NULL */
	bool idle, relay;     /* relay: our launcher reads what rank 0 answers */
	LIST(cJSON *) lines;  /* rank 0's, of all ranks, where it judges by itself */
	struct talk_door *door;
	struct mesh_card *cards; /* [n] */
	union addr *addrs;	 /* [n]; family 0: it has none */
	port_list *ports;	 /* [n] */
	struct local local;

	target_list targets; /* all but those without an address and ourselves */
	size_t *target_rank;
	struct reach reach;
	unsigned char *lost;	    /* [n * lost_n]: by rank, a bit per rank it did not reach */
	size_t lost_n;		    /* bytes of each */
	unsigned char *gone;	    /* [n]: it has lost its address */
	uint64_t rp_before, rp_now; /* packets that reverse-path filters dropped here */
	LIST(struct mesh_carrier) carriers;
	uint64_t overflows; /* connections that found no room to wait for being accepted */
	uint64_t resent;    /* questions that were asked again */
	struct talk *talks; /* [n]; state TALK_PENDING: was not tried */
	unsigned *fits;	    /* [n]: the largest MTU that passes where bulk stalled */
	float *gbps;	    /* [n]; NAN: not measured */
	float *again;	    /* [n]: the part of it that was sent again */
	float *crawl_mbps;  /* [n]; where bulk took long, twice; 0: it did not */
};
static inline bool mesh_lost(const struct mesh_self *s, size_t from, size_t to)
{
	return s->lost[from * s->lost_n + to / 8] >> to % 8 & 1;
}

/* Which of our addresses others are told: mesh_address.c. When all have told theirs: is somebody
 * in a network of its own, who has a card where others are? Then it comes there, and all tell
 * theirs once more. */
int mesh_choose_address(struct mesh_self *s, struct err *e) MUST_CHECK;
void mesh_put_nets(const struct mesh_self *s, struct mesh_card *c);
bool mesh_is_apart(const struct mesh_self *s);
void mesh_come_together(struct mesh_self *s);

/* One machine under two names is no pair: the later one is asked nothing. mesh_same.c */
void mesh_machine(const struct mesh_self *s, struct mesh_card *c);
void mesh_same(struct mesh_self *s);
/* Tells all others whom this rank did not reach, once they have all asked. */
int mesh_tell_lost(struct mesh_self *s, struct err *e) MUST_CHECK;
/* Does another machine say that it has our address? mesh_rival.c */
void mesh_put_rival(struct mesh_self *s, cJSON *line);
/* Or have we a peer's at another interface? */
void mesh_put_own(struct mesh_self *s, cJSON *line);
bool mesh_is_card_of(const struct mesh_card *c, const unsigned char *mac);
const char *mesh_mac_text(struct arena *a, const unsigned char *mac);
int mesh_bulk(struct mesh_self *s, struct err *e) MUST_CHECK; /* mesh_bulk.c */
int mesh_rates(struct mesh_self *s, struct err *e) MUST_CHECK;
int mesh_quiet(struct mesh_self *s, struct err *e) MUST_CHECK; /* --idle: mesh_quiet.c */
/* A line of what was found, as soon as it is; takes it over. @what: another one each time. */
int mesh_hand_over(struct mesh_self *s, const char *what, cJSON *line, struct err *e) MUST_CHECK;
/* What is known here of pairs that failed: mesh_part.c */
uint64_t mesh_counted(const char *name); /* by the kernel, of /proc/net/netstat; 0: it does not */
#define MESH_RP_DROPS "IPReversePathFilter"
#define MESH_SYN_RESENDS "TCPSynRetrans"
#define MESH_OVERFLOWS "ListenOverflows"
void mesh_part(struct mesh_self *s, cJSON *line);
/* The rules of our firewall, once it was read, that stop them, each once, to @line's "rules"; or
 * why they are not known: mesh_stops.c */
void mesh_stops(struct mesh_self *s, cJSON *line);
/* Of these, what stops IPv6's questions for hardware addresses. */
void mesh_neighbours(struct mesh_self *s, cJSON *line);
/* Cards and the ways that decide of lost pairs: mesh_card.c */
void mesh_macs(const struct mesh_self *s, struct mesh_card *c);
void mesh_put_card(struct mesh_self *s, cJSON *line);
void mesh_put_strays(struct mesh_self *s, cJSON *line);
void mesh_put_undo(struct mesh_self *s, cJSON *line);
/* Another card of this host in the network of the one that it is reached at, or NULL. */
const char *mesh_twin(const struct mesh_self *s);
bool mesh_goes_elsewhere(struct mesh_self *s, size_t peer);
void mesh_names(struct mesh_self *s, cJSON *findings); /* and of names: mesh_names.c */
/* Links that come and go, from the one to the other: mesh_flap.c */
void mesh_watch_carriers(struct mesh_self *s);
void mesh_put_flaps(struct mesh_self *s, cJSON *line);
/* Has this host lost its address meanwhile? Tells all others: mesh_gone.c */
bool mesh_is_gone(const struct mesh_self *s);
int mesh_tell_gone(struct mesh_self *s, struct err *e) MUST_CHECK;
cJSON *mesh_line(struct mesh_self *s);
cJSON *mesh_rate_line(struct mesh_self *s);

#endif
