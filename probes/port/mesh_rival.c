/*
 * Another machine, none of those that were asked, has the address of one of them: what is sent
 * there arrives at the one or at the other. Who is not reached asks its own network for its own
 * address, as RFC 5227 has it; who answers is the other one. And a host may have a peer's address
 * itself, as a bridge of containers whose network was made over the cluster's: what it sends there
 * never leaves it.
 */
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/port/mesh_judge.h"
#include "probes/port/mesh_self.h"

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>

/* ---- on its host ---- */
struct question {
	unsigned char kind[2], protocol[2], mac_n, addr_n, op[2];
	unsigned char from_mac[6], from[4], to_mac[6], to[4];
};

static struct question ask_for(const struct mesh_self *s)
{
	struct question q = {.kind = {0, ARPHRD_ETHER},
			     .protocol = {ETHERTYPE_IP >> 8, ETHERTYPE_IP & 0xff},
			     .mac_n = 6,
			     .addr_n = 4,
			     .op = {0, ARPOP_REQUEST}};

	memcpy(q.from_mac, s->cards[s->me].macs[0], sizeof(q.from_mac));
	memcpy(q.to, &s->addrs[s->me].v4.sin_addr, sizeof(q.to));
	return q;
}

/* Takes root; -1: it cannot be asked here. */
static int ask(const struct mesh_self *s, const struct question *q)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_ARP),
				 .sll_ifindex = s->local.s.iface->index,
				 .sll_halen = ETH_ALEN,
				 .sll_addr = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ARP));

	if (fd < 0)
		return -1;
	if (!bind(fd, (struct sockaddr *)&to, sizeof(to)) &&
	    sendto(fd, q, sizeof(*q), 0, (struct sockaddr *)&to, sizeof(to)) == sizeof(*q))
		return fd;
	(void)close(fd);
	return -1;
}

/* A card of our own that is in the same network answers, too. */
static bool is_rivals(const struct mesh_self *s, const struct question *q, const struct question *x)
{
	return x->op[1] == ARPOP_REPLY && !memcmp(x->from, q->to, sizeof(x->from)) &&
	       !mesh_is_card_of(&s->cards[s->me], x->from_mac);
}

void mesh_put_rival(struct mesh_self *s, cJSON *line)
{
	static const unsigned char none[6];
	const uint64_t until = now_ns() + 300 * NS_PER_MS;
	const struct question q = ask_for(s);
	struct question x;
	AUTO_CLOSE int fd = -1;
	struct pollfd p = {.events = POLLIN};

	if (!s->local.s.iface || s->addrs[s->me].sa.sa_family != AF_INET ||
	    s->local.s.iface->flags & IFF_NOARP || !memcmp(q.from_mac, none, sizeof(none)))
		return;
	fd = p.fd = ask(s, &q);
	for (int ms; fd >= 0 && (ms = ms_until(until));) {
		if (poll(&p, 1, ms) <= 0)
			return;
		if (recv(fd, &x, sizeof(x), 0) == sizeof(x) && is_rivals(s, &q, &x)) {
			json_str(line, "rival", mesh_mac_text(s->a, x.from_mac));
			return;
		}
	}
}

/* A machine that is named twice is another matter: mesh_same.c */
void mesh_put_own(struct mesh_self *s, cJSON *line)
{
	cJSON *list = NULL, *o;

	for (size_t i = 0; i < s->n; i++) {
		const struct iface_addr *x = i != s->me && s->addrs[i].sa.sa_family
						     ? inventory_by_addr(&s->f->inv, &s->addrs[i])
						     : NULL;

		if (!x || x == s->local.s.addr ||
		    !memcmp(s->cards[i].machine, s->cards[s->me].machine,
			    sizeof(s->cards[i].machine)))
			continue;
		list = list ?: json_array(line, "own");
		o = json_push_object(list);
		json_num(o, "to", (double)i);
		json_str(o, "iface", x->iface->name);
		json_num(o, "prefix", x->prefix);
	}
}

