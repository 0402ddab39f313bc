/*
 * Another machine, none of those that were asked, has the address of one of them: what is sent
 * there arrives at the one or at the other. Who is not reached asks its own network for its own
 * address, as RFC 5227 has it; who answers is the other one.
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
	for (uint64_t now; fd >= 0 && (now = now_ns()) < until;) {
		if (poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1) <= 0)
			return;
		if (recv(fd, &x, sizeof(x), 0) == sizeof(x) && is_rivals(s, &q, &x)) {
			json_str(line, "rival", mesh_mac_text(s->a, x.from_mac));
			return;
		}
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

void mesh_rivals(struct mesh *m)
{
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
