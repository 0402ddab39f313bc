/*
 * Is it docker's? eth0 with 172.17 to 172.31 is a container's bridge as well as a machine of a
 * cloud (EC2's default VPC is 172.31.0.0/16). Docker counts: the first of 172.17.0.0/16 is the
 * bridge, .0.2, .0.3 ... are containers, and only the fourteenth network more comes to 172.31. A
 * subnet of a cloud gives out what it likes.
 */
#include "probes/log/explain.h"

#include "lib/core/units.h"

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

void docker(struct why *w, struct explanation *x)
{
	struct cause *c = explain_find(x, "IF-008");
	bool is_machine = false;

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
