/* What commands beside the job show of its hosts, where the ranks did not reach each other: the
 * reason that stands plainly there goes before what the ranks say. */
#include "probes/log/explain.h"

#include "lib/core/text.h"
#include "lib/host/leads.h"

#include <arpa/inet.h>

enum {
	MORE = 6, /* than what it explains */
	MOST = 97,
	FAINT = 46,
	ASKED = 40, /* also where it is the first */
	LAN = 24,   /* bits of a network that is not said */
};

/* Who could not be reached, as the ranks say it. */
struct vain {
	struct cause *effect;
	const struct log_event *e;
	struct extract to;
};

static const char *const unreached[] = {"PT-004",  "CON-004", "CON-002", "CON-001", "CON-006",
					"CON-005", "PT-030",  "CON-026", NULL};

/* The first line of @c that names an address or a name. */
static bool names_target(const struct why *w, const struct cause *c, struct vain *ret)
{
	for (size_t i = 0; i < c->record->events.n; i++) {
		ret->e = &c->record->events.v[i];
		endpoint_of(w, ret->e, &ret->to);
		if (*ret->to.addr || *ret->to.name)
			return true;
	}
	return false;
}

/* The surest of those; whom it does not name, another one of them does. */
static bool find_vain(const struct why *w, struct explanation *x, struct vain *ret)
{
	*ret = (struct vain){.effect = explain_surest(x, unreached, FAINT)};
	if (!ret->effect || names_target(w, ret->effect, ret))
		return ret->effect;
	for (size_t i = 0; unreached[i]; i++) {
		const struct cause *c = explain_find(x, unreached[i]);

		if (c && !c->is_over && c->weight >= FAINT && names_target(w, c, ret))
			return true;
	}
	return false;
}

static void raise(struct cause *c, const struct vain *v, const char *because)
{
	explain_reason(c, v->effect, explain_above(v->effect, MORE, MOST), because);
}

static const char *target(const struct vain *v) { return *v->to.addr ? v->to.addr : v->to.name; }

/* --- a name that leads elsewhere ----------------------------------------------------------- */
static const struct owned *one_of(const struct asides *t, const char *host)
{
	for (unsigned i = 0; i < t->nowned; i++)
		if (*t->owned[i].host && log_hosts_fit(t->owned[i].host, host) &&
		    !leads_nowhere_by_name(t->owned[i].iface))
			return &t->owned[i];
	return NULL;
}

static bool is_own(const struct asides *t, const char *host, const char *addr)
{
	for (unsigned i = 0; i < t->nowned; i++)
		if (streq(t->owned[i].addr, addr) && log_hosts_fit(t->owned[i].host, host))
			return true;
	return false;
}

/* Where its line shows, the file is mended; else another server than a file may have said it. */
static const char *name_cure(struct arena *a, const struct named *n, const char *is)
{
	if (!explain_word(a, n->name))
		return NULL;
	if (n->in_file)
		return arena_printf(a,
				    "sudo sed -i 's/^%s[ \\t]/%s /' /etc/hosts   # %s%s: %s is %s "
				    "now; reserve that address in the router",
				    n->addr, is, *n->on ? "on " : "where it stands", n->on, n->name,
				    is);
	return arena_printf(a,
			    "getent -s dns ahostsv4 %s   # %s%s: %s too? then its DNS record wants "
			    "%s; else the line of /etc/hosts",
			    n->name, *n->on ? "on " : "there", n->on, n->addr, is);
}

static void stale_name(const struct asides *t, struct arena *a, struct explanation *x,
		       const struct vain *v)
{
	struct cause *c = explain_find(x, "IF-035");

	for (unsigned i = 0; c && i < t->nnamed; i++) {
		const struct named *n = &t->named[i];
		const struct owned *o = one_of(t, n->name);

		if (!o || starts_with(n->addr, "127.") || is_own(t, n->name, n->addr) ||
		    (!streq(v->to.name, n->name) && !streq(v->to.addr, n->addr) &&
		     !streq(v->to.addr, n->name)))
			continue;
		c->cure = name_cure(a, n, o->addr);
		raise(c, v,
		      arena_printf(a, "%s%s%s leads to %s, and %s has %s", n->name,
				   *n->on ? " on " : "", n->on, n->addr, n->name, o->addr));
		return;
	}
}

/* --- WSL's own network --------------------------------------------------------------------- */
static bool is_of_nat(const char *addr)
{
	struct in_addr v;
	enum { NET = 0xac100000, MASK = 0xfff00000 }; /* 172.16.0.0/12 */

	return inet_pton(AF_INET, addr, &v) == 1 && (ntohl(v.s_addr) & MASK) == NET;
}

static void wsl(const struct asides *t, struct arena *a, struct explanation *x,
		const struct vain *v)
{
	struct cause *c = explain_find(x, "IF-036");

	if (!c || !t->is_wsl || !is_of_nat(v->to.addr))
		return;
	c->first = v->e;
	raise(c, v,
	      arena_printf(a, "nothing came back from %s, and the log is of WSL", v->to.addr));
}

