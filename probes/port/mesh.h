#ifndef PROBES_PORT_MESH_H
#define PROBES_PORT_MESH_H
/*
 * Every host to every other one. One rank of ours runs on each (mesh_rank()):
 * they tell one another who they are, ask each other's ports all at once, send
 * each other real data, and say what they know of their own part: rules of
 * their firewall, answers that never came back, names that mislead. One of
 * them, or whoever launched them, takes what each has to say (a line of JSON),
 * and judges. Both directions of a pair are two cells of the matrix.
 */
#include "lib/cluster/launch.h"
#include "lib/report/report.h"
#include "probes/port/cause.h"
#include "probes/port/local.h"
#include "probes/port/reach.h"
#include "probes/tally/tally.h"

enum { MESH_BULK_BYTES = 64 << 10 };

struct mesh_opts {
	/* where */
	host_list hosts;
	const char *rsh;
	bool srun, copy_self, keep, serve;
	unsigned joiners;
	uint16_t serve_port;
	/* what */
	uint64_t join_ns; /* serve: the longest wait for them; 0: the launcher's own */
	uint64_t deadline_ns, patience_ns;
	const port_list *ports; /* NULL: MASTER_PORT and a sample of each host's range */
	size_t sample;
	bool expect_open;
	unsigned count;
	uint64_t rate_ns; /* --bandwidth: so long each way of each pair; 0: not */
	uint64_t idle_ns; /* --idle: the longest that connections are silent; 0: not */
};
/* Starts the ranks and judges what they say. */
int mesh_launch(const struct mesh_opts *o, const struct port_env *env, struct arena *a,
		struct report *r, struct err *e) MUST_CHECK;
/* A run that did not come about, or broke off: finding mesh.run. */
void mesh_failed(const char *why, struct report *r);
/*
 * One rank. Rank 0 answers with everybody's lines for mesh_launch() where our
 * own launcher reads them, else it judges by itself.
 */
int mesh_rank(const struct mesh_opts *o, const struct port_env *env, struct world_run *w,
	      struct facts *f, struct report *r, struct err *e) MUST_CHECK;

