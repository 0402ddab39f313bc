#include "lib/host/inventory_read.h"

#include <linux/if.h>
#include <linux/if_addr.h>

/* Kernel order is not always index order, so indexes go through a table. */
struct inventory_index {
	uint32_t *slots; /* place in ifaces + 1, 0 for none; linear probing */
	uint32_t mask;
	struct named {
		const char *name;
		struct iface *iface;
	} * names; /* sorted when the first name is asked for */
	size_t nnames;
};

void inventory_index_begin(struct inventory *inv, size_t most)
{
	struct inventory_index *x = ARENA_NEW(inv->a, struct inventory_index);
	uint32_t size = 16;

	while (size < most * 2)
		size *= 2;
	x->slots = arena_alloc(inv->a, size * sizeof(*x->slots));
	x->mask = size - 1;
	inv->index = x;
}

static void put(const struct inventory *inv, uint32_t place)
{
	struct inventory_index *x = inv->index;
	uint32_t at = (uint32_t)inv->ifaces.v[place].index & x->mask;

	while (x->slots[at])
		at = (at + 1) & x->mask;
	x->slots[at] = place + 1;
}

void inventory_index_add(struct inventory *inv) { put(inv, (uint32_t)inv->ifaces.n - 1); }

void inventory_index_links(struct inventory *inv)
{
	inventory_index_begin(inv, inv->ifaces.n);
	for (uint32_t i = 0; i < inv->ifaces.n; i++)
		put(inv, i);
}

struct iface *inventory_by_index(const struct inventory *inv, int index)
{
	const struct inventory_index *x = inv->index;

	if (!x) {
		for (size_t i = 0; i < inv->ifaces.n; i++) {
			if (inv->ifaces.v[i].index == index)
				return &inv->ifaces.v[i];
		}
		return NULL;
	}
	for (uint32_t at = (uint32_t)index & x->mask; x->slots[at]; at = (at + 1) & x->mask) {
		struct iface *i = &inv->ifaces.v[x->slots[at] - 1];

		if (i->index == index)
			return i;
	}
	return NULL;
}

static int by_name(const void *p, const void *q)
{
	return strcmp(((const struct named *)p)->name, ((const struct named *)q)->name);
}

static void sort_names(const struct inventory *inv, struct inventory_index *x)
{
	size_t n = 0;

	for (size_t i = 0; i < inv->ifaces.n; i++)
		n += 1 + inv->ifaces.v[i].altnames.n;
	x->names = arena_alloc(inv->a, (n + 1) * sizeof(*x->names));
	for (size_t i = 0; i < inv->ifaces.n; i++) {
		struct iface *f = &inv->ifaces.v[i];

		x->names[x->nnames++] = (struct named){f->name, f};
		for (size_t k = 0; k < f->altnames.n; k++)
			x->names[x->nnames++] = (struct named){f->altnames.v[k], f};
	}
	qsort(x->names, x->nnames, sizeof(*x->names), by_name);
}

static bool is_called(const struct iface *i, const char *name)
{
	for (size_t k = 0; k < i->altnames.n; k++) {
		if (streq(i->altnames.v[k], name))
			return true;
	}
	return streq(i->name, name);
}

struct iface *inventory_by_name(const struct inventory *inv, const char *name)
{
	struct inventory_index *x = inv->index;
	struct named key = {.name = name}, *found;

	if (!x) {
		for (size_t i = 0; i < inv->ifaces.n; i++) {
			if (is_called(&inv->ifaces.v[i], name))
				return &inv->ifaces.v[i];
		}
		return NULL;
	}
	if (!x->names)
		sort_names(inv, x);
	found = bsearch(&key, x->names, x->nnames, sizeof(*x->names), by_name);
	return found ? found->iface : NULL;
}

const struct iface_addr *inventory_by_addr(const struct inventory *inv, const union addr *a)
{
	for (size_t i = 0; i < inv->addrs.n; i++) {
		if (addr_equal(&inv->addrs.v[i].addr, a))
			return &inv->addrs.v[i];
	}
	return NULL;
}

static bool is_for_peers(const struct iface_addr *x)
{
	switch (addr_class(&x->addr)) {
	case ADDR_PRIVATE:
	case ADDR_SHARED:
	case ADDR_PUBLIC:
		return x->scope < RT_SCOPE_LINK;
	default:
		return false;
	}
}

bool iface_addr_is_usable(const struct iface_addr *x)
{
	if (x->flags & IFA_F_DADFAILED)
		return false;
	if ((x->flags & IFA_F_TENTATIVE) && !(x->flags & IFA_F_OPTIMISTIC))
		return false;
	return is_for_peers(x);
}

const struct iface_addr *iface_addr_in_doubt(const struct iface *i, unsigned flag)
{
	for (const struct iface_addr *x = i->addrs; x; x = x->next)
		if (x->flags & flag && !iface_addr_is_usable(x) && is_for_peers(x))
			return x;
	return NULL;
}

static bool fits(const struct iface_addr *x, int family)
{
	return (!family || x->addr.sa.sa_family == family) && iface_addr_is_usable(x);
}

const struct iface_addr *iface_best_addr(const struct inventory *inv, const struct iface *i,
					 int family)
{
	if (inv->index) {
		for (const struct iface_addr *x = i->addrs; x; x = x->next) {
			if (fits(x, family))
				return x;
		}
		return NULL;
	}
	for (size_t k = 0; k < inv->addrs.n; k++) {
		if (inv->addrs.v[k].iface == i && fits(&inv->addrs.v[k], family))
			return &inv->addrs.v[k];
	}
	return NULL;
}

bool iface_is_up(const struct iface *i) { return i->flags & IFF_UP; }
bool iface_is_nic(const struct iface *i) { return i->kind <= IFACE_IPOIB; }

bool iface_is_running(const struct iface *i) { return i->flags & IFF_RUNNING; }

const char *iface_state_name(const struct iface *i)
{
	if (!iface_is_up(i))
		return "down";
	if (iface_is_running(i))
		return "up";
	return i->operstate == IF_OPER_DORMANT ? "dormant" : "no carrier";
}
