/* Hosts and ranks that say different things of themselves where all should be alike: settings of
 * NCCL, the program's commit, an interface's MTU. It matters where what fails is what that makes
 * fail. */
#include "probes/log/explain.h"

#include "lib/host/leads.h"

#include <ctype.h>

enum {
	MORE = 6, /* than what it explains */
	MOST = 95,
};

/* --- settings of NCCL -------------------------------------------------------------------- */

static const char *host_of(const struct why *w, unsigned actor)
{
	return actor ? w->actors.v.v[actor - 1].who.host : "";
}

static bool is_ready(const struct why *w, const char *host)
{
	for (size_t i = 0; i < w->actors.v.n; i++)
		if (w->actors.v.v[i].ready && streq(w->actors.v.v[i].who.host, host))
			return true;
	return false;
}

/* A host that came as far as the others and says what it reads, and not this; NULL: none. */
static const char *host_without(const struct why *w, const struct setup_setting *v)
{
	for (size_t i = 0; i < w->actors.nhosts; i++)
		if (w->setup.hosts & ~v->hosts & UINT64_C(1) << i &&
		    is_ready(w, w->actors.hosts[i]))
			return w->actors.hosts[i];
	return NULL;
}

/* @may_lack: that one host has it alone is a difference, too. NULL: all are alike. */
static const char *setting_text(const struct why *w, struct arena *a, const struct setup_setting *v,
				bool may_lack)
{
	const char *host = host_of(w, v->actor), *other = host_of(w, v->other_actor), *lacks;

	if (v->other && *host && *other && !streq(host, other))
		return arena_printf(a, "%s is %s on %s, but %s on %s", v->name, v->value, host,
				    v->other, other);
	lacks = may_lack && *host ? host_without(w, v) : NULL;
	return lacks ? arena_printf(a, "%s is %s on %s, and not set on %s", v->name, v->value, host,
				    lacks)
		     : NULL;
}

static const char *differing(const struct why *w, struct arena *a, const char *const *names,
			     bool may_lack, const char **ret_name)
{
	for (size_t i = 0; i < w->setup.nsettings; i++)
		for (size_t k = 0; names[k]; k++) {
			const struct setup_setting *v = &w->setup.settings[i];
			const char *said =
				streq(v->name, names[k]) ? setting_text(w, a, v, may_lack) : NULL;

			if (said) {
				*ret_name = v->name;
				return said;
			}
		}
	return NULL;
}

/* The two ends themselves: that goes wrong with the first message of some size, also late. */
static bool says_sizes(const struct cause *effect)
{
	return streq(effect->sig->id, "CON-017") || streq(effect->sig->id, "CON-034");
}

/* What these settings make fail. */
static void settings(struct why *w, struct arena *a, struct explanation *x,
		     const char *const *names, const char *const *effects, bool may_lack)
{
	const char *name, *said = differing(w, a, names, may_lack, &name);
	const struct cause *effect = said ? explain_surest(x, effects, CONFIDENT) : NULL;
	struct cause *c = explain_find(x, "NET-016");

	if (!effect || !c || c->is_over || explain_above(effect, MORE, MOST) <= c->weight ||
	    (why_has_worked(w) && !says_sizes(effect)))
		return;
	c->first = explain_event(c, arena_printf(a, "%s set by", name));
	explain_reason(c, effect, explain_above(effect, MORE, MOST), said);
}

/* How a collective is cut into messages: each rank decides that for itself. */
static const char *const cutting[] = {"NCCL_PROTO",
				      "NCCL_ALGO",
				      "NCCL_BUFFSIZE",
				      "NCCL_LL_BUFFSIZE",
				      "NCCL_LL128_BUFFSIZE",
				      "NCCL_NTHREADS",
				      "NCCL_NET_SHARED_BUFFERS",
				      "NCCL_P2P_NET_CHUNKSIZE",
				      "NCCL_NCHANNELS_PER_NET_PEER",
				      NULL};
static const char *const cut[] = {"CON-017", "CON-034", "IB-004", "CON-018",
				  "PT-112",  "PT-006",	"IB-015", NULL};

/* By which address and in which class RDMA goes. */
static const char *const addressing[] = {"NCCL_IB_GID_INDEX",	"NCCL_IB_ROCE_VERSION_NUM",
					 "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE",
					 "NCCL_IB_PKEY",	NULL};
