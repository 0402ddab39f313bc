/*
 * A host's RDMA ports, for the comparison with others: how many are active, which are not; of the
 * kind that most of them are, the link layer and the slowest one's rate. EFA has facts of its own
 * (probes/node/efa.c).
 */
#include "lib/core/text.h"
#include "lib/host/rdma.h"
#include "lib/report/json.h"
#include "probes/node/facts.h"

#include <math.h>

struct port {
	const struct rdma_device *d;
	const struct rdma_port *p;
};
typedef LIST(struct port) port_list;

/* How many parts a card was cut into is nobody's fault. */
static bool is_counted(const struct rdma_device *d, const struct rdma_port *p)
{
	return !d->is_part && (p->link == RDMA_INFINIBAND || p->link == RDMA_ROCE);
}

static void find_ports(struct arena *a, const rdma_list *l, port_list *ret)
{
	for (size_t d = 0; d < l->n; d++)
		for (size_t p = 0; p < l->v[d].ports.n; p++)
			if (is_counted(&l->v[d], &l->v[d].ports.v[p]))
				*LIST_ADD(a, ret) = (struct port){&l->v[d], &l->v[d].ports.v[p]};
}

static const char *name_of(struct arena *a, const struct port *x)
{
	return x->d->ports.n > 1 ? arena_printf(a, "%s:%u", x->d->name, x->p->number) : x->d->name;
}

/* "mlx5_4: DOWN, mlx5_5: INIT"; NULL: all are active. */
static const char *not_active(struct arena *a, const port_list *all)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < all->n; i++)
		if (!all->v[i].p->active)
			text_addf(&t, "%s%s: %s", t.n ? ", " : "", name_of(a, &all->v[i]),
				  all->v[i].p->state ?: "state unknown");
	return t.n ? t.s : NULL;
}

static int by_version(const void *x, const void *y)
{
	return strverscmp(*(const char *const *)x, *(const char *const *)y);
}

/* Of all cards, each version once, whichever card the kernel found first. */
static const char *firmware(struct arena *a, const port_list *all)
{
	str_list seen = {0};
	struct text t;

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].d->firmware)
			*LIST_ADD(a, &seen) = all->v[i].d->firmware;
	if (!seen.n)
		return NULL;
	qsort(seen.v, seen.n, sizeof(*seen.v), by_version);
	text_init(&t, a);
	for (size_t i = 0; i < seen.n; i++)
		if (!i || !streq(seen.v[i], seen.v[i - 1]))
			text_addf(&t, "%s%s", i ? ", " : "", seen.v[i]);
	return t.s;
}

static bool is_of(const struct port *x, const struct port *kind)
{
	return x->p->link == kind->p->link && rdma_is_alike(x->d, kind->d);
}

static size_t count_of(const port_list *all, const struct port *kind)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += is_of(&all->v[i], kind);
	return n;
}

/* One of the kind that most ports are, those that are down with them, so that one cable makes no
 * other kind of it; of as many InfiniBand's. Of kinds that have an active one: NULL: there is none.
 */
static const struct port *usual(const port_list *all)
{
	const struct port *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct port *x = &all->v[i];
		size_t n = x->p->active ? count_of(all, x) : 0;

		if (n > most || (n && n == most && x->p->link < best->p->link)) {
			best = x;
			most = n;
		}
	}
	return best;
}

/* The slowest one's rate, and which have it where others have more. */
static void rates(struct arena *a, const port_list *all, const struct port *kind, cJSON *into)
{
	double least = NAN, most = NAN;
	struct text t;

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].p->active && is_of(&all->v[i], kind)) {
			least = fmin(least, all->v[i].p->rate_gbps);
			most = fmax(most, all->v[i].p->rate_gbps);
		}
	text_init(&t, a);
	for (size_t i = 0; least < most && i < all->n; i++)
		if (all->v[i].p->active && is_of(&all->v[i], kind) &&
		    all->v[i].p->rate_gbps <= least)
			text_addf(&t, "%s%s", t.n ? ", " : "", name_of(a, &all->v[i]));
	json_num(into, "rdma_rate", least);
	json_str(into, "rdma_slow", t.n ? t.s : NULL);
}

void facts_rdma(struct arena *a, cJSON *into)
{
	port_list all = {0};
	const struct port *kind;
	size_t active = 0;
	rdma_list l;

	rdma_read(a, &l);
	find_ports(a, &l, &all);
	if (!all.n)
		return;
	for (size_t i = 0; i < all.n; i++)
		active += all.v[i].p->active;
	json_num(into, "rdma_ports", (double)active);
	json_str(into, "rdma_down", not_active(a, &all));
	json_str(into, "rdma_fw", firmware(a, &all));
	kind = usual(&all);
	if (!kind)
		return;
	json_str(into, "rdma_layer", rdma_link_name(kind->p->link));
	rates(a, &all, kind, into);
}
