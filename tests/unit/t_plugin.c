/* What the plug-ins share and needs no vendor: whose mpirun, NCCL's log, error counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <sys/stat.h>

#include "bench/plugin/counters.h"
#include "bench/plugin/transport.h"
#include "bench/ranks/mpirun_whose.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"

static struct arena a;
static char folder[] = "/tmp/windsock-plugin.XXXXXX";

static void put(const char *path, const char *text)
{
	char full[512];
	FILE *f;

	(void)snprintf(full, sizeof(full), "%s/%s", folder, path);
	for (char *p = full + strlen(folder) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		(void)mkdir(full, 0755);
	}
	f = fopen(full, "w");
	assert_non_null(f);
	(void)fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* --- transport -------------------------------------------------------------------- */

#define LINE(from, to, dir, via)                                                                   \
	"n0:12:15 [0] NCCL INFO Channel 00/0 : " #from "[0] -> " #to "[0]" dir " via " via "\n"

static transport_list read_log(const char *text)
{
	transport_list l = {0};

	transport_read(text, strlen(text), &a, &l);
	return l;
}

#define MERGED "n0:1:2 [0] NCCL INFO NET/IB : Using [0]={[0] mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE}"

/* As NCCL prints them: 8 ports of a DGX, two that were made one, other networks. */
static void log_tells_cards(void **state)
{
	static const struct {
		const char *log, *cards;
	} rows[] = {
		{"", NULL},
		{"n0:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.5<0>\n", NULL},
		{"n1:7:9 [0] NCCL INFO NET/IB : Using [0]rdma6:1/RoCE [RO]; OOB eth0:10.0.0.7<0>\n",
		 "cards listed rdma6:1"},
		{"n0:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_4:1/IB "
		 "[RO]; OOB ib0:10.0.0.5<0>\n" LINE(0, 8, " [send]", "NET/IB/0/GDRDMA")
			 LINE(8, 0, " [receive]", "NET/IB/2(1)/GDRDMA"),
		 "cards mlx5_0:1 mlx5_4:1"},
		{"n0:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB "
		 "e:1\n"
		 "n0:1:2 [0] NCCL INFO NET/IB : Made virtual device [2] name=mlx5_0+mlx5_1 "
		 "speed=800000 ndevs=2\n" LINE(0, 1, " [send]", "NET/IB/2/GDRDMA"),
		 "cards mlx5_0+mlx5_1"},
		{MERGED " [1]={[2] mlx5_0:1/RoCE, [3] mlx5_1:1/RoCE} [RO]; OOB e:1<0>\n" LINE(
			 1, 2, " [receive]", "NET/IBext_v8/1") LINE(2, 0, " [send]", "NET/IB/1"),
		 "cards mlx5_0:1+mlx5_1:1"},
		{MERGED " [2]mlx5_4:1/IB; OOB e:1<0>\n" LINE(0, 1, " [send]", "NET/IB/0/GDRDMA")
			 LINE(0, 1, " [send]", "NET/IB/1/GDRDMA"),
		 "cards mlx5_2:1+mlx5_3:1 mlx5_4:1"},
		{MERGED, "cards listed mlx5_2:1+mlx5_3:1"},
		{"n0:1:2 [0] NCCL INFO NET/IB : Using [0]={[0] mlx5_2:1/RoCE, [1", NULL},
		{"n0:1:2 [0] NCCL INFO NET/IB : Using [0]={", NULL},
		{LINE(0, 1, " [send]", "NET/IB/70/GDRDMA") LINE(0, 1, " [send]", "NET/IB/-1"),
		 NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct transport_cards c = {0};
		const char *text;

		transport_cards_read(rows[i].log, strlen(rows[i].log), &a, &c);
		text = transport_cards_text(&c, &a);
		assert_string_equal(text ?: "(none)", rows[i].cards ?: "(none)");
	}
}

static void log_becomes_pairs(void **state)
{
	const char *log = LINE(0, 1, " [send]", "NET/IB/0/GDRDMA") LINE(1, 0, " [receive]",
									"NET/IB/0/GDRDMA")
		LINE(0, 1, " [send]", "NET/IB/1(0)/GDRDMA") LINE(2, 3, "", "P2P/CUMEM/read")
			LINE(3, 0, "", "SHM/direct/direct") "n0:1 NCCL INFO Connected all rings\n";
	transport_list l = read_log(log);

	(void)state;
	assert_int_equal(l.n, 4);
	assert_int_equal(l.v[0].from, 0);
	assert_int_equal(l.v[0].to, 1);
	assert_string_equal(l.v[0].via, "NET/IB");
	assert_true(l.v[0].sent && l.v[0].send_gdr && !l.v[0].received);
	assert_string_equal(l.v[2].via, "P2P");
	assert_string_equal(transport_text(&l, &a),
			    "NET/IB with GPUDirect (2 pairs), P2P (1 pair), SHM (1 pair)");
}

static void what_is_wrong_with_it_is_found(void **state)
{
	static const struct {
		const char *log;
		bool rdma;
		enum transport_trouble is;
	} rows[] = {
		{LINE(0, 1, " [send]", "NET/IB/0/GDRDMA")
			 LINE(0, 1, " [receive]", "NET/IB/0/GDRDMA"),
		 true, TRANSPORT_FINE},
		{LINE(0, 1, " [send]", "NET/IB/0/GDRDMA") LINE(0, 1, " [receive]", "NET/IB/0"),
		 true, TRANSPORT_ONE_SIDED},
		{LINE(0, 1, " [send]", "NET/IB/0") LINE(0, 1, " [receive]", "NET/IB/0/GDRDMA"),
		 false, TRANSPORT_ONE_SIDED},
		{LINE(0, 1, " [send]", "NET/IB/0/GDRDMA"), true, TRANSPORT_FINE},
		{LINE(0, 1, " [send]", "NET/Socket/0"), true, TRANSPORT_SOCKETS},
		{LINE(0, 1, " [send]", "NET/Socket/0"), false, TRANSPORT_FINE},
		{"nothing", true, TRANSPORT_FINE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		transport_list l = read_log(rows[i].log);
		const struct transport_pair *pair = NULL;

		assert_int_equal(transport_judge(&l, rows[i].rdma, &pair), rows[i].is);
		assert_int_equal(pair != NULL, rows[i].is != TRANSPORT_FINE);
	}
}

static void nonsense_is_passed_over(void **state)
{
	static const char *const lines[] = {
		"NCCL INFO Channel 00/0 : ",
		"NCCL INFO Channel 00/0 : 0[0] -> 1 via X",
		"NCCL INFO Channel : -1[0] -> 1[0] via X",
		"NCCL INFO Channel 0 : 1[ -> 2[ via ",
		"via NCCL INFO Channel 0 : 1[0] -> 2[0]",
		"NCCL INFO Channel 0 : 99999999999[0] -> 1[0] via X",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_int_equal(read_log(lines[i]).n, 0);
}

/* --- counters ---------------------------------------------------------------------- */

#define PORT "sys/class/infiniband/mlx5_0/ports/1/"

static struct report *memory_report(void)
{
	struct err e = {0};
	const struct report_opts o = {.command = "test",
				      .format = "json",
				      .output = arena_printf(&a, "%s/report", folder)};
	struct report *r = report_new(&o, &e);

	assert_non_null(r);
	return r;
}

static void counters_that_grew_name_the_port(void **state)
{
	counter_list before = {0}, after = {0}, b = {0}, c = {0};
	struct report *r = memory_report();
	struct err e = {0};
	const char *host;
	cJSON *packed;

	(void)state;
	put(PORT "counters/symbol_error", "7\n");
	put(PORT "counters/link_downed", "0\n");
	put(PORT "hw_counters/packet_seq_err", "100\n");
	sysroot_set(folder);
	counters_read(&a, 1, &before);
	assert_int_equal(before.n, 3);
	put(PORT "counters/symbol_error", "9\n");
	put(PORT "hw_counters/packet_seq_err", "101\n");
	counters_read(&a, 1, &after);
	packed = counters_pack(&before, &after, "node7");
	counters_unpack(packed, &a, &b, &c, &host);
	cJSON_Delete(packed);
	assert_string_equal(host, "node7");
	counters_judge(&b, &c, host, r, report_add);
	assert_int_equal(report_count(r, ST_FAIL), 1);
	assert_int_equal(report_count(r, ST_WARN), 1);
	assert_int_equal(report_count(r, ST_PASS), 0);
	assert_int_equal(report_end(r, &e), 1);
	sysroot_set(NULL);
}

static void counters_that_stand_still_pass(void **state)
{
	counter_list before = {0}, after = {0}, none = {0};
	struct report *r = memory_report();
	struct err e = {0};

	(void)state;
	put(PORT "counters/symbol_error", "7\n");
	sysroot_set(folder);
	counters_read(&a, 1, &before);
	put(PORT "counters/symbol_error", "0\n"); /* was reset meanwhile */
	counters_read(&a, 1, &after);
	counters_judge(&none, &none, NULL, r, report_add);
	assert_int_equal(report_count(r, ST_PASS), 0);
	counters_judge(&before, &after, NULL, r, report_add);
	assert_int_equal(report_count(r, ST_PASS), 1);
	counters_judge(&before, &none, NULL, r, report_add);
	assert_int_equal(report_count(r, ST_SKIP), 1);
	assert_int_equal(report_end(r, &e), 0);
	sysroot_set(NULL);
}

/* --- mpirun ------------------------------------------------------------------------- */

static void make_program(const char *name, const char *link_to)
{
	char path[512];

	put(name, "#!/bin/sh\n");
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(chmod(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/bin/mpirun", folder);
	(void)unlink(path);
	if (link_to)
		assert_int_equal(symlink(link_to, path), 0);
}

static void clear_environment(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS",
					    "WINDSOCK_MPIRUN", "WINDSOCK_RSH"};
	char path[512];

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unsetenv(names[i]);
	(void)snprintf(path, sizeof(path), "%s/bin", folder);
	(void)setenv("PATH", path, 1);
}

static void whose_mpirun_it_is(void **state)
{
	struct mpirun m;
	struct err e = {0};

	(void)state;
	clear_environment();
	assert_int_equal(mpirun_find("mpi", &a, &m, &e), -1);
	assert_int_equal(e.kind, ERR_ABSENT);
	make_program("bin/orterun", "orterun");
	assert_int_equal(mpirun_find("mpi", &a, &m, &e), 0);
	assert_string_equal(m.plugin, "mpi-openmpi");
	assert_int_equal(mpirun_find("mpi-mpich", &a, &m, &e), -1);
	make_program("bin/mpiexec.hydra", "mpiexec.hydra");
	assert_int_equal(mpirun_find("mpi", &a, &m, &e), 0);
	assert_string_equal(m.plugin, "mpi-mpich");
	(void)setenv("OMPI_COMM_WORLD_SIZE", "2", 1); /* a rank is what it is */
	assert_int_equal(mpirun_find("mpi", &a, &m, &e), 0);
	assert_string_equal(m.plugin, "mpi-openmpi");
	assert_null(m.path);
}

/* Called mpirun and nothing else, as Open MPI 5's and Intel MPI's are. */
static const struct mpirun_place here = {.np = 2};

static void an_mpirun_without_a_name_is_asked(void **state)
{
	static const char *const argv[] = {"x", NULL};
	const char *const *line;
	struct mpirun m;
	struct err e = {0};
	char path[512];

	(void)state;
	clear_environment();
	make_program("bin/silent", NULL);
	make_program("bin/orterun", "orterun");
	make_program("five/bin/mpirun", "orterun");
	put("five/bin/mpirun",
	    "#!/bin/sh\n[ $1 = --version ] && echo 'mpirun (Open MPI) 5.0.11'\n");
	put("five/lib/libmpi.so.40", "");
	(void)snprintf(path, sizeof(path), "%s/five/bin/mpirun", folder);
	(void)setenv("WINDSOCK_MPIRUN", path, 1);
	assert_int_equal(mpirun_find("mpi", &a, &m, &e), 0);
	assert_string_equal(m.plugin, "mpi-openmpi");
	assert_string_equal(m.path, path); /* and not the one in PATH */
	assert_non_null(strstr(m.libraries, "/five/lib"));
	(void)setenv("LD_LIBRARY_PATH", "/other", 1);
	line = mpirun_argv(&m, &here, argv, NULL, &a);
	(void)unsetenv("LD_LIBRARY_PATH");
	assert_string_equal(line[0], path);
	while (*line && !starts_with(*line, "LD_LIBRARY_PATH="))
		line++;
	assert_non_null(*line); /* for the ranks, and not for mpirun's ssh */
	assert_string_equal(line[-1], "-x");
	assert_non_null(strstr(*line, "/five/lib:/other"));

	put("five/bin/mpirun",
	    "#!/bin/sh\necho 'Intel(R) MPI Library for Linux* OS, Version 2021'\n");
	assert_int_equal(mpirun_find("mpi", &a, &m, &e), 0);
	assert_string_equal(m.plugin, "mpi-mpich");
	assert_null(m.libraries); /* that folder has the other's */

	(void)snprintf(path, sizeof(path), "%s/bin/silent", folder);
	(void)setenv("WINDSOCK_MPIRUN", path, 1);
	assert_int_equal(mpirun_find("mpi", &a, &m, &e), -1); /* named, so nobody else's instead */
	assert_int_equal(e.kind, ERR_ABSENT);
	assert_non_null(strstr(e.msg, "bin/silent"));
	clear_environment();
}

static void what_an_mpirun_says(void **state)
{
	(void)state;
	assert_int_equal(mpirun_whose_answer("mpirun (Open MPI) 4.1.4\n"), MPI_OPENMPI);
	assert_int_equal(mpirun_whose_answer("prterun (PRRTE) 3.0.12\n"), MPI_OPENMPI);
	assert_int_equal(mpirun_whose_answer("HYDRA build details:\n    Version: 5.0.2\n"),
			 MPI_MPICH);
	assert_int_equal(mpirun_whose_answer("slurm 24.11\n"), MPI_FLAVOURS);
	assert_int_equal(mpirun_whose_answer(""), MPI_FLAVOURS);
}

static bool has(const char *const *argv, const char *word)
{
	while (*argv && !streq(*argv, word))
		argv++;
	return *argv;
}

static void the_command_line_of_mpirun(void **state)
{
	static const char *const hosts[] = {"a", "b", NULL}, *const argv[] = {"x", "-b", "8", NULL};
	static const unsigned counts[] = {3, 1};
	const struct mpirun_place two = {.np = 4, .hosts = hosts, .counts = counts};
	struct mpirun m = {.flavour = MPI_OPENMPI, .path = "/usr/bin/mpirun"};
	const char *const *line;

	(void)state;
	clear_environment();
	line = mpirun_argv(&m, &two, argv, "rsh", &a);
	assert_string_equal(line[0], "/usr/bin/mpirun");
	assert_true(has(line, "4") && has(line, "a:3,b") && has(line, "MASTER_ADDR=a"));
	assert_true(has(line, "plm_rsh_agent") && has(line, "rsh") && has(line, "-b"));
	assert_false(has(line, "x"));
	assert_true(has(line, "WINDSOCK_RELAY") && has(line, "WINDSOCK_TOKEN"));
	assert_true(has(line, "--map-by") && has(line, "slot")); /* 5's: or all are on a */
	m.flavour = MPI_MPICH;
	line = mpirun_argv(&m, &two, argv, "lab rsh x", &a);
	assert_true(has(line, "HYDRA_LAUNCHER_EXTRA_ARGS=rsh x") && has(line, "lab"));
	line = mpirun_argv(&m, &here, argv, NULL, &a);
	assert_false(has(line, "-hosts") || has(line, "--oversubscribe"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_tells_cards),
		cmocka_unit_test(log_becomes_pairs),
		cmocka_unit_test(what_is_wrong_with_it_is_found),
		cmocka_unit_test(nonsense_is_passed_over),
		cmocka_unit_test(counters_that_grew_name_the_port),
		cmocka_unit_test(counters_that_stand_still_pass),
		cmocka_unit_test(whose_mpirun_it_is),
		cmocka_unit_test(an_mpirun_without_a_name_is_asked),
		cmocka_unit_test(what_an_mpirun_says),
		cmocka_unit_test(the_command_line_of_mpirun),
	};
	char command[64];
	int failed;

	if (!mkdtemp(folder))
		return 1;
	(void)snprintf(command, sizeof(command), "/bin/rm -rf %s", folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_done(&a);
	return system(command) || failed;
}