/* --- who does not answer in the same network ------------------------------------------------ */
static void neighbour(const struct asides *t, struct arena *a, struct explanation *x,
		      const struct vain *v)
{
	struct cause *c = explain_find(x, "IF-037");
	bool is_mute = false;
	const struct owned *o = asides_owner(t, target(v));

	for (unsigned i = 0; i < t->nmute; i++)
		is_mute |= streq(t->mute[i], target(v));
	if (!c || !is_mute)
		return;
	if (o)
		raise(c, v,
		      arena_printf(a, "%s has %s%s%s, and nobody answers there in the same network",
				   *o->host ? o->host : "a host", o->addr, *o->iface ? " on " : "",
				   o->iface));
	else
		explain_suspect(c, FAINT, "nobody answers ARP for that address");
}

/* --- firewalls ------------------------------------------------------------------------------ */
static bool lets(const struct wall *l, const char *port)
{
	for (unsigned i = 0; i < l->nports; i++)
		if (l->ports[i] == (unsigned)strtoul(port, NULL, 10))
			return true;
	return false;
}

/* The network of @addr: what its rule says, or its host's own. */
static const char *subnet(const struct asides *t, struct arena *a, const struct wall *l,
			  const char *addr)
{
	const struct owned *o = asides_owner(t, addr);
	int bits = o && o->bits > 0 && o->bits < 32 ? o->bits : LAN;
	struct in_addr v;
	char net[INET_ADDRSTRLEN];

	if (*l->subnet)
		return explain_word(a, l->subnet);
	if (inet_pton(AF_INET, addr, &v) != 1)
		return NULL;
	v.s_addr &= htonl(UINT32_MAX << (32 - bits));
	return arena_printf(a, "%s/%d", inet_ntop(AF_INET, &v, net, sizeof(net)), bits);
}

static const char *open_up(struct arena *a, const struct wall *l, const char *net)
{
	if (l->kind == WALL_UFW)
		return arena_printf(a,
				    "sudo ufw allow from %s   # on every host: all ports, between "
				    "the hosts alone",
				    net);
	if (l->kind == WALL_FIREWALLD)
		return arena_printf(a,
				    "sudo firewall-cmd --permanent --zone=trusted --add-source=%s; "
				    "sudo firewall-cmd --reload   # on every host",
				    net);
	return arena_printf(a, "sudo iptables -I INPUT -s %s -j ACCEPT   # on every host", net);
}

/* Is it of the host that was not reached? Where nobody says who has that address: of another one
 * than who asked. */
static bool is_in_the_way(const struct asides *t, const struct vain *v, const struct wall *l)
{
	const struct owned *o = asides_owner(t, v->to.addr);

	if (!*l->host)
		return false;
	return o && *o->host ? log_hosts_fit(o->host, l->host)
			     : !*v->e->who.host || !log_hosts_fit(v->e->who.host, l->host);
}

/* The one that is known to be in the way; else one of a host that is not said; NULL: neither. */
static const struct wall *wall_before(const struct asides *t, const struct vain *v)
{
	const struct wall *found = NULL;

	for (unsigned i = 0; i < t->nwalls; i++) {
		const struct wall *l = &t->walls[i];

		if (l->is_wide || lets(l, v->to.port))
			continue;
		if (is_in_the_way(t, v, l))
			return l;
		if (!*l->host)
			found = l;
	}
	return found;
}

static const char *wall_text(struct arena *a, const struct wall *l, const char *port)
{
	static const char *const names[] = {"ufw", "firewalld", "the firewall"};
	const char *of = *l->host ? " of " : "";

	if (l->kind == WALL_OTHER)
		return arena_printf(a, "%s%s%s drops what no rule of it lets in", names[l->kind],
				    of, l->host);
	return arena_printf(a, "%s%s%s is on, and no rule lets in %s%s", names[l->kind], of,
			    l->host, *port ? "port " : "the port that a rank chose", port);
}

static void wall(const struct asides *t, struct arena *a, struct explanation *x,
		 const struct vain *v)
{
	struct cause *c = explain_find(x, "CON-050");
	const struct wall *l = c ? wall_before(t, v) : NULL;
	const char *net, *said;

	if (!l)
		return;
	said = wall_text(a, l, v->to.port);
	net = subnet(t, a, l, v->to.addr);
	c->cure = net ? open_up(a, l, net) : NULL;
	if (l->kind == WALL_OTHER || !*l->host) /* its rules are not read, or whose it is */
		explain_suspect(c, FAINT, said);
	else
		raise(c, v, said);
}

/* --- a tunnel ------------------------------------------------------------------------------- */
/* Of a host, as commands show it: no bridge, no tunnel. */
static const struct owned *real_one(const struct asides *t)
{
	for (unsigned i = 0; i < t->nowned; i++)
		if (*t->owned[i].iface && !leads_nowhere_by_name(t->owned[i].iface))
			return &t->owned[i];
	return NULL;
}

