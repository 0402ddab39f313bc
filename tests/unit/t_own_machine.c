/* By which names a machine knows itself, so that it takes no ssh to itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/cluster/own_machine.h"
#include "lib/host/sysroot.h"

#include <ctype.h>
#include <ifaddrs.h>
#include <sys/stat.h>

static struct arena a;
static char dir[] = "/tmp/t_own_machine.XXXXXX";
static char own[200];	 /* up to the first dot */
static const char *addr; /* one that is no loopback one; NULL: there is none */

static int begin(void **state UNUSED)
{
	struct addr_text t;
	struct ifaddrs *list;

	assert_int_equal(unsetenv("WINDSOCK_RSH"), 0);
	assert_int_equal(gethostname(own, sizeof(own) - 1), 0);
	own[strcspn(own, ".")] = '\0';
	assert_int_equal(getifaddrs(&list), 0);
	for (struct ifaddrs *i = list; i; i = i->ifa_next) {
		union addr x = {0};

		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(&x, i->ifa_addr, sizeof(x.v4));
		if (addr_class(&x) != ADDR_LOOPBACK)
			addr = arena_strdup(&a, addr_print(&x, &t));
	}
	freeifaddrs(list);
	return mkdtemp(dir) && !mkdir(arena_printf(&a, "%s/etc", dir), 0700) ? 0 : -1;
}

static int end(void **state UNUSED)
{
	int rc = system(arena_printf(&a, "rm -rf %s", dir));

	sysroot_set(NULL);
	arena_done(&a);
	return rc;
}

static void hosts_file(const char *text)
{
	FILE *f = fopen(arena_printf(&a, "%s/etc/hosts", dir), "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	sysroot_set(dir);
}

static bool is_own(const char *name, const char *rsh, size_t n)
{
	struct own_machine m;

	own_machine_init(&m, rsh, n, &a);
	return own_machine_is(&m, name);
}

static const char *whole(void) { return arena_printf(&a, "%s.some.domain", own); }

static void by_its_names(void **state UNUSED)
{
	char *loud = arena_strdup(&a, own);

	for (char *c = loud; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	hosts_file("");
	assert_true(is_own(own, "ssh", 1) && is_own(loud, "ssh", 1));
	assert_true(is_own("localhost", NULL, 1) && is_own("::1", NULL, 1));
	assert_false(is_own(arena_printf(&a, "%sx", own), NULL, 1));
	assert_false(is_own(arena_printf(&a, "somebody@%s", own), NULL, 1));
	assert_false(is_own(whole(), NULL, 1)); /* it may be another's */
	hosts_file(arena_printf(&a, "127.0.1.1 %s %s\n", whole(), own));
	assert_true(is_own(whole(), "ssh", 100000));
	hosts_file(arena_printf(&a, "192.0.2.7 %s\n", whole()));
	assert_false(is_own(whole(), NULL, 1));
}

static void by_another_name(void **state UNUSED)
{
	hosts_file("127.0.0.1 tunnel\n");
	assert_false(is_own("tunnel", NULL, 1));
	if (!addr)
		skip();
	hosts_file(arena_printf(&a, "%s head Head0\n%s both\n192.0.2.7 both\n", addr, addr));
	assert_true(is_own(addr, "ssh", 100000));
	assert_true(is_own("head", NULL, 1) && is_own("HEAD0", NULL, 1));
	assert_false(is_own("both", NULL, 1));
	/* where a way was named it leads there */
	assert_false(is_own("head", "ssh -p 2222", 1));
	assert_int_equal(setenv("WINDSOCK_RSH", "rsh", 1), 0);
	assert_false(is_own("head", NULL, 1));
	assert_int_equal(unsetenv("WINDSOCK_RSH"), 0);
	assert_false(is_own("head", NULL, 100000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_its_names),
		cmocka_unit_test(by_another_name),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
