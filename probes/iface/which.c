#include "probes/iface/which.h"

#include "lib/report/json.h"

struct found {
	const struct iface_addr *at; /* NULL: not an address of this host */
	const char *how;	     /* "address", "cloud metadata", "route" */
	const struct iface *towards; /* not ours: where a packet to it would leave */
	const char *trouble;	     /* why the cloud could not be asked, or NULL */
};

static void by_cloud(struct facts *f, const union addr *to, uint64_t total_ns, struct found *ret)
{
	struct err ignored = {0};
	struct cloud cloud = {0};

	if (cloud_read(f->a, total_ns, &cloud, &ignored))
		return;
	ret->trouble = cloud.trouble;
	for (size_t i = 0; i < cloud.map.n; i++)
		if (addr_equal(&cloud.map.v[i].public_addr, to)) {
			ret->at = inventory_by_addr(&f->inv, &cloud.map.v[i].private_addr);
			ret->how = "cloud metadata";
		}
}

static void by_route(struct facts *f, const union addr *to, bool public, struct found *ret)
{
	struct err ignored = {0};
	struct route route;

	if (netlink_route(&f->nl, to, 0, NULL, &route, &ignored) || !route.reachable)
		return;
	ret->towards = inventory_by_index(&f->inv, route.oif);
	if (!public || !ret->towards)
		return;
	ret->at = iface_best_addr(&f->inv, ret->towards, to->sa.sa_family);
	ret->how = "route";
}

/* fe80 as people copy it, without the scope that tells which interface. */
static const struct iface_addr *by_link_local(const struct inventory *inv, const union addr *to)
{
	for (size_t i = 0; addr_class(to) == ADDR_LINKLOCAL && i < inv->addrs.n; i++) {
		union addr scoped = *to;

		if (to->sa.sa_family == AF_INET6 && !to->v6.sin6_scope_id)
			scoped.v6.sin6_scope_id = inv->addrs.v[i].addr.v6.sin6_scope_id;
		if (addr_equal(&inv->addrs.v[i].addr, &scoped))
			return &inv->addrs.v[i];
	}
	return NULL;
}

static struct found look(struct facts *f, const union addr *to, uint64_t cloud_ns)
{
	struct found found = {
		.at = inventory_by_addr(&f->inv, to) ?: by_link_local(&f->inv, to),
		.how = "address",
	};
	bool public = addr_class(to) == ADDR_PUBLIC;

	if (found.at)
		return found;
	if (public)
		by_cloud(f, to, cloud_ns, &found);
	if (!found.at)
		by_route(f, to, public, &found);
	return found;
}

static void say(const struct found *w, struct finding *f)
{
	struct addr_text at;

	if (!w->at) {
		finding_set(f, ST_FAIL, "is not an address of this host%s%s",
			    w->towards ? "; packets to it leave through "
				       : " and there is no route to it",
			    w->towards ? w->towards->name : "");
		finding_expect(f, "an address that `ip addr` shows here");
		finding_fix(f, "ifprobe   # lists this host's addresses");
	} else if (streq(w->how, "route")) {
		finding_set(
			f, ST_WARN,
			"is a public address; no cloud metadata names the private one, so by route "
			"it would be %s (%s)%s%s",
			addr_print(&w->at->addr, &at), w->at->iface->name, w->trouble ? "; " : "",
			w->trouble ? w->trouble : "");
		finding_fix(f, "ifprobe --ip %s   # if that is this host's private address",
			    addr_print(&w->at->addr, &at));
	} else if (streq(w->how, "address")) {
		finding_set(f, ST_PASS, "is on %s", w->at->iface->name);
	} else {
		finding_set(f, ST_PASS,
			    "is a public address of this host: behind it is %s on %s (%s)",
			    addr_print(&w->at->addr, &at), w->at->iface->name, w->how);
	}
}

int which_interface(struct facts *f, const struct which_opts *o, struct report *r, struct err *e)
{
	struct finding *finding = report_find(r, "ip.interface", o->given);
	struct addr_text at;
	struct found w;
	union addr to;

	if (addr_parse(o->given, &to)) {
		err_set(e, ERR_USAGE, "--ip: '%s' is not an IP address", o->given);
		return err_hint(e, "an address looks like 10.0.0.5 or fd00::5");
	}
	w = look(f, &to, o->cloud_ns);
	say(&w, finding);
	report_add(r, finding);
	if (w.at) {
		const char *line = o->name_only ? arena_printf(f->a, "%s\n", w.at->iface->name)
						: arena_printf(f->a, "%s %s\n", w.at->iface->name,
							       addr_print(&w.at->addr, &at));

		report_answer(r, line, strlen(line));
	}
	if (report_wants_data(r)) {
		cJSON *d = json_object(report_data(r), "ip");

		json_str(d, "given", o->given);
		json_str(d, "class", addr_class_name(addr_class(&to)));
		json_str(d, "how", w.at ? w.how : NULL);
		json_str(d, "interface", w.at ? w.at->iface->name : NULL);
		json_str(d, "address", w.at ? addr_print(&w.at->addr, &at) : NULL);
		json_str(d, "leaves_through", w.towards ? w.towards->name : NULL);
	}
	return 0;
}
