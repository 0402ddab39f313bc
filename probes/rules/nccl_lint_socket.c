#include "lib/host/leads.h"
#include "probes/rules/names.h"
#include "probes/rules/nccl_lint.h"

#include <net/if.h>

/* Names that NCCL could choose here, each once: "eth0, eth1". */
static const char *known_names(const struct lint *l)
{
	struct nccl_ifspec any = {0};
	const struct iface_addr *v[NCCL_MAX_IFS];
	size_t n = nccl_select(l->in->inv, &any, 0, l->in->nccl_version, v);
	struct text t;

	text_init(&t, report_arena(l->r));
	for (size_t i = 0; i < n; i++)
		text_addf(&t, "%s%s", i ? ", " : "", v[i]->label);
	return n ? t.s : "none";
}

/* Why the interface that an entry names is not among NCCL's, or NULL: there is no such name. */
static const char *why_not(const struct inventory *inv, const char *name)
{
	const struct iface *i = inventory_by_name(inv, name);

	if (!i)
		return NULL;
	if (!streq(i->name, name))
		return "is an alternative name, which NCCL cannot see";
	if (!(i->flags & IFF_RUNNING))
		return "is not running";
	return i->naddrs ? "has no address of the wanted family" : "has no address";
}

static void no_match(const struct lint *l, const struct setting *s, const struct nccl_ifspec *spec)
{
	struct finding *f = lint_find(l, "lint.ifname.nomatch", s);
	const char *only = spec->n == 1 && !spec->negate ? spec->prefix[0] : NULL;
	const char *why = only ? why_not(l->in->inv, only) : NULL;

	if (why)
		finding_set(f, ST_FAIL,
			    "is [%s], and %s %s: NCCL ends with \"no socket interface "
			    "found\"",
			    s->value, only, why);
	else
		finding_set(f, ST_FAIL,
			    "is [%s], which leaves no%s interface with an address: "
			    "NCCL ends with \"no socket interface found\"",
			    s->value,
			    nccl_version(l->in->nccl_version) < NCCL_VERSION_RUNNING ? ""
										     : " running");
	finding_expect(f, "one of: %s", known_names(l));
	finding_fix(f, "eval \"$(ifprobe --suggest)\"");
	report_add(l->r, f);
}

static bool lets_lo_in(const struct lint *l, const struct nccl_ifspec *spec)
{
	for (size_t i = 0; i < l->in->inv->ifaces.n; i++) {
		const struct iface *f = &l->in->inv->ifaces.v[i];

		if ((f->flags & IFF_LOOPBACK) && nccl_ifspec_match(spec, f->name))
			return true;
	}
	return false;
}

/* An own ^ list replaces NCCL's, which left lo out. */
static void lo_let_in(const struct lint *l, const struct setting *s)
{
	struct finding *f = lint_find(l, "lint.ifname.caret-lo", s);
	const char *clean = lint_cleaned(f->a, s->value);
	struct nccl_ifspec spec;

	finding_set(f, ST_FAIL,
		    "is %s: an exclude list of your own replaces NCCL's, and this one "
		    "lets lo in; peers would be told 127.0.0.1",
		    s->value);
	finding_expect(f, "a list that excludes lo");
	nccl_ifspec_parse(clean, &spec);
	if (lets_lo_in(l, &spec))
		clean = arena_printf(f->a, "%s,lo", clean);
	lint_fix_list(f, s, clean);
	report_add(l->r, f);
}

/* What one entry of an include list brought in. */
struct brought {
	size_t n;	  /* so many of the chosen, */
	bool exact;	  /* ... the one of just that name among them, */
	const char *also; /* and one that has a longer one; or NULL */
};

static struct brought brought(const struct nccl_ifspec *spec, size_t at,
			      const struct nccl_choice *c)
{
	struct nccl_ifspec one = {.n = 1, .exact = spec->exact};
	struct brought b = {0};

	memcpy(one.prefix[0], spec->prefix[at], NCCL_NAME_SIZE);
	for (size_t i = 0; i < c->n; i++)
		if (nccl_ifspec_match(&one, c->v[i]->label)) {
			b.n++;
			b.exact |= streq(c->v[i]->label, one.prefix[0]);
			if (!streq(c->v[i]->label, one.prefix[0]))
				b.also = c->v[i]->label;
		}
	return b;
}

/* A sign in front counts for the whole list, so only a list of one has a simple remedy. */
static void fix_entry(struct finding *f, const struct setting *s, const struct nccl_ifspec *spec,
		      const char *entry)
{
	finding_expect(f, "=%s", entry);
	if (spec->n == 1)
		lint_fix(f, s, s->name, arena_printf(f->a, "=%s", entry));
	else
		finding_fix(f, "eval \"$(ifprobe --suggest)\"");
}

