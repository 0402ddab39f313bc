#include "probes/port/targets.h"

#include "lib/cluster/hostlist.h"
#include "lib/core/near.h"
#include "lib/host/hostname.h"

#include <net/if.h>

enum { MAX_ADDRS = 8 };

/* Of "tcp://HOST:PORT/", as a training's init_method is written, and of "USER@HOST". */
static const char *beside_host(const char *operand)
{
	const char *scheme = strstr(operand, "://"), *user = strchr(operand, '@');

	return scheme ? scheme + strlen("://") : user ? user + 1 : NULL;
}

static int malformed(const char *operand, struct arena *a, struct err *e)
{
	const char *host = beside_host(operand), *some = hosts_of_subnet(operand, a);

	err_set(e, ERR_USAGE, "'%s' is not HOST or HOST:PORTS", operand);
	if (!operand[strspn(operand, "0123456789,-")])
		return err_hint(e, "ports stand behind their host: HOST:%s", operand);
	if (operand[strcspn(operand, ",[")] && *operand != '[' && !strchr(operand, ':'))
		return err_hint(e,
				"a list is asked by all of it: --hosts '%s'; from here each is "
				"a word of its own",
				operand);
	if (some)
		return err_hint(e,
				"a subnet is no host; --hosts '%s' asks each pair of those in it; "
				"from here each is a word of its own",
				some);
	if (host && *host)
		return err_hint(e, "did you mean %.*s?", (int)strcspn(host, "/"), host);
	return err_hint(e, "for example 10.0.0.2:29500, node1:29500,30000-30010 or "
			   "[fd00::2]:29500");
}

/* Where the ports of "HOST:PORTS" begin; NULL: none. A bare IPv6 address has none. */
static const char *ports_of(const char *s)
{
	const char *colon = strchr(s, ':');

	if (*s == '[') {
		const char *end = strchr(s, ']');

		return end && end[1] == ':' ? end + 2 : NULL;
	}
	return colon && !strchr(colon + 1, ':') ? colon + 1 : NULL;
}

/*
 * "::1:22" is the address ::0.1.0.34, and hardly ever meant so: a last group that reads as a
 * port, behind an address that is whole without it. Long tails are what hardware makes.
 */
static bool has_hidden_port(const char *host, struct arena *a)
{
	const char *port = strrchr(host, ':'), *gap = strstr(host, "::");
	size_t groups = 0, digits;
	union addr ignored;

	if (!port || !gap || port <= gap + 1)
		return false;
	for (const char *s = gap + 2; s < port; s++)
		groups += *s == ':';
	digits = strspn(port + 1, "0123456789");
	return !groups && digits > 1 && !port[1 + digits] && port[1] != '0' &&
	       !addr_parse(arena_strndup(a, host, (size_t)(port - host)), &ignored);
}

static int hidden_port(const char *host, struct err *e)
{
	const char *port = strrchr(host, ':') + 1;
	int n = (int)(port - 1 - host);
	bool local = starts_with(host, "fe80:");

	err_set(e, ERR_USAGE, "'%s' may be an address, or one with a port", host);
	return err_hint(e, "[%.*s%s]:%s with the port, [%s] without", n, host,
			local ? "%INTERFACE" : "", port, host);
}

static bool lacks_interface(const char *host)
{
	union addr x;

	return !addr_parse(host, &x) && x.sa.sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&x.v6.sin6_addr) && !x.v6.sin6_scope_id;
}

/* Its scope is none of this host's; that of whoever told the address, perhaps. @ports: behind it,
 * or NULL. */
static int no_such_interface(const char *host, const char *scope, const char *ports,
			     struct arena *a, struct err *e)
{
	struct if_nameindex *list = if_nameindex();
	const char *near;
	str_list names = {0};

