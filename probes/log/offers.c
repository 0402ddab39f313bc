/* Addresses that could not be reached, and who offered them on which interface. */
#include "probes/log/explain.h"

#include "lib/core/text.h"
#include "lib/host/leads.h"
#include "probes/log/extract.h"

enum {
	SURE = 78,    /* that an address which every host has for itself makes us */
	RETRIED = 66, /* ... where NCCL went on trying, and the job failed */
};

/* What libvirt, podman and LXC give to their bridges, the same everywhere. */
static bool is_on_every_host(const char *addr)
{
	static const char *const all[] = {"192.168.122.1", "10.88.0.1", "10.0.3.1"};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (streq(addr, all[i]))
			return true;
	return false;
}

/* 169.254.x.y: every host has that for itself. Ports 53 and 80 there are services of the cloud; of
 * a port that was made unreadable NCCL's own words say that it is none of these. */
static bool is_of_each_host(const struct extract *e, const struct cause *c)
{
	if (!*e->port)
		return starts_with(e->addr, "169.254.") &&
		       (strstr(c->first->text, "ocketPollConnect") ||
			strstr(c->first->text, "ocketStartConnect"));
	return starts_with(e->addr, "169.254.") && !streq(e->port, "53") && !streq(e->port, "80");
}

/* Without a fabric NCCL goes over sockets: what fails on @c's interface then does not fail for want
 * of the fabric. */
static int above_fabric(struct explanation *x, const struct cause *c, int weight)
{
	enum { BEFORE = 5 /* more than what broke first gets */, MOST = 95 };
	static const char *const fabric[] = {"EFA-001", "EFA-006"};

	bool over_sockets = c && c->first && strstr(c->first->text, "NET/Socket");

	for (size_t i = 0; over_sockets && i < ARRAY_LEN(fabric); i++) {
		const struct cause *f = explain_find(x, fabric[i]);

		if (f && f->weight + BEFORE > weight)
			weight = f->weight + BEFORE;
	}
	return weight < MOST ? weight : MOST;
}

/* The address that failed is one that nobody else can reach. */
static void blame_each_host(struct why *w, struct arena *a, struct explanation *x, size_t which,
			    const char *because)
{
	const struct cause copy = x->causes.v[which]; /* the list may grow */
	bool is_retried = copy.sig->tier == TIER_HINT;
	int weight = is_retried ? RETRIED : copy.weight + 6;
	struct cause *c;

	if (is_retried && (w->healthy || !x->in_trouble))
		return;
	c = explain_add(w, a, x, "IF-020");
	if (c->first || is_retried)
		explain_raise(c, above_fabric(x, c, weight), because);
	else /* nobody says on which interface: all that is shown is what failed */
		explain_reason(c, &copy, weight, because);
	c->first = c->first ? c->first : copy.first;
}

/* Loopback was published. A dead peer of this host refuses too; what does not answer at all was
 * meant for another. */
static void blame_loopback(struct why *w, struct arena *a, struct explanation *x,
			   const struct cause *failed, int weight, const char *because)
{
	bool named = explain_find(x, "IF-021"); /* a host's own name is that */
	struct cause *c;

	if (streq(failed->sig->id, "CON-036")) /* forbidden, whatever the address */
		return;
	if (!streq(failed->sig->id, "CON-003"))
		explain_raise(explain_add(w, a, x, "IF-007"), weight, because);
	else
		explain_raise(explain_find(x, "IF-007"), weight, because);
	if (!failed->first || !strstr(failed->first->text, "/pair.cc"))
		return;
	c = explain_add(w, a, x, "IF-017");
	if (!named) {
		explain_raise(c, 58,
			      "Gloo was told a loopback address: right only where all ranks are on "
			      "one host");
		return;
	}
	explain_raise(c, weight,
		      "a host's own name resolves to loopback, and Gloo was told that address");
	c->first = c->first ? c->first : failed->first;
}

/* The interface behind an address that could not be reached is the cause, the failure its effect.
 */
