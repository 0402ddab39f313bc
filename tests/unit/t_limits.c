/* The limits stage, where the kernel answers what a test wants: locked memory, file systems without
 * room for one more file, a clock of which nothing is known. */
#include "lib/core/units.h"
#include "lib/host/gpu.h"
#include "tests/unit/gpu_world.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/vfs.h>

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

/* In the place of the C library's: few may raise their own. AddressSanitizer asks for some before
 * there is anything to check them by. */
static uint64_t memlock;

__attribute__((no_sanitize_address)) int getrlimit(__rlimit_resource_t resource, struct rlimit *ret)
{
	if (resource != RLIMIT_MEMLOCK)
		return (int)syscall(SYS_prlimit64, 0, resource, NULL, ret);
	*ret = (struct rlimit){.rlim_cur = memlock, .rlim_max = memlock};
	return 0;
}

/* All of them have room for this many files, and for a lot of bytes. */
static uint64_t files = 1000000, files_free = 1000000;
static bool is_unlimited; /* the one of /dev/shm: size=0 */

int statfs(const char *path, struct statfs *ret)
{
	*ret = (struct statfs){.f_type = streq(path, "/dev/shm") ? TMPFS_MAGIC : 0xef53};
	return 0;
}

static const char *small; /* a mount of 16 KiB; NULL: there is none */
/* How these are mounted. */
static unsigned long tmp_flags, var_tmp_flags, shm_flags;

int statvfs(const char *path, struct statvfs *ret)
{
	*ret = (struct statvfs){.f_bsize = 4096,
				.f_frsize = 4096,
				.f_blocks = 1 << 30,
				.f_bavail = 1 << 30,
				.f_files = files,
				.f_ffree = files_free,
				.f_favail = files_free};
	ret->f_flag = streq(path, "/tmp")	? tmp_flags
		      : streq(path, "/var/tmp") ? var_tmp_flags
		      : streq(path, "/dev/shm") ? shm_flags
						: 0;
	if (small && streq(path, small))
		ret->f_blocks = ret->f_bavail = 4;
	if (is_unlimited && streq(path, "/dev/shm"))
		ret->f_blocks = ret->f_bavail = ret->f_files = 0;
	return 0;
}

static int clock_state, clock_status;

int adjtimex(struct timex *t)
{
	t->status = clock_status;
	if (clock_state < 0)
		errno = EPERM;
	return clock_state;
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

/* A disk that is not full takes no file all the same. */
static void t_files(void **state)
{
	static const struct {
		uint64_t all, left;
		enum status status;
	} rows[] = {
		{1000000, 0, ST_FAIL},
		{1000000, 999, ST_WARN},
		{1000000, 1000, ST_PASS},
		{0, 0, ST_PASS}, /* one that does not count them */
	};
	static const char *const checks[] = {"limits.disk", "limits.shm"};
	struct gpu_world w;

	(void)state;
	make(&w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t k = 0; k < ARRAY_LEN(checks); k++) {
			const struct finding *f;

			files = rows[i].all;
			files_free = rows[i].left;
			f = look(&w, checks[k], NULL);
			assert_int_equal(f->status, rows[i].status);
			assert_int_equal(f->fix.n > 0, rows[i].status != ST_PASS);
			if (f->status == ST_FAIL)
				assert_non_null(strstr(f->message, "no file more"));
		}
	files = files_free = 1000000;
	gpu_done(&w);
}

/* What is too small in all nobody can tidy up. */
static void t_disk_too_small(void **state)
{
	char dir[] = "/tmp/t_limits.XXXXXX";
	struct gpu_world w;
	const struct finding *f;

	(void)state;
	assert_non_null(small = mkdtemp(dir));
	make(&w);
	setenv("TMPDIR", small, 1);
	f = look(&w, "limits.disk", NULL);
	unsetenv("TMPDIR");
	assert_int_equal(f->status, ST_FAIL);
	assert_string_equal(
		f->fix.v[0],
		arena_printf(f->a, "export TMPDIR=/tmp   # %s is too small in all", small));
	small = NULL;
	gpu_done(&w);
	assert_int_equal(rmdir(dir), 0);
}

/* What is compiled there at run time (Triton, torch.compile, ninja) must start from there. */
static void t_another_place(void **state)
{
	static const struct {
		unsigned long tmp, var_tmp, shm;
		const char *fix;
	} rows[] = {
		{0, 0, 0, "export TMPDIR=/tmp"},
		{ST_NOEXEC, 0, 0, "export TMPDIR=/var/tmp"},
		{ST_RDONLY, ST_NOEXEC, 0, "export TMPDIR=/dev/shm"},
		{ST_NOEXEC, ST_NOEXEC, ST_NOEXEC | ST_NOSUID, NULL},
	};
	static const char *const gone = "/proc/self/none";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char dir[] = "/tmp/t_limits.XXXXXX";
		struct gpu_world w;

		assert_non_null(small = mkdtemp(dir));
		tmp_flags = rows[i].tmp;
		var_tmp_flags = rows[i].var_tmp;
		shm_flags = rows[i].shm;
		make(&w);
		setenv("TMPDIR", small, 1);
		assert_true(starts_with(look(&w, "limits.disk", NULL)->fix.v[0],
					rows[i].fix ?: "findmnt "));
		setenv("TMPDIR", gone, 1);
		assert_true(starts_with(look(&w, "limits.writable", gone)->fix.v[0],
					rows[i].fix ?: "df "));
		unsetenv("TMPDIR");
		gpu_done(&w);
		assert_int_equal(rmdir(dir), 0);
	}
	small = NULL;
	tmp_flags = var_tmp_flags = shm_flags = 0;
}

