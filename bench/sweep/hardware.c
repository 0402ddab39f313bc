#include "bench/sweep/hardware.h"

#include "bench/comm/comm.h"
#include "lib/core/units.h"
#include "lib/host/gpu.h"
#include "lib/host/inventory.h"

#include <math.h>
#include <signal.h>

double hardware_nic_gbps(const union addr *at, struct arena *a)
{
	AUTO(netlink_close) struct netlink nl = {0};
	struct inventory inv;
	const struct iface_addr *own;
	struct err ignored = {0};

	if (netlink_open(&nl, NULL, &ignored) ||
	    inventory_read(&inv, &nl, INV_LINKS | INV_ADDRS, a, &ignored))
		return NAN;
	own = inventory_by_addr(&inv, at);
	if (!own)
		return NAN;
	inventory_detail(&inv, own->iface);
	if ((own->iface->kind != IFACE_PHYSICAL && own->iface->kind != IFACE_BOND) ||
	    own->iface->speed_mbps <= 0)
		return NAN;
	return (double)own->iface->speed_mbps / 1000;
}

int hardware_gpus(struct arena *a)
{
	gpu_list all = {0};
	int n = 0;

	gpu_read(a, &all);
	for (size_t i = 0; i < all.n; i++)
		n += all.v[i].vendor == GPU_NVIDIA;
	return n;
}

/* Of the port of that name; 0: not known. "mlx5_0+mlx5_1" are two for NCCL's one. */
static double gbps_of(const rdma_list *all, const char *name)
{
	size_t n = strcspn(name, ":+"), number = 1;
	double rest = 0;

	if (name[n] == '+') {
		rest = gbps_of(all, name + n + 1);
		if (!(rest > 0))
			return 0;
	} else if (name[n] == ':') {
		number = strtoul(name + n + 1, NULL, 10);
	}
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < all->v[i].ports.n; k++)
			if (strlen(all->v[i].name) == n && !strncmp(all->v[i].name, name, n) &&
			    all->v[i].ports.v[k].number == number &&
			    all->v[i].ports.v[k].rate_gbps > 0)
				return all->v[i].ports.v[k].rate_gbps + rest;
	return 0;
}

/* Does data go by other cards than that of our address, or may it? Sockets go by that one. */
static bool goes_elsewhere(const char *transport)
{
	static const char net[] = "NET/", sockets[] = "NET/Socket";

	for (const char *at = transport; (at = strstr(at, net)); at += strlen(net))
		if (!starts_with(at, sockets))
			return true;
	return strstr(transport, COMM_WAY_UNKNOWN);
}

void hardware_cards(struct hardware *h, const char *transport, const rdma_list *all)
{
	const char *p = strstr(transport, "; cards ");
	size_t n = 0;

	if (goes_elsewhere(transport))
		h->nic_gbps = NAN;
	if (!p)
		return;
	p += strlen("; cards ");
	h->is_used = !starts_with(p, "listed ");
	if (!h->is_used)
		p += strlen("listed ");
	for (size_t len; *p && *p != ';'; p += len + (p[len] == ' ')) {
		struct hardware_card *c = &h->cards[n];

		len = strcspn(p, " ;");
		if (n++ == HARDWARE_CARDS || len >= sizeof(c->name)) {
			*h->cards[0].name = '\0'; /* a sum of some would be too low */
			return;
		}
		(void)snprintf(c->name, sizeof(c->name), "%.*s", (int)len, p);
		c->gbps = (float)gbps_of(all, c->name);
	}
}

/* Into @sum's list; false: its list is full. */
static bool join(struct hardware *sum, const struct hardware_card *c)
{
	for (size_t i = 0; i < HARDWARE_CARDS; i++) {
		if (!*sum->cards[i].name)
			sum->cards[i] = *c;
		if (streq(sum->cards[i].name, c->name))
			return true;
	}
	return false;
}

static bool are_together(const struct hardware *a, const struct hardware *b)
{
	return streq(a->host, b->host) && streq(a->machine, b->machine);
}

/* All cards of that rank's host; NAN: one of them is not known, or there is none. */
static double host_gbps(const struct hardware *all, size_t n, size_t rank)
{
	struct hardware sum = {0};
	size_t ranks = 0, cards = 0;
	bool is_used = false;
	double gbps = 0;

	for (size_t i = 0; i < n; i++)
		is_used |= are_together(&all[i], &all[rank]) && all[i].is_used;
	for (size_t i = 0; i < n; i++) {
		if (!are_together(&all[i], &all[rank]))
			continue;
		ranks++;
		for (size_t k = 0; k < HARDWARE_CARDS && *all[i].cards[k].name; k++)
			if (all[i].is_used == is_used && !join(&sum, &all[i].cards[k]))
				return NAN;
	}
	for (; cards < HARDWARE_CARDS && *sum.cards[cards].name; cards++) {
		if (!is_used && cards == ranks)
			break;
		if (!(sum.cards[cards].gbps > 0))
			return NAN;
		gbps += (double)sum.cards[cards].gbps;
	}
	return cards ? gbps : NAN;
}

/* It came over a network. */
static void make_sound(struct hardware *h)
{
	h->is_used = h->is_used != 0;
	h->host[sizeof(h->host) - 1] = h->instance[sizeof(h->instance) - 1] = '\0';
	h->machine[sizeof(h->machine) - 1] = '\0';
	for (size_t i = 0; i < HARDWARE_CARDS; i++)
		h->cards[i].name[sizeof(h->cards[i].name) - 1] = '\0';
}

void hardware_add_up(struct hardware *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		make_sound(&all[i]);
	for (size_t i = 0; i < n; i++) {
		double gbps = *all[i].cards[0].name ? host_gbps(all, n, i) : NAN;

		if (gbps > 0)
			all[i].nic_gbps = gbps;
	}
}

static void *ask(void *arg)
{
	struct hardware_ask *q = arg;
	struct err ignored = {0};

	if (cloud_read_type(&q->a, HARDWARE_ASK_MS * NS_PER_MS, &q->cloud, &ignored))
		q->cloud = (struct cloud){0};
	return NULL;
}

void hardware_ask(struct hardware_ask *q)
{
	sigset_t all, before;

	sigfillset(&all); /* signals are for the program's own thread */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	q->is_running = pthread_create(&q->thread, NULL, ask, q) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

const char *hardware_answer(struct hardware_ask *q)
{
	if (q->is_running)
		(void)pthread_join(q->thread, NULL);
	q->is_running = false;
	return q->cloud.instance_type;
}

void hardware_ask_done(struct hardware_ask *q)
{
	(void)hardware_answer(q);
	arena_done(&q->a);
}