static void blame_interface(struct why *w, struct arena *a, struct explanation *x, size_t which,
			    const char *addr, const char *iface, const char *because)
{
	const struct cause copy = x->causes.v[which], *failed = &copy; /* the list may grow */
	int weight = failed->weight + 6 < 95 ? failed->weight + 6 : 95;
	struct cause *c;

	if (starts_with(addr, "fe80:")) {
		explain_raise(explain_add(w, a, x, "IF-005"), weight, because);
		explain_raise(explain_find(x, "IF-006"), weight + 1, because);
	}
	c = explain_find(x, "IF-004");
	if (iface &&
	    leads_nowhere_by_name(iface)) /* what connecting says for sure is named first */
		explain_raise(c,
			      failed->sig->tier == TIER_ROOT	 ? failed->weight - 1
			      : failed->sig->tier == TIER_EFFECT ? above_fabric(x, c, weight)
								 : weight,
			      because);
	if (starts_with(addr, "127."))
		blame_loopback(w, a, x, failed, weight, because);
	if (is_on_every_host(addr))
		explain_raise(explain_add(w, a, x, "IF-004"), weight > SURE ? weight : SURE,
			      arena_printf(a, "%s; %s", because,
					   "every host that has such a bridge has that address"));
	if (!starts_with(addr, "172.") ||
	    (iface && !streq(iface, "eth0") && !streq(iface, "docker0")))
		return;
	/* docker0's own, on every host: whoever answers is ourselves */
	if (streq(addr, "172.17.0.1")) {
		c = explain_add(w, a, x, "IF-008");
		explain_raise(c, weight > SURE ? weight : SURE, because);
		c->first = c->first ? c->first : failed->first;
	} else {
		explain_raise(explain_find(x, "IF-008"), weight, because);
	}
	if (starts_with(addr, "172.17.0.") && !iface && !explain_find(x, "CON-003"))
		explain_suspect(explain_add(w, a, x, "IF-008"), failed->weight - 1,
				"docker gives such addresses to containers");
}

/* The address is not in the log, but its process runs its channels over cards that it listed. */
static void blame_card(struct why *w, struct arena *a, struct explanation *x, size_t which)
{
	const struct cause failed = x->causes.v[which]; /* the list may grow */
	const struct actor *y = actors_get(&w->actors, &failed.first->who);
	int weight = failed.weight + 6 < 95 ? failed.weight + 6 : 95;

	for (int card = 0; y && card < CARDS; card++) {
		const struct offer *o =
			y->cards & 1u << card ? actors_card(&w->actors, y, card) : NULL;
		bool is_local = o && starts_with(o->addr, "fe80:");

		if (o && (is_local || leads_nowhere_by_name(o->iface)))
			explain_raise(explain_add(w, a, x, is_local ? "IF-005" : "IF-004"), weight,
				      arena_printf(a,
						   "%s has channels over its card %d, which is %s, "
						   "and a connection failed",
						   who_text(a, &y->who), card, o->iface));
	}
}

/* The network failed, no line says why, and a process uses several cards that this log does not
 * list. */
static void blame_unlisted(struct why *w, struct arena *a, struct explanation *x)
{
	enum { UNLISTED = 49 };
	const struct cause *failed = explain_find(x, "LOG-002");

	if (!failed || failed->is_over || w->healthy || w->actors.offers.n || explain_has_reason(x))
		return;
	for (size_t i = 0; i < w->actors.v.n; i++) {
		int n = __builtin_popcount(w->actors.v.v[i].cards);

		if (n < 2)
			continue;
		explain_suspect(explain_add(w, a, x, "IF-004"), UNLISTED,
				arena_printf(a,
					     "%s has channels over %d interfaces, and this log "
					     "does not say which ('NET/Socket : Using')",
					     who_text(a, &w->actors.v.v[i].who), n));
		return;
	}
}

