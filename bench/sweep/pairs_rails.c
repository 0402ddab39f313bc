/*
 * Hosts with several network cards: card i of one usually meets card i of the others, on
 * a switch of its own (a rail). Such cards have one name and one subnet everywhere.
 * Each rail gets connections that are tied to it, since the kernel would send all that
 * goes to one subnet out of one card.
 */
#include "bench/sweep/pairs.h"

#include "bench/comm/tcp.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/inventory.h"
#include "lib/report/json.h"

/* A network card, or what stands for one in a container: the host's end has its other one there. */
static bool is_card(const struct iface *i)
{
	bool in_container = i->kind == IFACE_VETH && i->link_elsewhere;

	return iface_is_running(i) && (i->kind <= IFACE_MACVLAN || in_container);
}

/* A comma-separated list has it. */
static bool is_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == n && strncmp(at, name, n) == 0)
			return true;
	return false;
}

static const char *asked_for(const struct pairs *p)
{
	const char *rails = p->r->o->rails;

	return rails && !streq(rails, "auto") ? rails : NULL;
}

/* Connections can be tied to it: not for everybody, before Linux 5.7. */
static bool can_tie(const char *name)
{
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 &&
	       !setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name));
}

/* This host's, in the kernel's order. */
static void find_own(const struct pairs *p, rail_list *ret)
{
	AUTO(netlink_close) struct netlink nl = {0};
	const char *list = asked_for(p);
	struct inventory inv;
	struct err ignored = {0};

	if (netlink_open(&nl, NULL, &ignored) ||
	    inventory_read(&inv, &nl, INV_LINKS | INV_ADDRS, p->r->a, &ignored))
		return;
	for (size_t i = 0; i < inv.ifaces.n && ret->n < RAILS_MAX; i++) {
		struct iface *x = &inv.ifaces.v[i];
		const struct iface_addr *at = iface_best_addr(&inv, x, p->r->at.sa.sa_family);
		struct rail *rail = &ret->v[ret->n];

		if (!at || (list ? !is_listed(list, x->name) : !is_card(x)) || !can_tie(x->name))
			continue;
		*rail = (struct rail){.at = at->addr,
				      .prefix = at->prefix,
				      .gbps = hardware_nic_gbps(&at->addr, p->r->a)};
		(void)snprintf(rail->name, sizeof(rail->name), "%s", x->name);
		ret->n++;
	}
}

static const struct rail *rail_named(const rail_list *l, const char *name)
{
	for (int i = 0; i < l->n && i < RAILS_MAX; i++)
		if (strncmp(l->v[i].name, name, sizeof(l->v[i].name)) == 0)
			return &l->v[i];
	return NULL;
}

/* Everybody has it, and in one subnet where nobody said that it is one. */
static bool is_common(const struct pairs *p, const rail_list *all, const struct rail *x)
{
	for (int r = 0; r < p->c->size; r++) {
		const struct rail *other = rail_named(&all[r], x->name);

		if (!other || (!asked_for(p) && !addr_in_subnet(&other->at, &x->at, x->prefix)))
			return false;
	}
	return true;
}

static int check_bound(const struct pairs *p, const rail_list *all, struct err *e)
{
	for (int r = 0; r < p->c->size; r++)
		if (all[r].is_bound)
			return err_set(e, ERR_USAGE,
				       "--rails is not beside --bind, which rank %d (%s) was "
				       "started with",
				       r, comm_peer(p->c, r)->host);
	return 0;
}

/* Every one that was named has to be everywhere. */
static int check_asked(const struct pairs *p, const rail_list *all, struct err *e)
{
	if (check_bound(p, all, e))
		return -1;
	for (const char *at = asked_for(p); *at; at += strcspn(at, ","), at += *at == ',') {
		char name[16] = "";

		(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ","), at);
		for (int r = 0; r < p->c->size; r++) {
			if (rail_named(&all[r], name))
				continue;
			err_set(e, ERR_USAGE,
				"--rails: rank %d (%s) cannot use '%s': there is no such card, it "
				"has no address, or choosing one needs root before Linux 5.7",
				r, comm_peer(p->c, r)->host, name);
			return err_command(e, "ip -br addr  # there");
		}
	}
	return 0;
}

/* The order is rank 0's; what is kept are this rank's addresses. */
static void choose(const struct pairs *p, const rail_list *all, rail_list *ret)
{
	const rail_list *own = &all[p->c->rank];

	for (int i = 0; i < all[0].n && i < RAILS_MAX; i++)
		if (is_common(p, all, &all[0].v[i]))
			ret->v[ret->n++] = *rail_named(own, all[0].v[i].name);
	if (ret->n == 1 && !asked_for(p))
		ret->n = 0;
}