/* "docker run --shm-size 0" gives it no limit: the memory's is its own. */
static void t_shm_without_a_limit(void **state)
{
	struct gpu_world w;
	const struct finding *f;

	(void)state;
	make(&w);
	gpu_file(&w, "/proc/meminfo", "MemTotal:  16777216 kB\nMemAvailable:  8388608 kB\n");
	is_unlimited = true;
	f = look(&w, "limits.shm", NULL);
	assert_int_equal(f->status, ST_PASS);
	assert_string_equal(f->message, "has 16 GiB, 8 GiB free");
	gpu_file(&w, "/proc/meminfo", "MemTotal:  16777216 kB\nMemAvailable:  8192 kB\n");
	assert_int_equal(look(&w, "limits.shm", NULL)->status, ST_WARN);
	is_unlimited = false;
	gpu_done(&w);
}

/* A container's filter of system calls refuses the question: nothing is known. */
static void t_clock(void **state)
{
	static const struct {
		int state, status;
		enum status want;
	} rows[] = {
		{TIME_OK, 0, ST_PASS},
		{TIME_ERROR, STA_UNSYNC, ST_INFO},
		{-1, 0, ST_SKIP},
	};
	struct gpu_world w;

	(void)state;
	make(&w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		clock_state = rows[i].state;
		clock_status = rows[i].status;
		assert_int_equal(look(&w, "limits.clock", NULL)->status, rows[i].want);
	}
	gpu_done(&w);
}

static bool has_gpus(struct arena *a)
{
	gpu_list gpus;

	gpu_read(a, &gpus);
	return gpus.n;
}

/* Where there is something to balance, and GPUs that wait for it. */
static void t_numa_balancing(void **state)
{
	static const struct {
		const char *value;  /* of the kernel; NULL: it has no such setting */
		const char *second; /* node's processors; NULL: there is none */
		int want;	    /* -1: nothing is said */
	} rows[] = {
		{"1", "32-63", ST_INFO}, {"3", "32-63", ST_INFO}, {"0", "32-63", ST_PASS},
		{"2", "32-63", ST_INFO}, {"1", NULL, -1},	  {"1", "", -1},
		{NULL, "32-63", -1},
	};
	static const char *const machines[] = {"aws-p4d", "dgx-roce"};

	(void)state;
	for (size_t m = 0; m < ARRAY_LEN(machines); m++)
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			const struct finding *f;
			struct gpu_world w;

			gpu_make(&w, machines[m]);
			gpu_file(&w, "/proc/meminfo", "MemTotal:       2147483648 kB\n");
			gpu_file(&w, "/sys/devices/system/node/node0/cpulist", "0-31\n");
			if (rows[i].second)
				gpu_file(&w, "/sys/devices/system/node/node1/cpulist",
					 arena_printf(&w.c.a, "%s\n", rows[i].second));
			if (rows[i].value)
				gpu_file(&w, "/proc/sys/kernel/numa_balancing",
					 arena_printf(&w.c.a, "%s\n", rows[i].value));
			(void)look(&w, "limits.clock", NULL);
			f = gpu_found(&w, "limits.numa_balancing", NULL);
			if (rows[i].want < 0 || !has_gpus(&w.c.a)) {
				assert_null(f);
			} else {
				assert_non_null(f);
				assert_int_equal(f->status, rows[i].want);
				assert_int_equal(f->fix.n > 0, f->status != ST_PASS);
			}
			gpu_done(&w);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_memlock),
		cmocka_unit_test(t_memlock_unused),
		cmocka_unit_test(t_memlock_of_root),
		cmocka_unit_test(t_files),
		cmocka_unit_test(t_disk_too_small),
		cmocka_unit_test(t_another_place),
		cmocka_unit_test(t_shm_without_a_limit),
		cmocka_unit_test(t_clock),
		cmocka_unit_test(t_numa_balancing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