/* Whose interface to meet over is a bridge's, a VPN's or the like; with @is_one false: is not. */
static const struct actor *who_meets(const struct actors *t, bool is_one, const char *not_of)
{
	for (size_t i = 0; i < t->v.n; i++) {
		const struct actor *y = &t->v.v[i];

		if (*y->boot && *y->who.host && !streq(y->who.host, not_of) &&
		    leads_nowhere_by_name(y->boot) == is_one)
			return y;
	}
	return NULL;
}

static bool has_address(struct why *w, const struct cause *c)
{
	struct extract e = {0};

	for (size_t k = 0; k < c->record->events.n && !*e.addr; k++)
		endpoint_of(w, &c->record->events.v[k], &e);
	return *e.addr;
}

/* The surest of those that say that a connection was not made, and not to which address; NULL: none
 * is, or the job fails for something else. */
static const struct cause *unaddressed(struct why *w, struct explanation *x)
{
	static const char *const failed[] = {"CON-001", "CON-002", "CON-004", "CON-005",
					     "CON-006", "CON-026", NULL};
	const struct cause *best = NULL;

	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *c = &x->causes.v[i];
		bool is_one = explain_is_one_of(c, failed);

		if (c->is_over || !c->first)
			continue;
		if (!is_one && c->sig->tier == TIER_ROOT && c->weight >= CONFIDENT)
			return NULL;
		if (is_one && has_address(w, c))
			return NULL;
		if (is_one && (!best || c->weight > best->weight))
			best = c;
	}
	return best;
}

/* No line has the address that failed, but one host told the others that of a bridge, while another
 * meets over a card: what they could not connect to is that. */
static void blame_odd_one(struct why *w, struct arena *a, struct explanation *x)
{
	enum { MORE = 10 /* than that a connection failed */, MOST = 95 };
	const struct actor *odd = who_meets(&w->actors, true, "");
	const struct actor *other = odd ? who_meets(&w->actors, false, odd->who.host) : NULL;
	const struct cause *effect = other && !w->healthy ? unaddressed(w, x) : NULL;

	if (effect)
		explain_raise(
			explain_find(x, "IF-004"), explain_above(effect, MORE, MOST),
			arena_printf(a, "%s meets over %s, but %s over %s, and a connection failed",
				     odd->who.host, odd->boot, other->who.host, other->boot));
}

/* The address that it meets the others at; NULL: it did not say. */
static const char *meets_at(const struct actors *t, const struct actor *y)
{
	for (size_t i = 0; *y->boot && i < t->offers.n; i++)
		if (&t->v.v[t->offers.v[i].actor] == y && streq(t->offers.v[i].iface, y->boot))
			return t->offers.v[i].addr;
	return NULL;
}

/* Processes of two hosts that told the others one address; NULL: there are none. */
static const struct actor *same_address(const struct actors *t, const struct actor **ret_other)
{
	for (size_t i = 0; i < t->v.n && i < RANKS_KEPT; i++)
		for (size_t k = 0; k < i; k++) {
			const struct actor *p = &t->v.v[k], *q = &t->v.v[i];
			const char *one = meets_at(t, p), *two = meets_at(t, q);

			if (!*p->who.host || !*q->who.host || !one || !two || !streq(one, two) ||
			    log_hosts_fit(p->who.host, q->who.host))
				continue;
			*ret_other = q;
			return p;
		}
	return NULL;
}

/* An interface of that host that leads to others; NULL: the log has none. */
static const char *real_iface(struct arena *a, const struct actors *t, const char *host)
{
	for (size_t i = 0; i < t->offers.n; i++)
		if (streq(t->v.v[t->offers.v[i].actor].who.host, host) &&
		    !leads_nowhere_by_name(t->offers.v[i].iface))
			return explain_word(a, t->offers.v[i].iface);
	return NULL;
}

static const char *pin(struct arena *a, const struct actors *t, const struct actor *p,
		       const struct actor *q)
{
	const char *one = real_iface(a, t, p->who.host), *two = real_iface(a, t, q->who.host);

	if (one && two)
		return arena_printf(a, "export NCCL_SOCKET_IFNAME='=%s'   # on %s; on %s: '=%s'",
				    one, p->who.host, q->who.host, two);
	return arena_printf(a,
			    "export NCCL_SOCKET_IFNAME='^%s,docker,lo,br-,virbr,veth'   # on every "
			    "host; GLOO_SOCKET_IFNAME: the LAN's interface",
			    p->boot);
}

