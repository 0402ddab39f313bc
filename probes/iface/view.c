#include "probes/iface/view.h"

#include "lib/core/units.h"
#include "lib/report/json.h"

#include <linux/rtnetlink.h>
#include <math.h>
#include <net/if.h>

static struct cell text(const char *s) { return (struct cell){.text = s, .number = NAN}; }
static struct cell number(double v) { return (struct cell){.number = v}; }

static const struct column iface_columns[] = {
	{.name = "interface", .is_text = true},
	{.name = "kind", .is_text = true},
	{.name = "state", .is_text = true},
	{.name = "mtu"},
	{.name = "speed", .is_text = true, .right = true},
	{.name = "driver", .is_text = true},
	{.name = "numa"},
	{.name = "pci", .is_text = true},
	{.name = "because", .is_text = true},
	{.name = "addresses", .is_text = true, .is_list = true},
};
static const struct series iface_view = {"interfaces", iface_columns, ARRAY_LEN(iface_columns),
					 true};

static const char *speed_text(struct arena *a, const struct iface *i)
{
	struct unit_buf b;

	return i->detailed && i->speed_mbps > 0
		       ? arena_strdup(a, format_mbps(&b, (uint64_t)i->speed_mbps))
		       : NULL;
}

/* "10.0.0.4/24 private", "fe80::4/64 link-local", "default route", a line each */
static const char *addresses_text(const struct facts *f, const struct iface *i)
{
	struct text t;
	struct addr_text at;

	text_init(&t, f->a);
	for (const struct iface_addr *x = i->addrs; x; x = x->next) {
		union addr shown = x->addr;

		if (shown.sa.sa_family == AF_INET6)
			shown.v6.sin6_scope_id = 0; /* it would repeat the row's name */
		text_addf(&t, "%s%s/%u", t.n ? "\n" : "", addr_print(&shown, &at), x->prefix);
		if (i->kind != IFACE_LOOPBACK)
			text_addf(&t, " %s", addr_class_name(addr_class(&x->addr)));
	}
	if (i->default_route4 || i->default_route6)
		text_add(&t, t.n ? "\ndefault route" : "default route");
	return t.n ? t.s : NULL;
}

static const char *pci_slot(const struct iface *i)
{
	return i->bus && streq(i->bus, "pci") ? i->device : NULL;
}

static void iface_row(const struct facts *f, const struct candidate *c, bool with_why,
		      struct report *r)
{
	const struct iface *i = c->iface;
	const struct cell cells[] = {
		text(i->name),
		text(iface_kind_name(i->kind)),
		text(iface_state_name(i)),
		number(i->mtu),
		text(speed_text(f->a, i)),
		text(i->driver),
		number(i->detailed && i->numa >= 0 ? i->numa : NAN),
		text(pci_slot(i)),
		text(with_why ? c->why : NULL),
		text(addresses_text(f, i)),
	};

	report_row(r, cells);
}

static const char *scope_name(unsigned char scope)
{
	return scope == RT_SCOPE_UNIVERSE ? "global"
	       : scope == RT_SCOPE_LINK	  ? "link"
	       : scope == RT_SCOPE_HOST	  ? "host"
					  : "site";
}

static void addresses_data(const struct iface *i, cJSON *o)
{
	cJSON *all = json_array(o, "addresses");
	struct addr_text at;

	for (const struct iface_addr *x = i->addrs; x; x = x->next) {
		cJSON *one = json_push_object(all);

		json_str(one, "address", addr_print(&x->addr, &at));
		json_num(one, "prefix", x->prefix);
		json_str(one, "scope", scope_name(x->scope));
		json_str(one, "class", addr_class_name(addr_class(&x->addr)));
		json_str(one, "label", x->label);
	}
}

static void iface_data(const struct candidate *c, cJSON *all)
{
	const struct iface *i = c->iface;
	cJSON *o = json_push_object(all);

	json_num(o, "index", i->index);
	json_str(o, "name", i->name);
	json_str(o, "kind", iface_kind_name(i->kind));
	json_str(o, "state", iface_state_name(i));
	json_bool(o, "running", iface_is_running(i));
	if (i->carrier >= 0)
		json_bool(o, "carrier", i->carrier == 1);
	json_num(o, "mtu", i->mtu);
	json_num(o, "speed_mbps", i->detailed && i->speed_mbps > 0 ? (double)i->speed_mbps : NAN);
	json_str(o, "driver", i->driver);
	json_str(o, "mac", i->mac);
	json_str(o, "pci", pci_slot(i));
	json_num(o, "numa", i->detailed && i->numa >= 0 ? i->numa : NAN);
	addresses_data(i, o);
	json_bool(o, "default_route", i->default_route4 || i->default_route6);
	json_bool(o, "usable", c->usable);
	json_str(o, "why", c->why);
}

void view_interfaces(const struct facts *f, const candidate_list *cands, bool with_why,
		     struct report *r)
{
	cJSON *all = report_wants_data(r) ? json_array(report_data(r), "interfaces") : NULL;

	report_series(r, &iface_view);
	for (size_t k = 0; k < cands->n; k++) {
		if (all)
			iface_data(&cands->v[k], all);
		else
			iface_row(f, &cands->v[k], with_why, r);
	}
}
