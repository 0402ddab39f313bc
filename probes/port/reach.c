#include "probes/port/reach.h"

#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/stats.h"
#include "lib/core/units.h"
#include "lib/host/straight.h"

#include <errno.h>
#include <math.h>
#include <net/if.h>
#include <sys/socket.h>

enum { MOST_SAMPLES = 1000000 };

/* Binding to an interface is anybody's right since Linux 5.7; before, its address must do. */
static bool may_bind_to_device(const char *name)
{
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 &&
	       !setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name) + 1);
}

int reach_from(const char *from, const struct facts *f, struct reach_opts *o, struct err *e)
{
	const struct iface *i = inventory_by_name(&f->inv, from);
	const struct iface_addr *mine;
	union addr addr;

	if (i) {
		mine = iface_best_addr(&f->inv, i, 0);
		if (may_bind_to_device(i->name))
			o->device = i->name;
		else if (mine)
			o->source = &mine->addr;
		else
			return err_set(e, ERR_USAGE, "--from: %s has no address", from);
		return 0;
	}
	mine = addr_parse(from, &addr) ? NULL : inventory_by_addr(&f->inv, &addr);
	if (!mine) {
		err_set(e, ERR_USAGE, "--from: '%s' is no interface and no address of this host",
			from);
		return err_hint(e, "ifprobe lists them");
	}
	o->source = &mine->addr;
	return 0;
}

static const struct iface_addr *source_of(const struct facts *f, const struct route *route,
					  int family)
{
	union addr a = {.sa.sa_family = (sa_family_t)family};

	if (!route->has_source)
		return NULL;
	if (family == AF_INET)
		memcpy(&a.v4.sin_addr, route->source, 4);
	else
		memcpy(&a.v6.sin6_addr, route->source, 16);
	return inventory_by_addr(&f->inv, &a);
}

static bool is_neighbour(const struct facts *f, const struct route *route)
{
	const struct iface *out = inventory_by_index(&f->inv, route->oif);

	return route->type == RTN_UNICAST && !route->has_gateway && out &&
	       !(out->flags & (IFF_NOARP | IFF_LOOPBACK | IFF_POINTOPOINT));
}

static void take_gateway(struct reach_way *way, const struct route *route, sa_family_t family)
{
	way->has_gateway = route->has_gateway;
	way->gateway = (union addr){.sa.sa_family = family};
	if (family == AF_INET)
		memcpy(&way->gateway.v4.sin_addr, route->gateway, 4);
	else
		memcpy(&way->gateway.v6.sin6_addr, route->gateway, 16);
}

/* Policy rules may know the address that a packet leaves from, which is chosen before them. */
static void look_again(struct facts *f, const struct port_target *t, int oif, struct reach_way *way)
{
	struct err ignored = {0};
	struct route route;

	if (!way->reachable || !way->source ||
	    netlink_route(&f->nl, t->addrs.v, oif, &way->source->addr, &route, &ignored))
		return;
	way->reachable = route.reachable;
	if (!route.reachable)
		way->why = route.why;
	take_gateway(way, &route, t->addrs.v->sa.sa_family);
	way->router = straight_router(&route, way->source, t->addrs.v, f->a);
	if (way->router)
		way->is_near = way->on_link = false;
}

static struct reach_way find_way(struct facts *f, const struct port_target *t,
				 const struct reach_opts *o)
{
	const struct iface *out = o->device ? inventory_by_name(&f->inv, o->device) : NULL;
	struct reach_way way = {.reachable = true};
	struct err ignored = {0};
	struct route route;

	if (!t->addrs.n ||
	    netlink_route(&f->nl, t->addrs.v, out ? out->index : 0, o->source, &route, &ignored))
		return way;
	way.reachable = route.reachable;
	way.is_near = is_neighbour(f, &route);
	way.on_link = way.is_near && t->addrs.v->sa.sa_family == AF_INET;
	way.oif = route.oif;
	take_gateway(&way, &route, t->addrs.v->sa.sa_family);
	way.why = route.why;
	way.source = source_of(f, &route, t->addrs.v->sa.sa_family);
	if (!way.source && o->source)
		way.source = inventory_by_addr(&f->inv, o->source);
	look_again(f, t, out ? out->index : 0, &way);
	return way;
}

static size_t count_probes(const target_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->v[i].ports.n * (l->v[i].addrs.n ? l->v[i].addrs.n : 1);
	return n;
}

static void lay_out(const target_list *l, struct reach *ret)
{
	struct reach_result *x = ret->v;

	for (size_t i = 0; i < l->n; i++) {
		const struct port_target *t = &l->v[i];
		size_t addrs = t->addrs.n ? t->addrs.n : 1;

		for (size_t k = 0; k < addrs * t->ports.n; k++, x++)
			*x = (struct reach_result){.target = t,
						   .addr = t->addrs.n ? &t->addrs.v[k / t->ports.n]
								      : NULL,
						   .port = t->ports.v[k % t->ports.n],
						   .state = t->unasked ? PORT_UNKNOWN : PORT_DNS,
						   .cause = CAUSE_NAME,
						   .ms = NAN};
	}
}