/* Whoever connects to the other finds itself. */
static void blame_same_address(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const ids[] = {"CON-001", "CON-002", "CON-003", "CON-004", "CON-006",
					  "CON-026", "PT-006",	"HNG-001", NULL};
	enum { MORE = 6, MOST = 95 };
	const struct actor *q = NULL, *p = same_address(&w->actors, &q);
	const struct cause *effect = p ? explain_surest(x, ids, 0) : NULL;
	int weight = effect && effect->weight + MORE > SURE ? effect->weight + MORE : SURE;
	const struct log_event *e = effect ? effect->first : NULL; /* the list may grow */
	struct cause *c;

	if (!effect || !leads_nowhere_by_name(p->boot) || why_has_worked(w))
		return;
	c = explain_add(w, a, x, "IF-004");
	c->first = c->first ? c->first : e;
	if (explain_word(a, p->boot))
		c->cure = pin(a, &w->actors, p, q);
	explain_raise(c, weight < MOST ? weight : MOST,
		      arena_printf(a,
				   "%s and %s both meet over %s with the very same address, %s: "
				   "each connects to itself",
				   p->who.host, q->who.host, p->boot, meets_at(&w->actors, p)));
}

/* PaddlePaddle's Gloo: the connection was there, and its peer kept silent. */
static bool was_connected(const struct cause *c)
{
	return strstr(c->first->text, "TIMEOUT self_rank");
}

/* No router is on the way to an address of one's own network: its host is down, or refuses. Who
 * offered it was up. */
static void say_near(const struct why *w, struct arena *a, struct cause *c, const struct extract *e,
		     bool is_offered)
{
	static const char *const ids[] = {"CON-001", "CON-002"};
	const struct offer *o = actors_near(&w->actors, c->first->who.host, e->addr);

	/* each host may have a network of that number for its containers */
	if (!o || (c->because && !is_offered) || leads_nowhere_by_name(o->iface) ||
	    starts_with(e->addr, "172.17."))
		return;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		if (streq(c->sig->id, ids[i]))
			c->because = arena_printf(
				a, "%s looks like a neighbour of %s on %s: its firewall refuses%s",
				is_offered ? arena_printf(a, "%s, and", c->because) : "it", o->addr,
				o->iface, is_offered ? "" : ", or it is down");
}

/* An address that could not be reached, and on which interface its owner offered it. */
void offers(struct why *w, struct arena *a, struct explanation *x)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];
		const struct offer *o;
		struct extract e = {0};
		const char *said;

		if (!starts_with(c->sig->id, "CON-") || !c->first || c->sig->tier == TIER_WRAPPER ||
		    was_connected(c))
			continue;
		for (size_t k = 0; k < c->record->events.n && !*e.addr; k++)
			endpoint_of(w, &c->record->events.v[k], &e);
		o = *e.addr ? actors_offered(&w->actors, e.addr) : NULL;
		if (o)
			c->because =
				arena_printf(a, "%s was offered by %s on %s", e.addr,
					     who_text(a, &w->actors.v.v[o->actor].who), o->iface);
		if (*e.addr && !c->because)
			said = arena_printf(a, "a rank could not connect to %s", e.addr);
		else
			said = c->because;
		say_near(w, a, c, &e, o != NULL);
		if (is_of_each_host(&e, c))
			blame_each_host(w, a, x, i, said);
		else if (*e.addr)
			blame_interface(w, a, x, i, e.addr, o ? o->iface : NULL, said);
		else if (c->sig->tier != TIER_HINT)
			blame_card(w, a, x, i);
	}
	blame_unlisted(w, a, x);
	blame_odd_one(w, a, x);
	blame_same_address(w, a, x);
}
