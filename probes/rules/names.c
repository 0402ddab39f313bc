#include "probes/rules/names.h"
#include "lib/core/quote.h"
#include "lib/host/hostname.h"
#include "lib/host/leads.h"
#include "lib/host/sysroot.h"

#include <net/if.h>
#include <stdarg.h>

void names_split(const char *value, const char *separators, bool keep_empty, struct arena *a,
		 str_list *ret)
{
	*ret = (str_list){0};
	while (*value) {
		size_t n = strcspn(value, separators);

		if (n || keep_empty)
			*LIST_ADD(a, ret) = arena_strndup(a, value, n);
		value += n;
		if (*value)
			value++;
	}
}

const struct iface_addr *names_addr(const struct inventory *inv, const char *name)
{
	for (size_t i = 0; i < inv->addrs.n; i++)
		if (streq(inv->addrs.v[i].label, name))
			return &inv->addrs.v[i];
	return NULL;
}

static bool is_127(const union addr *a)
{
	return a->sa.sa_family == AF_INET && addr_class(a) == ADDR_LOOPBACK;
}

const struct iface_addr *names_owner(const struct inventory *inv, const union addr *addr)
{
	for (size_t i = 0; i < inv->addrs.n; i++) {
		const union addr *mine = &inv->addrs.v[i].addr;

		if (addr_equal(mine, addr) || (is_127(mine) && is_127(addr)))
			return &inv->addrs.v[i];
	}
	return NULL;
}

/* The kernel makes a loopback device's whole network local, other devices' addresses alone. */
static bool is_local(const struct iface_addr *ia, const union addr *addr)
{
	if (ia->iface->flags & IFF_LOOPBACK && addr->sa.sa_family == AF_INET)
		return addr_in_subnet(addr, &ia->addr, ia->prefix);
	return addr_equal(addr, &ia->addr);
}

