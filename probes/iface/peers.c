#include "probes/iface/peers.h"

#include "lib/core/interrupt.h"
#include "lib/host/hostname.h"

static int split(const char *one, struct arena *a, const char **ret_host, uint16_t *ret_port,
		 struct err *e)
{
	if (!addr_split(one, a, ret_host, ret_port))
		return 0;
	err_set(e, ERR_USAGE, "--peer: '%s' is not HOST or HOST:PORT", one);
	return err_hint(
		e, "for example --peer 10.0.0.2, --peer node1:29500 or --peer [fd00::2]:29500");
}

/* "node1=10.0.0.2" -> "node1", and where the addresses begin. */
static const char *peer_name(const char *given, struct arena *a, const char **ret_addresses)
{
	const char *eq = strchr(given, '=');

	*ret_addresses = eq ? eq + 1 : given;
	return eq && eq > given ? arena_strndup(a, given, (size_t)(eq - given)) : given;
}

/* Calls @each for every comma-separated part of @given. */
static int each_part(const char *given, struct arena *a,
		     int (*each)(const char *part, void *arg, struct err *e), void *arg,
		     struct err *e)
{
	for (const char *p = given;; p++) {
		size_t n = strcspn(p, ",");

		if (each(arena_strndup(a, p, n), arg, e))
			return -1;
		p += n;
		if (!*p)
			return 0;
	}
}

struct resolving {
	const struct facts *f;
	struct peer *peer;
	uint64_t deadline_ns;
	const char *trouble;
	bool unasked; /* for a reason of this host's own */
	bool is_self, is_named;
};

static int validate_part(const char *part, void *arg, struct err *e)
{
	const char *host;
	uint16_t port;

	if (split(part, arg, &host, &port, e))
		return -1;
	if (addr_is_digit_trap(host)) {
		err_set(e, ERR_USAGE, "--peer: '%s' is a number, not a host", host);
		return err_hint(e,
				"a port stands behind its host, HOST:29500; an address has dots");
	}
	if (!addr_is_mistyped(host))
		return 0;
	err_set(e, ERR_USAGE, "--peer: '%s' is " ADDR_MISTYPED, host);
	return err_hint(e, "check it for a slip");
}

/* "a,b" are two peers; "NAME=a,b" is one with two addresses. */
static void each_alone(const str_list *given, struct arena *a, str_list *ret)
{
	for (size_t i = 0; i < given->n; i++) {
		const char *p = given->v[i];

		for (size_t n; !strchr(p, '=') && p[n = strcspn(p, ",")]; p += n + 1)
			*LIST_ADD(a, ret) = arena_strndup(a, p, n);
		*LIST_ADD(a, ret) = p;
	}
}

int peers_validate(str_list *given, struct arena *a, struct err *e)
{
	str_list alone = {0};

	each_alone(given, a, &alone);
	*given = alone;
	for (size_t i = 0; i < given->n; i++) {
		const char *addresses;

		(void)peer_name(given->v[i], a, &addresses);
		if (each_part(addresses, a, validate_part, a, e))
			return -1;
	}
	return 0;
}

/* What a connection would end at on this very host: 0.0.0.0 means it, too. */
static bool is_here(const struct facts *f, const union addr *a)
{
	union addr any = {.sa.sa_family = a->sa.sa_family};

	return inventory_by_addr(&f->inv, a) || addr_class(a) == ADDR_LOOPBACK ||
	       addr_equal(a, &any);
}

static int resolve_part(const char *part, void *arg, struct err *e)
{
	struct resolving *w = arg;
	struct arena *a = w->f->a;
	struct name_answer got = {0};
	union addr literal;
	uint16_t port;

	if (split(part, a, &w->peer->host, &port, e))
		return -1;
	if (!addr_parse(w->peer->host, &literal))
		*LIST_ADD(a, &got.addrs) = addr_unmapped(&literal);
	else
		name_resolve(w->peer->host, w->deadline_ns, a, &got);
	if (!got.addrs.n)
		w->trouble = got.trouble;
	w->unasked |= got.unasked;
	w->peer->port = port;
	for (size_t i = 0; i < got.addrs.n; i++) {
		if (is_here(w->f, &got.addrs.v[i])) {
			w->is_self = true;
			continue;
		}
		addr_set_port(&got.addrs.v[i], port);
		*LIST_ADD(a, &w->peer->addrs) = got.addrs.v[i];
	}
	return 0;
}

static void say_no_address(const struct resolving *w, struct report *r)
{
	struct finding *f;

	if (w->is_self && w->is_named)
		return; /* --hosts gives every host the whole list, itself included */
	f = report_find(r, "peer.name", w->peer->given);
	if (w->is_self) {
		finding_set(f, ST_INFO,
			    "is an address of this host itself: nothing was tested with it");
	} else if (w->unasked) {
		finding_set(f, ST_ERROR, "%s", w->trouble);
	} else {
		finding_set(f, ST_FAIL, "%s", w->trouble ? w->trouble : "does not resolve");
		finding_expect(f, "a name that resolves, or an address");
		finding_fix(f, "getent ahosts %s   # then fix /etc/hosts or DNS", w->peer->host);
	}
	report_add(r, f);
}

int peers_resolve(const struct facts *f, const str_list *given, uint64_t deadline_ns,
		  struct report *r, peer_list *ret, struct err *e)
{
	for (size_t i = 0; i < given->n; i++) {
		struct peer *peer = LIST_ADD(f->a, ret);
		struct resolving w = {.f = f, .peer = peer, .deadline_ns = deadline_ns};
		const char *addresses;

		peer->given = peer_name(given->v[i], f->a, &addresses);
		if (each_part(addresses, f->a, resolve_part, &w, e))
			return -1;
		w.is_named = addresses != given->v[i];
		if (peer->addrs.n || (w.unasked && interrupt_pending()))
			continue;
		say_no_address(&w, r);
		ret->n--;
	}
	return 0;
}
