/* What is heard of NCCL's set-up: each form of each line, what is no such line, and the bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/told.h"

#define NODE0 "node0:41:52 [0] NCCL INFO "
#define NODE1 "node1:77:80 [0] NCCL INFO "

/* Of one line, node0's. */
static void hear_line(struct told *t, const char *line)
{
	char log[600];

	(void)snprintf(log, sizeof(log), NODE0 "%s\n", line);
	tell_of(t, log);
}

static void channels_are_counted_once(void **state UNUSED)
{
	AUTO(told_done) struct told t;

	tell_of(&t, NODE0 "Channel 00/0 : 0[0] -> 2[0] [send] via NET/IB/0/GDRDMA\n" NODE1
			  "Channel 00/0 : 0[0] -> 2[0] [receive] via NET/IB/0\n" NODE1
			  "Channel 00/0 : 2[0] -> 0[0] [send] via NET/IB/0/GDRDMA\n" NODE0
			  "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n" NODE0
			  "Channel 01 : 0[1d000] -> 1[1c000] via direct shared memory\n" NODE0
			  "Channel 02/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n");
	assert_int_equal(t.w.setup.nways, 3);
	assert_string_equal(t.w.setup.ways[0].name, "NET/IB");
	assert_int_equal(setup_count(&t.w.setup.ways[0]), 2);
	assert_int_equal(setup_direct(&t.w.setup.ways[0]), 1); /* one end is enough */
	assert_string_equal(t.w.setup.ways[1].name, "SHM");
	assert_int_equal(setup_count(&t.w.setup.ways[1]), 2);
	assert_string_equal(t.w.setup.ways[2].name, "P2P/CUMEM");
	assert_int_equal(t.w.setup.pairs.n, 2);
	assert_true(!t.w.setup.pairs.v[0].is_many && t.w.setup.pairs.v[0].direct == 1u << 1 &&
		    t.w.setup.pairs.v[0].bounced == 1u << 2);
	assert_string_equal(setup_example(&t.w, &t.w.setup.ways[1].first, &t.a),
			    "rank 0 -> 1 on node0");
}

/* Groups of a job have ranks of their own: two pairs of processes are 0 -> 2. */
static void two_groups_are_not_one_pair(void **state UNUSED)
{
	AUTO(told_done) struct told t;

	tell_of(&t, NODE0
		"Channel 00/0 : 0[0] -> 2[0] [send] via NET/IB/0/GDRDMA\n"
		"node0:42:53 [1] NCCL INFO Channel 00/0 : 0[1] -> 2[1] [send] via NET/IB/0\n");
	assert_int_equal(t.w.setup.pairs.n, 1);
	assert_true(t.w.setup.pairs.v[0].is_many);
}

