/* mtu: interfaces of one make on one host should agree; a NIC apart from its
 * siblings is how black holes begin. */
#include "lib/core/quote.h"
#include "probes/check/check.h"

static bool siblings(const struct iface *x, const struct iface *y)
{
	return x->kind == IFACE_PHYSICAL && y->kind == IFACE_PHYSICAL && x->driver && y->driver &&
	       streq(x->driver, y->driver) && x->speed_mbps == y->speed_mbps;
}

static bool leads_out(const struct iface *x) { return x->default_route4 || x->default_route6; }

/* How many siblings of @x have @mtu, itself included. */
static size_t count(const struct suggestion *s, const struct iface *x, unsigned mtu)
{
	size_t n = 0;

	for (size_t i = 0; i < s->candidates.n; i++)
		n += s->candidates.v[i].usable && siblings(s->candidates.v[i].iface, x) &&
		     s->candidates.v[i].iface->mtu == mtu;
	return n;
}

/* The MTU that more of @x's siblings have than have any other; 0: there is none, or one has it. */
static unsigned usual_mtu(const struct suggestion *s, const struct iface *x)
{
	unsigned best = 0;
	size_t most = 1;

	for (size_t i = 0; i < s->candidates.n; i++) {
		const struct iface *a = s->candidates.v[i].iface;
		size_t same = 0;

		if (s->candidates.v[i].usable && siblings(a, x))
			same = count(s, x, a->mtu);
		if (same > most) {
			most = same;
			best = a->mtu;
		} else if (same == most && a->mtu != best) {
			best = 0;
		}
	}
	return best;
}

static bool share_subnet(const struct iface *x, const struct iface *y)
{
	for (const struct iface_addr *a = x->addrs; a; a = a->next)
		for (const struct iface_addr *b = y->addrs; b; b = b->next)
			if (iface_addr_is_usable(a) && iface_addr_is_usable(b) &&
			    a->prefix == b->prefix && addr_in_subnet(&a->addr, &b->addr, b->prefix))
				return true;
	return false;
}

/* One network has one MTU: of siblings there that of the one that leads out, or the larger. */
static unsigned network_mtu(const struct suggestion *s, const struct iface *x)
{
	for (size_t i = 0; i < s->candidates.n; i++) {
		const struct iface *y = s->candidates.v[i].iface;

		if (s->candidates.v[i].usable && y->mtu != x->mtu && siblings(x, y) &&
		    share_subnet(x, y))
			return leads_out(x)   ? x->mtu
			       : leads_out(y) ? y->mtu
					      : (x->mtu > y->mtu ? x->mtu : y->mtu);
	}
	return 0;
}

static void say(const struct iface *x, unsigned usual, struct report *r)
{
	struct finding *f = report_find(r, "link.mtu", x->name);

	finding_set(f, ST_WARN, "MTU %u, while its siblings (%s) have %u", x->mtu, x->driver,
		    usual);
	finding_value(f, x->mtu, "bytes");
	finding_expect(f, "%u", usual); /* for programs: the message says it */
	finding_fix(f, "sudo ip link set %s mtu %u%s", shell_quote(f->a, x->name), usual,
		    usual > x->mtu ? "   # if the network takes it" : "");
	report_add(r, f);
}

static void run(const struct check_input *in, struct report *r)
{
	for (size_t i = 0; i < in->s->candidates.n; i++) {
		const struct candidate *c = &in->s->candidates.v[i];
		unsigned usual;

		if (!c->usable)
			continue;
		usual = usual_mtu(in->s, c->iface) ?: network_mtu(in->s, c->iface);
		/* what leads out has the MTU of what is there, often the internet's */
		if (usual && usual != c->iface->mtu &&
		    !(usual > c->iface->mtu && leads_out(c->iface)))
			say(c->iface, usual, r);
	}
}

const struct check check_mtu = {"an MTU unlike that of the interface's siblings", run};