bool names_can_bind(const struct inventory *inv, const union addr *addr)
{
	if (sysroot_is_real()) {
		AUTO_CLOSE int fd = socket(addr->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		return fd >= 0 && bind(fd, &addr->sa, addr_len(addr)) == 0;
	}
	for (size_t i = 0; i < inv->addrs.n; i++)
		if (is_local(&inv->addrs.v[i], addr))
			return true;
	return false;
}

/* --- predictions ------------------------------------------------------------- */
void predict_add(const struct rules_input *in, struct prediction *p, const char *name,
		 const union addr *addr)
{
	struct arena *a = in->inv->a;
	struct addr_text t;
	const char *text = addr ? arena_strdup(a, addr_print(addr, &t)) : "";

	name = arena_strdup(a, name);
	*LIST_ADD(a, &p->interfaces) = name;
	*LIST_ADD(a, &p->addresses) = text;
	if (p->interfaces.n == 1) {
		p->interface = name;
		p->address = addr ? text : NULL;
	}
}

static const char *unreachable_why(const struct inventory *inv, const struct iface *iface,
				   const union addr *addr)
{
	const char *why = leads_nowhere(inv, iface, addr);
	struct addr_text t;

	return why ? arena_printf(inv->a, "%s %s", addr_print(addr, &t), why) : NULL;
}

void predict_reach(const struct rules_input *in, struct prediction *p, const struct iface *iface,
		   const union addr *addr)
{
	p->outcome = OUTCOME_OK;
	p->unreachable_why = addr ? unreachable_why(in->inv, iface, addr) : NULL;
	p->reachable = !p->unreachable_why;
}

void predict_reach_also(const struct rules_input *in, struct prediction *p, size_t k,
			const struct iface *iface, const union addr *addr)
{
	const char *why = p->reachable ? leads_nowhere(in->inv, iface, addr) : NULL;

	if (!why)
		return;
	p->reachable = false;
	p->unreachable_why =
		arena_printf(in->inv->a, "data would also go over %s, whose address %s %s",
			     p->interfaces.v[k], p->addresses.v[k], why);
}

const struct iface_addr *predict_told(const struct inventory *inv, const struct prediction *p)
{
	union addr addr;

	if (!p->interface || !p->address || addr_parse(p->address, &addr))
		return NULL;
	for (size_t i = 0; i < inv->addrs.n; i++)
		if (streq(inv->addrs.v[i].label, p->interface) &&
		    addr_equal(&inv->addrs.v[i].addr, &addr))
			return &inv->addrs.v[i];
	return NULL;
}

void predict_fail(const struct rules_input *in, struct prediction *p, enum outcome o,
		  const char *rule, const char *fmt, ...)
{
	va_list ap;
	char why[512];

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	*p = (struct prediction){.outcome = o, .rule = rule};
	p->why = arena_strdup(in->inv->a, why);
	p->unreachable_why = p->why;
}

/* --- lint ---------------------------------------------------------------------- */
const char *names_best(const struct rules_input *in)
{
	candidate_list best = {0};

	rank_ifaces(in->inv, 0, &best);
	for (size_t i = 0; i < best.n && best.v[i].usable; i++) {
		const char *name = best.v[i].iface->name;

		if (streq(shell_quote(in->inv->a, name), name) && !strchr(name, ','))
			return name;
	}
	return "NAME";
}

const char *names_entry(struct arena *a, const char *name, bool one_char_is_ignored)
{
	if (strchr(name, ','))
		return NULL;
	/* an empty entry at the end does not count, and makes the value long enough */
	return one_char_is_ignored && !name[1] ? arena_printf(a, "%s,", name) : name;
}

static const char *bare(struct arena *a, const char *name)
{
	size_t n;

	name += strspn(name, "^= \t\r\n'\"");
	n = strcspn(name, " \t\r\n'\":,");
	return arena_strndup(a, name, n);
}

bool names_must_be(const struct rules_input *in, const struct iface_addr *x)
{
	return streq(names_best(in), x->iface->name) && iface_addr_is_usable(x);
}

bool names_has_better(const struct inventory *inv, const struct iface *of)
{
	for (size_t i = 0; i < inv->addrs.n; i++)
		if (inv->addrs.v[i].iface == of &&
		    addr_class(&inv->addrs.v[i].addr) != ADDR_LINKLOCAL)
			return true;
	return false;
}

void names_advise_linklocal(const struct inventory *inv, const struct iface_addr *x,
			    struct finding *f)
{
	const char *nic = shell_quote(f->a, x->iface->name);
	bool v6 = x->addr.sa.sa_family == AF_INET6;
	union addr plain = x->addr;
	struct addr_text t;

	if (v6)
		plain.v6.sin6_scope_id = 0;
	if (names_has_better(inv, x->iface))
		finding_fix(f, "sudo ip addr del %s/%u dev %s", addr_print(&plain, &t), x->prefix,
			    nic);
	else
		finding_fix(
			f,
			"sudo ip addr add %s dev %s   # here; on the next host %s; or start its "
			"DHCP client",
			v6 ? "fd00:a::1/64" : "192.168.77.1/24", nic,
			v6 ? "fd00:a::2/64" : "192.168.77.2/24");
}

bool names_mend_linklocal(const struct rules_input *in, const struct iface_addr *x,
			  struct finding *f)
{
	candidate_list best = {0};

	rank_ifaces(in->inv, 0, &best);
	if (addr_class(&x->addr) != ADDR_LINKLOCAL || !best.n || !best.v[0].usable ||
	    best.v[0].iface != x->iface ||
	    best.v[0].addr->addr.sa.sa_family != x->addr.sa.sa_family)
		return false;
	names_advise_linklocal(in->inv, x, f);
	return true;
}

/* What an entry means after all, if peers can reach it: a name, or NULL. */
static const char *meant_by(const struct rules_input *in, const char *entry)
{
	const char *name = bare(in->inv->a, entry);
	const struct iface *alias = inventory_by_name(in->inv, name);
	const struct iface_addr *ia = names_addr(in->inv, name);

	if (!ia && alias)
		ia = names_addr(in->inv, alias->name);
	if (!ia || (unreachable_why(in->inv, ia->iface, &ia->addr) && !names_must_be(in, ia)))
		return NULL;
	return ia->label;
}

/* All that is right of it, each once; what is not, is left out. */
static void fix_list(const struct rules_input *in, struct finding *f, const char *var,
		     const char *name, const str_list *entries)
{
	const str_list alone = {.v = &name, .n = 1};
	str_list left = {0};
	struct text t;

	entries = entries ?: &alone;
	text_init(&t, in->inv->a);
	for (size_t i = 0; i < entries->n && *entries->v[0] != '^'; i++) {
		const char *meant = meant_by(in, entries->v[i]);
		bool had = !meant || strchr(meant, ',');

		for (size_t k = 0; !had && k < left.n; k++)
			had = streq(left.v[k], meant);
		if (had)
			continue;
		*LIST_ADD(in->inv->a, &left) = meant;
		text_addf(&t, "%s%s", t.n ? "," : "", meant);
	}
	finding_fix(f, "export %s=%s", var, t.n ? shell_quote(in->inv->a, t.s) : names_best(in));
}

static const char *why_fails(const struct rules_input *in, const char *name)
{
	const struct iface *iface = inventory_by_name(in->inv, name);

	if (iface && streq(iface->name, name))
		return "this interface has no address";
	if (iface)
		return arena_printf(in->inv->a, "an alternative name; the list wants %s",
				    iface->name);
	if (strpbrk(name, "^="))
		return "this is NCCL's syntax; here a name stands alone, exactly";
	if (strpbrk(name, " \t\r\n'\""))
		return "blanks and quotes are taken as part of the name";
	return "no such interface here (the whole name is compared)";
}

static void say_entry(struct finding *f, enum status st, const char *var, const char *name,
		      const char *why)
{
	const char *value = settings_env(var) ?: name;

	if (streq(value, name))
		finding_set(f, st, "%s=%s: %s", var, name, why);
	else
		finding_set(f, st, "%s=%s: [%s]: %s", var, value, name, why);
}

int names_judge(const struct rules_input *in, struct finding *f, const char *var, const char *name,
		const str_list *entries)
{
	const struct iface_addr *ia = names_addr(in->inv, name);
	const char *why = ia ? unreachable_why(in->inv, ia->iface, &ia->addr) : NULL;

	if (!ia) {
		say_entry(f, ST_FAIL, var, name, why_fails(in, name));
		fix_list(in, f, var, name, entries);
		return -1;
	}
	if (!why || names_must_be(in, ia))
		return 0;
	say_entry(f, ST_WARN, var, name, why);
	if (!names_mend_linklocal(in, ia, f))
		fix_list(in, f, var, name, entries);
	return -1;
}

bool names_host_is(const struct inventory *inv, const union addr *addr)
{
	struct name_answer me;

	name_from_hosts(inv->hostname, inv->a, &me);
	for (size_t i = 0; i < me.addrs.n; i++)
		if (!addr_equal(&me.addrs.v[i], addr))
			return false;
	return me.addrs.n > 0;
}
