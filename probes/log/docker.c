/*
 * Is it docker's? eth0 with 172.17 to 172.31 is a container's bridge as well as a machine of a
 * cloud (EC2's default VPC is 172.31.0.0/16). Docker counts: the first of 172.17.0.0/16 is the
 * bridge, .0.2, .0.3 ... are containers, and only the fourteenth network more comes to 172.31. A
 * subnet of a cloud gives out what it likes.
 */
#include "probes/log/explain.h"

#include "lib/core/text.h"
#include "lib/core/units.h"
#include "lib/host/leads.h"

enum { CONTAINERS = 64, ID = 12 }; /* at most so many of one bridge; letters of their names */

enum owner { OWNER_OTHER, OWNER_DOCKER, OWNER_MACHINE, OWNER_UNSURE };

/* A container is called after its id, if nobody called it anything. */
static bool is_id(const char *host)
{
	return strlen(host) == ID && host[strspn(host, "0123456789abcdef")] == 0;
}

/* The fields of an address in 172.17 to 172.31. */
static bool is_in_range(const char *addr, unsigned ret[4])
{
	return sscanf(addr, "%3u.%3u.%3u.%3u", &ret[0], &ret[1], &ret[2], &ret[3]) == 4 &&
	       ret[0] == 172 && ret[1] >= 17 && ret[1] <= 31;
}

/* Two hosts have it: a bridge's, on each. */
static bool is_shared(const struct actors *t, const struct offer *o)
{
	const char *host = t->v.v[o->actor].who.host;

	for (size_t i = 0; *host && i < t->offers.n; i++) {
		const char *other = t->v.v[t->offers.v[i].actor].who.host;

		if (*other && !streq(other, host) && streq(t->offers.v[i].addr, o->addr))
			return true;
	}
	return false;
}

static enum owner owner_of(const struct actors *t, const struct offer *o)
{
	unsigned f[4];

	if (streq(o->iface, "docker0"))
		return OWNER_DOCKER;
	if (!streq(o->iface, "eth0") || !is_in_range(o->addr, f))
		return OWNER_OTHER;
	if (is_id(t->v.v[o->actor].who.host) || is_shared(t, o))
		return OWNER_DOCKER;
	return f[1] == 31 || f[2] != 0 || f[3] > CONTAINERS ? OWNER_MACHINE : OWNER_UNSURE;
}

static bool is_default_bridge(const struct offer *o)
{
	unsigned f[4];

	return streq(o->iface, "docker0") || (streq(o->iface, "eth0") && is_in_range(o->addr, f) &&
					      f[1] == 17 && !f[2] && f[3] <= CONTAINERS + 1);
}

/* Two hosts offer addresses of that bridge, and it is all that they offer. */
static bool is_all_bridge(const struct actors *t)
{
	const char *one = NULL;
	bool several = false;

	for (size_t i = 0; i < t->offers.n; i++) {
		const char *host = t->v.v[t->offers.v[i].actor].who.host;

		if (!is_default_bridge(&t->offers.v[i]))
			return false;
		several = several || (one && !streq(host, one));
		one = *host ? host : one;
	}
	return several;
}

/* No way from one's bridge to another's: that it does not answer is the effect. */
static void between_bridges(const struct why *w, struct explanation *x, struct cause *c)
{
	enum { BEFORE = 5 /* more than what broke first gets */, MOST = 95 };
	static const char *const wayless[] = {"CON-001", "CON-002", "CON-004", NULL};

	for (size_t i = 0; wayless[i] && is_all_bridge(&w->actors); i++) {
		const struct cause *e = explain_find(x, wayless[i]);
		int weight = e ? e->weight + BEFORE : 0;

		if (e && !e->is_over && e->weight >= CONFIDENT)
			explain_reason(c, e, weight < MOST ? weight : MOST,
				       "both ends are on docker's own bridge, which ends at "
				       "their host");
	}
}

/* Its bridge is seen only where nobody is in a container of it. */
static bool is_bare(const struct why *w)
{
	for (size_t i = 0; i < w->actors.offers.n; i++)
		if (streq(w->actors.offers.v[i].iface, "docker0"))
			return true;
	for (unsigned i = 0; i < w->asides.nowned; i++)
		if (streq(w->asides.owned[i].iface, "docker0"))
			return true;
	return false;
}

/* The one that the hosts have besides, by what they say or somebody shows; *ret_addr: there. NULL:
 * none is known, or each host has another. */
static const char *shared(const struct why *w, const char **ret_addr)
{
	const struct asides *t = &w->asides;
	const char *one = NULL;

	for (size_t i = 0; i < w->actors.offers.n + t->nowned; i++) {
		bool is_said = i < w->actors.offers.n;
		const struct offer *o = is_said ? &w->actors.offers.v[i] : NULL;
		const struct owned *v = is_said ? NULL : &t->owned[i - w->actors.offers.n];
		const char *iface = o ? o->iface : v->iface;

		if (!*iface || leads_nowhere_by_name(iface))
			continue;
		if (one && !streq(one, iface))
			return NULL;
		one = iface;
		*ret_addr = o ? o->addr : v->addr;
	}
	return one;
}

/* On bare hosts nothing is to be started anew but the ranks, with another interface. */
static const char *pin(const struct why *w, struct arena *a)
{
	const char *addr = NULL, *iface = shared(w, &addr);

	if (!iface || !explain_word(a, iface))
		return "export NCCL_SOCKET_IFNAME=^docker0,lo   # on every host; Gloo wants the "
		       "name of the one that they share: GLOO_SOCKET_IFNAME";
	return arena_printf(a,
			    "export NCCL_SOCKET_IFNAME=%s GLOO_SOCKET_IFNAME=%s   # on every host: "
			    "%s is there; or NCCL_SOCKET_IFNAME=^docker0,lo",
			    iface, iface, addr);
}

void docker(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "IF-008");
	bool is_machine = false;

	if (c && is_bare(w))
		c->cure = pin(w, a);
	for (size_t i = 0; c && i < w->actors.offers.n; i++) {
		enum owner is = owner_of(&w->actors, &w->actors.offers.v[i]);

		if (is == OWNER_DOCKER || is == OWNER_UNSURE) {
			between_bridges(w, x, c);
			return;
		}
		is_machine = is_machine || is == OWNER_MACHINE;
	}
	if (is_machine)
		c->weight = 0;
}
