/* What comparing hosts says: whose RDMA port is missing, whose address another one was given; and
 * that nothing is said where all is well or was meant so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/told.h"

#define USING(host, ports, oob)                                                                    \
	host ":71:71 [0] NCCL INFO NET/IB : Using " ports " [RO]; OOB eth0:" oob "<0>\n"
#define TWO "[0]mlx5_0:1/IB [1]mlx5_1:1/IB"
#define THREE TWO " [2]mlx5_2:1/IB"
#define OTHER "[0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_9:1/IB"
#define COMPLETE(host, rank)                                                                       \
	host ":71:80 [0] NCCL INFO comm 0x1 rank " rank " nranks 2 cudaDev 0 busId 5d000 - Init "  \
	     "COMPLETE\n"
#define HCA(host, value) host ":71:71 [0] NCCL INFO NCCL_IB_HCA set by environment to " value "\n"
#define TIMEOUT                                                                                    \
	"[rank0]:[E1] ProcessGroupNCCL.cpp:683] [Rank 0] Watchdog caught collective operation "    \
	"timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000)" \
	" ran for 600001 milliseconds before timing out.\n"

/* @because: NULL: the cause must not be there at all. */
static void expect(const char *log, const char *id, const char *because, int least, int most)
{
	AUTO(told_done) struct told t;
	struct cause *c;

	tell_of(&t, log);
	c = explain_find(&t.x, id);
	if (!because) {
		assert_null(c);
		return;
	}
	assert_non_null(c);
	assert_non_null(c->because);
	assert_string_equal(c->because, because);
	assert_in_range(c->weight, least, most);
}

static void a_port_is_missing(void **state UNUSED)
{
	static const char said[] = "n1 uses 2 RDMA ports, n2 3: n1 has not mlx5_2:1";
	AUTO(told_done) struct told t;

	expect(USING("n1", TWO, "10.3.0.4") USING("n2", THREE, "10.3.0.5"), "IB-050", said,
	       CONFIDENT, 98);
	/* it had worked before: it may be that, or not */
	expect(USING("n1", TWO, "10.3.0.4") USING("n2", THREE, "10.3.0.5") COMPLETE("n1", "0")
		       COMPLETE("n2", "1") TIMEOUT,
	       "IB-050", said, 1, CONFIDENT - 1);
	/* the line is that of the host that lacks it */
	tell_of(&t, USING("n2", THREE, "10.3.0.5") USING("n3", THREE, "10.3.0.6")
			    USING("n1", TWO, "10.3.0.4"));
	assert_string_equal(t.x.causes.v[0].sig->id, "IB-050");
	assert_string_equal(t.x.causes.v[0].because, said);
	assert_int_equal(t.x.causes.v[0].first->line, 3);
}

static void other_names(void **state UNUSED)
{
	expect(USING("n1", THREE, "10.3.0.4") USING("n2", OTHER, "10.3.0.5"), "IB-050",
	       "n1 uses 3 RDMA ports, n2 3: n1 has not mlx5_9:1, and n2 has not mlx5_2:1", 1,
	       CONFIDENT - 1);
}

static void a_setting_differs(void **state UNUSED)
{
	expect(HCA("n1", "=mlx5_0,mlx5_1") USING("n1", TWO, "10.3.0.4")
		       USING("n2", THREE, "10.3.0.5"),
	       "IB-050",
	       "n1 uses 2 RDMA ports, n2 3: n1 has not mlx5_2:1; NCCL_IB_HCA differs: "
	       "=mlx5_0,mlx5_1 on n1, not set on n2",
	       1, CONFIDENT - 1);
	/* the same on both: then it is missing */
	expect(HCA("n1", "mlx5") HCA("n2", "mlx5") USING("n1", TWO, "10.3.0.4")
		       USING("n2", THREE, "10.3.0.5"),
	       "IB-050", "n1 uses 2 RDMA ports, n2 3: n1 has not mlx5_2:1", CONFIDENT, 98);
}

static void quiet(void **state UNUSED)
{
	expect(USING("n1", THREE, "10.3.0.4") USING("n2", THREE, "10.3.0.5"), "IB-050", NULL, 0, 0);
	expect(USING("n1", TWO, "10.3.0.4"), "IB-050", NULL, 0, 0);
	expect(USING("n1", TWO, "10.3.0.4") USING("n2", THREE, "10.3.0.5") COMPLETE("n1", "0")
		       COMPLETE("n2", "1"),
	       "IB-050", NULL, 0, 0);
	expect("n1:71:71 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/I\n" USING(
		       "n2", THREE, "10.3.0.5"),
	       "IB-050", NULL, 0, 0);
	expect(USING("n1", "[0]={[0] mlx5_0:1/IB, [1] mlx5_1:1/IB}", "10.3.0.4")
		       USING("n2", THREE, "10.3.0.5"),
	       "IB-050", NULL, 0, 0);
	expect(USING("n1", "[0]mlx5_0+mlx5_1:1/IB", "10.3.0.4") USING("n2", THREE, "10.3.0.5"),
	       "IB-050", NULL, 0, 0);
}

#define ZMQ "zmq.error.ZMQError: Cannot assign requested address (addr='tcp://10.3.0.8:41007')\n"

static void whose_address(void **state UNUSED)
{
	expect("(Worker pid=91, ip=10.3.0.9) " ZMQ, "IF-011",
	       "the worker runs on 10.3.0.9, and was told 10.3.0.8", 86, 98);
	expect("n1:71:71 [0] NCCL INFO Bootstrap : Using eth0:10.3.0.8<0>\n"
	       "n2:71:71 [0] misc/socket.cc:137 NCCL WARN Call to bind failed : 10.3.0.8<41007> "
	       "Cannot assign requested address\n",
	       "IF-011", "10.3.0.8 is n1's address, and GPU 0 of n2 wanted it", 86, 98);
}

/* Its own address, as it says, that it cannot listen on: a container's, or one that has changed. */
static void own_address(void **state UNUSED)
{
	AUTO(told_done) struct told t;

	tell_of(&t, "(Worker pid=91, ip=10.3.0.8) " ZMQ);
	assert_string_equal(t.x.causes.v[0].sig->id, "IF-011");
	assert_null(t.x.causes.v[0].because);
}

#define NO_EFA "c0:27:27 [0] ofi_init:1134 NCCL WARN NET/OFI Only EFA provider is supported\n"

static void one_rank_needs_no_network(void **state UNUSED)
{
	static const char one[] = NO_EFA "c0:27:27 [0] NCCL INFO Using network Socket\n"
					 "c0:27:27 [0] NCCL INFO comm 0x1 rank 0 nranks 1 cudaDev "
					 "0 busId 170 - Init COMPLETE\n";
	static const char two[] = NO_EFA "c0:27:27 [0] NCCL INFO Using network Socket\n"
					 "c0:27:27 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev "
					 "0 busId 170 - Init COMPLETE\n";

	expect(one, "EFA-003", NULL, 0, 0);
	expect(one, "IF-007", NULL, 0, 0);
	expect(two, "EFA-003", "NCCL went on without it", 1, CONFIDENT - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_is_missing),
		cmocka_unit_test(other_names),
		cmocka_unit_test(a_setting_differs),
		cmocka_unit_test(quiet),
		cmocka_unit_test(whose_address),
		cmocka_unit_test(own_address),
		cmocka_unit_test(one_rank_needs_no_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
