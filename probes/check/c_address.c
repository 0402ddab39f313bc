/* address: is there an interface that peers could reach, and which are useless? */
#include "lib/core/quote.h"
#include "probes/check/check.h"
#include "probes/rules/names.h"

#include <linux/if_addr.h>
#include <net/if.h>

static bool is_nic(const struct iface *i)
{
	return i->kind <= IFACE_MACVLAN || i->kind == IFACE_VETH;
}

/* What would make a NIC usable, as far as software can. */
static void mend(const struct iface *i, struct finding *f)
{
	if (i->kind == IFACE_BRIDGE && i->naddrs && iface_is_up(i) && !iface_is_running(i))
		finding_fix(f,
			    "bridge link   # %s: which of its ports are there, and does one "
			    "forward? listening or learning: spanning tree, half a minute",
			    i->name);
	if (!is_nic(i) || i->master)
		return;
	if (!iface_is_up(i))
		finding_fix(f, "sudo ip link set %s up", shell_quote(f->a, i->name));
	else if (!iface_is_running(i))
		finding_fix(f, "ethtool %s   # no carrier: cable, switch port or driver?",
			    shell_quote(f->a, i->name));
	else
		finding_fix(f, CHECK_ADD_ADDRESS "%s   # or start its DHCP client",
			    shell_quote(f->a, i->name));
}

/* --- IPv6's search for duplicates, which gives the only address up, or still lasts -------------
 */
static const struct iface_addr *find_doubt(const struct suggestion *s, unsigned flag)
{
	const struct iface_addr *x = NULL;

	for (size_t k = 0; k < s->candidates.n && !x; k++) {
		const struct iface *i = s->candidates.v[k].iface;

		if (is_nic(i) && iface_is_running(i))
			x = iface_addr_in_doubt(i, flag);
	}
	return x;
}

/* Its other owner's answer is passed over as long as this host has that address, too. */
static void say_duplicate(const struct iface_addr *x, struct finding *f)
{
	const char *nic = shell_quote(f->a, x->iface->name);
	struct addr_text t;
	const char *at = addr_print(&x->addr, &t);

	finding_set(f, ST_FAIL,
		    "another machine on the network of %s has its address %s, too, and so the "
		    "kernel does not use it (dadfailed)",
		    x->iface->name, at);
	finding_expect(f, "an address that no other machine has");
	finding_fix(f,
		    "sudo ip addr del %s/%u dev %s; sudo ip addr add ADDRESS/%u dev %s   # one "
		    "that no machine has",
		    at, x->prefix, nic, x->prefix, nic);
	finding_fix(f,
		    "ping -c 1 %s; ip neigh show %s   # then, behind lladdr: the card of the "
		    "machine that has it",
		    at, at);
}

static void say_tentative(const struct iface_addr *x, struct finding *f)
{
	struct addr_text t;

	finding_set(f, ST_FAIL,
		    "the address %s of %s is still being checked for duplicates, which takes a "
		    "second or two",
		    addr_print(&x->addr, &t), x->iface->name);
	finding_expect(f, "an address that no other machine has");
	finding_fix(f, "sleep 3; ifprobe   # look again");
}

static bool is_in_doubt(const struct suggestion *s, struct finding *f)
{
	const struct iface_addr *x = find_doubt(s, IFA_F_DADFAILED);

	if (x) {
		say_duplicate(x, f);
		return true;
	}
	x = find_doubt(s, IFA_F_TENTATIVE);
	if (x)
		say_tentative(x, f);
	return x;
}

/* --- which interface peers could reach -------------------------------------------------------- */
static void usable(const struct check_input *in, struct report *r)
{
	struct finding *f;
	struct addr_text at;

	if (in->s->iface) {
		f = report_find(r, "addr.usable", in->s->iface->name);
		if (!suggest_warn_of_nat(&in->f->in, in->s, f))
			finding_set(f, ST_PASS, "%s: %s", addr_print(&in->s->addr->addr, &at),
				    in->s->why);
		report_add(r, f);
		return;
	}
	f = report_find(r, "addr.usable", "this host");
	if (in->s->tried) { /* those finding no peer have findings of their own: peer.reach */
		finding_set(f, in->s->cut_short ? ST_SKIP : ST_FAIL,
			    in->s->cut_short ? "the peers were not asked to the end"
					     : "no interface reaches every peer");
		finding_expect(f, "one interface through which every peer answers");
		if (!in->s->cut_short)
			finding_fix(f, "ifprobe --suggest   # what it would be without the peers");
		report_add(r, f);
		return;
	}
	if (is_in_doubt(in->s, f)) {
		report_add(r, f);
		return;
	}
	finding_set(f, ST_FAIL,
		    "no interface is up, running and has an address that another host "
		    "could reach");
	finding_expect(f, "one interface with a private or public address");
	for (size_t i = 0; i < in->s->candidates.n; i++)
		mend(in->s->candidates.v[i].iface, f);
	if (!f->fix.n)
		finding_fix(f,
			    "ip link   # no NIC at all; in a container: docker run --network host");
	report_add(r, f);
}

/* The link-local one of @label that NCCL's prediction means. */
static const struct iface_addr *find_addr(const struct inventory *inv, const char *label, bool v6)
{
	for (size_t i = 0; i < inv->addrs.n; i++) {
		const struct iface_addr *x = &inv->addrs.v[i];

		if (streq(x->label, label) && (x->addr.sa.sa_family == AF_INET6) == v6 &&
		    addr_class(&x->addr) == ADDR_LINKLOCAL)
			return x;
	}
	return NULL;
}

/* No setting of NCCL's passes over the first address of a NIC, and where there is no other to
 * suggest the lack of an address is what to mend. */
static void mend_link_local(const struct check_input *in, const struct iface_addr *x,
			    struct finding *f)
{
	if (in->s->iface &&
	    (in->s->iface != x->iface || in->s->addr->addr.sa.sa_family != x->addr.sa.sa_family))
		finding_fix(f, "eval \"$(ifprobe --suggest)\"");
	else
		names_advise_linklocal(&in->f->inv, x, f);
}

/* A NIC with nothing but fe80 joins NCCL's data traffic and breaks it: its
 * scope id means another interface on every other host. */
static void link_local_only(const struct check_input *in, struct report *r)
{
	for (size_t i = 0; i < in->nccl->interfaces.n; i++) {
		const char *name = in->nccl->interfaces.v[i];
		const char *addr = in->nccl->addresses.v[i];
		const struct iface_addr *x;
		struct finding *f;

		if (!starts_with(addr, "fe80:") && !starts_with(addr, "169.254."))
			continue;
		x = find_addr(&in->f->inv, name, starts_with(addr, "fe80:"));
		if (!x)
			continue;
		f = report_find(r, "addr.linklocal", name);
		finding_set(f, ST_WARN, "has %s link-local address %s, and NCCL would use it",
			    names_has_better(&in->f->inv, x->iface) ? "first the" : "only the",
			    addr);
		mend_link_local(in, x, f);
		report_add(r, f);
	}
}

static void run(const struct check_input *in, struct report *r)
{
	usable(in, r);
	link_local_only(in, r);
}

const struct check check_address = {"a usable address; NICs with a link-local address only", run};
