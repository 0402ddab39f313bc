/*
 * Gloo as PyTorch opens it: GLOO_SOCKET_IFNAME is a list of exact names, one
 * device each; without it, the first address of the own host name that can be
 * bound. PyTorch takes a value of one character for no value.
 */
#include "lib/host/hostname.h"
#include "probes/rules/names.h"

#define VAR "GLOO_SOCKET_IFNAME"

static const char *value(void)
{
	const char *v = settings_env(VAR);

	return v && strlen(v) > 1 ? v : NULL;
}

/* --- predict -------------------------------------------------------------------- */
static const union addr *first_bindable(const struct rules_input *in, const struct name_answer *n)
{
	for (size_t i = 0; i < n->addrs.n; i++)
		if (names_can_bind(in->inv, &n->addrs.v[i]))
			return &n->addrs.v[i];
	return NULL;
}

/* Gloo asks which interface owns the address, for its speed, and gives up when none does. */
static void use_address(const struct rules_input *in, struct prediction *p, const union addr *addr)
{
	const struct iface_addr *owner = names_owner(in->inv, addr);
	struct addr_text t;

	if (!owner) {
		predict_fail(in, p, OUTCOME_FAILS, "hostname:no-owner",
			     "Gloo can bind %s but finds no interface that owns it",
			     addr_print(addr, &t));
		return;
	}
	predict_add(in, p, owner->label, addr);
	predict_reach(in, p, owner->iface, addr);
}

static void by_hostname(const struct rules_input *in, struct prediction *p)
{
	static const union addr loopback = {
		.v4 = {.sin_family = AF_INET,
		       .sin_addr.s_addr = __builtin_bswap32(INADDR_LOOPBACK)}};
	const char *host = in->inv->hostname;
	const struct name_answer *me = name_ask(in->names, host, in->inv->a);
	const union addr *addr = first_bindable(in, me);

	if (addr) {
		p->rule = "hostname";
		p->why = arena_printf(in->inv->a,
				      "the host name %s leads to it, and it can be bound", host);
		use_address(in, p, addr);
		return;
	}
	if (!names_can_bind(in->inv, &loopback)) {
		predict_fail(in, p, OUTCOME_FAILS, "hostname:none", "the host name %s %s", host,
			     me->trouble ? me->trouble : "leads to no address of this host");
		return;
	}
	p->rule = "hostname:loopback";
	p->why = arena_printf(in->inv->a, "the host name %s %s, so PyTorch falls back to loopback",
			      host, me->trouble ? me->trouble : "leads to no address of this host");
	use_address(in, p, &loopback);
}

static int by_name(const struct rules_input *in, struct prediction *p, const char *name)
{
	const struct iface_addr *ia = names_addr(in->inv, name);

	if (!*name)
		predict_fail(in, p, OUTCOME_FAILS, VAR, VAR "=%s has an empty entry", value());
	else if (!ia)
		predict_fail(in, p, OUTCOME_FAILS, VAR,
			     "Unable to find address for: %s (an exact name is wanted)", name);
	else if (!names_can_bind(in->inv, &ia->addr))
		predict_fail(in, p, OUTCOME_FAILS, VAR, "the first address of %s cannot be bound",
			     name);
	if (p->outcome != OUTCOME_OK)
		return -1;
	predict_add(in, p, ia->label, &ia->addr);
	if (p->interfaces.n == 1)
		predict_reach(in, p, ia->iface, &ia->addr);
	return 0;
}

static void predict(const struct rules_input *in, struct prediction *p)
{
	str_list names;

	*p = (struct prediction){.rule = VAR};
	if (!value()) {
		by_hostname(in, p);
		return;
	}
	p->why = arena_printf(in->inv->a, VAR "=%s names it", value());
	names_split(value(), ",", true, in->inv->a, &names);
	for (size_t i = 0; i < names.n; i++)
		if (by_name(in, p, names.v[i]) < 0)
			return;
}

/* --- check ---------------------------------------------------------------------- */
static int judge_list(const struct rules_input *in, struct finding *f, const str_list *names)
{
	for (size_t i = 0; i < names->n; i++) {
		if (!*names->v[i]) {
			finding_set(f, ST_FAIL, VAR "=%s has an empty entry: Gloo stops there",
				    value());
			finding_fix(f, "export " VAR "=%s", names_best(in));
			return -1;
		}
		if (names_judge(in, f, VAR, names->v[i], names) < 0)
			return -1;
	}
	return 0;
}

static void check(const struct rules_input *in, struct report *r)
{
	const char *v = settings_env(VAR);
	struct finding *f;
	str_list names;

	if (!v)
		return;
	f = report_find(r, "lint.gloo.ifname", VAR);
	names_split(v, ",", true, in->inv->a, &names);
	if (strlen(v) < 2) {
		finding_set(f, ST_WARN, VAR "=%s: PyTorch ignores %s", v,
			    *v ? "a value of one character" : "an empty value");
		finding_fix(f, "export " VAR "=%s", names_best(in));
	} else if (judge_list(in, f, &names) == 0) {
		finding_set(f, ST_PASS, VAR "=%s: %zu interface%s, exactly named", v, names.n,
			    names.n == 1 ? "" : "s");
	}
	report_add(r, f);
}

/* --- suggest -------------------------------------------------------------------- */
static void suggest(const struct rules_input *in, struct suggestion *s)
{
	const char *entry = names_entry(s->a, s->addr->label, true);

	if (!value() && names_host_is(in->inv, &s->addr->addr))
		suggest_left_out(s, VAR ": the host name leads to %s already", s->iface->name);
	else if (!entry)
		suggest_left_out(s, VAR ": Gloo cuts its list at commas, so it cannot be told %s",
				 s->addr->label);
	else
		suggest_env(s, VAR, "Gloo would go by the host name", "%s", entry);
}

const struct rules rules_gloo = {
	.name = "gloo", .title = "Gloo", .predict = predict, .check = check, .suggest = suggest};
