/* Hostfiles in everybody's manner: what is read from them, and what is refused where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/cluster/hostlist.h"
#include "lib/core/log.h"
#include "lib/core/text.h"
#include "tests/unit/hosts_joined.h"

static struct arena a;
static struct err e;

static int free_arena(void **state UNUSED)
{
	arena_done(&a);
	return 0;
}

static void reads_everybodys_hostfiles(void **state UNUSED)
{
	static const char *const rows[][2] = {
		{"a\nb\n", "a b"},
		{"a slots=8\nb slots=4 max_slots=8\n", "a:8 b:4"},
		{"a slots = 8\nb max-slots= 2 slots =3\n", "a:8 b:3"},
		{"a:8\nb:4", "a:8 b:4"},
		{"a:8 slots=2", "a:2"},
		{"# comment\n\n  \t\na # trailing\n\tb\t\n", "a b"},
		{"a slots=8\r\nb\r\n", "a:8 b"},
		{"\xef\xbb\xbfnode[1-3]-ib slots=2\n", "node1-ib:2 node2-ib:2 node3-ib:2"},
		{"a,b slots=2\na\n", "a:2 b:2 a"},
		{"fd00::1 slots=2\n", "fd00::1:2"},
		{"[fd00::1] slots=2\n[fd00::2]:4\n", "fd00::1:2 fd00::2:4"},
		{"a cpus=8\nb count = 4\nc cpu=2 max_slots=3\n", "a:8 b:4 c:2"},
		/* Grid Engine's $PE_HOSTFILE */
		{"n1 8 all.q@n1 UNDEFINED\nn2 4 all.q@n2 <NULL>\nn3 1 gpu.q@n3\n",
		 "n1:8 n2:4 n3:1"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		host_list got;

		if (hostfile_parse(rows[i][0], strlen(rows[i][0]), "hosts", &a, &got, &e) < 0)
			fail_msg("'%s': %s", rows[i][0], e.msg);
		assert_string_equal(hosts_joined(&a, &got), rows[i][1]);
	}
}

static void names_the_bad_line(void **state UNUSED)
{
	static const char *const rows[][2] = {
		{"a\n\nb slot=8\n", "hosts:3: unknown setting"},
		{"a slots=\n", "hosts:1: not a number of slots"},
		{"a slots=0\n", "hosts:1: not a number"},
		{"a slots=8x\n", "hosts:1: not a number"},
		{"a slots\n", "hosts:1: one host"},
		{"10.0.0.1 node1\n", "hosts:1: one host"},
		{"n1 8\n", "hosts:1: one host"},
		{"n1 8 all.q\n", "hosts:1: one host"},
		{"n1 0 all.q@n1 UNDEFINED\n", "hosts:1: one host"},
		{"n1 8 all.q@n1 UNDEFINED more\n", "hosts:1: one host"},
		{"a\nb[1-\n", "hosts:2: host list: ']' is missing"},
		{"", "hosts names no host"},
		{"# nothing\n", "hosts names no host"},
	};
	host_list got;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(
			hostfile_parse(rows[i][0], strlen(rows[i][0]), "hosts", &a, &got, &e), -1);
		if (!starts_with(e.msg, rows[i][1]))
			fail_msg("'%s': %s", rows[i][0], e.msg);
		assert_true(starts_with(e.msg, "hosts"));
		assert_int_not_equal(*e.hint, '\0');
		assert_int_equal(e.kind, ERR_USAGE);
	}
	assert_int_equal(hostfile_parse("a\nb\0c\n", 6, "hosts", &a, &got, &e), -1);
	assert_string_equal(e.msg, "hosts:2: not a text file");
}

/* $PBS_NODEFILE and its kin have a line for each slot; mpirun takes a list likewise. */
static void a_line_for_each_slot(void **state UNUSED)
{
	static const char *const rows[][2] = {
		{"n1\nn1\nn2\nn1\nn2\nn3\n", "n1:3 n2:2 n3"},
		{"a slots=4\na\n", "a:5"},
		{"a\nb\n", "a b"},
		{"a slots=1048576\nb slots=1048576\na slots=1048576\n", "a:1048576 b:1048576"},
	};
	char path[] = "/tmp/t_hostlist.XXXXXX";
	host_list got;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_true(pwrite(fd, rows[i][0], strlen(rows[i][0]), 0) > 0);
		assert_int_equal(hosts_from_arg(path, &a, &got, &e), 0);
		assert_string_equal(hosts_joined(&a, &got), rows[i][1]);
	}
	assert_int_equal(close(fd) | unlink(path), 0);
	assert_int_equal(hosts_from_arg("a,b,a,b", &a, &got, &e), 0);
	assert_string_equal(hosts_joined(&a, &got), "a:2 b:2");
	assert_int_equal(hosts_from_arg("a:2,b,a", &a, &got, &e), 0);
	assert_string_equal(hosts_joined(&a, &got), "a:3 b");
}

/* A name that is a file's here and a host's somewhere. */
static void what_is_a_file_here_and_reads_as_no_hosts_may_be_a_host(void **state UNUSED)
{
	static const char *const rows[][2] = {{"gpu7", "some log text\n"}, {"gpu8", ""}};
	char dir[] = "/tmp/t_hostlist.XXXXXX";
	host_list got;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		FILE *f = fopen(rows[i][0], "we");

		assert_non_null(f);
		assert_true(fputs(rows[i][1], f) >= 0);
		assert_int_equal(fclose(f), 0);
		assert_int_equal(hosts_from_arg(rows[i][0], &a, &got, &e), -1);
		assert_string_equal(e.hint,
				    arena_printf(&a,
						 "%s is a file in this folder; for the host "
						 "write %s:1",
						 rows[i][0], rows[i][0]));
		assert_int_equal(hosts_from_arg(arena_printf(&a, "./%s", rows[i][0]), &a, &got, &e),
				 -1);
		assert_null(strstr(e.hint, "for the host"));
	}
	assert_int_equal(hosts_from_arg("gpu7:1", &a, &got, &e), 0);
	assert_string_equal(hosts_joined(&a, &got), "gpu7:1");
	assert_int_equal(unlink("gpu7") | unlink("gpu8") | chdir("/") | rmdir(dir), 0);
}

#define TEST(f) cmocka_unit_test_teardown(f, free_arena)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_everybodys_hostfiles),
		TEST(names_the_bad_line),
		TEST(a_line_for_each_slot),
		TEST(what_is_a_file_here_and_reads_as_no_hosts_may_be_a_host),
	};

	log_init("t_hostfile", LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
