/* rdma: half-configured fabrics that NCCL would walk into, ports slower than their siblings, and
 * ports that no program here can open, what NCCL_SOCKET_IFNAME still decides where RDMA carries the
 * data. */
#include "lib/core/quote.h"
#include "lib/host/sysroot.h"
#include "probes/check/check.h"
#include "probes/rules/nccl.h"

#include <math.h>
#include <net/if.h>

static bool has_global_address(const struct inventory *inv, const struct iface *i)
{
	return iface_best_addr(inv, i, 0) != NULL;
}

/* NCCL's first automatic pass takes any name that begins with "ib". */
static void ipoib(const struct check_input *in, struct report *r)
{
	for (size_t k = 0; k < in->f->inv.ifaces.n; k++) {
		const struct iface *i = &in->f->inv.ifaces.v[k];
		struct finding *f;

		if (i->kind != IFACE_IPOIB || !iface_is_running(i) ||
		    has_global_address(&in->f->inv, i))
			continue;
		f = report_find(r, "rdma.ipoib", i->name);
		finding_set(
			f, ST_WARN, "IPoIB is up without an address%s",
			starts_with(i->name, "ib") && i->naddrs
				? ": NCCL prefers names that begin with \"ib\", even with only a "
				  "link-local address"
				: "");
		finding_fix(f,
			    "sudo ip addr add ADDR/PREFIX dev %s   # or: sudo ip link set %s down",
			    shell_quote(f->a, i->name), shell_quote(f->a, i->name));
		report_add(r, f);
	}
}

static const char *port_name(struct report *r, const struct rdma_device *d,
			     const struct rdma_port *p)
{
	return arena_printf(report_arena(r), "%s:%u", d->name, p->number);
}

static void port(const struct rdma_device *d, const struct rdma_port *p, struct report *r)
{
	struct finding *f;

	if (!p->active || p->link != RDMA_ROCE || !p->gids_read || p->gids.n)
		return;
	f = report_find(r, "rdma.gid", port_name(r, d, p));
	finding_set(f, ST_WARN,
		    "active RoCE port whose GIDs are all zero%s%s: NCCL would pick it and "
		    "fail to connect",
		    p->iface ? "; it belongs to " : "", p->iface ? p->iface : "");
	if (p->iface)
		finding_fix(f,
			    "sudo ip addr add ADDR/PREFIX dev %s   # a RoCE GID comes from an IP "
			    "address",
			    shell_quote(f->a, p->iface));
	finding_fix(f, "eval \"$(ifprobe --suggest)\"   # leaves the port out with NCCL_IB_HCA");
	report_add(r, f);
}

/* What a cable, a transceiver or the switch's port does not carry is agreed on when the link comes
 * up: it stays ACTIVE, and each collective waits for it. */
static void slower(const rdma_list *all, const struct rdma_device *d, const struct rdma_port *p,
		   struct report *r)
{
	double usual = p->active && !d->is_part ? rdma_usual_gbps(all, d, p) : NAN;
	struct finding *f;

	if (!(p->rate_gbps < usual))
		return;
	f = report_find(r, "rdma.rate", port_name(r, d, p));
	finding_set(f, ST_WARN,
		    "runs at %g Gb/s, most ports of its kind here at %g: its cable, transceiver or "
		    "switch port",
		    p->rate_gbps, usual);
	finding_value(f, p->rate_gbps, "Gb/s");
	finding_expect(f, "%g Gb/s", usual);
	if (p->link == RDMA_ROCE && p->iface)
		finding_fix(f, "ethtool %s   # what both ends can; then reseat or change the cable",
			    shell_quote(f->a, p->iface));
	else
		finding_fix(
			f,
			"sudo mlxlink -d %s -m -c   # what is in the cage, and its errors; then "
			"reseat or change it",
			shell_quote(f->a, d->name));
	report_add(r, f);
}

/* /sys shows the host's devices in a container, too; NCCL opens them, or goes on with sockets. */
static void not_open(const struct check_input *in, struct report *r)
{
	size_t active = 0;
	struct finding *f;

	for (size_t d = 0; d < in->f->rdma.n; d++)
		for (size_t p = 0; p < in->f->rdma.v[d].ports.n; p++)
			active += nccl_ib_port_counts(&in->f->rdma.v[d].ports.v[p]);
	if (!active || nccl_ib_can_open(&in->f->in))
		return;
	f = report_find(r, "rdma.open", "/dev/infiniband");
	finding_set(f, ST_WARN,
		    "%zu RDMA port%s ACTIVE, but no device of theirs can be opened here: NCCL's "
		    "data goes over TCP",
		    active, active == 1 ? " is" : "s are");
	finding_expect(f, "/dev/infiniband/uverbs* that this user may open");
	if (sysroot_exists("/dev/infiniband"))
		finding_fix(f, "ls -l /dev/infiniband   # who may open uverbs*? rdma-core lets "
			       "everybody");
	finding_fix(f, "docker run --device /dev/infiniband ...   # for a container; Kubernetes: "
		       "what the RDMA device plug-in offers, in the pod's limits");
	if (!sysroot_exists("/dev/infiniband"))
		finding_fix(f, "sudo modprobe ib_uverbs   # on the host itself");
	report_add(r, f);
}

static void bootstrap_only(const struct check_input *in, struct report *r)
{
	size_t used = nccl_ib_ports_used(&in->f->in);
	struct finding *f;

	if (!used)
		return;
	f = report_find(r, "rdma.bootstrap", "NCCL_SOCKET_IFNAME");
	finding_set(f, ST_INFO,
		    "%zu active RDMA port%s will carry the data: NCCL_SOCKET_IFNAME decides the "
		    "bootstrap only",
		    used, used == 1 ? "" : "s");
	finding_value(f, (double)used, "ports");
	report_add(r, f);
}

static void run(const struct check_input *in, struct report *r)
{
	ipoib(in, r);
	for (size_t d = 0; d < in->f->rdma.n; d++)
		for (size_t p = 0; p < in->f->rdma.v[d].ports.n; p++) {
			port(&in->f->rdma.v[d], &in->f->rdma.v[d].ports.v[p], r);
			slower(&in->f->rdma, &in->f->rdma.v[d], &in->f->rdma.v[d].ports.v[p], r);
		}
	not_open(in, r);
	bootstrap_only(in, r);
}

const struct check check_rdma = {"half-configured IPoIB, RoCE ports without a GID, slow ports",
				 run};
