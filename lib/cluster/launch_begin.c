/* The hosts are there: which ranks go where, and their orders. */
#include "lib/cluster/launch_agents.h"

#include "lib/core/fix.h"
#include "lib/core/units.h"

#include <sys/random.h>

/* Agents begin with those of the hosts that were named, in their order. */
static unsigned room_at(const struct launch *L, size_t i)
{
	return L->o.hosts && i < L->o.hosts->n ? L->o.hosts->v[i].slots : 0;
}

static const char *why_not(const struct launch *L, const struct launch_host *h)
{
	return h->fix ? arena_printf(L->a, "%s; there: %s", h->trouble, fix_text(h->fix))
		      : h->trouble;
}

/* The hosts of the result, in the order of the agents. */
static void list_hosts(struct launch *L)
{
	struct launch_result *r = L->r;

	r->nhosts = L->agents.n;
	r->hosts = arena_alloc(L->a, r->nhosts * sizeof(*r->hosts));
	for (size_t i = 0; i < r->nhosts; i++) {
		r->hosts[i] = *L->agents.v[i]->h;
		L->agents.v[i]->h = &r->hosts[i];
		if (L->agents.v[i]->state != AGENT_UP && !r->failure && !L->o.partial)
			r->failure = why_not(L, &r->hosts[i]);
	}
}

/* r->ranks has room for them. */
static void list_ranks(struct launch *L, struct agent_host *h, unsigned n)
{
	struct launch_result *r = L->r;

	h->h->first = (int)r->nranks;
	h->h->ranks = (int)n;
	h->lines = arena_alloc(L->a, 2 * n * sizeof(*h->lines));
	for (unsigned i = 0; i < n; i++)
		r->ranks[r->nranks++] = (struct launch_rank){.host = h->h, .status = -1};
}

int ranks_place(struct launch *L, struct err *e)
{
	host_list up = {0};
	size_t k = 0, total = 0;
	unsigned *counts;

	list_hosts(L);
	for (size_t i = 0; i < L->agents.n; i++)
		if (L->agents.v[i]->state == AGENT_UP)
			*LIST_ADD(L->a, &up) =
				(struct host){L->agents.v[i]->h->name, room_at(L, i)};
	if (!up.n && !L->r->failure)
		L->r->failure = L->r->nhosts ? why_not(L, &L->r->hosts[0]) : "no host takes part";
	if (L->r->failure)
		return 0;
	counts = arena_alloc(L->a, up.n * sizeof(*counts));
	if (launch_place(&up, L->o.np, L->o.np_per_host, counts, e) < 0)
		return -1;
	for (size_t i = 0; i < up.n; i++)
		total += counts[i];
	L->r->ranks = arena_alloc(L->a, total * sizeof(*L->r->ranks));
	for (size_t i = 0; i < L->agents.n; i++)
		if (L->agents.v[i]->state == AGENT_UP)
			list_ranks(L, L->agents.v[i], counts[k++]);
	return 0;
}

static int start_server(struct launch *L, const char *run, struct err *e)
{
	const char **names = arena_alloc(L->a, L->r->nranks * sizeof(*names));
	struct rdzv_server_opts so = {
		.size = (int)L->r->nranks,
		.token = &L->token,
		.run = run,
		.hosts = names,
		.join_deadline_ns = L->o.deadline_ns,
		.deadline_given = L->o.deadline_given,
		.heartbeat_ns = L->o.heartbeat_ns,
		.at.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
		.changed = ranks_changed,
		.arg = L,
	};

	for (size_t i = 0; i < L->r->nranks; i++)
		names[i] = L->r->ranks[i].host->hostname;
	L->server = rdzv_server_new(&L->loop, &so, e);
	return L->server ? 0 : -1;
}

/* ---- the family of addresses that hosts have in common ---- */
static int family_of(const char *address, union addr *ret)
{
	return address && !addr_parse(address, ret) ? ret->sa.sa_family : 0;
}

