/* The limits stage on composed machines: when a limit of locked memory keeps RDMA from working. */
#include "lib/core/units.h"
#include "tests/unit/gpu_world.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define MIB (1ull << 20)
#define GIB (1ull << 30)

/* As somebody who is not root; root of a host has this, and in a container mostly not. */
static void set_capability(bool has)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2];
	const unsigned bit = 1u << CAP_IPC_LOCK;

	assert_int_equal(syscall(SYS_capget, &h, d), 0);
	if (has && !(d[0].permitted & bit))
		skip();
	d[0].effective = has ? d[0].effective | bit : d[0].effective & ~bit;
	assert_int_equal(syscall(SYS_capset, &h, d), 0);
}

/* In the place of the C library's: few may raise their own. */
static uint64_t memlock;

int getrlimit(__rlimit_resource_t resource, struct rlimit *ret)
{
	if (resource != RLIMIT_MEMLOCK)
		return prlimit(0, resource, NULL, ret);
	*ret = (struct rlimit){.rlim_cur = memlock, .rlim_max = memlock};
	return 0;
}

static const struct finding *look(struct gpu_world *w, const char *check, const char *subject)
{
	gpu_run_stage(w, &(struct preflight){.deadline_ns = 20 * NS_PER_S}, preflight_limits);
	assert_non_null(gpu_found(w, check, subject));
	return gpu_found(w, check, subject);
}

static const struct finding *with_limit(struct gpu_world *w, uint64_t bytes)
{
	memlock = bytes;
	return look(w, "limits.memlock", NULL);
}

static void make(struct gpu_world *w)
{
	gpu_make(w, "aws-p4d");						 /* with devices in /sys */
	gpu_file(w, "/proc/meminfo", "MemTotal:       2147483648 kB\n"); /* 2 TiB */
}

static void t_memlock(void **state)
{
	static const struct {
		uint64_t bytes;
		enum status status;
	} rows[] = {
		{64 << 10, ST_FAIL},  {1023 * MIB, ST_FAIL}, {GIB, ST_WARN},
		{127 * GIB, ST_WARN}, {128 * GIB, ST_PASS},  {256 * GIB, ST_PASS},
	};
	struct gpu_world w;

	(void)state;
	make(&w);
	gpu_file(&w, "/dev/infiniband/uverbs0", "");
	set_capability(false);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct finding *f = with_limit(&w, rows[i].bytes);

		assert_int_equal(f->status, rows[i].status);
		assert_int_equal(f->fix.n > 0, rows[i].status != ST_PASS);
	}
	gpu_done(&w);
}

/* An init container sees the host's adapters in /sys, and is given none of them. */
static void t_memlock_unused(void **state)
{
	struct gpu_world w;

	(void)state;
	make(&w);
	set_capability(false);
	assert_int_equal(with_limit(&w, 64 << 10)->status, ST_PASS);
	gpu_done(&w);
}

/* Root may lock what it likes; that its users may not is told. */
static void t_memlock_of_root(void **state)
{
	struct gpu_world w;

	(void)state;
	make(&w);
	gpu_file(&w, "/dev/infiniband/uverbs0", "");
	set_capability(true);
	assert_int_equal(with_limit(&w, 64 << 10)->status, ST_INFO);
	assert_int_equal(with_limit(&w, GIB)->status, ST_PASS);
	gpu_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_memlock),
		cmocka_unit_test(t_memlock_unused),
		cmocka_unit_test(t_memlock_of_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