/* Nobody answers at the address of a VPN or a bridge, which NCCL takes as readily as a card. */
static void tunnel(struct why *w, struct arena *a, struct explanation *x, const struct vain *v)
{
	const char *iface = asides_iface(w, v->to.addr);
	const struct owned *good = real_one(&w->asides);
	struct vain copy = *v;
	struct cause *c, effect;

	if (!explain_word(a, iface) || !leads_nowhere_by_name(iface) ||
	    starts_with(iface, "docker") || streq(v->effect->sig->id, "CON-001"))
		return;
	effect = *v->effect; /* the list may grow */
	copy.effect = &effect;
	c = explain_add(w, a, x, "IF-004");
	c->first = v->e;
	c->cure =
		good && explain_word(a, good->iface)
			? arena_printf(a,
				       "export NCCL_SOCKET_IFNAME='=%s'   # the LAN's, not %s; on "
				       "each host the name that it has there",
				       good->iface, iface)
			: arena_printf(a,
				       "export NCCL_SOCKET_IFNAME='^%s,docker,lo,br-,virbr,veth'   "
				       "# on every host; GLOO_SOCKET_IFNAME: the LAN's interface",
				       iface);
	raise(c, &copy,
	      arena_printf(a, "%s is on %s, and nobody answered there", v->to.addr, iface));
}

/* --- rented containers ---------------------------------------------------------------------- */
/* Only single ports of such a container are passed on, under other numbers: no rank's own. */
static void rented(const struct asides *t, struct explanation *x, const struct vain *v)
{
	struct cause *c = explain_find(x, "IF-038");
	const struct cause *bridge = explain_find(x, "IF-008");

	if (!c || !t->is_rented)
		return;
	explain_reason(c, bridge && bridge->weight > v->effect->weight ? bridge : v->effect,
		       bridge && bridge->weight + MORE > explain_above(v->effect, MORE, MOST)
			       ? bridge->weight + MORE
			       : explain_above(v->effect, MORE, MOST),
		       "the log is of rented containers");
}

/* --- Gloo's loopback ------------------------------------------------------------------------ */
/* A host's own name is loopback there, or a rank listens on it: Gloo publishes what it leads to. */
static void own_name(const struct asides *t, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "IF-021"), *e = explain_find(x, "IF-016");
	const struct owned *o = NULL;

	if (!c || !e || e->is_over || e->weight < CONFIDENT || explain_says(e, "remote=[1") ||
	    explain_says(e, "connect ["))
		return;
	for (unsigned i = 0; i < t->nowned && !o; i++)
		if (explain_word(a, t->owned[i].iface) && !leads_nowhere_by_name(t->owned[i].iface))
			o = &t->owned[i];
	if (o)
		c->cure =
			arena_printf(a,
				     "export GLOO_SOCKET_IFNAME=%s   # on %s, which has %s there; "
				     "on each host the interface with its LAN address",
				     o->iface, *o->host ? o->host : "that host", o->addr);
	explain_reason(c, e, e->weight + (t->listens_alone || !t->nwalls ? MORE : 2),
		       t->listens_alone
			       ? "a rank listens on loopback alone"
			       : "so Gloo published loopback, and the others found themselves");
}

/* --- what somebody tried -------------------------------------------------------------------- */
static bool is_by_hand(const struct cause *c)
{
	static const char *const tools[] = {"nc: ",	     "ncat: ", "Ncat: ",	"telnet: ",
					    "bash: connect", "curl: ", "(tcp) failed: "};

	for (size_t i = 0; i < c->record->events.n; i++) {
		bool any = false;

		for (size_t k = 0; k < ARRAY_LEN(tools); k++)
			any |= strstr(c->record->events.v[i].text, tools[k]) != NULL;
		if (!any)
			return false;
	}
	return c->record->events.n > 0;
}

/* A knock that is refused is an answer to who asked, and no failure of the job. */
static void knocks(const struct asides *t, struct explanation *x)
{
	static const char *const ids[] = {"CON-002", "CON-003", "CON-004", NULL};
	bool failed = false;

	for (size_t i = 0; i < x->causes.n; i++)
		failed |= explain_is_real(&x->causes.v[i]) && !x->causes.v[i].is_over &&
			  x->causes.v[i].weight >= FAINT &&
			  !explain_is_one_of(&x->causes.v[i], ids);
	for (size_t i = 0; ids[i] && !failed; i++) {
		struct cause *c = explain_find(x, ids[i]);

		if (c && is_by_hand(c) && c->weight > ASKED)
			c->weight = t->has_answered ? 0 : ASKED;
	}
}

void asides_judge(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const shown[] = {"IF-035", "IF-036", "IF-037", "IF-038", "CON-050"};
	const struct asides *t = &w->asides;
	struct vain v;

	for (size_t i = 0; i < ARRAY_LEN(shown); i++)
		if (explain_find(x, shown[i]))
			explain_find(x, shown[i])->weight = 0;
	knocks(t, x);
	own_name(t, a, x);
	if (!find_vain(w, x, &v) || why_has_worked(w))
		return;
	rented(t, x, &v);
	wall(t, a, x, &v);
	neighbour(t, a, x, &v);
	stale_name(t, a, x, &v);
	wsl(t, a, x, &v);
	tunnel(w, a, x, &v); /* the last: the list may grow */
}
