/*
 * What is below TCP on a rank's host: the hardware addresses of its cards and whose it sends to,
 * and what in its routing tables takes packets for a peer away from the card.
 */
#include "probes/port/mesh_self.h"

#include "lib/host/straight.h"
#include "lib/report/json.h"
#include "probes/port/fix.h"

#include <linux/neighbour.h>
#include <net/if.h>
#include <net/if_arp.h>

enum { MAC = 6, MOST_UNDONE = 64 };

/* ---- hardware addresses ---- */
static bool is_none(const unsigned char *mac)
{
	static const unsigned char none[MAC];

	return !memcmp(mac, none, MAC);
}

static bool read_mac(const struct iface *i, unsigned char *ret)
{
	return i->type == ARPHRD_ETHER && i->mac &&
	       sscanf(i->mac, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &ret[0], &ret[1], &ret[2], &ret[3],
		      &ret[4], &ret[5]) == MAC &&
	       !is_none(ret);
}

/* Any card of a host may answer for any address of it, and any card of a bond for the bond. */
void mesh_macs(const struct mesh_self *s, struct mesh_card *c)
{
	const struct inventory *inv = &s->f->inv;
	const struct iface *mine = s->local.s.iface;
	size_t n = 1;

	if (!mine || s->idle || !read_mac(mine, c->macs[0]))
		return;
	for (size_t i = 0; i < inv->ifaces.n && n < MESH_MACS; i++)
		if (inv->ifaces.v[i].index != mine->index &&
		    (inv->ifaces.v[i].naddrs || inv->ifaces.v[i].master == mine->index))
			n += read_mac(&inv->ifaces.v[i], c->macs[n]);
}

bool mesh_is_card_of(const struct mesh_card *c, const unsigned char *mac)
{
	for (size_t i = 0; i < MESH_MACS; i++)
		if (!memcmp(c->macs[i], mac, MAC))
			return true;
	return false;
}

const char *mesh_mac_text(struct arena *a, const unsigned char *v)
{
	return arena_printf(a, "%02x:%02x:%02x:%02x:%02x:%02x", v[0], v[1], v[2], v[3], v[4], v[5]);
}

void mesh_put_card(struct mesh_self *s, cJSON *line)
{
	const unsigned char *mac = s->cards[s->me].macs[0];

	if (!is_none(mac))
		json_str(line, "mac", mesh_mac_text(s->a, mac));
	if (s->local.s.addr->iface->flags & IFF_NOARP && !is_none(mac))
		json_bool(line, "noarp", true);
}

static bool find_neighbour(struct mesh_self *s, size_t peer, struct neighbour *ret)
{
	const struct iface_addr *mine = s->local.s.addr;
	struct err ignored;

	return mine && peer != s->me && s->addrs[peer].sa.sa_family &&
	       !is_none(s->cards[peer].macs[0]) &&
	       !netlink_neighbour(&s->f->nl, &s->addrs[peer], mine->iface->index, ret, &ignored) &&
	       ret->known && ret->has_mac &&
	       !(ret->state & (NUD_INCOMPLETE | NUD_FAILED | NUD_NOARP)); /* a broadcast's */
}

/* Lost peers to whose own card it goes: it enters where the address is, and at no other card. */
static void put_straight(struct mesh_self *s, cJSON *line)
{
	cJSON *list = json_array(line, "straight");
	struct neighbour x;

	for (size_t i = 0; i < s->n; i++)
		if ((mesh_lost(s, s->me, i) || mesh_lost(s, i, s->me)) &&
		    find_neighbour(s, i, &x) && !memcmp(s->cards[i].macs[0], x.mac, MAC) &&
		    !mesh_goes_elsewhere(s, i))
			cJSON_AddItemToArray(list, cJSON_CreateNumber((double)i));
}

/*
 * Lost peers, and the entry for their address is another machine's. Virtual networks answer with
 * hardware addresses of their own, so one that was learned counts only where others' are right.
 */
void mesh_put_strays(struct mesh_self *s, cJSON *line)
{
	cJSON *list = json_array(line, "strays");
	struct neighbour x;
	size_t right = 0;

	put_straight(s, line);
	for (size_t i = 0; i < s->n; i++)
		right += find_neighbour(s, i, &x) && mesh_is_card_of(&s->cards[i], x.mac);
	for (size_t i = 0; i < s->n; i++) {
		bool lost = mesh_lost(s, i, s->me) || mesh_lost(s, s->me, i), fixed;
		cJSON *o;

		if (!lost || !find_neighbour(s, i, &x) || mesh_is_card_of(&s->cards[i], x.mac) ||
		    mesh_goes_elsewhere(s, i))
			continue;
		fixed = x.state & NUD_PERMANENT;
		if (!fixed && !right)
			continue;
		o = json_push_object(list);
		json_num(o, "to", (double)i);
		json_str(o, "mac", mesh_mac_text(s->a, x.mac));
		json_bool(o, "fixed", fixed);
	}
}

/* ---- ways ---- */
/* False: it has none. */
static bool find_route(struct mesh_self *s, size_t peer, const union addr *from, struct route *ret)
{
	struct err ignored = {0};

	*ret = (struct route){0};
	return !netlink_route(&s->f->nl, &s->addrs[peer], 0, from, ret, &ignored) && ret->reachable;
}

