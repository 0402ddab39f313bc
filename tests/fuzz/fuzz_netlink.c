/*
 * Hostile bytes where the kernel's dumps should be: read, ranked and looked
 * up in. The input is four files, each preceded by its length (two bytes).
 */
#include "lib/host/rank.h"
#include "lib/host/sysroot.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char dir[] = "/dev/shm/fuzz_netlink.XXXXXX";

static void remove_all(void)
{
	static const char *const names[] = {"links", "addrs", "routes4", "routes6"};
	struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unlink(arena_printf(&a, "%s/netlink/%s", dir, names[i]));
	(void)rmdir(arena_printf(&a, "%s/netlink", dir));
	(void)rmdir(dir);
	arena_done(&a);
}

static void set_up(void)
{
	char sub[sizeof(dir) + 16];

	if (!sysroot_is_real())
		return;
	if (!mkdtemp(dir))
		abort();
	snprintf(sub, sizeof(sub), "mkdir %s/netlink", dir);
	if (system(sub) != 0)
		abort();
	(void)atexit(remove_all);
	sysroot_set(dir);
}

static void put(const char *name, const uint8_t **data, size_t *n)
{
	size_t want = *n >= 2 ? (*data)[0] | (size_t)(*data)[1] << 8 : 0;
	char path[sizeof(dir) + 32];
	int fd;

	*data += *n >= 2 ? 2 : *n;
	*n -= *n >= 2 ? 2 : *n;
	if (want > *n)
		want = *n;
	snprintf(path, sizeof(path), "%s/netlink/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, *data, want) != (ssize_t)want)
		abort();
	(void)close(fd);
	*data += want;
	*n -= want;
}

static void look_up(struct netlink *nl, const char *to, const union addr *from)
{
	struct route r;
	struct err e;
	union addr a;

	if (addr_parse(to, &a) == 0 && netlink_route(nl, &a, 0, from, &r, &e) == 0 &&
	    !r.reachable && !r.why)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a = {0};
	struct inventory inv;
	candidate_list all;
	struct netlink nl;
	struct err e;

	set_up();
	put("links", &data, &n);
	put("addrs", &data, &n);
	put("routes4", &data, &n);
	put("routes6", &data, &n);
	if (netlink_open(&nl, sysroot_netlink(&a), &e) < 0)
		abort();
	if (inventory_read(&inv, &nl, INV_ALL, &a, &e) == 0) {
		rank_ifaces(&inv, 0, &all);
		for (size_t k = 0; k < all.n; k++) {
			const struct iface *i = all.v[k].iface;

			if (!all.v[k].why || !inventory_by_name(&inv, i->name) ||
			    !inventory_by_index(&inv, i->index) || strchr(i->name, '/'))
				abort();
		}
	}
	look_up(&nl, "10.0.0.9", NULL);
	look_up(&nl, "fd00::9", inv.addrs.n ? &inv.addrs.v[0].addr : NULL);
	netlink_close(&nl);
	arena_done(&a);
	return 0;
}
