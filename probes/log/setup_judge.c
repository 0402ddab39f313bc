/* Where what NCCL set up is poor, though nothing failed: each with what shows it, and no more. */
#include "lib/host/nccl_alike.h"
#include "lib/report/report.h"
#include "probes/log/explain.h"

enum {
	FEW = 4,  /* ends of channels that may be chance */
	MANY = 8, /* ... of a host, to be compared with another's */
	APART = 3 /* one rank from the others' mean: longer, and times as long */
};

static const struct setup_way *way_named(const struct setup *s, const char *start)
{
	for (size_t i = 0; i < s->nways; i++)
		if (starts_with(s->ways[i].name, start))
			return &s->ways[i];
	return NULL;
}

static bool is_on(const char *value) { return value && strtol(value, NULL, 0) != 0; }

/* NCCL was told to; NULL: it was not. */
static const char *asks_for_sockets(const struct setup *s)
{
	const char *net = setup_setting(s, "NCCL_NET");

	if (net && !strcasecmp(net, "Socket"))
		return "NCCL_NET=Socket";
	return is_on(setup_setting(s, "NCCL_IB_DISABLE")) ? "NCCL_IB_DISABLE=1" : NULL;
}

static bool is_said(const struct explanation *x, const char *id)
{
	for (size_t i = 0; i < x->causes.n; i++)
		if (streq(x->causes.v[i].sig->id, id))
			return true;
	return false;
}

static const char *name_of(const struct why *w, unsigned actor, struct arena *a)
{
	return actor ? who_text(a, &w->actors.v.v[actor - 1].who) : "a rank";
}

static const char *host_of(const struct why *w, unsigned actor)
{
	return actor ? w->actors.v.v[actor - 1].who.host : "";
}

/* --- sockets between hosts --------------------------------------------------------------- */

/* They carry data, as far as the log goes. */
static bool uses_sockets(const struct why *w)
{
	const struct setup *s = &w->setup;

	for (size_t i = 0; i < s->nways; i++)
		if (s->ways[i].way == NCCL_WAY_NET)
			return way_named(s, "NET/Socket") != NULL;
	for (size_t i = 0; !s->nways && setup_hosts(w) > 1 && i < w->actors.v.n; i++)
		if (streq(w->actors.v.v[i].network, "Socket"))
			return true;
	return false;
}

/* A process that found RDMA cards and went over sockets. */
static const struct actor *passed_over(const struct why *w)
{
	for (size_t i = 0; i < w->actors.v.n; i++)
		if (w->actors.v.v[i].ports && streq(w->actors.v.v[i].network, "Socket"))
			return &w->actors.v.v[i];
	return NULL;
}

static bool is_tcp(const char *provider)
{
	return starts_with(provider, "tcp") || starts_with(provider, "sockets");
}

/* What was there, or was asked for, and is not used; NULL: the log has nothing of the kind. */
static const char *unused(const struct why *w, struct arena *a)
{
	const struct setup *s = &w->setup;
	const char *hca = setup_setting(s, "NCCL_IB_HCA"), *plugin;
	const struct actor *y = passed_over(w);

	plugin = setup_setting(s, "NCCL_NET_PLUGIN");
	if (y)
		return arena_printf(a, "%s found the RDMA ports %.*s", who_text(a, &y->who),
				    (int)strlen(y->ports) - 1, y->ports);
	if (starts_with(s->provider, "efa"))
		return "libfabric had chosen the provider efa";
	if (hca && s->no_ib && !is_on(setup_setting(s, "NCCL_IB_DISABLE")))
		return arena_printf(a, "NCCL_IB_HCA is %s, and NCCL found no such card", hca);
	if (plugin && !streq(plugin, "none") && !*s->plugin && *s->plugin_failed)
		return arena_printf(a, "NCCL_NET_PLUGIN is %s, and NCCL could not use it (%s)",
				    plugin, s->plugin_failed);
	return NULL;
}

static void fix_sockets(const struct setup *s, struct finding *f)
{
	const char *net = setup_setting(s, "NCCL_NET");

	if (is_on(setup_setting(s, "NCCL_IB_DISABLE")))
		finding_fix(f, "unset NCCL_IB_DISABLE   # in every file that sets it");
	if (net && !strcasecmp(net, "Socket"))
		finding_fix(f, "unset NCCL_NET   # in every file that sets it");
	if (setup_setting(s, "NCCL_IB_HCA") && s->no_ib)
		finding_fix(f, "ibv_devinfo   # which cards are there, and active?");
	if (starts_with(s->provider, "efa"))
		finding_fix(f, "export NCCL_NET=\"AWS Libfabric\"   # then NCCL fails at its start "
			       "where it cannot use it, and says why");
	else if (s->ncards || setup_setting(s, "NCCL_IB_HCA"))
		finding_fix(f,
			    "export NCCL_NET=IB   # then NCCL fails at its start where it cannot "
			    "use InfiniBand or RoCE, and says why");
	if (setup_setting(s, "NCCL_NET_PLUGIN"))
		finding_fix(f,
			    "ldconfig -p | grep libnccl-net   # is it where the loader looks, on "
			    "every host?");
}

