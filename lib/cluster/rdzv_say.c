/* The sentences. All say who, and what to do where that is known. */
#include "lib/cluster/hostlist.h"
#include "lib/cluster/rdzv_core.h"
#include "lib/core/opt.h" /* WINDSOCK_VERSION */
#include "lib/core/text.h"
#include "lib/core/units.h"
#include "lib/core/version.h"

enum { RANKS_SHOWN = 120, HOSTS_SHOWN = 160 }; /* characters */

const char *rdzv_who(const struct rdzv_core *c, int rank, struct arena *a)
{
	const struct rdzv_member *m = &c->seats[rank].m;

	if (!*m->host && !*m->data_addr)
		return arena_printf(a, "rank %d", rank);
	return arena_printf(a, "rank %d (%.60s%s%.60s)", rank, m->host,
			    *m->host && *m->data_addr ? ", " : "", m->data_addr);
}

static const char *cut(const char *s, size_t max, struct arena *a)
{
	return strlen(s) <= max ? s : arena_printf(a, "%.*s...", (int)max, s);
}

static const char *hosts_of(const struct rdzv_core *c,
			    bool (*is)(const struct rdzv_core *, int rank), struct arena *a)
{
	host_list hosts = {0};

	for (int i = 0; i < c->size; i++) {
		const char *host = c->seats[i].m.host;

		if (is(c, i) && *host && !(hosts.n && streq(hosts.v[hosts.n - 1].name, host)))
			LIST_ADD(a, &hosts)->name = host;
	}
	return hosts.n ? arena_printf(a, " (%s)", cut(hostlist_fold(a, &hosts), HOSTS_SHOWN, a))
		       : "";
}

const char *rdzv_which(const struct rdzv_core *c, bool (*is)(const struct rdzv_core *, int rank),
		       struct arena *a)
{
	struct text t;
	int n = 0;

	text_init(&t, a);
	for (int i = 0, from; i < c->size; i++) {
		if (!is(c, i))
			continue;
		for (from = i; i + 1 < c->size && is(c, i + 1);)
			i++;
		text_addf(&t, "%s%d", n ? "," : "", from);
		if (i > from)
			text_addf(&t, "-%d", i);
		n += i - from + 1;
	}
	if (!n)
		return NULL;
	return arena_printf(a, "%s %s of %d%s", n > 1 ? "ranks" : "rank", cut(t.s, RANKS_SHOWN, a),
			    c->size, hosts_of(c, is, a));
}

static bool has_not_joined(const struct rdzv_core *c, int rank) { return !c->seats[rank].m.joined; }

const char *rdzv_idle(const struct rdzv_core *c, uint64_t idle_ns, struct arena *a)
{
	struct unit_buf idle, slept;

	(void)format_duration(&idle, idle_ns);
	return c->slept_ns ? arena_printf(a, "%s (the rendezvous itself did not run for %s)",
					  idle.s, format_duration(&slept, c->slept_ns))
			   : arena_strdup(a, idle.s);
}

const char *rdzv_missing(const struct rdzv_core *c, uint64_t waited_ns, struct arena *a)
{
	const char *who = rdzv_which(c, has_not_joined, a);
	const char *s = arena_printf(a, "%s missing: nobody has joined for %s",
				     who ? who : "nobody", rdzv_idle(c, waited_ns, a));

	if (!c->refused)
		return s;
	return arena_printf(a, "%s; refused: %u, the last time because %s", s, c->refused,
			    c->last_refusal);
}

static const char *joiner(const struct rdzv_join_msg *m, struct arena *a)
{
	const char *name = *m->host ? m->host : *m->data_addr ? m->data_addr : "an unnamed host";

	return m->rank < 0 ? name : arena_printf(a, "rank %d on %.60s", m->rank, name);
}

static const char *wrong_size(const struct rdzv_core *c, const struct rdzv_join_msg *m,
			      struct arena *a)
{
	if (m->size == 1)
		return arena_printf(a,
				    "%s takes itself for a world of 1, but %d ranks are to meet "
				    "here: %d worlds of 1 were started; start all under one "
				    "launcher, or give each --rank and --world-size",
				    joiner(m, a), c->size, c->size);
	return arena_printf(a,
			    "%s was told of a world of %d, but %d ranks are to meet here: "
			    "give all the same world size",
			    joiner(m, a), m->size, c->size);
}

static const char *taken(const struct rdzv_core *c, const struct rdzv_join_msg *m, struct arena *a)
{
	if (c->size == 1)
		return arena_printf(a,
				    "%s is a second world of 1 at one rendezvous: start all "
				    "under one launcher, or give each --rank and --world-size",
				    joiner(m, a));
	return arena_printf(a, "%s comes when %s %s: give every process a rank of its own",
			    joiner(m, a), rdzv_who(c, m->rank, a),
			    c->seats[m->rank].m.gone ? "was here and is gone"
						     : "has joined already");
}

bool rdzv_is_alike(const struct rdzv_join_msg *m, uint32_t protocol)
{
	return protocol == RDZV_PROTOCOL && streq(m->version, WINDSOCK_VERSION);
}

/* Of another version only the version is known. */
bool rdzv_is_other_run(const struct rdzv_core *c, const struct rdzv_join_msg *m)
{
	return *c->run && m->run && *m->run && !streq(c->run, m->run);
}

const char *rdzv_objection(const struct rdzv_core *c, const struct rdzv_join_msg *m,
			   uint32_t protocol, struct arena *a)
{
	if (!rdzv_is_alike(m, protocol))
		return arena_printf(a,
				    "%s runs windsock %.20s (protocol %u) and the rendezvous "
				    "%s (protocol %d): install one version on all hosts",
				    protocol == RDZV_PROTOCOL ? joiner(m, a) : "a rank", m->version,
				    protocol, WINDSOCK_VERSION, RDZV_PROTOCOL);
	if (rdzv_is_other_run(c, m))
		return arena_printf(a,
				    "%s belongs to run '%.60s' and this is the rendezvous of "
				    "'%.60s': give each run a MASTER_PORT of its own",
				    joiner(m, a), m->run, c->run);
	if (c->failure[0])
		return c->failure;
	if (m->size != c->size)
		return wrong_size(c, m, a);
	if (m->rank >= c->size)
		return arena_printf(a, "%s is not in a world of %d: ranks run from 0 to %d",
				    joiner(m, a), c->size, c->size - 1);
	if (m->rank < 0)
		return c->joined < c->size ? NULL
					   : arena_printf(a, "%s comes when all %d have joined",
							  joiner(m, a), c->size);
	return c->seats[m->rank].m.joined ? taken(c, m, a) : NULL;
}
