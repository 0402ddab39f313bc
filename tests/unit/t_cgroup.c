/* What control groups, of both versions, leave to this process; how many processors it may use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/host/cgroup.h"
#include "lib/host/processors.h"
#include "lib/host/sysroot.h"
#include "tests/unit/made_root.h"

#include <math.h>
#include <sched.h>
#include <sys/stat.h>

static void expect(struct cgroup_room is, uint64_t most, uint64_t left)
{
	assert_int_equal(is.most, most);
	assert_int_equal(is.left, left);
}

static void expect_processors(double most) { assert_true(fabs(cgroup_processors() - most) < 1e-9); }

static uint64_t inode_of(const char *folder)
{
	AUTO(arena_done) struct arena a = {0};
	struct stat st;

	assert_int_equal(stat(sysroot_path(&a, folder), &st), 0);
	return st.st_ino;
}

static void no_group_no_limit(void **state)
{
	static const char *const groups[] = {"",	   "0::/\n",	   "0::/a/b\n",
					     "0::/../c\n", "9:memory:/\n", "nonsense\n:::\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		made_root_begin(groups[i]);
		expect(cgroup_memory(), UINT64_MAX, UINT64_MAX);
		expect(cgroup_tasks(), UINT64_MAX, UINT64_MAX);
		assert_true(isinf(cgroup_processors()));
		assert_int_equal(cgroup_processors_group(), 0);
		assert_int_equal(processors_usable(), processors_allowed());
	}
}

/* Who may have the fewest need not be who has the fewest left. */
static void the_tightest_of_all(void **state)
{
	(void)state;
	made_root_begin("0::/a/b\n");
	made_root_put("/sys/fs/cgroup/a/b/pids.max", "50\n");
	made_root_put("/sys/fs/cgroup/a/b/pids.current", "5\n");
	made_root_put("/sys/fs/cgroup/a/pids.max", "100\n");
	made_root_put("/sys/fs/cgroup/a/pids.current", "93\n");
	made_root_put("/sys/fs/cgroup/ab/pids.max", "1\n"); /* not around it */
	expect(cgroup_tasks(), 50, 7);
	made_root_put("/sys/fs/cgroup/pids.max", "20\n"); /* and how many there are is not said */
	expect(cgroup_tasks(), 20, 7);
	made_root_put("/sys/fs/cgroup/a/pids.current", "120\n"); /* it was lowered since */
	expect(cgroup_tasks(), 20, 0);
	made_root_put("/sys/fs/cgroup/a/memory.max", "9000\n");
	made_root_put("/sys/fs/cgroup/a/memory.current", "5000\n");
	made_root_put("/sys/fs/cgroup/a/memory.stat", "file 9\ninactive_file 2000\n");
	expect(cgroup_memory(), 9000, 6000);
	made_root_put("/sys/fs/cgroup/a/memory.events", "oom_kill 7\n"); /* others' too */
	assert_int_equal(cgroup_memory_kills(), 0);
	made_root_put("/sys/fs/cgroup/a/b/memory.events", "max 4\noom 3\noom_kill 2\n");
	assert_int_equal(cgroup_memory_kills(), 2);
}

static void each_controller_of_version_1_has_its_own(void **state)
{
	(void)state;
	made_root_begin(
		"9:pids:/x\n5:memory,hugetlb:/x/y\n4:cpuacct,cpu:/q/r\n3:cpuset:/\n0::/z\n");
	made_root_put("/sys/fs/cgroup/z/pids.max", "3\n"); /* where v1 has it, v2 has not */
	made_root_put("/sys/fs/cgroup/pids/x/pids.max", "60\n");
	made_root_put("/sys/fs/cgroup/pids/pids.max", "40\n");
	made_root_put("/sys/fs/cgroup/pids/pids.current", "10\n");
	expect(cgroup_tasks(), 40, 30);
	made_root_put("/sys/fs/cgroup/memory,hugetlb/memory.limit_in_bytes",
		      "9223372036854771712\n"); /* how it says: none */
	made_root_put("/sys/fs/cgroup/memory,hugetlb/memory.usage_in_bytes", "1000\n");
	expect(cgroup_memory(), UINT64_MAX, UINT64_MAX);
	made_root_put("/sys/fs/cgroup/memory,hugetlb/x/memory.limit_in_bytes", "8000\n");
	made_root_put("/sys/fs/cgroup/memory,hugetlb/x/memory.usage_in_bytes", "3000\n");
	expect(cgroup_memory(), 8000, 5000);
	made_root_put("/sys/fs/cgroup/memory,hugetlb/x/y/memory.oom_control",
		      "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
	assert_int_equal(cgroup_memory_kills(), 3);
	/* "cpu" is a link to "cpu,cpuacct", whatever the kernel calls them */
	made_root_put("/sys/fs/cgroup/cpu/q/r/cpu.cfs_quota_us", "-1\n");
	made_root_put("/sys/fs/cgroup/cpu/q/r/cpu.cfs_period_us", "100000\n");
	assert_true(isinf(cgroup_processors()));
	made_root_put("/sys/fs/cgroup/cpu/q/cpu.cfs_quota_us", "150000\n");
	made_root_put("/sys/fs/cgroup/cpu/q/cpu.cfs_period_us", "100000\n");
	expect_processors(1.5);
	assert_true(cgroup_processors_group() == inode_of("/sys/fs/cgroup/cpu/q"));
}

static void time_of_fewer_processors(void **state)
{
	(void)state;
	made_root_begin("0::/a/b\n");
	made_root_put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	made_root_put("/sys/fs/cgroup/a/cpu.max", "99900000 100000\n");
	expect_processors(999);
	assert_true(cgroup_processors_group() == inode_of("/sys/fs/cgroup/a"));
	assert_int_equal(processors_budget(), 0);
	assert_int_equal(processors_usable(), processors_allowed()); /* not more than there are */
	made_root_put("/sys/fs/cgroup/cpu.max", "20000 100000\n");
	expect_processors(0.2);
	assert_int_equal(processors_usable(), 1); /* none would be no help */
	assert_int_equal(processors_budget(),
			 processors_allowed() > 1 ? inode_of("/sys/fs/cgroup") : 0);
}

static void a_mask_leaves_fewer(void **state)
{
	cpu_set_t before, one;
	int last;

	(void)state;
	made_root_begin("");
	if (sched_getaffinity(0, sizeof(before), &before))
		skip(); /* more than this set has room for */
	assert_int_equal(processors_allowed(), CPU_COUNT(&before));
	last = processors_allowed_nth(processors_allowed() - 1);
	assert_true(CPU_ISSET(last, &before));
	assert_int_equal(processors_allowed_nth(processors_allowed()), -1);
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(processors_allowed(), 1);
	assert_int_equal(processors_usable(), 1);
	assert_int_equal(processors_allowed_nth(0), last);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_group_no_limit),
		cmocka_unit_test(the_tightest_of_all),
		cmocka_unit_test(each_controller_of_version_1_has_its_own),
		cmocka_unit_test(time_of_fewer_processors),
		cmocka_unit_test(a_mask_leaves_fewer),
	};

	return cmocka_run_group_tests(tests, made_root, made_root_remove);
}
