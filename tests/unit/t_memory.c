/* How much a benchmark may take: what is available, and what control groups leave of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/host/cgroup.h"
#include "lib/host/memory.h"
#include "tests/unit/made_root.h"

#include <sys/resource.h>

static void begin(const char *groups)
{
	made_root_begin(groups);
	made_root_put("/proc/meminfo",
		      "MemTotal: 16000000 kB\nMemAvailable:   8000 kB\nBuffers: 1 kB\n");
}

static void without_groups(void **state)
{
	(void)state;
	begin("");
	assert_int_equal(memory_available(), 8000 * 1024);
	assert_int_equal(memory_info("MemTotal:"), 16000000);
	assert_int_equal(memory_info("HugePages_Free:"), 0);
	begin("0::/\n");
	assert_int_equal(memory_available(), 8000 * 1024);
	made_root_put("/sys/fs/cgroup/memory.max", "max\n");
	made_root_put("/sys/fs/cgroup/memory.current", "1000\n");
	assert_int_equal(memory_available(), 8000 * 1024);
}

/* A batch system limits the job, not the step that we are in. */
static void the_tightest_counts(void **state)
{
	(void)state;
	begin("0::/system.slice/job_7/step_0\n");
	made_root_put("/sys/fs/cgroup/system.slice/job_7/step_0/memory.max", "max\n");
	made_root_put("/sys/fs/cgroup/system.slice/job_7/step_0/memory.current", "1000\n");
	made_root_put("/sys/fs/cgroup/system.slice/job_7/memory.max", "5000000\n");
	made_root_put("/sys/fs/cgroup/system.slice/job_7/memory.current", "1000000\n");
	assert_int_equal(memory_available(), 4000000);
	made_root_put("/sys/fs/cgroup/system.slice/job_7/memory.stat",
		      "anon 7\ninactive_file 600000\n");
	assert_int_equal(memory_available(), 4600000); /* a cache gives way */
	made_root_put("/sys/fs/cgroup/memory.max", "3000000\n");
	made_root_put("/sys/fs/cgroup/memory.current", "3000000\n");
	assert_int_equal(memory_available(), 1); /* nothing; 0 would be: unknown */
	assert_int_equal(cgroup_memory().left, 0);
}

static void of_version_1(void **state)
{
	(void)state;
	begin("12:cpu,cpuacct:/x\n9:memory:/docker/abc\n0::/docker/abc\n");
	made_root_put("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "2000000\n");
	made_root_put("/sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "1500000\n");
	made_root_put("/sys/fs/cgroup/memory/docker/abc/memory.stat",
		      "inactive_file 9\ntotal_inactive_file 1000000\n");
	assert_int_equal(memory_available(), 1500000);
}

static void a_process_has_its_own(void **state)
{
	struct rlimit before, l;

	(void)state;
	begin("");
	made_root_put("/proc/self/statm", "1000 500 300 10 0 200 0\n"); /* pages: all, ... data */
	assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
	l = before;
	l.rlim_cur = (rlim_t)1 << 40;
	assert_int_equal(setrlimit(RLIMIT_DATA, &l), 0);
	assert_true(memory_of_process() ==
		    ((uint64_t)1 << 40) - 200 * (uint64_t)sysconf(_SC_PAGESIZE));
	assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_groups),
		cmocka_unit_test(the_tightest_counts),
		cmocka_unit_test(of_version_1),
		cmocka_unit_test(a_process_has_its_own),
	};

	return cmocka_run_group_tests(tests, made_root, made_root_remove);
}
