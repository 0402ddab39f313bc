#ifndef PROBES_PORT_LOCAL_H
#define PROBES_PORT_LOCAL_H
/*
 * This host's part in being reached: its address, its firewall, who holds the
 * ports that training wants, where the kernel takes ephemeral ports from, and
 * what to type on the peer. Findings local.*, and data.local.
 */
#include "lib/net/xfrm.h"
#include "lib/report/report.h"
#include "probes/iface/suggest.h"
#include "probes/port/firewall.h"
#include "probes/port/ports.h"

struct local {
	struct facts *f;
	struct port_env env;
	struct suggestion s; /* the address that peers should use */
	bool told;	     /* ... since NCCL's settings say so */
	struct firewall fw;
};
void local_read(struct local *l, struct facts *f, const struct port_env *env, uint64_t deadline_ns);
void local_done(struct local *l);
void local_judge(const struct local *l, struct report *r);
void local_judge_firewall(const struct local *l, struct report *r); /* a part of it */
/* For loopback_explained_by(): which rule of this host's it is, and the line that mends it; what
 * keeps other hosts out as well the same line mends. */
void local_explain_loopback(struct err *e);
/* Into the report, or, when somebody else makes that, what is worth a warning into @warnings. */
void local_say(struct report *r, cJSON *warnings, struct finding *f);
/* Of its kernel: queues of connections, the firewall's table of them. local_limits.c */
void local_judge_limits(const struct local *l, struct report *r, cJSON *warnings);
/* In words, where it drops what is new, and @ret_fix; NULL: it does not. */
const char *local_table_is_full(const struct local *l, const char **ret_fix);
/* The same where few may wait to be accepted, and more came. */
const char *local_queue_is_short(const struct local *l, const char **ret_fix);
/* The same where an IPsec policy stops what comes in from @from to @to, or (@out) leaves. */
const char *local_ipsec_stops(const struct local *l, const struct xfrm *x, bool out,
			      const union addr *from, const union addr *to, const char **ret_fix);
/* What counts between hosts too, as JSON: nothing is added to @r. */
void local_warnings(const struct local *l, struct report *r, cJSON *list);
void local_put(struct report *r, cJSON *list, struct finding *f);
void local_data(const struct local *l, cJSON *data);
/* Other hosts of our subnet, to ask rules about: a neighbour of ours, the first and the last that
 * there may be, and those that some rule names. At least one. local_peers.c */
enum { PEER_SAMPLE = 16 };
typedef struct {
	union addr v[PEER_SAMPLE];
	size_t n;
} peer_sample;
void local_sample_peers(const struct local *l, peer_sample *ret);
/* What this host's rules say to a packet; address @from, which may be a peer's or made up. */
struct nft_answer local_rule(const struct local *l, bool input, bool udp, const union addr *from,
			     const union addr *to);
/* All of them that stop it, or (@answer) the answer to it, TCP, when the first packet came through.
 */
size_t local_rules(const struct local *l, bool input, bool answer, const union addr *from,
		   const union addr *to, struct nft_answer *ret, size_t max);
/*
 * A rule of this host's gives what it sends from @from to @to a mark (@answer: what answers a
 * question that came the other way), and a policy rule throws away what has it. NULL: none does;
 * else in words, and @ret_fix takes that policy rule away. local_mark.c
 */
const char *local_throws_away(const struct local *l, bool answer, const union addr *from,
			      const union addr *to, const char **ret_fix);

/*
 * Do this host's rules stop what IPv6 asks @peer by for its hardware address, or answers? Such
 * questions are no connection's, so rules that let all TCP through may do so all the same. Of a
 * @peer in another network it is the router's address that is asked for.
 */
bool local_stops_neighbours(const struct local *l, const union addr *mine, const union addr *peer,
			    struct nft_answer *ret);

#endif
