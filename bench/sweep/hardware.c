#include "bench/sweep/hardware.h"

#include "lib/core/units.h"
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
