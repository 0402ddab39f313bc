/* Times that a dump says and those of its file are another's: whatever they are, they are
 * subtracted from each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/flight/flight.h"
#include "probes/flight/judge.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct scene {
	struct arena a;
	struct flight *f;
};

static void scene_done(struct scene *s)
{
	flight_free(s->f);
	arena_done(&s->a);
}

/* A dump of the default group of two ranks, which did four collectives and is in the fifth. */
static const char *waiting(struct scene *s, const char *at_ns, const char *took_ms)
{
	return arena_printf(&s->a,
			    "{\"version\":\"2.10\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":"
			    "\"default_pg\","
			    "\"ranks\":\"[0, 1]\"}},\"entries\":[{\"record_id\":4,\"pg_id\":0,"
			    "\"process_group\":[\"0\",\"default_pg\"],\"collective_seq_id\":5,"
			    "\"profiling_name\":\"nccl:all_reduce\",\"state\":\"started\","
			    "\"time_created_ns\":%s,\"duration_ms\":%s,\"timeout_ms\":600000}]}",
			    at_ns, took_ms);
}

static void take(struct scene *s, const char *name, int64_t written_ns, const char *text)
{
	struct err e = {0};

	assert_int_equal(flight_take(s->f, name, written_ns, text, strlen(text), &e), 0);
}

static void what_a_dump_says(void **state UNUSED)
{
	static const struct {
		const char *at, *took;
		int64_t at_ns;
		float ms;
	} cases[] = {
		{"1700000000000000000", "2.5", 1700000000000000000, 2.5F},
		{"1700000000000000000", "0", 1700000000000000000, 0},
		{"-8000000000000000000", "1e300", 0, -1},
		{"-1", "-3", 0, -1},
		{"1e300", "1e10", 0, -1},
		{"\"x\"", "null", 0, -1},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(scene_done) struct scene s = {.f = flight_new()};
		const struct flight_dump *d;

		assert_non_null(s.f);
		take(&s, "rank_0", 0, waiting(&s, cases[i].at, cases[i].took));
		d = &s.f->dumps.v[0];
		assert_int_equal(d->entries.v[0].created_ns, cases[i].at_ns);
		assert_int_equal(d->last_ns, cases[i].at_ns);
		assert_true(d->entries.v[0].duration_ms == cases[i].ms);
	}
}

static void who_waits_since_before_1970(void **state UNUSED)
{
	AUTO(scene_done) struct scene s = {.f = flight_new()};
	const int64_t now_ns = 1700000000000000000;
	struct flight_verdict v;

	assert_non_null(s.f);
	take(&s, "rank_0", now_ns, waiting(&s, "-8000000000000000000", "null"));
	take(&s, "rank_1", now_ns, waiting(&s, "-8000000000000000000", "null"));
	flight_judge(s.f, &s.a, &v);
	assert_non_null(v.causes.n ? v.causes.v[0].meaning : NULL);
}

static void what_its_file_is_dated(void **state UNUSED)
{
	static const struct {
		int64_t date_s, written_ns;
	} cases[] = {
		{1700000000, 1700000000000000007},
		{0, 0},
		{-1, 0},
		{10000000000, 0}, /* 2286: beyond what 64 bits hold in nanoseconds */
	};
	char path[] = "/tmp/flight_times_XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(scene_done) struct scene s = {.f = flight_new()};
		const struct timespec both[2] = {{.tv_sec = cases[i].date_s, .tv_nsec = 7},
						 {.tv_sec = cases[i].date_s, .tv_nsec = 7}};
		const char *text = waiting(&s, "1700000000000000000", "null");
		struct err e = {0};
		struct stat st;

		assert_int_equal(futimens(fd, both), 0);
		assert_int_equal(fstat(fd, &st), 0);
		if (st.st_mtim.tv_sec != cases[i].date_s) /* a file system of fewer years */
			continue;
		assert_int_equal(flight_read(s.f, fd, "rank_0", text, strlen(text), &e), 0);
		assert_int_equal(s.f->dumps.v[0].written_ns, cases[i].written_ns);
	}
	(void)close(fd);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_dump_says),
		cmocka_unit_test(who_waits_since_before_1970),
		cmocka_unit_test(what_its_file_is_dated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