size_t reach_of_address(const struct reach *r, size_t from)
{
	size_t end = from;

	while (end < r->n && r->v[end].target == r->v[from].target &&
	       r->v[end].addr == r->v[from].addr)
		end++;
	return end - from;
}

static void tick(void *arg, size_t done, size_t total)
{
	(void)arg;
	log_progress("ports", done, total);
}

static bool is_ours(const union addr *a, void *arg)
{
	const struct facts *f = arg;

	return addr_class(a) == ADDR_LOOPBACK || inventory_by_addr(&f->inv, a) != NULL;
}

/* The kernel's own "no" has other errnos for other kinds of route: ask which it was. */
static struct port_verdict by_route(const struct reach_way *way, struct port_verdict v,
				    const struct scan_probe *p)
{
	if (way->reachable || p->by.sa.sa_family ||
	    (v.state != PORT_UNREACHABLE && v.state != PORT_UNKNOWN))
		return v;
	v.state = PORT_UNREACHABLE;
	v.cause = streq(way->why, "no route") ? CAUSE_NO_ROUTE : CAUSE_OWN_ROUTE;
	return v;
}

static void take(struct reach_result *x, const struct scan_probe *p, const struct reach *r,
		 const struct reach_way *way, struct facts *f)
{
	struct port_verdict v = by_route(way, port_verdict(p, r->udp, is_ours, f), p);

	x->state = (uint8_t)v.state;
	x->cause = (uint8_t)v.cause;
	x->error = p->error;
	x->by = p->by;
	if (v.state != PORT_FILTERED && v.state != PORT_SILENT && v.state != PORT_UNKNOWN)
		x->ms = (float)p->took_us / 1000;
}

static int scan(struct scan_probe *v, size_t n, const struct reach_opts *o, struct err *e)
{
	const struct scan_opts so = {.device = o->device,
				     .source = o->source,
				     .patience_ns = o->patience_ns,
				     .tick = tick};

	return o->udp ? scan_udp(v, n, &so, e) : scan_tcp(v, n, &so, e);
}

/* Asks what answered again and again, and keeps each one's median. */
static int repeat(struct reach *r, const struct reach_opts *o, struct arena *a, struct err *e)
{
	size_t many = 0, n = 0, rounds = 1;
	struct scan_probe *p = arena_alloc(a, r->n * sizeof(*p));
	float *ms;

	for (size_t i = 0; i < r->n; i++) {
		if (!port_state_is_reached(r->v[i].state))
			continue;
		p[many].to = *r->v[i].addr;
		addr_set_port(&p[many++].to, r->v[i].port);
	}
	if (many * o->count > MOST_SAMPLES)
		return err_set(e, ERR_USAGE, "--count %u of %zu ports is too much", o->count, many);
	ms = arena_alloc(a, (many * o->count + 1) * sizeof(*ms));
	for (; rounds < o->count && !interrupt_pending(); rounds++) {
		if (scan(p, many, o, e))
			return -1;
		for (size_t i = 0; i < many; i++)
			ms[i * o->count + rounds] =
				p[i].state == TCP_PENDING ? INFINITY : (float)p[i].took_us / 1000;
	}
	for (size_t i = 0; i < r->n; i++) {
		if (!port_state_is_reached(r->v[i].state))
			continue;
		ms[n * o->count] = r->v[i].ms;
		sort_floats(&ms[n * o->count], rounds);
		r->v[i].ms = ms[n++ * o->count + rounds / 2];
	}
	return 0;
}

int reach_run(const target_list *targets, struct facts *f, const struct reach_opts *o,
	      struct reach *ret, struct err *e)
{
	AUTO_FREE struct scan_probe *p = NULL;
	size_t n = 0;

	*ret = (struct reach){.n = count_probes(targets), .udp = o->udp};
	ret->v = arena_alloc(f->a, ret->n * sizeof(*ret->v) + 1);
	ret->ways = arena_alloc(f->a, targets->n * sizeof(*ret->ways) + 1);
	lay_out(targets, ret);
	for (size_t i = 0; i < targets->n; i++)
		ret->ways[i] = find_way(f, &targets->v[i], o);
	p = calloc(ret->n + 1, sizeof(*p));
	if (!p)
		return err_set(e, ERR_SYS, "no memory for %zu ports", ret->n);
	for (size_t i = 0; i < ret->n; i++)
		if (ret->v[i].addr) {
			p[n].to = *ret->v[i].addr;
			addr_set_port(&p[n++].to, ret->v[i].port);
		}
	if (scan(p, n, o, e))
		return -1;
	log_progress_end();
	n = 0;
	for (size_t i = 0; i < ret->n; i++)
		if (ret->v[i].addr) {
			take(&ret->v[i], &p[n++], ret, &ret->ways[ret->v[i].target - targets->v],
			     f);
		}
	reach_spread(ret, targets, f->a);
	return o->count > 1 ? repeat(ret, o, f->a, e) : 0;
}
