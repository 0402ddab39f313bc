/* mtu: interfaces of one make on one host should agree; a NIC apart from its
 * siblings is how black holes begin. */
#include "lib/core/quote.h"
#include "probes/check/check.h"

static bool siblings(const struct iface *x, const struct iface *y)
{
	return x->kind == IFACE_PHYSICAL && y->kind == IFACE_PHYSICAL && x->driver && y->driver &&
	       streq(x->driver, y->driver) && x->speed_mbps == y->speed_mbps;
}

/* The MTU that most siblings of @x have, itself included; 0 without siblings. */
static unsigned usual_mtu(const struct suggestion *s, const struct iface *x)
{
	unsigned best = 0;
	size_t most = 1;

	for (size_t i = 0; i < s->candidates.n; i++) {
		const struct iface *a = s->candidates.v[i].iface;
		size_t same = 0;

		if (!s->candidates.v[i].usable || !siblings(a, x))
			continue;
		for (size_t k = 0; k < s->candidates.n; k++)
			same += s->candidates.v[k].usable &&
				siblings(s->candidates.v[k].iface, x) &&
				s->candidates.v[k].iface->mtu == a->mtu;
		if (same > most || (same == most && a->mtu > best)) {
			most = same;
			best = a->mtu;
		}
	}
	return best;
}

static void run(const struct check_input *in, struct report *r)
{
	for (size_t i = 0; i < in->s->candidates.n; i++) {
		const struct candidate *c = &in->s->candidates.v[i];
		unsigned usual = c->usable ? usual_mtu(in->s, c->iface) : 0;
		struct finding *f;

		if (!usual || usual == c->iface->mtu)
			continue;
		f = report_find(r, "link.mtu", c->iface->name);
		finding_set(f, ST_WARN, "MTU %u, while its siblings (%s) have %u", c->iface->mtu,
			    c->iface->driver, usual);
		finding_value(f, c->iface->mtu, "bytes");
		finding_expect(f, "%u", usual); /* for programs: the message says it */
		finding_fix(f, "sudo ip link set %s mtu %u", shell_quote(f->a, c->iface->name),
			    usual);
		report_add(r, f);
	}
}

const struct check check_mtu = {"an MTU unlike that of the interface's siblings", run};
