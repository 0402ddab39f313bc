#include "lib/host/rdma.h"
#include "lib/host/sysroot.h"

#include <fcntl.h>
#include <math.h>

enum { GIDS_MAX = 256, PORTS_MAX = 255, MISSES_MAX = 4 };

#define DEVICE "/sys/class/infiniband/%s"
#define PORT DEVICE "/ports/%u"

const char *rdma_link_name(enum rdma_link l)
{
	static const char *const names[] = {
		[RDMA_INFINIBAND] = "InfiniBand", [RDMA_ROCE] = "RoCE",	      [RDMA_EFA] = "EFA",
		[RDMA_IWARP] = "iWARP",		  [RDMA_UNKNOWN] = "unknown",
	};

	return names[l];
}

/* "4: ACTIVE" -> "ACTIVE" */
static const char *after_colon(const char *s)
{
	const char *colon = s ? strstr(s, ": ") : NULL;

	return colon ? colon + 2 : s;
}

/* "100 Gb/sec (4X EDR)" */
static double parse_rate(const char *s)
{
	char *end = NULL;
	double gbps = s ? strtod(s, &end) : NAN;

	return s && end != s && starts_with(end, " Gb/sec") && isfinite(gbps) ? gbps : NAN;
}

static enum rdma_link link_of(struct arena *a, const struct rdma_device *d, unsigned port)
{
	const char *layer = sysroot_line(a, PORT "/link_layer", d->name, port);
	const char *node = sysroot_line(a, DEVICE "/node_type", d->name);

	if (d->driver && streq(d->driver, "efa"))
		return RDMA_EFA;
	if (node && strstr(node, "RNIC"))
		return RDMA_IWARP;
	if (layer && streq(layer, "InfiniBand"))
		return RDMA_INFINIBAND;
	return layer && streq(layer, "Ethernet") ? RDMA_ROCE : RDMA_UNKNOWN;
}

static void read_gids(struct arena *a, const struct rdma_device *d, struct rdma_port *p)
{
	for (unsigned i = 0, misses = 0; i < GIDS_MAX && misses < MISSES_MAX; i++) {
		const char *gid = sysroot_line(a, PORT "/gids/%u", d->name, p->number, i);
		struct rdma_gid *g;

		misses = gid ? 0 : misses + 1;
		p->gids_read |= gid != NULL;
		if (!gid || !gid[strspn(gid, "0:")])
			continue;
		g = LIST_ADD(a, &p->gids);
		g->index = i;
		g->gid = gid;
		g->type = sysroot_line(a, PORT "/gid_attrs/types/%u", d->name, p->number, i);
		g->ndev = sysroot_line(a, PORT "/gid_attrs/ndevs/%u", d->name, p->number, i);
		g->ipv4_mapped = starts_with(gid, "0000:0000:0000:0000:0000:ffff:");
	}
}

/*
 * The interface that shares the PCI function. Two ports of one function tell
 * themselves apart by dev_port (by dev_id before Linux 3.15), counted from 0.
 */
static const char *shared_iface(struct arena *a, const struct rdma_device *d, unsigned port)
{
	str_list names;

	sysroot_list(a, &names, DEVICE "/device/net", d->name);
	for (size_t i = 0; i < names.n; i++) {
		int64_t at = sysroot_int(a, port - 1, DEVICE "/device/net/%s/dev_port", d->name,
					 names.v[i]);

		if (at == (int64_t)port - 1)
			return names.v[i];
	}
	return NULL;
}

static const char *iface_of(struct arena *a, const struct rdma_device *d, const struct rdma_port *p)
{
	for (size_t i = 0; i < p->gids.n; i++) {
		if (p->gids.v[i].ndev && *p->gids.v[i].ndev)
			return p->gids.v[i].ndev;
	}
	return shared_iface(a, d, p->number);
}

/* 0: what the folder of ports has there is none. */
static unsigned port_number(const char *name)
{
	char *end;
	unsigned long number = strtoul(name, &end, 10);

	return !*end && number <= PORTS_MAX ? (unsigned)number : 0;
}

static bool is_active(const char *state) { return state && streq(state, "ACTIVE"); }

static const char *state_of(struct arena *a, const char *device, unsigned port)
{
	return after_colon(sysroot_line(a, PORT "/state", device, port));
}

static void read_port(struct arena *a, struct rdma_device *d, unsigned number)
{
	struct rdma_port *p = LIST_ADD(a, &d->ports);

	p->number = number;
	p->link = link_of(a, d, number);
	p->state = state_of(a, d->name, number);
	p->phys_state = after_colon(sysroot_line(a, PORT "/phys_state", d->name, number));
	p->rate_gbps = parse_rate(sysroot_line(a, PORT "/rate", d->name, number));
	p->active = is_active(p->state);
	read_gids(a, d, p);
	p->iface = iface_of(a, d, p);
}