static void over_match(const struct lint *l, const struct setting *s,
		       const struct nccl_ifspec *spec, size_t at, const struct brought *b)
{
	struct finding *f = lint_find(l, "lint.ifname.overmatch", s);

	finding_set(f, b->exact ? ST_WARN : ST_INFO,
		    "entry %s is a prefix and takes %zu interfaces, %s among them; NCCL spreads "
		    "data over all of them",
		    spec->prefix[at], b->n, b->also);
	if (b->exact)
		fix_entry(f, s, spec, spec->prefix[at]);
	report_add(l->r, f);
}

static void entry_without(const struct lint *l, const struct setting *s, const char *entry)
{
	struct finding *f = lint_find(l, "lint.ifname.nomatch", s);

	/* A list for nodes whose names differ looks like this. */
	finding_set(f, ST_INFO, "entry %s matches no interface here; others of the list do", entry);
	report_add(l->r, f);
}

static void port_ignored(const struct lint *l, const struct setting *s,
			 const struct nccl_ifspec *spec, size_t at)
{
	struct finding *f = lint_find(l, "lint.ifname.port", s);

	finding_set(f, ST_WARN,
		    "entry %s:%d: NCCL reads what follows the colon as a port and drops it, so an "
		    "alias cannot be named; the entry means %s%s",
		    spec->prefix[at], spec->port[at],
		    spec->exact ? "" : "every name that begins with ", spec->prefix[at]);
	fix_entry(f, s, spec, spec->prefix[at]);
	report_add(l->r, f);
}

static void lint_entries(const struct lint *l, const struct setting *s,
			 const struct nccl_ifspec *spec, const struct nccl_choice *c)
{
	for (size_t i = 0; i < spec->n; i++) {
		struct brought b = brought(spec, i, c);

		if (spec->port[i] != -1)
			port_ignored(l, s, spec, i);
		else if (b.n > 1)
			over_match(l, s, spec, i, &b);
		else if (b.n == 0 && c->n < NCCL_MAX_IFS)
			entry_without(l, s, spec->prefix[i]);
	}
}

/* A member that peers cannot reach breaks jobs whose data goes over sockets. */
static void lint_members(const struct lint *l, const struct setting *s, const struct nccl_choice *c)
{
	bool rdma = nccl_ib_carries_data(l->in);
	struct addr_text t;

	for (size_t i = 0; i < (rdma ? 1 : c->n); i++) {
		const char *why = leads_nowhere(l->in->inv, c->v[i]->iface, &c->v[i]->addr);
		struct finding *f;

		if (!why || names_must_be(l->in, c->v[i]))
			continue;
		f = lint_find(l, "lint.ifname.unreachable", s);
		finding_set(f, ST_WARN, "lets %s in, whose address %s %s", c->v[i]->label,
			    addr_print(&c->v[i]->addr, &t), why);
		finding_expect(f, "only interfaces that peers can reach");
		if (!names_mend_linklocal(l->in, c->v[i], f))
			finding_fix(f, "eval \"$(ifprobe --suggest)\"");
		report_add(l->r, f);
	}
}

static void too_short(const struct lint *l, const struct setting *s)
{
	struct finding *f = lint_find(l, "lint.ifname.short", s);

	if (*s->value)
		finding_set(f, ST_FAIL,
			    "is %s: NCCL ignores a value of one character and chooses by "
			    "itself",
			    s->value);
	else
		finding_set(f, ST_INFO, "is empty: NCCL chooses by itself");
	finding_expect(f, "at least two characters");
	lint_unset(f, s);
	report_add(l->r, f);
}

void lint_ifname(const struct lint *l, const struct setting *s)
{
	int family = nccl_family_parse(nccl_value(l->in, "NCCL_SOCKET_FAMILY"));
	struct nccl_ifspec spec;
	struct nccl_choice c = {0};
	bool bad_text;

	if (strlen(s->value) < 2) {
		too_short(l, s);
		return;
	}
	nccl_ifspec_parse(s->value, &spec);
	bad_text = lint_list_text(l, s, "lint.ifname", &spec);
	c.n = nccl_select(l->in->inv, &spec, family, l->in->nccl_version, c.v);
	if (c.n == 0) {
		no_match(l, s, &spec);
	} else if (spec.negate && lets_lo_in(l, &spec)) {
		lo_let_in(l, s);
	} else if (!bad_text) {
		if (!spec.negate)
			lint_entries(l, s, &spec, &c);
		lint_members(l, s, &c);
	}
}

static bool is_linklocal(const struct iface_addr *x)
{
	return addr_class(&x->addr) == ADDR_LINKLOCAL;
}

/* Each NIC has such an IPv6 address, on a network that has none other. */
static void family_of_linklocal(const struct lint *l, const struct setting *s,
				const struct iface_addr *with, const struct iface_addr *without)
{
	struct finding *f = lint_find(l, "lint.family.linklocal", s);
	struct addr_text t, o;

	finding_set(f, ST_WARN,
		    "is %s, so NCCL tells peers %s of %s, which is link-local; without it NCCL "
		    "would tell them %s",
		    s->value, addr_print(&with->addr, &t), with->label,
		    addr_print(&without->addr, &o));
	finding_expect(f, "not set");
	lint_unset(f, s);
	report_add(l->r, f);
}