/* Where ranks differ that is CON-008. */
static void sockets(const struct why *w, const struct explanation *x, struct report *r)
{
	const struct setup *s = &w->setup;
	struct arena *a = report_arena(r);
	const char *why = unused(w, a), *net = setup_setting(s, "NCCL_NET");
	const char *asked = asks_for_sockets(s);
	struct finding *f;

	if (*s->provider && is_tcp(s->provider)) {
		f = report_find(r, "log.setup.socket", s->provider);
		finding_set(
			f, ST_WARN,
			"hosts talk through libfabric's provider %s, which goes over TCP: no EFA",
			s->provider);
		finding_fix(f, "fi_info -p efa   # on every host, in the container: is EFA there?");
		report_add(r, f);
		return;
	}
	if (!uses_sockets(w) || is_said(x, "CON-008"))
		return;
	if (!why && !asked)
		return;
	f = report_find(r, "log.setup.socket", "NET/Socket");
	if (why)
		finding_set(f, ST_WARN, "hosts talk over TCP sockets, although %s%s%s", why,
			    net ? "; NCCL_NET is " : "", net ? net : "");
	else
		finding_set(
			f, ST_INFO,
			"hosts talk over TCP sockets because %s is set: right where they have no "
			"InfiniBand, RoCE or EFA",
			asked);
	fix_sockets(s, f);
	report_add(r, f);
}

/* --- GPUDirect RDMA ---------------------------------------------------------------------- */

/* A pair that two processes alone speak of, one at each end, and whose ends differ. */
static const struct setup_pair *one_sided(const struct setup *s)
{
	const unsigned send = 1u << NCCL_END_SEND, receive = 1u << NCCL_END_RECEIVE;

	for (size_t i = 0; i < s->pairs.n; i++) {
		const struct setup_pair *p = &s->pairs.v[i];

		if (!p->is_many && ((p->direct == send && p->bounced == receive) ||
				    (p->direct == receive && p->bounced == send)))
			return p;
	}
	return NULL;
}

static void fix_direct(const struct setup *s, struct finding *f)
{
	const char *level = setup_setting(s, "NCCL_NET_GDR_LEVEL");

	if (level)
		finding_fix(f, "unset NCCL_NET_GDR_LEVEL   # it is %s", level);
	if (strstr(s->gdr_why, "distance"))
		finding_fix(f,
			    "export NCCL_NET_GDR_LEVEL=SYS   # however far GPU and card are apart; "
			    "in a cloud's machine first its NCCL_TOPO_FILE");
	else
		finding_fix(f, "lsmod | grep nvidia_peermem || sudo modprobe nvidia-peermem   # on "
			       "every host");
	if (!*s->gdr_why)
		finding_fix(f,
			    "export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,NET,GRAPH   # then "
			    "the log says why");
}

static void direct(const struct why *w, const struct explanation *x, struct report *r)
{
	const struct setup *s = &w->setup;
	struct arena *a = report_arena(r);
	const struct setup_way *ib = way_named(s, "NET/IB");
	const struct setup_pair *p = one_sided(s);
	bool off = ib && setup_hosts(w) > 1 && !setup_direct(ib) &&
		   ib->said[NCCL_END_SEND] + ib->said[NCCL_END_RECEIVE] >= FEW;
	struct finding *f;

	if (p) {
		bool sends = p->direct == 1u << NCCL_END_SEND;

		f = report_find(r, "log.setup.gpudirect",
				arena_printf(a, "rank %d -> %d", p->from, p->to));
		finding_set(f, ST_WARN,
			    "the connection has GPUDirect RDMA at the end of %s alone, not of %s",
			    name_of(w, p->actor[sends ? NCCL_END_SEND : NCCL_END_RECEIVE], a),
			    name_of(w, p->actor[sends ? NCCL_END_RECEIVE : NCCL_END_SEND], a));
	} else if (off && !is_said(x, "IB-009") && !is_said(x, "IB-010")) {
		f = report_find(r, "log.setup.gpudirect", ib->name);
		finding_set(f, ST_WARN,
			    "no connection between hosts has GPUDirect RDMA: all data goes through "
			    "their memory%s%s%s",
			    *s->gdr_why ? " (" : "", s->gdr_why, *s->gdr_why ? ")" : "");
	} else {
		return;
	}
	fix_direct(s, f);
	report_add(r, f);
}

/* --- shared memory in place of peer-to-peer ---------------------------------------------- */

struct host_ways {
	const char *host;
	uint64_t p2p, shm;
};

/* Of the hosts that speak, one that has peer-to-peer alone and one that has none. */
static bool two_kinds(const struct why *w, struct host_ways *ret_with,
		      struct host_ways *ret_without)
{
	const struct actors *t = &w->actors;