	for (const struct if_nameindex *i = list; i && i->if_name; i++)
		*LIST_ADD(a, &names) = arena_strdup(a, i->if_name);
	if (list)
		if_freenameindex(list);
	near = nearest_name(scope, names.v, names.n);
	err_set(e, ERR_USAGE, "'%s': there is no interface %s here", host, scope);
	if (near)
		return err_hint(e, "did you mean [%.*s%s]%s%s?", (int)(scope - host), host, near,
				ports ? ":" : "", ports ?: "");
	return err_hint(e, "it is one of this host's that leads there: see `ip -br link`");
}

static int parse_one(const char *operand, const port_list *ports, const struct port_env *env,
		     struct arena *a, struct port_target *t, struct err *e)
{
	const char *eq = strchr(operand, '='), *where = eq ? eq + 1 : operand;
	const char *list = ports_of(where);
	const char *host = list ? arena_strndup(a, where, (size_t)(list - where - 1)) : where;
	const char *scope;
	union addr ignored;
	uint16_t none;

	if (addr_split(host, a, &t->host, &none) || none || (eq && eq == operand))
		return malformed(operand, a, e);
	if (host == where && *host != '[' && has_hidden_port(host, a))
		return hidden_port(host, e);
	scope = strchr(t->host, '%');
	if (scope && addr_parse(t->host, &ignored))
		return no_such_interface(t->host, scope + 1, list, a, e);
	if (lacks_interface(t->host)) {
		err_set(e, ERR_USAGE, "'%s' is an address on every link: which one is not said",
			t->host);
		return err_hint(e, "[%s%%INTERFACE], for example %%eth0", t->host);
	}
	if (addr_is_mistyped(t->host)) {
		err_set(e, ERR_USAGE, "'%s' is " ADDR_MISTYPED, t->host);
		return err_hint(e, "check it for a slip");
	}
	if (addr_is_digit_trap(t->host)) {
		err_set(e, ERR_USAGE, "'%s' is a number, not a host", t->host);
		if (!list && !t->host[strspn(t->host, "0123456789")])
			return err_hint(e, "ports stand behind their host: HOST:%s", t->host);
		return err_hint(e, "nobody looks it up as a name: give the address, with its dots");
	}
	t->given = eq ? arena_strndup(a, operand, (size_t)(eq - operand)) : t->host;
	if (!list) {
		t->ports = *ports;
		return 0;
	}
	t->draws = ports_draw(list);
	if (!ports_parse(list, env, a, &t->ports, e))
		return 0;
	return *e->hint ? err_hint(e, "in '%s': %s", operand, PORTS_WRITTEN) : -1;
}

int targets_parse(const str_list *operands, const port_list *ports, const struct port_env *env,
		  struct arena *a, target_list *ret, struct err *e)
{
	for (size_t i = 0; i < operands->n; i++)
		if (parse_one(operands->v[i], ports, env, a, LIST_ADD(a, ret), e))
			return -1;
	return 0;
}

void targets_resolve(target_list *l, const struct facts *f, uint64_t deadline_ns)
{
	for (size_t i = 0; i < l->n; i++) {
		struct port_target *t = &l->v[i];
		struct name_answer got = {0};
		union addr literal;

		if (!addr_parse(t->host, &literal))
			*LIST_ADD(f->a, &got.addrs) = addr_unmapped(&literal);
		else
			name_resolve(t->host, deadline_ns, f->a, &got);
		t->addrs = got.addrs;
		if (t->addrs.n > MAX_ADDRS)
			t->addrs.n = MAX_ADDRS;
		t->trouble = got.trouble ?: "does not resolve";
		t->unasked = got.unasked;
		for (size_t k = 0; k < t->addrs.n; k++)
			t->is_self |= inventory_by_addr(&f->inv, &t->addrs.v[k]) != NULL;
	}
}

/* --- what cannot be meant ------------------------------------------------------ */
static bool is_literal(const struct port_target *t)
{
	union addr ignored;

	return !addr_parse(t->host, &ignored);
}

