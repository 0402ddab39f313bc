/*
 * A host whose address went away while the hosts asked each other: the time that it was given for
 * ended, or somebody took it. Answers to what it asked go to an address that nobody has any more,
 * which looks like a firewall that drops, whoever is asked.
 */
#include "lib/host/sysroot.h"
#include "lib/net/own_addr.h"
#include "lib/report/json.h"
#include "probes/port/mesh_judge.h"
#include "probes/port/mesh_self.h"

/* ---- on a rank's host ---- */
bool mesh_is_gone(const struct mesh_self *s)
{
	return s->addrs[s->me].sa.sa_family && sysroot_is_real() && !own_addr(&s->addrs[s->me]);
}

int mesh_tell_gone(struct mesh_self *s, struct err *e)
{
	const unsigned char mine = mesh_is_gone(s);

	return rdzv_all_gather(s->rdzv, &mine, sizeof(mine), s->gone, e);
}

/* ---- where it is judged ---- */
static const char *who_gave_it(const struct mesh_node *x)
{
	return x->addr.sa.sa_family == AF_INET6 ? "a router by its advertisements (RA), or DHCPv6"
						: "DHCP";
}

static void say(struct mesh *m, size_t at)
{
	const struct mesh_node *x = &m->nodes[at];
	struct finding *f = mesh_say_link(m, "mesh.address", at, &(const index_list){0});
	struct addr_text text;

	addr_print(&x->addr, &text);
	finding_set(f, ST_FAIL, "its address %s went away while the hosts asked each other: %s",
		    text.s,
		    x->leased ? arena_printf(m->a,
					     "it was given for a time, by %s, and that time ended",
					     who_gave_it(x))
			      : "somebody took it away, or a program: NetworkManager, cloud-init, "
				"keepalived");
	finding_expect(f, "an address that stays");
	if (x->iface && x->prefix)
		finding_fix(f,
			    "sudo ip address replace %s/%u dev %s   # on %s: the same one, for "
			    "good; and to last in its network settings",
			    text.s, x->prefix, x->iface, x->name);
	finding_fix(f,
		    "journalctl --since -1h | grep -i -e dhcp -e networkmanager -e networkd -e "
		    "%s   # on %s: %s",
		    text.s, x->name,
		    x->leased ? "who gave it, and why not once more" : "who took it away");
}

void mesh_gone(struct mesh *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct mesh_node *x = &m->nodes[i];

		/* IPv6's go with the link, and that is said */
		if (!x->gone || (x->flaps && !x->aside))
			continue;
		mesh_settle_all(m, i);
		say(m, i);
	}
}