/* Of what all ranks know alike: all of them come to the exchange, or none. */
static bool are_told_apart(const struct pairs *p)
{
	const char *rails = p->r->o->rails;

	return streq(comm_caps(p->c)->backend, "tcp") && (!rails || !streq(rails, "none")) &&
	       p->n > 1 && !p->one_host;
}

static int gather(void *comm, const void *mine, size_t n, void *all, struct err *e)
{
	const struct comm_request q = {
		.kind = COLL_ALL_GATHER, .send = mine, .recv = all, .count = n, .type = DT_UINT8};

	return comm_run(comm, &q, e);
}

int rails_find(const struct pairs *p, rail_list *ret, struct err *e)
{
	rail_list own = {0}, *all;

	*ret = (rail_list){0};
	if (!are_told_apart(p)) {
		if (!asked_for(p) || streq(asked_for(p), "none"))
			return 0;
		err_set(e, ERR_USAGE, "--rails is for several hosts");
		return err_command(e, "ncclbench --hosts a,b --pairs --rails %s", asked_for(p));
	}
	own.is_bound = p->r->o->bind != NULL;
	if (!own.is_bound)
		find_own(p, &own);
	all = arena_alloc(p->r->a, (size_t)p->c->size * sizeof(*all));
	if (gather(p->c, &own, sizeof(own), all, e) || (asked_for(p) && check_asked(p, all, e)))
		return -1;
	choose(p, all, ret);
	return 0;
}

/* --- connections that know their card ------------------------------------------------- */

static void tell_unusable(const struct pairs *p, const struct rail *rail, int by, const char *why)
{
	cJSON *event = relay_event("rail");

	json_str(event, "name", rail->name);
	json_num(event, "by", by);
	json_str(event, "message", why);
	json_num(event, "asked", asked_for(p) != NULL);
	relay_send(p->r->relay, event);
}

struct outcome { /* of connecting; it travels */
	int32_t failed, culprit;
	char why[256];
};

/* What one of them failed of ends it for all, and leaves their usual connections alone. */
static int agree(const struct pairs *p, const struct rail *rail, const struct outcome *mine,
		 bool *ret_ok, struct err *e)
{
	struct outcome *all = arena_alloc(p->r->a, (size_t)p->c->size * sizeof(*all));
	const struct outcome *said = NULL;

	if (rdzv_all_gather(p->r->w->rdzv, mine, sizeof(*mine), all, e))
		return -1;
	for (int r = 0; r < p->c->size; r++) {
		all[r].why[sizeof(all[r].why) - 1] = '\0';
		if (all[r].failed && (!said || (said->culprit < 0 && all[r].culprit >= 0)))
			said = &all[r];
	}
	*ret_ok = !said;
	if (said && !p->c->rank)
		tell_unusable(p, rail, (int)(said - all), said->why);
	return 0;
}

struct meeting {
	struct comm *c;
	bool came, called_off;
};

static int all_begin(struct comm *c, bool can, bool *ret, struct err *e)
{
	double least = can;

	if (sweep_agree(c, &least, 1, OP_MIN, e))
		return -1;
	*ret = least > 0;
	return 0;
}

/* Who cannot even begin would be waited for. */
static int meet(void *meeting, const void *mine, size_t n, void *all, struct err *e)
{
	struct meeting *m = meeting;
	bool can;

	m->came = true;
	if (all_begin(m->c, true, &can, e))
		return -1;
	m->called_off = !can;
	return can ? gather(m->c, mine, n, all, e) : err_set(e, ERR_SYS, "called off");
}

struct comm *rail_comm(const struct pairs *p, const rail_list *rails, int rail, struct err *e)
{
	struct meeting m = {.c = p->c};
	const struct rail *own = &rails->v[rail];
	const struct tcp_opts o = {.rank = p->c->rank,
				   .size = p->c->size,
				   .at = own->at,
				   .device = own->name,
				   .host = comm_peer(p->c, p->c->rank)->host,
				   .sockets = p->r->o->sockets,
				   /* who gives up at once waits for who gives up last */
				   .deadline_ns = p->r->deadline_ns / 4 * 3,
				   .stop_fds = {interrupt_fd(), rdzv_failure_fd(p->r->w->rdzv)},
				   .exchange = meet,
				   .arg = &m};
	struct outcome mine = {.culprit = -1};
	struct err why = {0};
	int culprit;
	struct comm *c = tcp_comm_new(&o, &culprit, &why);
	bool ok = false;

	if (!m.came && all_begin(p->c, false, &ok, e))
		return NULL;
	mine.failed = !c && !m.called_off;
	mine.culprit = culprit;
	(void)snprintf(mine.why, sizeof(mine.why), "%.255s", why.msg);
	if (!agree(p, own, &mine, &ok, e) && ok)
		return c;
	if (c)
		comm_abort(c, "others could not connect");
	comm_free(c);
	return NULL;
}
