/* Where NCCL's settings come from: environment, conf files, who comes first. */
#include "probes/rules/nccl.h"
#include "tests/unit/composed.h"

enum { OLD = 22809, NEW = 23007 };

static struct place {
	char dir[64];
	struct arena a;
	struct settings s;
} place;

static void put(const char *name, const char *data, size_t n)
{
	const char *path = arena_printf(&place.a, "%s%s", place.dir, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void put_str(const char *name, const char *data) { put(name, data, strlen(data)); }

static int begin(void **state)
{
	(void)state;
	place = (struct place){.dir = "/tmp/t_settings.XXXXXX"};
	assert_non_null(mkdtemp(place.dir));
	composed_run((const char *const[]){"mkdir", arena_printf(&place.a, "%s/etc", place.dir),
					   arena_printf(&place.a, "%s/home", place.dir), NULL});
	sysroot_set(place.dir);
	setenv("HOME", "/home", 1);
	unsetenv("NCCL_CONF_FILE");
	unsetenv("NCCL_SOCKET_IFNAME");
	unsetenv("NCCL_DEBUG");
	return 0;
}

static int end(void **state)
{
	(void)state;
	sysroot_set(NULL);
	composed_run((const char *const[]){"rm", "-rf", place.dir, NULL});
	arena_done(&place.a);
	return 0;
}

static void expect(const char *name, const char *value, const char *origin)
{
	const struct setting *got = settings_nccl(&place.s, name);

	if (!value) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_string_equal(got->value, value);
	assert_string_equal(got->origin, origin);
}

static void read_as(unsigned version) { settings_read_for(&place.s, &place.a, version); }

static void environment_comes_first(void **state)
{
	(void)state;
	put_str("/home/.nccl.conf", "NCCL_SOCKET_IFNAME=home\nNCCL_A=home\n");
	put_str("/etc/nccl.conf", "# a comment\nNCCL_A=etc\nNCCL_B=etc\n\nNCCL_B=again\n");
	setenv("NCCL_SOCKET_IFNAME", "env", 1);
	read_as(OLD);
	expect("NCCL_SOCKET_IFNAME", "env", "environment");
	expect("NCCL_A", "home", "~/.nccl.conf:2");
	expect("NCCL_B", "etc", "/etc/nccl.conf:3");
	expect("NCCL_C", NULL, NULL);
	assert_int_equal(place.s.conf_lines.n, 5);
	assert_string_equal(place.s.conf_lines.v[4].origin, "/etc/nccl.conf:5");
	assert_int_equal(place.s.files.n, 2);
	assert_int_equal(place.s.unreadable.n, 0);
}

/* An empty value is a value. */
static void empty_in_the_environment_wins(void **state)
{
	(void)state;
	put_str("/etc/nccl.conf", "NCCL_SOCKET_IFNAME=etc\n");
	setenv("NCCL_SOCKET_IFNAME", "", 1);
	read_as(OLD);
	expect("NCCL_SOCKET_IFNAME", "", "environment");
}

static void a_named_file_replaces_home(void **state)
{
	(void)state;
	put_str("/home/.nccl.conf", "NCCL_A=home\n");
	put_str("/etc/nccl.conf", "NCCL_A=etc\nNCCL_B=etc\n");
	put_str("/own.conf", "NCCL_A=own");
	setenv("NCCL_CONF_FILE", "/own.conf", 1);
	read_as(OLD);
	expect("NCCL_A", "own", "/own.conf:1");
	expect("NCCL_B", "etc", "/etc/nccl.conf:2");
	/* 2.22 did not know the variable yet */
	read_as(22203);
	expect("NCCL_A", "home", "~/.nccl.conf:1");
	/* empty is as good as not set */
	setenv("NCCL_CONF_FILE", "", 1);
	read_as(OLD);
	expect("NCCL_A", "home", "~/.nccl.conf:1");
}

static void a_named_file_that_is_missing_is_told(void **state)
{
	(void)state;
	put_str("/home/.nccl.conf", "NCCL_A=home\n");
	setenv("NCCL_CONF_FILE", "/nowhere", 1);
	read_as(OLD);
	expect("NCCL_A", NULL, NULL);
	assert_int_equal(place.s.unreadable.n, 1);
	assert_string_equal(place.s.unreadable.v[0].path, "/nowhere");
	assert_true(place.s.unreadable.v[0].is_named);
	assert_int_equal(place.s.unreadable.v[0].nccl, CONF_PASSED_OVER);
}

static void what_is_no_file_is_told(void **state)
{
	(void)state;
	setenv("NCCL_CONF_FILE", "/home", 1);
	read_as(OLD);
	assert_int_equal(place.s.unreadable.n, 1);
	assert_string_equal(place.s.unreadable.v[0].why, "is a folder");
	/* NCCL opens it and waits for who writes */
	composed_run((const char *const[]){"mkfifo", arena_printf(&place.a, "%s/pipe", place.dir),
					   NULL});
	setenv("NCCL_CONF_FILE", "/pipe", 1);
	read_as(OLD);
	assert_int_equal(place.s.unreadable.n, 1);
	assert_string_equal(place.s.unreadable.v[0].why, "is a pipe");
	assert_int_equal(place.s.unreadable.v[0].nccl, CONF_WAITS);
	/* but a way to say "none" */
	composed_run((const char *const[]){"ln", "-s", "/dev/null",
					   arena_printf(&place.a, "%s/null", place.dir), NULL});
	setenv("NCCL_CONF_FILE", "/null", 1);
	read_as(OLD);
	assert_int_equal(place.s.unreadable.n, 0);
}

static void carriage_returns_depend_on_the_release(void **state)
{
	(void)state;
	put_str("/etc/nccl.conf", "NCCL_A=1\r\n#\r\n\r\nNCCL_B=2\r\r\nNCCL_C=3\r");
	read_as(OLD);
	expect("NCCL_A", "1\r", "/etc/nccl.conf:1");
	expect("NCCL_B", "2\r\r", "/etc/nccl.conf:4");
	read_as(NEW);
	expect("NCCL_A", "1", "/etc/nccl.conf:1");
	expect("NCCL_B", "2\r", "/etc/nccl.conf:4");
	expect("NCCL_C", "3", "/etc/nccl.conf:5");
}

/* Newer releases read pieces of 4095 bytes, and a piece is a line to them. */
static void long_lines_depend_on_the_release(void **state)
{
	char line[4095 + 9];

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line, "NCCL_A=", 7);
	memcpy(line + 4095, "NCCL_B=2\n", 9);
	put("/etc/nccl.conf", line, sizeof(line));
	read_as(OLD);
	expect("NCCL_B", NULL, NULL);
	assert_int_equal(strlen(settings_nccl(&place.s, "NCCL_A")->value), 1023);
	read_as(NEW);
	expect("NCCL_B", "2", "/etc/nccl.conf:1");
}

static void nul_ends_a_line(void **state)
{
	(void)state;
	put("/etc/nccl.conf", "NCCL_A=1\0zzz\nNCCL_B=2\n", 22);
	read_as(OLD);
	expect("NCCL_A", "1", "/etc/nccl.conf:1");
	expect("NCCL_B", "2", "/etc/nccl.conf:2");
}

static void absurd_files_are_bounded(void **state)
{
	struct text t;

	(void)state;
	text_init(&t, &place.a);
	for (int i = 0; i < 5000; i++)
		text_addf(&t, "N%d=1\n", i);
	put("/etc/nccl.conf", t.s, t.n);
	read_as(OLD);
	assert_int_equal(place.s.unreadable.n, 1);
	assert_int_equal(place.s.unreadable.v[0].nccl, CONF_UNSEEN); /* NCCL reads it all */
	assert_true(place.s.conf_lines.n <= 4097);
	while (t.n < 2 << 20)
		text_add(&t, "#############################################\n");
	put("/etc/nccl.conf", t.s, t.n);
	read_as(OLD);
	assert_int_equal(place.s.unreadable.n, 1);
	assert_int_equal(place.s.unreadable.v[0].nccl, CONF_UNSEEN);
	assert_int_equal(place.s.conf_lines.n, 0);
}

static void other_variables_count_too(void **state)
{
	(void)state;
	put_str("/etc/nccl.conf", "PATH=/evil\nWINDSOCK_T=1\n");
	read_as(OLD);
	expect("WINDSOCK_T", "1", "/etc/nccl.conf:2");
	expect("PATH", NULL, NULL); /* it is in the environment, though not NCCL's */
}

int main(void)
{
#define TEST(x) cmocka_unit_test_setup_teardown(x, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(environment_comes_first),
		TEST(empty_in_the_environment_wins),
		TEST(a_named_file_replaces_home),
		TEST(a_named_file_that_is_missing_is_told),
		TEST(what_is_no_file_is_told),
		TEST(carriage_returns_depend_on_the_release),
		TEST(long_lines_depend_on_the_release),
		TEST(nul_ends_a_line),
		TEST(absurd_files_are_bounded),
		TEST(other_variables_count_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
