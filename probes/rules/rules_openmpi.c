/*
 * Open MPI's TCP transport (btl/tcp): the interfaces of an include list, or
 * all but those of an exclude list. Names of an include list are exact, those
 * of an exclude list are prefixes, subnets stand for the names they match.
 */
#include "probes/rules/names.h"
#include "probes/rules/ompi.h"

#include <net/if.h>

/* --- predict ---------------------------------------------------------------------- */
static void use(const struct rules_input *in, struct prediction *p, const struct ompi_if *i)
{
	predict_add(in, p, i->ia->iface->name, &i->ia->addr);
	if (p->interfaces.n == 1)
		predict_reach(in, p, i->ia->iface, &i->ia->addr);
	else
		predict_reach_also(in, p, p->interfaces.n - 1, i->ia->iface, &i->ia->addr);
}

/* 1: chosen, 0: the list came to nothing and the exclude list decides, -1: fails. */
static int by_include(const struct rules_input *in, const ompi_ifs *ifs,
		      const struct ompi_params *o, struct prediction *p)
{
	const char *list = o->btl_include.value;
	str_list names;

	ompi_resolve_list(ifs, list, in->inv->a, &names);
	for (size_t i = 0; i < names.n; i++) {
		const struct ompi_if *one = ompi_find(ifs, names.v[i]);

		if (!one && ompi_goes_on(o, i))
			break;
		if (!one) {
			predict_fail(in, p, OUTCOME_FAILS, "btl_tcp_if_include",
				     "btl_tcp_if_include=%s: unknown interface name %s", list,
				     names.v[i]);
			return -1;
		}
		use(in, p, one);
	}
	return names.n > 0;
}

static void by_exclude(const struct rules_input *in, const ompi_ifs *ifs, const char *list,
		       struct prediction *p)
{
	struct ompi_if one;
	str_list names;

	ompi_resolve_list(ifs, list, in->inv->a, &names);
	for (size_t i = 0; i < in->inv->ifaces.n; i++)
		if (ompi_first(&in->inv->ifaces.v[i], &one) && !ompi_excluded(&names, one.name))
			use(in, p, &one);
}

/* True when `btl` names the components to use and tcp is not among them. */
static bool without_tcp(const struct rules_input *in, const char *btl)
{
	bool negate = btl && *btl == '^';
	str_list names;

	if (!btl || !*btl)
		return false;
	names_split(btl + negate, ",", false, in->inv->a, &names);
	for (size_t i = 0; i < names.n; i++)
		if (streq(names.v[i], "tcp"))
			return negate;
	return !negate;
}

static void decide(const struct rules_input *in, const struct ompi_params *o, struct prediction *p)
{
	const char *include = o->btl_include.value, *exclude = o->btl_exclude.value;
	ompi_ifs ifs;
	int chosen = 0;

	*p = (struct prediction){0};
	if (include && exclude) {
		predict_fail(in, p, OUTCOME_FAILS, "include+exclude",
			     "btl_tcp_if_include and btl_tcp_if_exclude are both set");
		return;
	}
	if (without_tcp(in, o->btl.value)) {
		predict_fail(in, p, OUTCOME_NONE, "btl", "btl=%s leaves the TCP transport out",
			     o->btl.value);
		return;
	}
	ompi_ifs_read(in->inv, &ifs);
	if (include)
		chosen = by_include(in, &ifs, o, p);
	if (chosen)
		p->rule = "btl_tcp_if_include";
	if (chosen < 0)
		return;
	if (!chosen) {
		p->rule = exclude ? "btl_tcp_if_exclude" : "automatic:not " OMPI_DEFAULT_EXCLUDE;
		by_exclude(in, &ifs, exclude ? exclude : OMPI_DEFAULT_EXCLUDE, p);
	}
	if (!p->interfaces.n)
		predict_fail(in, p, OUTCOME_NONE, p->rule, "no interface is left for TCP");
}

