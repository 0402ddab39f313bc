/* A scan of many ports starts no more threads than it may use processors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/net/scan.h"
#include "tests/unit/made_root.h"

#include <dirent.h>

enum { PORTS = 3 * SCAN_FEW };

struct seen {
	size_t ticks, threads;
};

static size_t count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	size_t n = 0;

	assert_non_null(d);
	for (struct dirent *entry; (entry = readdir(d));)
		n += *entry->d_name != '.';
	(void)closedir(d);
	return n;
}

static void tick(void *arg, size_t done UNUSED, size_t total)
{
	struct seen *seen = arg;
	size_t now = count_threads();

	assert_int_equal(total, PORTS);
	seen->ticks++;
	seen->threads = now > seen->threads ? now : seen->threads;
}

static void a_share_of_one_processor_is_one_thread(void **state)
{
	static struct scan_probe v[PORTS];
	struct seen seen = {0};
	const struct scan_opts o = {.patience_ns = 100000000, .tick = tick, .arg = &seen};
	struct err e = {0};
	size_t before = count_threads();

	(void)state;
	made_root_begin("0::/a\n");
	made_root_put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
	for (size_t i = 0; i < PORTS; i++) {
		v[i].to.v4.sin_family = AF_INET;
		v[i].to.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		v[i].to.v4.sin_port = htons((uint16_t)(i + 1));
	}
	assert_int_equal(scan_tcp(v, PORTS, &o, &e), 0);
	assert_true(seen.ticks > 0);
	assert_int_equal(seen.threads, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_of_one_processor_is_one_thread),
	};

	return cmocka_run_group_tests(tests, made_root, made_root_remove);
}
