/*
 * One host whose network is not the one that all others are in, and nothing gets through: somebody
 * typed a wrong address, or there is a router between the two networks that does not do its part.
 * An address that a server gave is not typed, and that is a cloud's subnets, and their rules.
 */
#include "probes/port/mesh_judge.h"

/* Any but @at, of two or more. */
static const struct mesh_node *another(const struct mesh *m, size_t at)
{
	return &m->nodes[at == 0 ? 1 : 0];
}

bool mesh_is_stranger(const struct mesh *m, size_t at)
{
	const struct mesh_node *here = &m->nodes[at], *there;

	if (m->n < 3 || !here->subnet)
		return false;
	there = another(m, at);
	for (size_t i = 0; i < m->n; i++)
		if (i != at && (!m->nodes[i].subnet || !there->subnet ||
				!streq(m->nodes[i].subnet, there->subnet) ||
				m->nodes[i].prefix != here->prefix))
			return false;
	return !streq(here->subnet, there->subnet);
}

static unsigned char *bytes_of(union addr *x, size_t *ret_n)
{
	bool v4 = x->sa.sa_family == AF_INET;

	*ret_n = v4 ? 4 : 16;
	return v4 ? (unsigned char *)&x->v4.sin_addr : x->v6.sin6_addr.s6_addr;
}

/* The same host in the network of @net. */
static union addr moved(const struct mesh_node *x, const struct mesh_node *net)
{
	union addr ret = x->addr, other = net->addr;
	size_t n, bits = x->prefix;
	unsigned char *to = bytes_of(&ret, &n), *from = bytes_of(&other, &n);

	for (size_t i = 0; i < n; i++, bits -= bits < 8 ? bits : 8) {
		unsigned char mask = bits < 8 ? (unsigned char)(0xff00U >> bits) : 0xff;

		to[i] = (unsigned char)((from[i] & mask) | (to[i] & ~mask));
	}
	return ret;
}

static bool is_taken(const struct mesh *m, const union addr *x)
{
	for (size_t i = 0; i < m->n; i++)
		if (addr_equal(&m->nodes[i].addr, x))
			return true;
	return false;
}

/* Nothing passes between it and any of the others. */
static bool is_alone(const struct mesh *m, size_t at)
{
	for (size_t i = 0; i < m->n; i++)
		if (i != at && (!mesh_any_lost(m, at, i) || mesh_have_met(m, at, i)))
			return false;
	return true;
}

static void say(struct mesh *m, size_t at)
{
	const struct mesh_node *x = &m->nodes[at], *y = another(m, at);
	union addr to = moved(x, y);
	struct addr_text old, new;
	index_list others = {0};
	struct finding *f;

	for (size_t i = 0; i < m->n; i++)
		if (i != at)
			*LIST_ADD(m->a, &others) = i;
	f = mesh_say_link(m, "mesh.subnet", at, &others);
	finding_set(f, ST_FAIL,
		    "its network is %s and that of all others %s, and nothing gets through between "
		    "the two: a wrong address, or no way between them",
		    x->subnet, y->subnet);
	finding_expect(f, "an address in %s, or a router that leads there", y->subnet);
	addr_print(&x->addr, &old);
	addr_print(&to, &new);
	if (!is_taken(m, &to))
		finding_fix(f,
			    "sudo ip address add %s/%u dev %s && sudo ip address del %s/%u dev %s  "
			    " # on %s, if no other machine has %s, and to last in its network "
			    "settings",
			    new.s, x->prefix, x->iface ?: "IFACE", old.s, x->prefix,
			    x->iface ?: "IFACE", x->name, new.s);
	else
		finding_fix(f,
			    "sudo ip address add ADDRESS/%u dev %s && sudo ip address del %s/%u "
			    "dev %s   # on %s; ADDRESS: one in %s that nobody has, for %s is taken",
			    x->prefix, x->iface ?: "IFACE", old.s, x->prefix, x->iface ?: "IFACE",
			    x->name, y->subnet, new.s);
	finding_fix(f,
		    "traceroute -n %s   # on %s, if it is meant to be in another network: the "
		    "router between the two, and what it lets through",
		    addr_print(&y->addr, &old), x->name);
}

void mesh_strangers(struct mesh *m)
{
	for (size_t i = 0; i < m->n && m->n > 2; i++)
		if (!m->nodes[i].leased && m->nodes[i].addr.sa.sa_family && is_alone(m, i) &&
		    m->nodes[i].addr.sa.sa_family == another(m, i)->addr.sa.sa_family &&
		    mesh_is_stranger(m, i))
			say(m, i);
}
