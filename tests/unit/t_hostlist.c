/* Host lists: what comes out, in which order, and what is refused where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/cluster/on_each.h"
#include "lib/core/log.h"
#include "lib/core/text.h"
#include "lib/net/addr.h"
#include "tests/unit/hosts_joined.h"

enum { RANDOM_LISTS = 5000 };

static struct arena a;
static struct err e;

static int free_arena(void **state UNUSED)
{
	arena_done(&a);
	return 0;
}

/* The answers of `scontrol show hostnames` 22.05 where it gives a sane one. */
static void expands_as_slurm_does(void **state UNUSED)
{
	static const char *const rows[][2] = {
		{"a", "a"},
		{"a,b", "a b"},
		{"node[1-2]", "node1 node2"},
		{"gpu-[01-03,07]", "gpu-01 gpu-02 gpu-03 gpu-07"},
		{"h[9-11]", "h9 h10 h11"},
		{"n[098-101]", "n098 n099 n100 n101"},
		{"n[1-010]", "n1 n2 n3 n4 n5 n6 n7 n8 n9 n10"},
		{"queue1-dy-p4d-[1-2],queue1-st-p4d-1",
		 "queue1-dy-p4d-1 queue1-dy-p4d-2 queue1-st-p4d-1"},
		{"a[1-2]b[3-4]", "a1b3 a1b4 a2b3 a2b4"},
		{"node[1-2][3-4]", "node13 node14 node23 node24"},
		{"[1-2]a[3-4]", "1a3 1a4 2a3 2a4"},
		/* three brackets are not row-major there */
		{"a[1-2]b[3-4]c[5-6]", "a1b3c5 a1b3c6 a2b3c5 a2b3c6 a1b4c5 a1b4c6 a2b4c5 a2b4c6"},
		{"x[1,2],y,x[1]", "x1 x2 y x1"},
		{"n[5,3,1]", "n5 n3 n1"},
		{" a,, b\t\nc, ", "a b c"},
		{"n[000000000000000001]", "n000000000000000001"},
		{"u@h[1-2]", "u@h1 u@h2"},
		{"a.b[1-2].c[3]", "a.b1.c3 a.b2.c3"},
		/* and beyond Slurm */
		{"n[1-3]-ib", "n1-ib n2-ib n3-ib"},
		{"n[1-2].example.com,b", "n1.example.com n2.example.com b"},
		{"a:2,n[1-2]:8", "a:2 n1:8 n2:8"},
		{"fe80::1%eth0,fd00::[8-9],::1", "fe80::1%eth0 fd00::8 fd00::9 ::1"},
		{"[fd00::1],[fd00::2]:8,u@[fe80::1%eth0]:2,[1-2]",
		 "fd00::1 fd00::2:8 u@fe80::1%eth0:2 1 2"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		host_list got;

		if (hostlist_parse(rows[i][0], &a, &got, &e) < 0)
			fail_msg("'%s': %s", rows[i][0], e.msg);
		assert_string_equal(hosts_joined(&a, &got), rows[i][1]);
	}
}

static void refuses_junk_with_its_column(void **state UNUSED)
{
	static const struct {
		const char *expr, *said;
	} rows[] = {
		{"", "no host name at column 1"},
		{" , ", "no host name at column 1"},
		{"node[1-", "column 8"},
		{"n[1 - 2]", "column 4"},
		{"n[ 1]", "column 3"},
		{"a,n[3-1]", "backwards at column 5"},
		{"n[1-10/3]", "column 7"},
		{"n[]", "column 3"},
		{"n[1,,2]", "column 5"},
		{"n[1,]", "column 5"},
		{"n[-2]", "column 3"},
		{"n[1-]", "column 5"},
		{"n[+1-3]", "column 3"},
		{"n[a-c]", "column 3"},
		{"n[1-2-3]", "column 6"},
		{"n[1,2", "']' is missing at column 6"},
		{"n[1-2", "']' is missing at column 6"},
		{"n]", "column 2"},
		{"n[1]]", "column 5"},
		{"n[[1-2]]", "column 3"},
		{"n[1][", "column 6"},
		{"[fe80::1", "column 2"},
		{"a,[fd00::1-4]", "column 4"},
		{"[fd00::[1-4]]", "column 2"},
		{"[fd00::1%]", "column 2"},
		{"[fd00::1%a b]", "column 2"},
		{"[10.0.0.1:8]", "not an IPv6 address"},
		{"[fd00::1]x", "column 10"},
		{"[fd00::1]8", "without a number of slots"},
		{"[fd00::1]:", "without a number of slots"},
		{"[fd00::1]:8:9", "without a number of slots"},
		{"n[1-300000]", "262144"},
		{"n[1-600][1-600]", "262144"},
		{"n[1-200000],m[1-200000]", "262144 hosts at column 13"},
		{"n[99999999999999999999]", "18 digits"},
		{"-oProxyCommand=x", "column 15"},
		{"-x", "not a host name"},
		{"u@-x", "not a host name"},
		{"@h", "not a host name"},
		{"u@v@h", "not a host name"},
		{"u@", "not a host name"},
		{"a,b;reboot", "column 4"},
		{"$(x)", "column 1"},
		{"a'b", "column 2"},
		{"a/b", "column 2"},
		{"a\033[31m", "a?["},
		{"n\xc3\xa9", "column 2"},
		{"a:b", "column 2"},
		{"a:", "column 2"},
		{"a:0", "column 2"},
		{"a:1:", "neither host:SLOTS nor an IPv6 address"},
		{"a,n1:8:9", "neither host:SLOTS nor an IPv6 address at column 3"},
		{"n[1-2]:8:9", "neither host:SLOTS"},
		{"fd00::1::2", "nor an IPv6 address"},
		{"fe80::1%eth0:8", "nor an IPv6 address"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		host_list got = {0};

		assert_int_equal(hostlist_parse(rows[i].expr, &a, &got, &e), -1);
		if (!strstr(e.msg, rows[i].said))
			fail_msg("'%s': %s", rows[i].expr, e.msg);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_int_not_equal(*e.hint, '\0');
		assert_int_equal(got.n, 0);
	}
}

static void stays_within_its_bounds(void **state UNUSED)
{
	char name[400];
	host_list got;

	assert_int_equal(hostlist_parse("n[1-262144]", &a, &got, &e), 0);
	assert_int_equal(got.n, HOSTLIST_MAX);
	assert_string_equal(got.v[HOSTLIST_MAX - 1].name, "n262144");
	assert_int_equal(hostlist_parse("n[1-262144],x", &a, &got, &e), -1);
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(hostlist_parse(name, &a, &got, &e), -1);
	name[255] = '\0';
	assert_int_equal(hostlist_parse(name, &a, &got, &e), 0);
	for (size_t i = 0; i < 99; i += 3)
		memcpy(name + i, "[1]", 4);
	assert_int_equal(hostlist_parse(name, &a, &got, &e), -1);
	assert_non_null(strstr(e.msg, "too many brackets"));
	assert_int_equal(hostlist_parse(name + 3, &a, &got, &e), 0);
}

static void from_the_command_line(void **state UNUSED)
{
	char dir[] = "/tmp/t_hostlist.XXXXXX";
	host_list got;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	f = fopen("hosts", "we");
	assert_non_null(f);
	assert_true(fputs("b slots=4\na\nb slots=4\n", f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(hosts_from_arg("hosts", &a, &got, &e), 0);
	assert_string_equal(hosts_joined(&a, &got), "b:8 a");
	assert_int_equal(hosts_from_arg("./hosts", &a, &got, &e), 0);
	assert_int_equal(hosts_from_arg("host.txt", &a, &got, &e), -1);
	assert_string_equal(e.msg, "cannot read host.txt: No such file or directory");
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(hosts_from_arg("hostfile", &a, &got, &e), -1);
	assert_int_equal(hosts_from_arg("hostfile2,a.cfg", &a, &got, &e), 0);
	assert_int_equal(hosts_from_arg("c,a,c,b,a,a", &a, &got, &e), 0);
	assert_string_equal(hosts_joined(&a, &got), "c:2 a:3 b");
	assert_int_equal(hosts_from_arg("./missing", &a, &got, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_null(strstr(e.hint, "--")); /* `windsock on` takes them without an option */
	assert_null(strstr(e.hint, "did you mean"));
	assert_int_equal(hosts_from_arg("./hsots", &a, &got, &e), -1);
	assert_string_equal(e.hint, "did you mean ./hosts?");
	assert_string_equal(hostfile_near("host", &a), "hosts");
	assert_null(hostfile_near("elsewhere/host", &a));
	assert_int_equal(truncate("hosts", 3), 0); /* "b s": no list of hosts */
	assert_null(hostfile_near("host", &a));
	assert_int_equal(hosts_from_arg("/", &a, &got, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(unsetenv("WINDSOCK_HOSTS"), 0);
	assert_int_equal(hosts_from_arg("a,me@10.0.0.[1-2,300]:8", &a, &got, &e), -1);
	assert_string_equal(e.msg, "'me@10.0.0.300' is " ADDR_MISTYPED);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(hosts_from_arg("10.0.0.[1-255],node.0.0.300", &a, &got, &e), 0);
	assert_int_equal(hosts_from_arg("lab", &a, &got, &e), -1);
	assert_non_null(strstr(e.hint, "scripts/lab"));
	assert_null(strstr(e.msg, "--hosts"));
	assert_int_equal(setenv("WINDSOCK_HOSTS", "node[0-1]", 1), 0);
	assert_int_equal(hosts_from_arg("lab", &a, &got, &e), 0);
	assert_string_equal(hosts_joined(&a, &got), "node0 node1");
	assert_int_equal(unlink("hosts") | chdir("/") | rmdir(dir), 0);
}

static void names_without_their_user_and_before_a_colon(void **state UNUSED)
{
	static const char *const rows[][3] = {
		{"node1", "node1", "node1"},
		{"me@node1", "node1", "me@node1"},
		{"fd00::1", "fd00::1", "[fd00::1]"},
		{"me@fd00::1", "fd00::1", "me@[fd00::1]"},
		{"[fd00::1]", "[fd00::1]", "[fd00::1]"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_string_equal(host_bare(rows[i][0]), rows[i][1]);
		assert_string_equal(host_bracketed(&a, rows[i][0]), rows[i][2]);
	}
}

static void folds_for_messages(void **state UNUSED)
{
	static const char *const rows[][2] = {
		{"a", "a"},
		{"n1,n2,n3", "n[1-3]"},
		{"n1,n2,n3,m08,m09,m10,m010", "n[1-3],m[08-10,010]"},
		{"n1,n3,n2", "n[1,3,2]"},
		{"n9,n10,n011", "n[9-10,011]"},
		{"n1,n1", "n[1,1]"},
		{"a,b,a", "a,b,a"},
		{"n1,x,n2", "n1,x,n2"},
		{"10.0.0.1,10.0.0.2", "10.0.0.[1-2]"},
		{"n1-ib,n2-ib", "n[1-2]-ib"},
		{"gpu9.a1.example,gpu10.a1.example,gpu12.a1.example,gpu1.a2.example",
		 "gpu[9-10,12].a1.example,gpu1.a2.example"},
		{"r1n8,r1n9,r2n1,r3n1", "r1n[8-9],r[2-3]n1"},
		{"1,2,3", "[1-3]"},
		{"n,n1", "n,n1"},
	};

	host_list got;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(hostlist_parse(rows[i][0], &a, &got, &e), 0);
		assert_string_equal(hostlist_fold(&a, &got), rows[i][1]);
	}
	assert_int_equal(hostlist_parse("n1-ib,n2-ib,n1,n2", &a, &got, &e), 0);
	assert_string_equal(hostlist_fold_slurm(&a, &got), "n1-ib,n2-ib,n[1-2]");
}

static void folding_loses_nothing(void **state UNUSED)
{
	static const char *const prefixes[] = {"n", "gpu-0", "10.1.0.", "", "x1y", "u@h", "fd00::"};
	unsigned seed = 4;

	for (int i = 0; i < RANDOM_LISTS; i++) {
		host_list in, out;
		struct text t;

		text_init(&t, &a);
		for (int n = rand_r(&seed) % 12; n >= 0; n--)
			text_addf(&t, "%s%0*d%s,", prefixes[(size_t)rand_r(&seed) % 7],
				  rand_r(&seed) % 4, rand_r(&seed) % 13,
				  rand_r(&seed) % 3   ? ""
				  : rand_r(&seed) % 2 ? "a"
						      : "b");
		assert_int_equal(hostlist_parse(t.s, &a, &in, &e), 0);
		if (hostlist_parse(hostlist_fold(&a, &in), &a, &out, &e))
			fail_msg("%s: %s", hostlist_fold(&a, &in), e.msg);
		assert_string_equal(hosts_joined(&a, &out), hosts_joined(&a, &in));
		arena_done(&a);
	}
}

static void names_that_may_be_slurms(void **state UNUSED)
{
	static const char *const no[] = {"", "10.0.0.1", "fe80::1", "me@node1", "node1.example"};

	assert_true(host_is_node("node1"));
	assert_true(host_is_node("gpu-a_07"));
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		assert_false(host_is_node(no[i]));
}

#define TEST(f) cmocka_unit_test_teardown(f, free_arena)

/* For tests/diff/diff-hostlist: a line per expression, "ok NAMES" or "no REASON". */
static int expand(char **expressions)
{
	host_list got;

	for (; *expressions; expressions++)
		if (hostlist_parse(*expressions, &a, &got, &e) == 0)
			printf("ok %s\n", hosts_joined(&a, &got));
		else
			printf("no %s\n", e.msg);
	return free_arena(NULL);
}

/* A command for each of them as one line. */
static void one_line_for_each(void **state UNUSED)
{
	static const struct {
		const char *hosts, *words;
	} rows[] = {
		{"n1", "n1"},
		{"n[1-3]", "'n[1-3]'"},
		{"n[01-10]", "'n[01-10]'"},
		{"n[1-3,7],login,a@b[2,4]", "'n[1-3,7],login,a@b[2,4]'"},
		{"10.0.0.[1-2]", "'10.0.0.[1-2]'"},
		{"fd00::[1-2]", "'fd00::[1-2]'"},
	};
	/* a host may call itself what it likes */
	static const char *const odd[] = {"$(reboot)", "-oProxyCommand=x", "a b", ""};
	static const struct host_way by_ssh = {0}, by_rsh = {.rsh = "rsh -p 2"},
				     by_srun = {.srun = true}, none = {.none = true};
	host_list l;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		l = (host_list){0};
		assert_int_equal(hostlist_parse(rows[i].hosts, &a, &l, &e), 0);
		assert_string_equal(on_each(&a, &by_ssh, &l, "reboot"),
				    arena_printf(&a, "windsock on %s reboot", rows[i].words));
	}
	l = (host_list){0};
	assert_int_equal(hostlist_parse("n[1-3]", &a, &l, &e), 0);
	assert_string_equal(on_each(&a, &by_rsh, &l, "it's $x"),
			    "windsock on --rsh 'rsh -p 2' 'n[1-3]' 'it'\\''s $x'");
	assert_string_equal(on_each(&a, &by_srun, &l, "a && b"),
			    "SLURM_OVERLAP=1 srun --wait=60 -N3 --ntasks-per-node=1 -w 'n[1-3]' sh "
			    "-c 'a && b'");
	assert_null(on_each(&a, &none, &l, "reboot"));
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		l.v[1].name = odd[i];
		assert_null(on_each(&a, &by_ssh, &l, "reboot"));
	}
}

/* Names that do not fold: the file that they came from, or nothing that a shell would refuse. */
static void many_names_are_a_file(void **state UNUSED)
{
	struct host_way way = {.given = "host file", .n = 9999};
	const char *line;
	host_list l = {0};

	for (int i = 0; i < 9999; i++)
		LIST_ADD(&a, &l)->name = arena_printf(&a, "ip-10-0-%d-%d.ec2", i, i);
	assert_string_equal(on_each(&a, &way, &l, "reboot"), "windsock on 'host file' reboot");
	way.given = NULL;
	assert_null(on_each(&a, &way, &l, "reboot"));
	way.given = "hosts";
	l.n = 4000; /* not all of them, and still one word */
	line = on_each(&a, &way, &l, "reboot");
	assert_non_null(strstr(line, "windsock on ip-10-0-0-0.ec2,ip-10-0-1-1.ec2,"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(expands_as_slurm_does),   TEST(refuses_junk_with_its_column),
		TEST(stays_within_its_bounds), TEST(from_the_command_line),
		TEST(folding_loses_nothing),   TEST(names_without_their_user_and_before_a_colon),
		TEST(folds_for_messages),      TEST(names_that_may_be_slurms),
		TEST(one_line_for_each),       TEST(many_names_are_a_file),
	};

	log_init("t_hostlist", LOG_QUIET);
	if (argc > 1 && streq(argv[1], "expand"))
		return expand(argv + 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
