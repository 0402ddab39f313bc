/*
 * Pairs that failed below TCP, where it is known why: two cards with one hardware address, an
 * entry for a neighbour that is another machine's, a card that does not ask for neighbours, a
 * netmask that is not the others'. One finding for each host, instead of what its pairs look like.
 */
#include "probes/port/mesh_judge.h"

#include "lib/report/json.h"

#include <endian.h>

/* What it looks like when frames go astray. */
static bool is_lost(const struct mesh_cell *c)
{
	switch ((enum port_cause)c->cause) {
	case CAUSE_DROPPED:
	case CAUSE_DOWN:
	case CAUSE_NOBODY:
	case CAUSE_NOT_SEEN:
	case CAUSE_NOBODY_THERE:
	case CAUSE_NO_ROUTE:
	case CAUSE_NO_ROUTE_THERE:
	case CAUSE_NO_WAY_BACK:
	case CAUSE_OTHER_WAY:
	case CAUSE_WAY_BACK:
	case CAUSE_ROUTER:
	case CAUSE_ROUTER_BACK:
	case CAUSE_LOST_ANSWER:
	case CAUSE_RESET:
	case CAUSE_IMPOSTOR:
		return c->row && c->bad && !c->rule;
	default:
		return false;
	}
}

bool mesh_any_lost(const struct mesh *m, size_t x, size_t y)
{
	return is_lost(mesh_at(m, x, y)) || is_lost(mesh_at(m, y, x));
}

/* By the secret that came back, or where some ports answer, and not with a refusal that ours would
 * not have sent. */
bool mesh_has_met(const struct mesh *m, size_t from, size_t to)
{
	const struct mesh_cell *c = mesh_at(m, from, to);

	return c->row &&
	       (c->talked || (c->bad < m->nodes[to].ports.n && !port_cause_is_stranger(c->cause)));
}

bool mesh_have_met(const struct mesh *m, size_t x, size_t y)
{
	return mesh_has_met(m, x, y) || mesh_has_met(m, y, x);
}

/* Both ways of it are explained by what is said of one of the two. */
void mesh_settle(struct mesh *m, size_t x, size_t y)
{
	const size_t ways[][2] = {{x, y}, {y, x}};

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		const struct mesh_cell *c = mesh_at(m, ways[i][0], ways[i][1]);

		if (is_lost(c) || (mesh_is_bulk((enum port_cause)c->cause) && !c->rule))
			mesh_edit(m, ways[i][0], ways[i][1])->cause = CAUSE_LINK;
	}
}

static void settle_way(struct mesh *m, size_t from, size_t to)
{
	struct mesh_cell *c;

	if (!m->rows[from])
		return;
	c = mesh_edit(m, from, to);
	c->late = 0;
	c->crawl_mbps = 0;
	if (mesh_cell_is_bad(c) && !c->rule)
		c->cause = CAUSE_LINK;
}

void mesh_settle_all(struct mesh *m, size_t at)
{
	for (size_t i = 0; i < m->n; i++) {
		settle_way(m, at, i);
		settle_way(m, i, at);
	}
}

struct finding *mesh_say_link(struct mesh *m, const char *check, size_t at,
			      const index_list *others)
{
	struct finding *f = tally_add(&m->told, 0, "mesh", check, m->nodes[at].name);

	tally_of_host(&m->told, m->nodes[at].name);
	for (size_t i = 0; i < others->n; i++)
		mesh_settle(m, at, others->v[i]);
	return f;
}

index_list mesh_lost_with(const struct mesh *m, size_t at)
{
	index_list ret = {0};

	for (size_t i = 0; i < m->n; i++)
		if (i != at && mesh_any_lost(m, at, i))
			*LIST_ADD(m->a, &ret) = i;
	return ret;
}

static const char *card(const struct mesh_node *x) { return x->iface ?: "IFACE"; }

/* ---- one hardware address ---- */
/* From its address, which is its own: 02:00:0a:4d:00:03. */
static const char *own_mac(const struct mesh *m, const struct mesh_node *x)
{
	const unsigned char *v = x->addr.sa.sa_family == AF_INET
					 ? (const unsigned char *)&x->addr.v4.sin_addr
					 : &x->addr.v6.sin6_addr.s6_addr[12];

	return arena_printf(m->a, "02:00:%02x:%02x:%02x:%02x", v[0], v[1], v[2], v[3]);
}