/* A bridge of containers, or a VPN, that has taken the network of a card is no rail. */
static bool may_be_rail(const struct iface *x)
{
	return iface_is_up(x) && !(x->flags & (IFF_LOOPBACK | IFF_POINTOPOINT)) &&
	       x->kind != IFACE_CONTAINER && x->kind != IFACE_VPN && x->kind != IFACE_DUMMY;
}

/* Another card of ours in the network of @peer, and in that of our own address: a rail that is
 * meant to be there. NULL: @oif is none. */
static const struct iface_addr *twin(const struct mesh_self *s, int oif, const union addr *peer)
{
	const struct iface_addr *mine = s->local.s.addr;

	for (size_t i = 0; i < s->f->inv.addrs.n; i++) {
		const struct iface_addr *x = &s->f->inv.addrs.v[i];

		if (x->iface->index == oif && oif != mine->iface->index && x->prefix &&
		    x->prefix == mine->prefix && may_be_rail(x->iface) &&
		    x->addr.sa.sa_family == peer->sa.sa_family &&
		    addr_in_subnet(peer, &x->addr, x->prefix) &&
		    addr_in_subnet(&mine->addr, &x->addr, x->prefix))
			return x;
	}
	return NULL;
}

const char *mesh_twin(const struct mesh_self *s)
{
	const struct iface_addr *mine = s->local.s.addr;

	for (size_t i = 0; mine && i < s->f->inv.ifaces.n; i++)
		if (twin(s, s->f->inv.ifaces.v[i].index, &mine->addr))
			return s->f->inv.ifaces.v[i].name;
	return NULL;
}

/* Does what goes to @peer leave through another interface than what comes from it enters? */
bool mesh_goes_elsewhere(struct mesh_self *s, size_t peer)
{
	const struct iface_addr *mine = s->local.s.addr;
	struct route x;

	if (!mine)
		return false;
	return (find_route(s, peer, NULL, &x) && x.oif && x.oif != mine->iface->index &&
		!twin(s, x.oif, &s->addrs[peer])) ||
	       (find_route(s, peer, &mine->addr, &x) && x.oif && x.oif != mine->iface->index);
}

static bool is_forbidden(const struct route *x) { return x->why && !streq(x->why, "no route"); }

/* Each address leaves through its own card, and no route goes: one of them may carry our ssh. */
static const char *part_cards(const struct mesh_self *s, const struct iface_addr *other)
{
	enum { TABLE = 1001 };
	const struct iface_addr *both[] = {s->local.s.addr, other};
	const char *ip = addr_ip_command(other->addr.sa.sa_family);
	struct text t;

	text_init(&t, s->a);
	for (unsigned i = 0; i < ARRAY_LEN(both); i++) {
		struct addr_text at;

		addr_print(&both[i]->addr, &at);
		text_addf(&t, "%s%s route replace %s dev %s src %s table %u && ", i ? " && " : "",
			  ip, fix_subnet(both[i], s->a), both[i]->iface->name, at.s, TABLE + i);
		text_addf(&t, "%s rule add from %s lookup %u priority %u", ip, at.s, TABLE + i,
			  TABLE + i);
	}
	return arena_printf(s->a, "sh -c '%s'", t.s);
}

/* NULL: it was not asked. */
static const struct reach_way *way_to(const struct mesh_self *s, size_t peer)
{
	for (size_t i = 0; i < s->targets.n; i++)
		if (s->target_rank[i] == peer)
			return &s->reach.ways[i];
	return NULL;
}

/* What to take away, so that what goes to @peer leaves through our card. NULL: not known. */
static const char *undo(struct mesh_self *s, size_t peer)
{
	const struct iface_addr *mine = s->local.s.addr;
	const union addr *to = &s->addrs[peer];
	const struct reach_way *way = way_to(s, peer);
	const struct iface_addr *other;
	struct route x;

	if (way && way->undo)
		return way->undo;
	if (to->sa.sa_family != mine->addr.sa.sa_family)
		return NULL;
	if (!find_route(s, peer, NULL, &x))
		return netlink_undo_rule(&s->f->nl, NULL, to, is_forbidden(&x), s->a)
			       ?: is_forbidden(&x) ? netlink_pass_forbidden(&s->f->nl, to, s->a)
						   : NULL;
	if (!find_route(s, peer, &mine->addr, &x))
		return netlink_undo_rule(&s->f->nl, &mine->addr, to, is_forbidden(&x), s->a);
	if (way && way->router && !way->paths)
		return straight_command(&s->f->nl, mine, to, s->a);
	if (!addr_in_subnet(to, &mine->addr, mine->prefix) || !mesh_goes_elsewhere(s, peer))
		return NULL;
	other = twin(s, x.oif, to);
	if (other)
		return part_cards(s, other);
	return netlink_prefer_main(&s->f->nl, mine->iface->index, &mine->addr, to, s->a)
		       ?: netlink_undo_route(&s->f->nl, &mine->addr, to, s->a);
}

void mesh_put_undo(struct mesh_self *s, cJSON *line)
{
	cJSON *list = json_array(line, "undo");
	size_t told = 0;

	for (size_t i = 0; i < s->n && s->local.s.addr && told < MOST_UNDONE; i++) {
		bool lost = mesh_lost(s, i, s->me) || mesh_lost(s, s->me, i);
		const char *text =
			lost && i != s->me && s->addrs[i].sa.sa_family ? undo(s, i) : NULL;
		cJSON *o;

		if (!text)
			continue;
		o = json_push_object(list);
		json_num(o, "to", (double)i);
		json_str(o, "undo", text);
		told++;
	}
}