/* ---- where it is judged ---- */
/* Cards of ours with one hardware address, or one that knows no ARP, are another matter. */
static bool is_ours(const struct mesh *m, const char *mac)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->nodes[i].mac && streq(m->nodes[i].mac, mac))
			return true;
	return false;
}

/* With its address goes the route to its network, and all that it led astray. */
static void judge_own(struct mesh *m, const struct mesh_own *x)
{
	const struct mesh_node *at = &m->nodes[x->at], *to = &m->nodes[x->to];
	const index_list lost = mesh_lost_with(m, x->at);
	struct addr_text text;
	index_list others = {0};
	struct finding *f;
	bool own_card;

	if (!mesh_any_lost(m, x->at, x->to))
		return;
	for (size_t i = 0; i < lost.n; i++)
		if (addr_in_subnet(&m->nodes[lost.v[i]].addr, &to->addr, x->prefix))
			*LIST_ADD(m->a, &others) = lost.v[i];
	f = mesh_say_link(m, "mesh.twice", x->at, &others);
	for (size_t i = 0; i < m->n; i++) /* it says so to all who ask who has that address */
		if (i != x->to && mesh_any_lost(m, i, x->to))
			mesh_settle(m, i, x->to);
	addr_print(&to->addr, &text);
	finding_set(f, ST_FAIL,
		    "its interface %s has the address of %s, %s: what it sends there never leaves "
		    "it",
		    x->iface, to->name, text.s);
	own_card = at->iface && streq(at->iface, x->iface); /* nobody made a network for it */
	if (own_card)
		finding_expect(f, "an address that one host has");
	else
		finding_expect(f, "a network for %s that no other host is in", x->iface);
	finding_fix(f, "sudo ip address del %s/%u dev %s   # on %s, and %s", text.s, x->prefix,
		    x->iface, at->name,
		    own_card ? "in what gave it that address: its network settings, keepalived, "
			       "MetalLB"
			     : "give that network other addresses where it was made: Docker, "
			       "libvirt, a VPN");
}

void mesh_take_own(struct mesh *m, const cJSON *line, size_t me)
{
	const cJSON *list = json_get(line, "own");

	for (const cJSON *i = list ? list->child : NULL; i; i = i->next) {
		size_t to = mesh_node_of(m, json_get(i, "to"));
		const char *iface = json_copy(m->a, i, "iface");
		double prefix = json_get_num(i, "prefix", -1);

		if (to != MESH_NO_NODE && to != me && iface && prefix >= 0 && prefix <= 128)
			*LIST_ADD(m->a, &m->own) =
				(struct mesh_own){me, to, iface, (unsigned)prefix};
	}
}

void mesh_rivals(struct mesh *m)
{
	for (size_t i = 0; i < m->own.n; i++)
		judge_own(m, &m->own.v[i]);
	for (size_t i = 0; i < m->n; i++) {
		const struct mesh_node *x = &m->nodes[i];
		const char *iface = x->iface ?: "IFACE";
		struct addr_text at;
		struct finding *f;
		index_list others;

		if (!x->rival || is_ours(m, x->rival))
			continue;
		others = mesh_lost_with(m, i);
		if (!others.n)
			continue;
		addr_print(&x->addr, &at);
		f = mesh_say_link(m, "mesh.twice", i, &others);
		finding_set(f, ST_FAIL,
			    "its address %s is another machine's, too, one with the hardware "
			    "address %s: what is sent there arrives at the one or at the other",
			    at.s, x->rival);
		finding_expect(f, "an address that no other machine has");
		/* or the new one, the second of that network, would go with the first */
		finding_fix(f,
			    "sudo sysctl -qw net/ipv4/conf/%s/promote_secondaries=1 && sudo ip "
			    "address add ADDRESS/%u dev %s && sudo ip address del %s/%u dev %s   # "
			    "on %s, and to last in its network settings; ADDRESS: one that is "
			    "free; or give the other machine one: the switch knows at which port "
			    "%s is",
			    iface, x->prefix, iface, at.s, x->prefix, iface, x->name, x->rival);
	}
}