/* What most of them, without @but, are reached by; of as many, IPv4 as NCCL has it. */
static int usual_family(const struct launch *L, const struct agent_host *but)
{
	size_t v4 = 0, v6 = 0;
	union addr x;

	for (size_t i = 0; i < L->agents.n; i++) {
		const struct agent_host *h = L->agents.v[i];
		int family = h != but && h->h->ranks ? family_of(h->h->addr, &x) : 0;

		v4 += family == AF_INET;
		v6 += family == AF_INET6;
	}
	return v6 > v4 ? AF_INET6 : AF_INET;
}

/* The first other host that has one of @family: what @h's own is seen from. */
static const union addr *a_peer(const struct launch *L, const struct agent_host *h, int family,
				union addr *ret)
{
	for (size_t i = 0; i < L->agents.n; i++) {
		const struct agent_host *x = L->agents.v[i];
		int its = x != h && x->h->ranks ? family_of(x->h->addr, ret) : 0;

		if (its == family && addr_class(ret) != ADDR_LOOPBACK)
			return ret;
	}
	return NULL;
}

/* What this host has: it follows the others, which count it as one of them only then. */
static void settle_local(struct launch *L)
{
	union addr peer;

	for (size_t i = 0; i < L->agents.n; i++) {
		const struct agent_host *h = L->agents.v[i];

		if (h->local && h->h->ranks)
			h->h->addr = a_peer(L, h, usual_family(L, h), &peer)
					     ? agent_data_addr(&peer, L->a)
				     : (int)L->r->nranks > h->h->ranks ? agent_data_addr(NULL, L->a)
								       : "127.0.0.1";
	}
}

/* A host that has both, or another interface for the others' family, or cannot see its own, is
 * told what the others have: it alone cannot know. */
static const char *peer_for(const struct launch *L, const struct agent_host *h, int family)
{
	struct addr_text t;
	union addr x;

	if (family_of(h->h->addr, &x) == family && addr_class(&x) != ADDR_LOOPBACK)
		return NULL;
	if (!a_peer(L, h, family, &x))
		return NULL;
	return arena_strdup(L->a, addr_print(&x, &t));
}

static int order_start(struct launch *L, struct agent_host *h, int family, struct agent_orders *o,
		       struct err *e)
{
	unsigned char *p;
	size_t n;

	o->first = h->h->first;
	o->count = h->h->ranks;
	o->port = h->local ? rdzv_server_port(L->server) : 0;
	o->data_addr = h->local ? h->h->addr : NULL;
	o->peer = h->local ? NULL : peer_for(L, h, family);
	p = orders_pack(o, &n);
	if (!p)
		return err_set(e, ERR_USAGE,
			       "the command line or environment of the ranks is too long");
	link_send(&h->link, ORDER_START, p, n);
	explicit_bzero(p, n);
	free(p);
	return 0;
}

static void pack_strings(struct arena *a, const char *const *from, str_list *ret)
{
	for (; from && *from; from++)
		*LIST_ADD(a, ret) = *from;
}

int ranks_begin(struct launch *L, struct err *e)
{
	const char *command = L->o.argv[0], *slash = strrchr(command, '/');
	struct agent_orders o = {.command = slash ? slash + 1 : command, .size = (int)L->r->nranks};
	uint64_t id = now_ns();
	int family;

	(void)!getrandom(&id, sizeof(id), 0);
	o.run = arena_printf(L->a, "%016llx", (unsigned long long)id);
	o.token = L->token;
	pack_strings(L->a, L->o.argv + 1, &o.args);
	pack_strings(L->a, L->o.env, &o.env);
	ranks_watch(L);
	if (start_server(L, o.run, e) < 0)
		return -1;
	settle_local(L);
	family = usual_family(L, NULL);
	for (size_t i = 0; i < L->agents.n; i++)
		o.nodes += L->agents.v[i]->state == AGENT_UP && L->agents.v[i]->h->ranks;
	for (size_t i = 0; i < L->agents.n; i++)
		if (L->agents.v[i]->state == AGENT_UP && L->agents.v[i]->h->ranks) {
			if (order_start(L, L->agents.v[i], family, &o, e) < 0)
				return -1;
			o.node++;
		}
	token_wipe(&o.token);
	return 0;
}