static void predict(const struct rules_input *in, struct prediction *p)
{
	struct ompi_params o;

	ompi_params_read(in->inv->a, &o);
	decide(in, &o, p);
	if (p->outcome != OUTCOME_OK)
		return;
	p->why = o.btl_include.value && streq(p->rule, "btl_tcp_if_include")
			 ? arena_printf(in->inv->a, "btl_tcp_if_include=%s", o.btl_include.value)
			 : arena_printf(in->inv->a, "every interface with an address, but not %s",
					o.btl_exclude.value ? o.btl_exclude.value
							    : OMPI_DEFAULT_EXCLUDE);
}

/* --- suggest ------------------------------------------------------------------------ */
/* Open MPI knows one address of a label, which need not be ours: its own reading decides. */
static bool means_only(const struct rules_input *in, const ompi_ifs *ifs, const char *entry,
		       const struct iface *chosen)
{
	str_list names = {0};

	if (strchr(entry, ',') || ompi_resolve(ifs, entry, in->inv->a, &names) > OMPI_SUBNET)
		return false;
	for (size_t i = 0; i < names.n; i++) {
		const struct ompi_if *one = ompi_find(ifs, names.v[i]);

		if (!one || one->ia->iface != chosen)
			return false;
	}
	return names.n > 0;
}

/* The subnet of our address, unless another interface has it, too, even one that is down; or NULL.
 */
static const char *own_subnet(const struct rules_input *in, const struct suggestion *s)
{
	union addr net = addr_network(&s->addr->addr, s->addr->prefix);
	struct addr_text t;

	for (size_t i = 0; i < in->inv->addrs.n; i++) {
		const struct iface_addr *ia = &in->inv->addrs.v[i];

		if (ia->iface != s->iface && addr_in_subnet(&ia->addr, &net, s->addr->prefix))
			return NULL;
	}
	return arena_printf(in->inv->a, "%s/%u", addr_print(&net, &t), s->addr->prefix);
}

/* A subnet is right on every node; a name is needed where that is not so here. NULL: neither. */
static const char *include_value(const struct rules_input *in, const ompi_ifs *ifs,
				 const struct suggestion *s)
{
	const char *const entries[] = {own_subnet(in, s), s->addr->label, s->iface->name};

	for (size_t i = 0; i < ARRAY_LEN(entries); i++)
		if (entries[i] && means_only(in, ifs, entries[i], s->iface))
			return entries[i];
	return NULL;
}

/* Whether the default would carry data over the chosen interface and no other one. */
static bool is_default(const struct rules_input *in, const ompi_ifs *ifs,
		       const struct iface *chosen)
{
	struct ompi_if one;
	str_list names;

	ompi_resolve_list(ifs, OMPI_DEFAULT_EXCLUDE, in->inv->a, &names);
	for (size_t i = 0; i < in->inv->ifaces.n; i++) {
		const struct iface *f = &in->inv->ifaces.v[i];
		bool used = ompi_first(f, &one) && !ompi_excluded(&names, one.name);

		if (used != (f == chosen))
			return false;
	}
	return true;
}

/* An include list that is set already, ours or a wrong one, is set again: it has to be ours. */
static void suggest(const struct rules_input *in, struct suggestion *s)
{
	static const char var[] = "OMPI_MCA_btl_tcp_if_include";
	struct ompi_params o;
	const char *value;
	ompi_ifs ifs;

	ompi_ifs_read(in->inv, &ifs);
	value = include_value(in, &ifs, s);
	ompi_params_read(in->inv->a, &o);
	if (o.btl_exclude.value)
		suggest_left_out(s, "%s: btl_tcp_if_exclude is set, and both are refused", var);
	else if (!o.btl_include.value && is_default(in, &ifs, s->iface))
		suggest_left_out(s, "%s: Open MPI uses %s alone already", var, s->iface->name);
	else if (!value)
		suggest_left_out(s, "%s: no entry of its list can mean %s alone", var,
				 s->iface->name);
	else
		suggest_env(s, var, "Open MPI would use every interface", "%s", value);
}

const struct rules rules_openmpi = {.name = "openmpi",
				    .title = "Open MPI",
				    .predict = predict,
				    .check = ompi_check,
				    .suggest = suggest};
