/* The lines by which NCCL says a channel's way, of each version that wrote them otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/host/nccl_channel.h"

static void each_version(void **state UNUSED)
{
	static const struct {
		const char *line, *name, *kind;
		enum nccl_way way;
		enum nccl_end end;
		int from, to;
		bool is_direct;
	} rows[] = {
		/* 2.3 and 2.4 */
		{"Ring 00 : 1 -> 0 via NET/IB/0/GDRDMA", "NET/IB", "NET/IB", NCCL_WAY_NET,
		 NCCL_END_UNSAID, 1, 0, true},
		{"Ring 00 : 1 -> 0 [receive] via NET/Socket/0", "NET/Socket", "NET/Socket",
		 NCCL_WAY_NET, NCCL_END_RECEIVE, 1, 0, false},
		{"Ring 01 : 0[0] -> 1[1] via P2P/IPC", "P2P/IPC", "P2P", NCCL_WAY_P2P,
		 NCCL_END_UNSAID, 0, 1, false},
		/* 2.6 to 2.14: the GPU's bus */
		{"Ring 00 : 15[b3000] -> 0[1a000] [send] via NET/IB/2/GDRDMA", "NET/IB", "NET/IB",
		 NCCL_WAY_NET, NCCL_END_SEND, 15, 0, true},
		{"Channel 00 : 3[1d000] -> 2[1c000] via direct shared memory", "SHM", "SHM",
		 NCCL_WAY_SHM, NCCL_END_UNSAID, 3, 2, false},
		{"Channel 00 : 3[1d000] -> 2[1c000] via P2P/direct pointer/read", "P2P/direct",
		 "P2P", NCCL_WAY_P2P, NCCL_END_UNSAID, 3, 2, false},
		{"Channel 01/0 : 0[1000] -> 8[1000] [send] via NET/IB/1(3)/GDRDMA/Shared", "NET/IB",
		 "NET/IB", NCCL_WAY_NET, NCCL_END_SEND, 0, 8, true},
		/* since 2.15: its number */
		{"Channel 23/1 : 0[0] -> 1[1] via P2P/CUMEM/read", "P2P/CUMEM", "P2P", NCCL_WAY_P2P,
		 NCCL_END_UNSAID, 0, 1, false},
		{"Channel 00/0 : 0[0] -> 4[0] via P2P/MNNVL", "P2P/MNNVL", "P2P", NCCL_WAY_P2P,
		 NCCL_END_UNSAID, 0, 4, false},
		{"Channel 00/0 : 0[0] -> 3[3] via P2P/indirect/2[2]/read", "P2P/indirect", "P2P",
		 NCCL_WAY_P2P, NCCL_END_UNSAID, 0, 3, false},
		{"Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", "SHM/direct/direct", "SHM",
		 NCCL_WAY_SHM, NCCL_END_UNSAID, 0, 1, false},
		{"Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA(PCI)", "NET/IB",
		 "NET/IB", NCCL_WAY_NET, NCCL_END_RECEIVE, 8, 0, true},
		/* plug-ins, by their own names */
		{"Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0/GDRDMA",
		 "NET/AWS Libfabric", "NET/AWS Libfabric", NCCL_WAY_NET, NCCL_END_SEND, 0, 8, true},
		{"Channel 00/0 : 1[0] -> 0[0] [receive] via NET/NCCL RDMA Plugin v10/0",
		 "NET/NCCL RDMA Plugin v10", "NET/NCCL RDMA Plugin v10", NCCL_WAY_NET,
		 NCCL_END_RECEIVE, 1, 0, false},
		{"Channel 00/0 : 1[0] -> 0[0] [send] via NET/IBext_v8/12(4)/GDRDMA", "NET/IBext_v8",
		 "NET/IBext_v8", NCCL_WAY_NET, NCCL_END_SEND, 1, 0, true},
		{"Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB", "NET/IB", "NET/IB", NCCL_WAY_NET,
		 NCCL_END_SEND, 1, 0, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char line[256], got[64];
		struct nccl_channel c;

		(void)snprintf(line, sizeof(line), "n0:7:9 [0] NCCL INFO %s", rows[i].line);
		if (!nccl_channel_read(line, &c))
			fail_msg("%s", line);
		(void)snprintf(got, sizeof(got), "%.*s", (int)c.name_n, c.name);
		assert_string_equal(got, rows[i].name);
		(void)snprintf(got, sizeof(got), "%.*s", (int)c.kind_n, c.name);
		assert_string_equal(got, rows[i].kind);
		assert_int_equal(c.way, rows[i].way);
		assert_int_equal(c.end, rows[i].end);
		assert_int_equal(c.from, rows[i].from);
		assert_int_equal(c.to, rows[i].to);
		assert_int_equal(c.is_direct, rows[i].is_direct);
	}
}

/* The channels' order, a tree, a ring's neighbours, what is cut, what others write. */
static void near_misses(void **state UNUSED)
{
	static const char *const lines[] = {
		"NCCL INFO Channel 00/02 :    0   1   2   3   4   5   6   7",
		"NCCL INFO Channel 00/24 : 0 1 2 3",
		"NCCL INFO Ring 00 : 7 -> 0 -> 1",
		"NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1",
		"NCCL INFO CollNet 00/0 : 3 [send] via COLLNET/SHARP/0/GDRDMA",
		"NCCL INFO Channel 00/0 : 0 -> 1 via P2P/IPC",
		"NCCL INFO Channel 00/0 : 0[0] -> 1[1] via ",
		"NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send",
		"NCCL INFO Channel 00/0 : 0[0 -> 1",
		"NCCL INFO Ring 00 : 4294967295 -> 0 via NET/IB/0",
		"Channel 00/0 : 0[0] -> 1[1] via P2P/IPC",
		"",
	};
	struct nccl_channel c;

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (nccl_channel_read(lines[i], &c))
			fail_msg("%s", lines[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_version),
		cmocka_unit_test(near_misses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