static const char *const unaddressed[] = {"IB-001", "IB-005", "IB-006", "IB-011", "IB-015", NULL};

static void all_settings(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "NET-016");

	if (!c)
		return;
	c->weight = 0;
	settings(w, a, x, cutting, cut, true);
	settings(w, a, x, addressing, unaddressed, false);
}

/* --- the program and its packages --------------------------------------------------------- */

static void programs(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"PT-009",	 "PT-126",  "PT-014", "PT-107", "CON-019",
					      "CON-015", "CON-017", "PT-123", "PT-130", NULL};

	for (size_t i = 0; i < w->traits.n; i++) {
		const struct trait *v = &w->traits.v[i];
		struct cause *c = explain_surest(x, effects, CONFIDENT);
		const char *said;

		if (!*v->value[1].text || starts_with(v->name, "MTU "))
			continue;
		said = arena_printf(a, "%s has %s %s, but %s %s", v->value[0].by, v->name,
				    v->value[0].text, v->value[1].by, v->value[1].text);
		if (x->in_trouble)
			*LIST_ADD(a, &x->notes) = said;
		if (c && !c->because)
			explain_raise(c, explain_above(c, MORE, MOST), said);
	}
}

/* --- packets ------------------------------------------------------------------------------ */

/* Ranks meet or send over it; where the log does not say over which, any may be. */
static bool is_used(const struct why *w, const char *iface)
{
	for (size_t i = 0; i < w->actors.offers.n; i++)
		if (streq(w->actors.offers.v[i].iface, iface))
			return true;
	return !w->actors.offers.n && !leads_nowhere_by_name(iface);
}

static const char *mtu_text(const struct why *w, struct arena *a, const char **ret_iface)
{
	for (size_t i = 0; i < w->traits.n; i++) {
		const struct trait *v = &w->traits.v[i];
		const char *iface = v->name + strlen("MTU of ");

		if (!starts_with(v->name, "MTU of ") || !*v->value[1].text || !is_used(w, iface))
			continue;
		*ret_iface = iface;
		if (!*v->value[0].by || strchr(v->value[0].by, ':'))
			return arena_printf(a, "the log shows %s with MTU %s and with MTU %s",
					    iface, v->value[0].text, v->value[1].text);
		return arena_printf(a, "%s has MTU %s on %s, but %s on %s", iface, v->value[0].text,
				    v->value[0].by, v->value[1].text, v->value[1].by);
	}
	return NULL;
}

/* An MTU of which so much is data. */
static long mtu_of(const struct ping *p, long bytes)
{
	enum { IPV4 = 20, IPV6 = 40, ICMP = 8 };

	return bytes + (strchr(p->addr, ':') ? IPV6 : IPV4) + ICMP;
}

static const char *lost_text(struct arena *a, const struct ping *p)
{
	return arena_printf(a,
			    "ping -s %ld %s is answered, and -s %ld is not: the path takes an MTU "
			    "of at least %ld, and less than %ld",
			    p->passed, p->addr, p->lost, mtu_of(p, p->passed), mtu_of(p, p->lost));
}

/* An interface, @name where that is no NULL, whose MTU a command showed as more than that; NULL:
 * none. */
static const char *link_above(const struct why *w, const char *name, long mtu)
{
	for (size_t i = 0; i < w->traits.n; i++) {
		const char *iface = w->traits.v[i].name + strlen("MTU of ");

		if (starts_with(w->traits.v[i].name, "MTU of ") && !leads_nowhere_by_name(iface) &&
		    (!name || streq(iface, name)) && !streq(iface, "lo") &&
		    strtol(w->traits.v[i].value[0].text, NULL, 10) > mtu)
			return iface;
	}
	return NULL;
}

/* A command showed an interface with that MTU, and not @but. */
static bool is_link(const struct why *w, const char *but, long mtu)
{
	for (size_t i = 0; i < w->traits.n; i++) {
		const struct trait *v = &w->traits.v[i];

		if (starts_with(v->name, "MTU of ") && !streq(v->name + strlen("MTU of "), but) &&
		    (strtol(v->value[0].text, NULL, 10) == mtu ||
		     strtol(v->value[1].text, NULL, 10) == mtu))
			return true;
	}
	return false;
}