/* --- the whole, where it is judged ---------------------------------------------- */
struct mesh_node {
	const char *name;	    /* as in --hosts, or as it calls itself */
	union addr addr;	    /* family 0: not known */
	const char *iface, *subnet; /* or NULL */
	unsigned prefix;	    /* of @subnet; 0: not known */
	const char *mac;	    /* of @iface, or NULL */
	bool ecn;		    /* what it asks, it asks with ECN */
	bool ecn_always;	    /* ... and did not go on until it would ask without */
	bool noarp;		    /* it neither asks for neighbours nor answers */
	const char *rival;	    /* hardware address of another machine with @addr, or NULL */
	bool leased;		    /* nobody typed @addr: a server or a router gave it */
	bool gone;		    /* it has @addr no more */
	unsigned flaps;		    /* so often @flapping lost its link, or found it, meanwhile */
	const char *flapping;	    /* or NULL */
	bool aside;		    /* that is another card than the one of @addr */
	unsigned carriers;	    /* so often @iface did since it was started; 0: not known */
	const char *unlinked;	    /* without @addr: the card that has one, and no link; or NULL */
	const char *lacks;	    /* without @addr: what a card of it lacks, or NULL */
	const char *waits;	    /* a bridge of its own whose @waits_port passes nothing yet */
	const char *waits_port;	    /* or NULL, both */
	unsigned mtu;		    /* 0: not known */
	port_list ports;	    /* that it is asked on */
	size_t undone;		    /* the first of mesh.undone that are from it */
	bool asked;		    /* its line came */
	const struct mesh_node *same; /* it is that machine under another name; NULL: it is not */
	bool rdma;
	const char *rp_filter;	   /* the interface whose filter dropped something, or NULL */
	unsigned rp_drops;	   /* so many packets, whoever sent them */
	bool rules_known;	   /* its own firewall was looked at */
	bool rules_cut;		   /* more of its rules stop IPv6's questions than it says */
	const char *rules_trouble; /* why not, or NULL */
	const char *rules_fix;	   /* what lets ADDRESS in there, whatever the rules, or NULL */
	const char *as_root;	   /* "sudo portcheck", typed there; NULL: it is not there */
	const char *
		twin; /* another card in the network of @iface, where something was lost; or NULL */
	const char *astray; /* a card that leads to others, which @addr does not; or NULL */
	const char *told;   /* and how NCCL's settings chose that of @addr */
	unsigned forgets_s; /* its table of connections forgets what is silent for so long; 0: it
			       has none, or it is not known */
	bool ec2;	    /* it is an instance of EC2 */
	bool strict;	    /* what has another way back is dropped on @iface (rp_filter 1) */
	const char *strict_other; /* another interface where it is, or NULL */
};
/* A rule of a host's own that stops something: told once by its host, of all whom it stops. */
/* At which end, and of what. */
enum mesh_hook {
	MESH_IN,
	MESH_OUT,
	MESH_ANSWER_IN,
	MESH_ANSWER_OUT,
	MESH_FOUND, /* IPv6's questions for neighbours: of who asks this host, */
	MESH_FINDS, /* and of those that it asks */
	MESH_HOOKS
};
struct mesh_rule {
	enum mesh_hook hook;
	bool perhaps; /* it hangs on what its host cannot judge */
	bool seldom;  /* ... and that most packets are without */
	bool rejects; /* it says so, as far as kernels let it */
	const char *text, *fix;
	const char *peer; /* the address in @fix that stands for whoever is let through, or "" */
};
/* Is it at the end where the question comes in? */
static inline bool mesh_rule_is_in(const struct mesh_rule *r)
{
	return r->hook == MESH_IN || r->hook == MESH_ANSWER_OUT || r->hook == MESH_FOUND;
}
/* One more that has to give way before all ports pass. */
struct mesh_more {
	const struct mesh_rule *rule;
	struct mesh_more *next;
};
/* Of a pair: what they take grows with the square of the hosts that answer. */
struct mesh_cell {
	const char *row;	      /* "STATES CAUSES", a letter per port; NULL: unknown */
	uint8_t state, cause;	      /* of its worst port: enum port_state, enum port_cause */
	uint16_t bad;		      /* ports that failed */
	uint16_t bad_port;	      /* the first of them */
	uint16_t late;		      /* ports that answered when they were asked again */
	uint16_t path_mtu;	      /* of what passed, or would; 0: not known */
	bool cut;		      /* small messages pass, bulk does not */
	bool talked;		      /* bulk passed */
	bool straight;		      /* it went to the card that has the address */
	bool own_path;		      /* @paths, and it is a next hop of its own that is dead */
	float ms;		      /* NAN: none reached */
	float crawl_mbps;	      /* where bulk took long; 0: it did not */
	float gbps;		      /* NAN: not measured */
	float resent;		      /* the part of it that was sent again; NAN: not known */
	const struct mesh_rule *rule; /* of one of the two hosts' own that stops it, or NULL */
	struct mesh_more *more;
	const char *router; /* the asker sends it there, and it is of its own network; or NULL */
	const char *paths;  /* what its asker knows of several paths, or NULL */
	const struct mesh_rule *seldom; /* that may stop it, too, where nothing else explains it */
	struct mesh_idle *idle;		/* of silent connections that the asker opened, or NULL */
};
/* What @from sends to @to goes to the hardware address @mac, which is not @to's. */
struct mesh_stray {
	size_t from, to;
	const char *mac;
	bool fixed; /* somebody entered it by hand */
};
/* @at has @to's address, too, at another interface of its own: what it sends there stays. */
struct mesh_own {
	size_t at, to;
	const char *iface;
	unsigned prefix;
};
/* What takes away, on @from, a route or rule that keeps it from @to. */
struct mesh_undo {
	size_t from, to;
	const char *command;
};
struct mesh {
	const struct mesh_opts *o;
	struct arena *a;
	struct report *report;
	struct mesh_node *nodes;
	struct mesh_cell **rows; /* [from][to]; NULL: of its way to others nothing is known */
	struct mesh_cell blank;	 /* so is a pair of which nothing is known */
	size_t n;
	const size_t *rank_node; /* of each rank the node it speaks for, before mesh_take() */
	size_t nranks;
	bool cut;	   /* the run was broken off: what is missing was not reached */
	struct tally told; /* what ranks say of themselves: what many say alike is one finding */
	struct host_way way;
	LIST(struct mesh_stray) strays;
	LIST(struct mesh_own) own;
	LIST(struct mesh_undo) undone;
};
/* Thousands of hosts that do not answer have no cells: those of a host come with what it tells. */
static inline const struct mesh_cell *mesh_at(const struct mesh *m, size_t from, size_t to)
{
	return m->rows[from] ? &m->rows[from][to] : &m->blank;
}
/* The same, to be written to. */
struct mesh_cell *mesh_edit(const struct mesh *m, size_t from, size_t to);
/* All pairs of which something may be known. */
#define MESH_EACH(m, from, to)                                                                     \
	for (size_t from = 0; from < (m)->n; from++)                                               \
		for (size_t to = (m)->rows[from] ? 0 : (m)->n; to < (m)->n; to++)
bool mesh_cell_is_bad(const struct mesh_cell *c);
void mesh_init(struct mesh *m, const struct mesh_opts *o, size_t n, struct arena *a,
	       struct report *r);
/* Takes what one rank has to say. Every line is taken once in each pass, all lines before the next.
 */