void lint_family(const struct lint *l, const struct setting *s)
{
	int family = nccl_family_parse(s->value);
	const char *ifname = nccl_value(l->in, "NCCL_SOCKET_IFNAME");
	struct nccl_choice with, without;
	struct finding *f;

	if (!family) {
		f = lint_find(l, "lint.family.unknown", s);
		finding_set(f, ST_FAIL,
			    "is [%s]: NCCL knows only AF_INET and AF_INET6 and ignores "
			    "everything else",
			    s->value);
		finding_expect(f, "AF_INET or AF_INET6");
		lint_fix(f, s, s->name, strchr(s->value, '6') ? "AF_INET6" : "AF_INET");
		report_add(l->r, f);
		return;
	}
	nccl_choose(l->in->inv, ifname, family, NULL, l->in->nccl_version, &with);
	nccl_choose(l->in->inv, ifname, 0, NULL, l->in->nccl_version, &without);
	if (with.n && without.n && is_linklocal(with.v[0]) && !is_linklocal(without.v[0]))
		family_of_linklocal(l, s, with.v[0], without.v[0]);
	if (with.n || !without.n)
		return;
	f = lint_find(l, "lint.family.nomatch", s);
	finding_set(f, ST_FAIL,
		    "is %s, and no interface that NCCL could use has such an address; "
		    "without it NCCL would use %s",
		    s->value, without.v[0]->label);
	finding_expect(f, "%s", family == AF_INET ? "AF_INET6" : "AF_INET");
	lint_unset(f, s);
	report_add(l->r, f);
}

/* The releases that take whatever is outside of its subnet. */
static void comm_id_inverted(const struct lint *l, const struct setting *s,
			     const struct iface_addr *taken)
{
	struct finding *f = lint_find(l, "lint.comm-id.bad", s);
	struct addr_text t;

	if (taken)
		finding_set(f, ST_FAIL,
			    "is %s, and NCCL 2.29 takes the first address that is not in that "
			    "subnet, by mistake: %s (%s)",
			    s->value, taken->label, addr_print(&taken->addr, &t));
	else
		finding_set(f, ST_FAIL,
			    "is %s, and NCCL 2.29, which looks for an address that is not in that "
			    "subnet, by mistake, ends with an error",
			    s->value);
	finding_expect(f, "not set, or NCCL 2.30.3 or newer");
	lint_unset(f, s);
	report_add(l->r, f);
}

/* True: its port is one that ranks meet at as it is written. */
static bool comm_id_port(const struct lint *l, const struct setting *s)
{
	bool as_written;
	unsigned port = nccl_comm_id_port(s->value, &as_written);
	struct finding *f;

	if (as_written)
		return true;
	f = lint_find(l, "lint.comm-id.port", s);
	if (!port)
		finding_set(f, ST_FAIL,
			    "is [%s], of which NCCL makes port 0: no rank can connect to that",
			    s->value);
	else
		finding_set(f, ST_WARN, "is [%s], which has no port from 1 to 65535: NCCL takes %u",
			    s->value, port);
	finding_expect(f, "ADDRESS:PORT of rank 0, or not set");
	lint_unset(f, s);
	report_add(l->r, f);
	return false;
}

void lint_comm_id(const struct lint *l, const struct setting *s)
{
	bool torch = settings_env("MASTER_ADDR") || settings_env("TORCHELASTIC_RUN_ID");
	const struct iface_addr *taken;
	bool inverted = false;
	struct finding *f;
	const char *why;
	union addr to;

	if (!nccl_comm_id_resolve(s->value, l->in, &to, &why)) {
		taken = nccl_same_subnet(l->in->inv, &to, l->in->nccl_version, &inverted);
		if (inverted) {
			comm_id_inverted(l, s, taken);
			return;
		}
		why = taken ? NULL : "no address of this host is in its subnet";
	}
	if (!why && !comm_id_port(l, s))
		return;
	f = lint_find(l, why ? "lint.comm-id.bad" : "lint.comm-id", s);
	if (why)
		finding_set(f, ST_FAIL, "is [%s], and NCCL ends with an error: %s", s->value, why);
	else
		finding_set(f, torch ? ST_WARN : ST_INFO,
			    "is %s: NCCL's bootstrap takes the interface in that subnet and does "
			    "not look at NCCL_SOCKET_IFNAME%s",
			    s->value,
			    torch ? "; PyTorch makes ids of its own, and every communicator would "
				    "share this one"
				  : "");
	finding_expect(f, "%s",
		       why ? "ADDRESS:PORT of rank 0, in a subnet of this host" : "not set");
	lint_unset(f, s);
	report_add(l->r, f);
}