static void judge_twin(struct mesh *m, size_t first, size_t at)
{
	const struct mesh_node *x = &m->nodes[at], *y = &m->nodes[first];
	bool v6 = x->addr.sa.sa_family == AF_INET6;
	struct finding *f;
	index_list here;

	/* a switch sends nothing back where it came from; containers on one card (ipvlan) meet */
	if (!x->mac || !y->mac || !streq(x->mac, y->mac) || !x->subnet || !y->subnet ||
	    !streq(x->subnet, y->subnet) || !mesh_any_lost(m, at, first) ||
	    mesh_have_met(m, at, first))
		return;
	here = mesh_lost_with(m, at);
	f = mesh_say_link(m, "mesh.mac", at, &here);
	for (size_t i = 0; i < m->n; i++) { /* bulk that stalls halfway is of it, too */
		mesh_settle(m, first, i);
		mesh_settle(m, at, i);
	}
	finding_set(f, ST_FAIL,
		    "its card %s has the hardware address of %s, %s: what is sent to the one "
		    "arrives at the other, as with copies of a virtual machine",
		    card(x), y->name, x->mac);
	finding_expect(f, "a hardware address of its own for each card");
	/* the others remember the one of before, unless they are told */
	finding_fix(f,
		    "sudo sysctl -qw net/ipv%d/conf/%s/%s_notify=1 && sudo ip link set dev %s "
		    "address %s   # on %s, and to last where it was copied",
		    v6 ? 6 : 4, card(x), v6 ? "ndisc" : "arp", card(x), own_mac(m, x), x->name);
}

/* ---- neighbours ---- */
static void judge_noarp(struct mesh *m, size_t at)
{
	const struct mesh_node *x = &m->nodes[at];
	index_list others = {0};
	struct finding *f;

	for (size_t i = 0; i < m->n && x->noarp; i++)
		if (mesh_have_met(m, at, i)) /* it needs no ARP, as with ipvlan's mode l3 */
			return;
	if (x->noarp)
		others = mesh_lost_with(m, at);
	if (!others.n)
		return;
	f = mesh_say_link(m, "mesh.arp", at, &others);
	finding_set(f, ST_FAIL,
		    "its card %s neither asks for hardware addresses nor answers for its own "
		    "(NOARP): %s cannot meet it",
		    card(x), mesh_names_of(m, &others));
	finding_expect(f, "ARP on");
	finding_fix(f, "sudo ip link set dev %s arp on   # on %s", card(x), x->name);
}

static bool is_refused(const struct mesh_cell *c)
{
	return c->row && port_cause_is_stranger(c->cause) && !c->rule;
}

static void judge_stray(struct mesh *m, const struct mesh_stray *s)
{
	const struct mesh_node *x = &m->nodes[s->from], *y = &m->nodes[s->to];
	const index_list other = {.v = (size_t[]){s->to}, .n = 1};
	struct addr_text at;
	struct finding *f;

	/* behind a repeater of a wireless network cards have its address, and are found; but who
	 * refuses where the host itself listens is another machine, even if that one is heard */
	if (!mesh_any_lost(m, s->from, s->to) ||
	    (mesh_have_met(m, s->from, s->to) && !is_refused(mesh_at(m, s->from, s->to))))
		return;
	f = mesh_say_link(m, "mesh.arp", s->from, &other);
	finding_set(f, ST_FAIL,
		    s->fixed ? "sends what is for %s to the hardware address %s, by an entry that "
			       "somebody made, and that is not its card's"
			     : "sends what is for %s to the hardware address %s, which is not its "
			       "card's: another machine says that it has the address",
		    y->name, s->mac);
	finding_expect(f, "%s", y->mac ?: "that of its card");
	if (s->fixed)
		finding_fix(f, "sudo ip neigh del %s dev %s   # on %s", addr_print(&y->addr, &at),
			    card(x), x->name);
	else
		finding_fix(f,
			    "sudo ip neigh flush to %s   # on %s, once the machine with %s, which "
			    "is none of these, has another address",
			    addr_print(&y->addr, &at), x->name, s->mac);
}

/* ---- netmasks ---- */
/* Its first and last address are for no host. */
static bool is_edge(const struct mesh_node *net, const struct mesh_node *x)
{
	uint32_t hosts, at = be32toh(x->addr.v4.sin_addr.s_addr);

	if (net->addr.sa.sa_family != AF_INET || !net->prefix || net->prefix > 30)
		return false;
	hosts = UINT32_MAX >> net->prefix;
	return (at & hosts) == hosts || !(at & hosts);
}

static bool contains(const struct mesh_node *net, const struct mesh_node *x)
{
	return net->addr.sa.sa_family == x->addr.sa.sa_family &&
	       addr_in_subnet(&x->addr, &net->addr, net->prefix) && !is_edge(net, x);
}

/* So many hosts have a netmask of that length. */
struct masks {
	size_t v4[33], v6[129];
};