#define MESH_NO_NODE SIZE_MAX /* of a rank for whose host another speaks */
enum mesh_pass { MESH_NODES, MESH_ROWS, MESH_RULES, MESH_WAYS, MESH_REST, MESH_PASSES };
void mesh_take(struct mesh *m, enum mesh_pass pass, const cJSON *line);
void mesh_conclude(struct mesh *m); /* view, judge, data */

/* --- between mesh*.c ------------------------------------------------------------ */
/* Three of the passes of mesh_take(): what a rank knows of its part in pairs that failed. */
void mesh_explain_rules(struct mesh *m, const cJSON *line, size_t me);
void mesh_explain_ways(struct mesh *m, const cJSON *line, size_t me);
void mesh_explain_rest(struct mesh *m, size_t me);
/* What keeps @here from @there is its own to take away, as far as it told: the command. */
const char *mesh_undo(const struct mesh *m, size_t here, size_t there);
/* What is known of cards, netmasks and routes; and what fails because of it, said. */
void mesh_take_link(struct mesh *m, const cJSON *line, size_t me);
void mesh_link(struct mesh *m);
void mesh_ecn(struct mesh *m);	/* what answers only who does not ask for ECN */
void mesh_loss(struct mesh *m); /* what answered late, where packets get lost */
/* Connections that were silent for a while, and data.idle: mesh_idle.c, mesh_idle_say.c */
void mesh_take_idle(struct mesh *m, const cJSON *line, size_t me);
void mesh_idle(const struct mesh *m);
#define MESH_IDLE_LINE "\"idle\":" /* is in each line of a rank's of that */
/* A cell as it is told, of the @n results from @v on; and read: struct mesh_cell's row, or NULL:
 * it is not one of @n ports. mesh_row.c */
const char *mesh_row_fold(struct arena *a, const struct reach_result *v, size_t n);
const char *mesh_row_unfold(struct arena *a, const char *s, size_t n, float *ret_ms);
/* The node of a rank that JSON names; MESH_NO_NODE: it is none. */
size_t mesh_node_of(const struct mesh *m, const cJSON *rank);
/* The matrix for people, where anything of it is known, and data.matrix and data.targets[] for
 * programs. */
void mesh_view(const struct mesh *m, size_t width); /* of a terminal; 0: it is read on none */
void mesh_data(const struct mesh *m, cJSON *data);
void mesh_data_pairs(const struct mesh *m,
		     cJSON *data); /* data.pairs, of which something is known */
/* What is wrong, and the smallest set of rules that would mend it. */
void mesh_judge(const struct mesh *m);
void mesh_mtu(const struct mesh *m);
void mesh_sum(const struct mesh *m); /* what is not about ports: MTU, rates, the whole */
/* The names of these @n nodes, folded. */
const char *mesh_folded(const struct mesh *m, const size_t *v, size_t n);
const char *mesh_pairs(const struct mesh *m, size_t n); /* "3 pairs" */
/* Which ends to mend: a smallest set that covers all pairs that have @cause and no rule known to
 * stop them: a rule is mended where it is. */
struct mesh_cover {
	bool *in, *out; /* [n]: what comes in there, or goes out there */
};
void mesh_cover(const struct mesh *m, enum port_cause cause, struct mesh_cover *ret);

/* --why, for tests: "FROM>TO:PORT;..."; data.why[]. */
void mesh_why(const struct local *l, const char *queries, struct report *report);
/* The rules of this host's that stop one packet: @ret has room for MESH_MOST_RULES. How many. */
enum { MESH_MOST_RULES = 4 };
size_t mesh_rules(const struct local *l, enum mesh_hook hook, const union addr *from,
		  const union addr *to, cJSON **ret);
/* What is marked here on its way out, and thrown away for that, as one of these; NULL: it is not.
 */
cJSON *mesh_marked_rule(const struct local *l, enum mesh_hook hook, const union addr *from,
			const union addr *to);
/* Its table of connections, where that is full, as one of these; NULL: it is not. */
cJSON *mesh_full_table(const struct local *l, enum mesh_hook hook);
/* The queue of its one listener of ours, which was too short for all of them; NULL: it was not. */
cJSON *mesh_full_queue(const struct local *l, uint64_t overflows);
/* What IPsec keeps from passing in the clear, as one of these; NULL: it does not. */
cJSON *mesh_ipsec_rule(const struct local *l, const struct xfrm *x, enum mesh_hook hook,
		       const union addr *from, const union addr *to);
/* What stops IPv6's questions, as local_stops_neighbours() says it, as one of these. */
cJSON *mesh_neighbour_rule(const struct local *l, enum mesh_hook hook, const struct nft_answer *x);
extern const char *const mesh_hooks[]; /* as in JSON */

#endif
