/* How many ranks a machine carries, and what is said where they are too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/ranks/room.h"
#include "tests/unit/made_root.h"

static const struct room plenty = {.processors = 2,
				   .files = UINT64_MAX,
				   .processes = UINT64_MAX,
				   .of_user = UINT64_MAX,
				   .bytes = UINT64_MAX};

static const char *limit(struct room r, uint64_t ranks, unsigned links)
{
	static struct err e;
	const struct room_need need = {.ranks = ranks, .links = links};

	e = (struct err){0};
	if (!room_check(&r, &need, &e))
		return "";
	assert_int_equal(e.kind, ERR_SYS);
	assert_null(strstr(e.hint, "--np 0"));
	assert_true(strstr(e.hint, "--np ") || strstr(e.msg, "enough for 0"));
	return e.msg;
}

static void what_limits_them_is_named(void **state)
{
	struct room r = plenty;

	(void)state;
	assert_string_equal(limit(r, 4096, 2), "");
	r.files = 256;
	assert_non_null(strstr(limit(r, 200, 2), "files open in one process"));
	assert_string_equal(limit(r, 50, 2), "");
	r = plenty;
	r.processes = 100;
	assert_non_null(strstr(limit(r, 200, 2), "processes and threads, and there are 100: "));
	assert_string_equal(limit(r, 46, 2), "");
	r.of_user = 60; /* the tighter one is named */
	assert_non_null(strstr(limit(r, 46, 2), "processes and threads, and there are 60: "));
	assert_string_equal(limit(r, 26, 2), "");
	r = plenty;
	r.bytes = 512 << 20;
	assert_non_null(strstr(limit(r, 600, 2), "of memory at least"));
	assert_string_equal(limit(r, 100, 2), "");
	r.bytes = 0; /* none fits, and that ends, too */
	assert_non_null(strstr(limit(r, 2, 2), "enough for 0"));
}

static void a_crowd_has_more_time(void **state)
{
	struct room r = plenty;

	(void)state;
	assert_int_equal(room_patience(&r, 0), 1);
	assert_int_equal(room_patience(&r, 32), 1);
	assert_int_equal(room_patience(&r, 33), 2);
	assert_int_equal(room_patience(&r, 160), 5);
	r.processors = 64;
	assert_int_equal(room_patience(&r, 512), 1);
}

static void this_machine_has_room_for_two(void **state)
{
	struct room r;

	(void)state;
	room_read(&r);
	assert_true(r.processors > 0);
	assert_string_equal(limit(r, 2, 5), "");
}

/* A batch system limits the job, not the step that we are in. */
static void groups_around_it_limit_it(void **state)
{
	struct room r;

	assert_int_equal(made_root(state), 0);
	made_root_begin("0::/job_7/step_0\n");
	made_root_put("/sys/fs/cgroup/job_7/step_0/pids.max", "max\n");
	made_root_put("/sys/fs/cgroup/job_7/step_0/pids.current", "3\n");
	made_root_put("/sys/fs/cgroup/job_7/cpu.max", "100000 100000\n");
	made_root_put("/sys/fs/cgroup/job_7/pids.max", "110\n");
	made_root_put("/sys/fs/cgroup/job_7/pids.current", "10\n");
	room_read(&r);
	assert_int_equal(made_root_remove(state), 0);
	assert_int_equal(r.processes, 100);
	assert_non_null(strstr(limit(r, 200, 2), "processes and threads, and there are 100: "));
	assert_int_equal(r.processors, 1);
	assert_int_equal(room_patience(&r, 32), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_limits_them_is_named),
		cmocka_unit_test(a_crowd_has_more_time),
		cmocka_unit_test(this_machine_has_room_for_two),
		cmocka_unit_test(groups_around_it_limit_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
