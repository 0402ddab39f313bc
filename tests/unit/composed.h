#ifndef TESTS_UNIT_COMPOSED_H
#define TESTS_UNIT_COMPOSED_H
/*
 * Machines for unit tests, made by tests/sysroot/compose (python3) in a folder
 * of the test's own: by name, or from the lines of a description. Run from the
 * repository's root or with ROOT set.
 */
#include "lib/host/inventory.h"
#include "lib/host/sysroot.h"

#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <cmocka.h>

struct composed {
	struct arena a;
	char dir[64];
	struct netlink nl;
	struct inventory inv;
};

static inline void composed_run(const char *const *argv)
{
	int status = -1;
	pid_t pid;

	assert_int_equal(posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* @what: the name of a tests/sysroot/NAME.host, or lines of the grammar. */
static inline void composed_make(struct composed *c, const char *what)
{
	const char *root = getenv("ROOT");

	*c = (struct composed){.dir = "/tmp/t_composed.XXXXXX"};
	assert_non_null(mkdtemp(c->dir));
	if (strchr(what, '\n')) {
		const char *path = arena_printf(&c->a, "%s/description", c->dir);
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		assert_true(fputs(what, f) >= 0);
		assert_int_equal(fclose(f), 0);
		what = path;
	}
	composed_run((const char *const[]){
		arena_printf(&c->a, "%s/tests/sysroot/compose", root ? root : "."), what, c->dir,
		NULL});
	sysroot_set(c->dir);
}

static inline int composed_read(struct composed *c, struct err *e)
{
	if (netlink_open(&c->nl, sysroot_netlink(&c->a), e) < 0)
		return -1;
	return inventory_read(&c->inv, &c->nl, INV_ALL, &c->a, e);
}

static inline void composed_load(struct composed *c, const char *what)
{
	struct err e = {0};

	composed_make(c, what);
	if (composed_read(c, &e) < 0)
		fail_msg("%s: %s", what, e.msg);
}

static inline void composed_done(struct composed *c)
{
	sysroot_set(NULL);
	netlink_close(&c->nl);
	composed_run((const char *const[]){"rm", "-rf", c->dir, NULL});
	arena_done(&c->a);
}

/* For tables: makes it anew only where this row's machine is not the last row's. */
static inline void composed_keep(struct composed *c, const char **last, const char *what)
{
	if (*last && streq(*last, what))
		return;
	if (*last)
		composed_done(c);
	composed_load(c, what);
	*last = what;
}

static inline struct iface *composed_iface(struct composed *c, const char *name)
{
	struct iface *i = inventory_by_name(&c->inv, name);

	assert_non_null(i);
	return i;
}

#endif