static size_t *with_prefix(struct masks *all, const struct mesh_node *like)
{
	if (like->addr.sa.sa_family == AF_INET)
		return like->prefix < ARRAY_LEN(all->v4) ? &all->v4[like->prefix] : NULL;
	return &all->v6[like->prefix]; /* which is no more than 128 */
}

static struct masks count_masks(const struct mesh *m)
{
	struct masks all = {0};

	for (size_t i = 0; i < m->n; i++) {
		size_t *n = with_prefix(&all, &m->nodes[i]);

		*(n ?: &(size_t){0}) += 1;
	}
	return all;
}

/* A network of one host is what some clouds give, with a route to all others. */
static bool lacks_route(const struct mesh *m, size_t from, size_t to)
{
	const struct mesh_node *x = &m->nodes[from];

	return x->prefix < (x->addr.sa.sa_family == AF_INET ? 32 : 128) ||
	       mesh_at(m, from, to)->cause == CAUSE_NO_ROUTE;
}

/* Of two of whom only one has the other in its network, is it the mask of @x that is odd? Of as
 * many the narrower one. */
static bool is_odd(struct masks *all, const struct mesh_node *x, const struct mesh_node *y)
{
	const size_t *like_x = with_prefix(all, x), *like_y = with_prefix(all, y);

	if (!like_x || !like_y || x->prefix == y->prefix || !x->prefix || !y->prefix ||
	    contains(x, y) == contains(y, x))
		return false;
	return *like_x < *like_y || (*like_x == *like_y && x->prefix > y->prefix);
}

static void judge_mask(struct mesh *m, struct masks *all, size_t at)
{
	const struct mesh_node *x = &m->nodes[at], *usual = NULL;
	index_list others = {0};
	struct addr_text text;
	struct finding *f;

	for (size_t i = 0; i < m->n; i++)
		if (i != at && mesh_any_lost(m, at, i) && !mesh_have_met(m, at, i) &&
		    lacks_route(m, at, i) && is_odd(all, x, &m->nodes[i])) {
			usual = usual ?: &m->nodes[i];
			*LIST_ADD(m->a, &others) = i;
		}
	if (!usual)
		return;
	f = mesh_say_link(m, "mesh.netmask", at, &others);
	finding_set(f, ST_FAIL,
		    "its network is /%u (%s) and that of %s is /%u: they do not find each other",
		    x->prefix, x->subnet, mesh_names_of(m, &others), usual->prefix);
	finding_expect(f, "the same netmask on all hosts of a network");
	addr_print(&x->addr, &text);
	/* who was the old network's broadcast address stays one for the kernel for minutes */
	finding_fix(f,
		    "sudo ip address add %s/%u dev %s && sudo ip address del %s/%u dev %s && "
		    "sudo ip neigh flush dev %s nud noarp   # on %s, and to last in its network "
		    "settings",
		    text.s, usual->prefix, card(x), text.s, x->prefix, card(x), card(x), x->name);
}

/* ---- all of it ---- */
void mesh_link(struct mesh *m)
{
	struct masks all = count_masks(m);

	mesh_flaps(m);
	mesh_gone(m);
	mesh_rivals(m);
	mesh_astray(m);
	for (size_t i = 0; i < m->n; i++)
		judge_noarp(m, i);
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = i + 1; k < m->n && m->nodes[i].mac; k++)
			judge_twin(m, i, k);
	for (size_t i = 0; i < m->strays.n; i++)
		judge_stray(m, &m->strays.v[i]);
	for (size_t i = 0; i < m->n; i++)
		judge_mask(m, &all, i);
	mesh_strangers(m);
}

/* What ranks say of it: none of it is trusted. */
void mesh_take_link(struct mesh *m, const cJSON *line, size_t me)
{
	const cJSON *strays = json_get(line, "strays"), *undo = json_get(line, "undo");

	mesh_take_own(m, line, me);
	for (const cJSON *i = strays ? strays->child : NULL; i; i = i->next) {
		size_t to = mesh_node_of(m, json_get(i, "to"));
		const char *mac = json_copy(m->a, i, "mac");

		if (to != MESH_NO_NODE && mac)
			*LIST_ADD(m->a, &m->strays) = (struct mesh_stray){
				me, to, mac, cJSON_IsTrue(json_get(i, "fixed"))};
	}
	if (undo) /* what it says of rates has none */
		m->nodes[me].undone = m->undone.n;
	for (const cJSON *i = undo ? undo->child : NULL; i; i = i->next) {
		size_t to = mesh_node_of(m, json_get(i, "to"));
		const char *text = json_copy(m->a, i, "undo");

		if (to != MESH_NO_NODE && text)
			*LIST_ADD(m->a, &m->undone) = (struct mesh_undo){me, to, text};
	}
}