	*ret_with = *ret_without = (struct host_ways){0};
	for (size_t h = 0; h < t->nhosts; h++) {
		struct host_ways now = {.host = t->hosts[h]};

		for (size_t i = 0; i < t->v.n; i++)
			if (streq(t->v.v[i].who.host, now.host)) {
				now.p2p += t->v.v[i].p2p;
				now.shm += t->v.v[i].shm;
			}
		if (now.p2p >= MANY && !now.shm)
			*ret_with = now;
		if (now.shm >= MANY && !now.p2p)
			*ret_without = now;
	}
	return ret_with->host && ret_without->host;
}

/* Why it is so, where that is no choice of NCCL's own, and @ret_fix; NULL: nothing shows it. */
static const char *why_shared(const struct why *w, struct arena *a, const char **ret_fix)
{
	const struct setup *s = &w->setup;
	const char *level = setup_setting(s, "NCCL_P2P_LEVEL");
	bool is_local = level && (streq(level, "LOC") || streq(level, "0"));
	struct host_ways with, without;

	*ret_fix =
		"nvidia-smi topo -p2p r   # which pairs have peer-to-peer, and why not the others";
	if (is_on(setup_setting(s, "NCCL_P2P_DISABLE")) || is_local) {
		*ret_fix =
			"unset NCCL_P2P_DISABLE NCCL_P2P_LEVEL   # unless peer-to-peer hangs here "
			"(ACS, IOMMU) or the GPUs have none: nvidia-smi topo -p2p r";
		return arena_printf(a,
				    "GPUs of one host talk through its memory, because %s is set",
				    is_local ? "NCCL_P2P_LEVEL=LOC" : "NCCL_P2P_DISABLE=1");
	}
	if (*s->p2p_off)
		return arena_printf(a,
				    "GPUs of one host talk through its memory: NCCL says that "
				    "peer-to-peer is disabled between %s",
				    s->p2p_off);
	if (two_kinds(w, &with, &without))
		return arena_printf(a,
				    "the GPUs of %s talk through its memory, those of %s "
				    "peer-to-peer",
				    without.host, with.host);
	return NULL;
}

static void shared(const struct why *w, struct report *r)
{
	const struct setup_way *shm = way_named(&w->setup, "SHM");
	struct arena *a = report_arena(r);
	const char *fix, *why = shm ? why_shared(w, a, &fix) : NULL;
	struct finding *f;

	if (!why)
		return;
	f = report_find(r, "log.setup.shm", setup_example(w, &shm->first, a));
	finding_set(f, ST_WARN, "%s", why);
	finding_fix(f, "%s", fix);
	report_add(r, f);
}

/* --- ranks that differ ------------------------------------------------------------------- */

/* What comparing them found already, and no cause says. */
static void compared(const struct explanation *x, struct report *r)
{
	for (size_t i = 0; i < x->notes.n; i++) {
		bool is_cause = !strstr(x->notes.v[i], " bootstraps over ");
		struct finding *f;

		for (size_t k = 0; k < x->causes.n; k++)
			is_cause |= x->causes.v[k].because &&
				    streq(x->causes.v[k].because, x->notes.v[i]);
		if (is_cause)
			continue;
		f = report_find(r, "log.setup.alike", "interface");
		finding_set(f, ST_INFO, "%s", x->notes.v[i]);
		report_add(r, f);
	}
}

static void alike(const struct why *w, const struct explanation *x, struct report *r)
{
	const struct setup *s = &w->setup;
	struct arena *a = report_arena(r);
	struct finding *f;

	compared(x, r);
	for (size_t i = 0; i < s->nsettings; i++) {
		const struct setup_setting *v = &s->settings[i];

		if (!v->other || nccl_may_differ(v->name))
			continue;
		f = report_find(r, "log.setup.alike", v->name);
		finding_set(f, ST_WARN, "%s has %s=%s, and %s has %s: it should be alike",
			    name_of(w, v->actor, a), v->name, v->value,
			    name_of(w, v->other_actor, a), v->other);
		finding_fix(f, "- set it in one place for all ranks, or nowhere");
		report_add(r, f);
	}
	if (!s->nvls_on || !s->nvls_off || streq(host_of(w, s->nvls_on), host_of(w, s->nvls_off)))
		return;
	f = report_find(r, "log.setup.alike", "NVLS");
	finding_set(f, ST_WARN,
		    "NVLink SHARP (NVLS) is available on %s, and not on %s: no rank uses it then",
		    name_of(w, s->nvls_on, a), name_of(w, s->nvls_off, a));
	finding_fix(f, "systemctl status nvidia-fabricmanager   # on %s", host_of(w, s->nvls_off));
	report_add(r, f);
}

void setup_judge(const struct why *w, const struct explanation *x, struct report *r)
{
	sockets(w, x, r);
	direct(w, x, r);
	shared(w, r);
	alike(w, x, r);
	setup_slow(w, r);
}