/* Ping's own host told it that the path takes less than which interface; NULL: none, or another one
 * may be meant, which is no more than that. */
static const char *told_of(const struct why *w)
{
	const long mtu = w->pings.told.mtu;
	const char *via = w->pings.told.via, *by = asides_iface(w, *via ? via : w->pings.told.addr);

	by = *by || !*via || isdigit((unsigned char)*via) ? by : via;
	if (!mtu)
		return NULL;
	if (*by)
		return link_above(w, by, mtu);
	by = link_above(w, NULL, mtu);
	return by && !is_link(w, by, mtu) ? by : NULL;
}

/* Over which the ranks meet; NULL: not known. */
static const char *iface_of(const struct why *w, long mtu)
{
	for (size_t i = 0; i < w->actors.offers.n; i++)
		if (!leads_nowhere_by_name(w->actors.offers.v[i].iface))
			return w->actors.offers.v[i].iface;
	return link_above(w, NULL, mtu);
}

/* What the path takes, where a host has an interface that takes more; 0: not known. */
static long path_takes(const struct why *w, const struct ping *small)
{
	enum { LEAST = 1280, USUAL = 1500 /* IPv6 wants that, Ethernet has that */ };

	long passed = small ? mtu_of(small, small->passed) : 0;

	if (small && passed < LEAST) /* nobody tried how much passes */
		return mtu_of(small, small->lost) > USUAL ? USUAL : LEAST;
	if (small)
		return passed;
	return told_of(w) ? w->pings.told.mtu : 0;
}

/* What is large is lost without a word, as somebody's pings show: not only where all came. */
static const struct cause *lost_in(const struct why *w, struct explanation *x)
{
	static const char *const effects[] = {"PT-112",	 "PT-006",  "IB-001", "CON-024", "CON-004",
					      "CON-045", "CON-010", "PT-023", NULL};

	return w->pings.n ? explain_surest(x, effects, CONFIDENT) : NULL;
}

/* A router refused a large packet, or ping itself: an end knows of a smaller MTU on the way. */
static const char *refused_text(struct arena *a, const struct log_event *by_router, long takes)
{
	return by_router ? "a router on the way refused a large packet"
			 : arena_printf(a, "ping says that the path takes an MTU of %ld", takes);
}

static const char *mtu_cure(struct arena *a, const char *iface, long takes)
{
	const char *word = iface ? explain_word(a, iface) : NULL;

	return arena_printf(
		a,
		"sudo ip link set %s mtu %ld   # on every host; or jumbo frames (9216) on "
		"every switch port between them",
		word ? word : "DEV", takes);
}

/* Every rank came, what is small passed, and what is large does not arrive. */
static void packets(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"PT-112", "PT-006", NULL};
	enum { HUNG = 60 /* somebody ended it by hand, and tried pings */ };
	struct cause *c = explain_find(x, "IF-029");
	const struct ping *small = pings_of_small(&w->pings);
	const struct cause *effect = small ? lost_in(w, x) : explain_surest(x, effects, CONFIDENT);
	const struct log_event *ping = explain_event(c, "Frag needed and DF set");
	const char *iface = NULL, *said = mtu_text(w, a, &iface);
	long takes = path_takes(w, small);

	if (!c)
		return;
	c->weight = 0;
	if (c->is_over || (!effect && !(small && why_was_interrupted(w))) ||
	    (!small && why_has_worked(w)) || !(said || ping || takes))
		return;
	if (said)
		c->first = explain_event(c, arena_printf(a, " %s: <", iface));
	else
		c->first = ping ? ping : explain_event(c, small ? ", 100% packet loss" : "> mtu ");
	if (!said)
		said = small ? lost_text(a, small) : refused_text(a, ping, takes);
	c->cure = takes ? mtu_cure(a, small ? iface_of(w, takes) : told_of(w), takes) : NULL;
	explain_reason(c, effect ? effect : c, effect ? explain_above(effect, MORE, MOST) : HUNG,
		       said);
}

void unlike(struct why *w, struct arena *a, struct explanation *x)
{
	all_settings(w, a, x);
	programs(w, a, x);
	packets(w, a, x);
}