static void a_communicator_has(void **state UNUSED)
{
	static const struct {
		const char *line;
		long coll, nvls, nodes;
	} rows[] = {
		{"2 coll channels, 2 p2p channels, 1 p2p channels per peer", 2, -1, 0},
		{"24 coll channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer",
		 24, 16, 0},
		{"comm 0x7f, 24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p "
		 "channels",
		 24, 0, 0},
		{"comm 0x55 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0", 0, -1, 2},
		{"found no coll channels", 0, -1, 0},
		{"Topology has nNodes 4", 0, -1, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(told_done) struct told t;

		hear_line(&t, rows[i].line);
		assert_int_equal(t.w.setup.coll, rows[i].coll);
		assert_int_equal(t.w.setup.nvls, rows[i].nvls);
		assert_int_equal(t.w.setup.nodes, rows[i].nodes);
	}
}

static void plugins_by_version(void **state UNUSED)
{
	static const struct {
		const char *line, *plugin, *tuner, *provider;
		bool none;
	} rows[] = {
		{"NET/Plugin : No plugin found (libnccl-net.so), using internal implementation", "",
		 "", "", true},
		{"NET/Plugin: Using internal network plugin.", "", "", "", true},
		{"NET/Plugin: Could not find: libnccl-net.so libnccl-net-x.so. Using internal "
		 "network "
		 "plugin.",
		 "", "", "", true},
		{"NET/Plugin: Could not find: libnccl-net.so", "", "", "", true},
		{"NET/Plugin: Loaded net plugin AWS Libfabric (v8)", "AWS Libfabric", "", "",
		 false},
		{"NET/Plugin: Loaded net plugin NCCL RDMA Plugin v10 (v10)", "NCCL RDMA Plugin v10",
		 "", "", false},
		{"NET/Plugin: Loaded collnet plugin SHARP (v8)", "", "", "", false},
		{"NET/OFI Selected Provider is efa (found 4 nics)", "", "", "efa", false},
		{"NET/OFI Selected provider is tcp;ofi_rxm, fabric is 10.0.0.0 (found 1 nics)", "",
		 "", "tcp;ofi_rxm", false},
		{"TUNER/Plugin: Using tuner plugin nccl_ofi_tuner", "", "nccl_ofi_tuner", "",
		 false},
		{"TUNER/Plugin: Using Example (v4)", "", "Example", "", false},
		{"TUNER/Plugin: Using internal tuner plugin.", "", "", "", false},
		{"TUNER/Plugin: Could not find: libnccl-tuner.so. Using internal tuner plugin.", "",
		 "", "", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(told_done) struct told t;

		hear_line(&t, rows[i].line);
		assert_string_equal(t.w.setup.plugin, rows[i].plugin);
		assert_string_equal(t.w.setup.tuner, rows[i].tuner);
		assert_string_equal(t.w.setup.provider, rows[i].provider);
		assert_int_equal(t.w.setup.no_plugin, rows[i].none);
	}
}

static void cards_by_version(void **state UNUSED)
{
	static const struct {
		const char *line, *first;
		size_t n, more;
	} rows[] = {
		{"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE ; OOB ib0:10.0.0.5<0>",
		 "mlx5_0:1/IB", 2, 0},
		{"NET/IB: Using [0]rdma6:1/RoCE [RO]; OOB eth0:10.0.0.7<0>", "rdma6:1/RoCE", 1, 0},
		{"NET/IB : Using [0]={[0] mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE} [1]mlx5_4:1/IB [RO]; "
		 "OOB "
		 "e:1<0>",
		 "mlx5_2:1/RoCE", 3, 0},
		{"NET/IB : Using [0]a:1/IB [1]b:1/IB [2]c:1/IB [3]d:1/IB [4]e:1/IB [5]f:1/IB "
		 "[6]g:1/IB "
		 "[7]h:1/IB [8]i:1/IB [9]j:1/IB ; OOB e:1<0>",
		 "a:1/IB", 8, 2},
		{"NET/IB : No device found.", NULL, 0, 0},
		{"NET/IB : Made virtual device [0] name=mlx5_0 speed=400000 ndevs=1", NULL, 0, 0},
		{"NET/IB : Using ", NULL, 0, 0},
		{"NET/IB : Using [0", NULL, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(told_done) struct told t;

		hear_line(&t, rows[i].line);
		assert_int_equal(t.w.setup.ncards, rows[i].n);
		assert_int_equal(t.w.setup.more_cards, rows[i].more);
		if (rows[i].first)
			assert_string_equal(t.w.setup.cards[0], rows[i].first);
		assert_int_equal(t.w.setup.no_ib, strstr(rows[i].line, "No device") != NULL);
	}
}

#define TIMES(rank, n, total, boot)                                                                \
	"Init timings - ncclCommInitRank: rank " #rank " nranks " #n " total " total               \
	" (kernels 0.15, alloc 0.36, bootstrap " boot                                              \
	", allgathers 0.00, topo 0.08, graphs 0.00, "                                              \
	"connections 0.05, rest 0.25)\n"

static void times(void **state UNUSED)
{
	AUTO(told_done) struct told t;

	/* a small group's before, and after, do not count beside the whole world's */
	tell_of(&t, NODE0 TIMES(0, 2, "9.00", "0.1") NODE0 TIMES(0, 4, "2.00", "1.40")
			    NODE1 TIMES(2, 4, "4.00", "0.02") NODE0 TIMES(1, 2, "99.00", "0.1"));
	assert_int_equal(t.w.setup.init.nranks, 4);
	assert_int_equal(t.w.setup.init.n, 2);
	assert_true(t.w.setup.init.sum_s == 6.0 && t.w.setup.init.longest_s == 4.0);
	assert_int_equal(t.w.setup.init.slowest.rank, 2);
	assert_string_equal(t.w.setup.init.slowest.host, "node1");
	assert_int_equal(t.w.setup.init.last.rank, 2);
	assert_true(t.w.setup.init.boot_most_s == 1.4 && t.w.setup.init.boot_least_s == 0.02);
	assert_true(t.w.setup.init.parts_s[0] == 0.15 && t.w.setup.init.parts_s[7] == 0.25);
}

/* 2.22 has no name and no "alloc"; a line that another one broke into; nonsense. */
static void other_times(void **state UNUSED)
{
	static const struct {
		const char *line;
		uint64_t n;
		double kernels, alloc;
	} rows[] = {
		{"Init timings: rank 2 nranks 16 total 1.08 (kernels 0.51, bootstrap 0.22, rest "
		 "0.01)",
		 1, 0.51, -1},
		{"Init timings - ncclCommInitRankConfig: rank 0 nranks 8 total 2.48 (kernels 0.34, "
		 "alloc "
		 "gpu-dev:1797:1797 [1] NCCL INFO ncclCommInitRankConfig comm 0x5 rank 1 nranks 8 "
		 "- Init "
		 "COMPLETE",
		 1, 0.34, -1},
		{"Init timings - X: rank 8 nranks 8 total 2.48 (kernels 0.34)", 0, 0, 0},
		{"Init timings - X: rank 0 nranks 8 total nan (kernels 0.34)", 0, 0, 0},
		{"Init timings - X: rank 0 nranks 8", 0, 0, 0},
		{"Init timings", 0, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(told_done) struct told t;

		hear_line(&t, rows[i].line);
		assert_int_equal(t.w.setup.init.n, rows[i].n);
		if (rows[i].n)
			assert_true(t.w.setup.init.parts_s[0] == rows[i].kernels &&
				    t.w.setup.init.parts_s[1] == rows[i].alloc);
	}
}

static void settings(void **state UNUSED)
{
	AUTO(told_done) struct told t;

	tell_of(&t, NODE0 "NCCL_IB_DISABLE set by environment to 1.\n" NODE0
			  "NCCL_SOCKET_IFNAME set by environment to ens5\n" NODE0
			  "NCCL_DEBUG set by environment to INFO\n" NODE0
			  "PATH set by environment to /bin\n" NODE0
			  "my NCCL_X-Y set by environment to 1\n" NODE1
			  "NCCL_IB_DISABLE set by environment to 0.\n" NODE1
			  "NCCL_SOCKET_IFNAME set by environment to ens5\n");
	assert_int_equal(t.w.setup.nsettings, 2);
	assert_string_equal(setup_setting(&t.w.setup, "NCCL_IB_DISABLE"), "1");
	assert_string_equal(t.w.setup.settings[0].other, "0");
	assert_null(t.w.setup.settings[1].other);
	assert_null(setup_setting(&t.w.setup, "NCCL_DEBUG"));
}

/* However much a log has of it. */
static void bounds(void **state UNUSED)
{
	AUTO(told_done) struct told t;
	struct why_stream s;
	char line[160];

	told_begin(&t, &s);
	for (int i = 0; i < SETUP_PAIRS + 100; i++) {
		int n = snprintf(line, sizeof(line),
				 NODE0 "Channel 00/0 : %d[0] -> %d[0] [send] via NET/IB/0\n", i,
				 i + 1);

		why_feed(&s, line, (size_t)n);
	}
	for (int i = 0; i < SETUP_WAYS + 5; i++) {
		int n = snprintf(line, sizeof(line),
				 NODE0 "Channel 00/0 : 0[0] -> 1[0] [send] via NET/X%d/0\n", i);

		why_feed(&s, line, (size_t)n);
	}
	for (int i = 0; i < SETUP_SETTINGS + 5; i++) {
		int n = snprintf(line, sizeof(line), NODE0 "NCCL_A%d set by environment to 1\n", i);

		why_feed(&s, line, (size_t)n);
	}
	told_end(&t, &s);
	assert_int_equal(t.w.setup.nways, SETUP_WAYS);
	assert_int_equal(t.w.setup.pairs.n, SETUP_PAIRS);
	assert_int_equal(setup_count(&t.w.setup.ways[0]), SETUP_PAIRS + 100);
	assert_int_equal(t.w.setup.nsettings, SETUP_SETTINGS);
	assert_int_equal(t.w.setup.more_settings, 5);
	assert_int_equal(t.w.setup.channels, SETUP_PAIRS + 100 + SETUP_WAYS + 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(channels_are_counted_once),
		cmocka_unit_test(two_groups_are_not_one_pair),
		cmocka_unit_test(a_communicator_has),
		cmocka_unit_test(plugins_by_version),
		cmocka_unit_test(cards_by_version),
		cmocka_unit_test(times),
		cmocka_unit_test(other_times),
		cmocka_unit_test(settings),
		cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
