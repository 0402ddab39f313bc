/* routing: settings that may be right or wrong and that only a test between
 * hosts can judge; so they are information. */
#include "lib/core/file.h"
#include "lib/host/sysroot.h"
#include "probes/check/check.h"
#include "probes/rules/nccl.h"

#include <net/if.h>

static const char *sysctl(struct arena *a, const char *path)
{
	return file_line(a, sysroot_path(a, path));
}

static bool carries_traffic(const struct iface_addr *x)
{
	enum addr_class c = addr_class(&x->addr);

	return iface_is_running(x->iface) &&
	       (x->iface->kind <= IFACE_MACVLAN || x->iface->kind == IFACE_VETH) &&
	       c != ADDR_LINKLOCAL && c != ADDR_LOOPBACK;
}

/* NVIDIA/nccl#1580: only the listening side is bound, so of two NICs in one
 * subnet one sends for both unless policy routes say otherwise. */
static void same_subnet(const struct check_input *in, struct report *r)
{
	const struct inventory *inv = &in->f->inv;

	for (size_t i = 0; i < inv->addrs.n; i++)
		for (size_t k = i + 1; k < inv->addrs.n && k < 64; k++) {
			const struct iface_addr *x = &inv->addrs.v[i], *y = &inv->addrs.v[k];
			struct finding *f;

			if (x->iface == y->iface || x->prefix != y->prefix || !carries_traffic(x) ||
			    !carries_traffic(y) || x->prefix == 128 || x->prefix == 32 ||
			    !addr_in_subnet(&x->addr, &y->addr, y->prefix))
				continue;
			f = report_find(r, "net.same-subnet",
					arena_printf(report_arena(r), "%s and %s", x->iface->name,
						     y->iface->name));
			finding_set(f, ST_INFO,
				    "are in one subnet: without policy routes the kernel "
				    "sends through one of them for both");
			finding_fix(f, "ip rule   # a rule per source address makes it right");
			report_add(r, f);
			return; /* one pair tells it; eight NICs would make 28 */
		}
}

/* The kernel takes the larger of `all` and the interface's own. */
static int rp_filter_of(struct arena *a, const char *name)
{
	const char *own = sysctl(a, arena_printf(a, "/proc/sys/net/ipv4/conf/%s/rp_filter", name));

	return own ? *own - '0' : 0;
}

static void rp_filter(const struct check_input *in, struct report *r)
{
	struct arena *a = report_arena(r);
	int all = rp_filter_of(a, "all");
	size_t usable = 0, strict = 0;
	struct finding *f;
	struct text names;

	text_init(&names, a);
	for (size_t i = 0; all != 2 && i < in->s->candidates.n; i++) {
		const struct candidate *c = &in->s->candidates.v[i];
		int own = c->usable ? rp_filter_of(a, c->iface->name) : 0;

		usable += c->usable;
		if (!c->usable || (own > all ? own : all) != 1)
			continue;
		text_addf(&names, "%s%s", strict++ ? ", " : "", c->iface->name);
	}
	if (!strict || usable < 2)
		return;
	f = report_find(r, "net.rp-filter", names.s);
	finding_set(f, ST_INFO,
		    "%s strict (1) on a host with %zu usable interfaces: packets that come "
		    "in where the answer would not go out are dropped silently",
		    strict == 1 ? "is" : "are", usable);
	finding_expect(f, "2 (loose) where traffic may come in by several interfaces");
	finding_fix(f, "sudo sysctl -w net.ipv4.conf.all.rp_filter=2   # the larger of all and own "
		       "counts");
	report_add(r, f);
}

/* Measured on a fast path: bbr's pacing moves a quarter to two fifths of what
 * reno moves and costs 2.5-4 times the CPU per byte. NCCL's sockets take the default. */
static void congestion(const struct check_input *in, struct report *r)
{
	const char *cc = sysctl(in->f->a, "/proc/sys/net/ipv4/tcp_congestion_control");
	struct finding *f;

	if (!cc || !starts_with(cc, "bbr") || nccl_ib_carries_data(&in->f->in))
		return;
	f = report_find(r, "net.congestion", "tcp_congestion_control");
	finding_set(f, ST_INFO,
		    "is %s: it paces for the internet and is slow for NCCL's sockets in a "
		    "local network",
		    cc);
	finding_expect(f, "cubic or reno between the nodes of one cluster");
	finding_fix(f, "sudo sysctl -w net.ipv4.tcp_congestion_control=cubic");
	report_add(r, f);
}

static void run(const struct check_input *in, struct report *r)
{
	same_subnet(in, r);
	rp_filter(in, r);
	congestion(in, r);
}

const struct check check_routing = {"two NICs in one subnet, rp_filter, congestion control", run};