static int64_t model_of(struct arena *a, const char *name)
{
	int64_t vendor = sysroot_int(a, -1, DEVICE "/device/vendor", name);
	int64_t device = sysroot_int(a, -1, DEVICE "/device/device", name);

	return vendor < 0 || device < 0 ? -1 : vendor << 16 | device;
}

/* In a virtual machine, and in a pod that has it for itself, it is a card as any other. */
static bool is_part(struct arena *a, const char *name)
{
	str_list whole;

	sysroot_list(a, &whole, DEVICE "/device/physfn/infiniband", name);
	return whole.n;
}

static void read_device(struct arena *a, const char *name, rdma_list *all)
{
	struct rdma_device *d = LIST_ADD(a, all);
	str_list ports;

	d->name = name;
	d->driver = sysroot_link_name(a, DEVICE "/device/driver", name);
	d->pci = sysroot_link_name(a, DEVICE "/device", name);
	d->firmware = sysroot_line(a, DEVICE "/fw_ver", name);
	d->model = model_of(a, name);
	d->board = sysroot_line(a, DEVICE "/board_id", name);
	d->is_part = is_part(a, name);
	d->numa = (int)sysroot_int(a, -1, DEVICE "/device/numa_node", name);
	sysroot_list(a, &ports, DEVICE "/ports", name);
	for (size_t i = 0; i < ports.n; i++) {
		unsigned number = port_number(ports.v[i]);

		if (number)
			read_port(a, d, number);
	}
}

bool rdma_is_alike(const struct rdma_device *x, const struct rdma_device *y)
{
	return x->model == y->model && streq(x->board ?: "", y->board ?: "") &&
	       x->is_part == y->is_part;
}

/* How many active ports are of that kind, and how many of those run at @gbps. */
static size_t count_kind(const rdma_list *all, const struct rdma_device *d,
			 const struct rdma_port *p, double gbps, size_t *ret_at)
{
	size_t n = 0;

	*ret_at = 0;
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < all->v[i].ports.n; k++) {
			const struct rdma_port *o = &all->v[i].ports.v[k];

			if (!o->active || o->link != p->link || !rdma_is_alike(&all->v[i], d) ||
			    isnan(o->rate_gbps))
				continue;
			n++;
			*ret_at += !(o->rate_gbps < gbps) && !(o->rate_gbps > gbps);
		}
	return n;
}

double rdma_usual_gbps(const rdma_list *all, const struct rdma_device *d, const struct rdma_port *p)
{
	for (size_t i = 0; d->model >= 0 && i < all->n; i++)
		for (size_t k = 0; k < all->v[i].ports.n; k++) {
			double gbps = all->v[i].ports.v[k].rate_gbps;
			size_t at, n = count_kind(all, d, p, gbps, &at);

			if (n > 2 && 2 * at > n)
				return gbps;
		}
	return NAN;
}

bool rdma_has_active_port(struct arena *a, const struct iface *i)
{
	str_list names, ports;

	sysroot_list(a, &names, "/sys/class/infiniband");
	for (size_t k = 0; i->device && k < names.n; k++) {
		const struct rdma_device d = {.name = names.v[k]};
		const char *device = sysroot_link_name(a, DEVICE "/device", d.name);

		if (!device || !streq(device, i->device))
			continue;
		sysroot_list(a, &ports, DEVICE "/ports", d.name);
		for (size_t j = 0; j < ports.n; j++) {
			unsigned port = port_number(ports.v[j]);
			const char *on = port ? shared_iface(a, &d, port) : NULL;

			if (on && streq(on, i->name) && is_active(state_of(a, d.name, port)))
				return true;
		}
	}
	return false;
}

void rdma_read(struct arena *a, rdma_list *ret)
{
	str_list names;

	*ret = (rdma_list){0};
	sysroot_list(a, &names, "/sys/class/infiniband");
	for (size_t i = 0; i < names.n; i++)
		read_device(a, names.v[i], ret);
}

bool rdma_is_usable(struct arena *a)
{
	str_list nodes;

	sysroot_list(a, &nodes, "/dev/infiniband");
	for (size_t i = 0; i < nodes.n; i++) {
		const char *path = arena_printf(a, "/dev/infiniband/%s", nodes.v[i]);
		AUTO_CLOSE int fd = starts_with(nodes.v[i], "uverbs")
					    ? open(sysroot_path(a, path), O_RDWR | O_CLOEXEC)
					    : -1;

		if (fd >= 0)
			return true;
	}
	return false;
}