static bool is_own_name(const char *host, const struct facts *f)
{
	return (f->inv.hostname && streq(host, f->inv.hostname)) || streq(host, "localhost") ||
	       streq(host, "ip6-localhost");
}

static void judge_loopback(const struct port_target *t, const struct facts *f,
			   const union addr *addr, struct report *r)
{
	struct finding *x = report_find(r, is_literal(t) ? "port.address" : "port.name", t->given);
	struct addr_text at;

	if (is_literal(t)) {
		finding_set(x, ST_INFO,
			    "is this host's loopback: no other node can reach it this way");
	} else if (is_own_name(t->host, f)) {
		finding_set(x, ST_WARN,
			    "means %s here: a rank that publishes it is found by no "
			    "other node",
			    addr_print(addr, &at));
		finding_expect(x, "an address that peers can reach");
		finding_fix(x,
			    "getent ahosts %s   # then give it this host's address in "
			    "/etc/hosts",
			    t->host);
	} else {
		finding_set(x, ST_FAIL,
			    "resolves to %s on this host, so a connection to it never leaves",
			    addr_print(addr, &at));
		finding_expect(x, "an address of %s", t->host);
		finding_fix(x, "getent ahosts %s   # then mend /etc/hosts or DNS on this host",
			    t->host);
	}
	report_add(r, x);
}

static bool has_private(const struct facts *f)
{
	for (size_t i = 0; i < f->inv.addrs.n; i++)
		if (iface_addr_is_usable(&f->inv.addrs.v[i]) &&
		    addr_class(&f->inv.addrs.v[i].addr) == ADDR_PRIVATE)
			return true;
	return false;
}

static void judge_public(const struct port_target *t, const union addr *addr, struct report *r)
{
	struct finding *x = report_find(r, is_literal(t) ? "port.address" : "port.name", t->given);
	struct addr_text at;

	finding_set(x, ST_WARN,
		    "%s%s is a public address: between nodes of one cloud network use the "
		    "private one (rules that name a security group do not match public ones)",
		    is_literal(t) ? "" : "resolves to ",
		    is_literal(t) ? "this" : addr_print(addr, &at));
	finding_expect(x, "a private address, such as 10.0.0.2");
	finding_fix(x, "ifprobe --ip %s   # run there: names the private one", t->host);
	report_add(r, x);
}

static bool is_unspecified(const union addr *x)
{
	return x->sa.sa_family == AF_INET ? x->v4.sin_addr.s_addr == htonl(INADDR_ANY)
					  : IN6_IS_ADDR_UNSPECIFIED(&x->v6.sin6_addr);
}

/* What one listens on; connecting to it is connecting to oneself. */
static void judge_unspecified(const struct port_target *t, struct report *r)
{
	struct finding *x = report_find(r, "port.address", t->given);

	finding_set(x, ST_WARN,
		    "is no host's address: to connect to it reaches this host's loopback, and no "
		    "other node");
	finding_expect(x, "an address of the host that is meant");
	finding_fix(x, "ifprobe --suggest   # on that host: names it");
	report_add(r, x);
}

static void judge_self(const struct port_target *t, struct report *r)
{
	struct finding *x = report_find(r, "port.address", t->given);

	finding_set(x, ST_INFO, "is this host itself: that says nothing about the network");
	report_add(r, x);
}

void targets_judge(const target_list *l, const struct facts *f, struct report *r)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct port_target *t = &l->v[i];
		const union addr *first = t->addrs.v;

		if (!t->addrs.n)
			continue;
		if (is_unspecified(first))
			judge_unspecified(t, r);
		else if (addr_class(first) == ADDR_LOOPBACK)
			judge_loopback(t, f, first, r);
		else if (t->is_self)
			judge_self(t, r);
		else if (addr_class(first) == ADDR_PUBLIC && has_private(f))
			judge_public(t, first, r);
	}
}
