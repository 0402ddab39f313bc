/* What hosts say of themselves that should be alike and is not, in words; and advice that says so
 * where the log does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/told.h"

#define GAVE_UP(rank)                                                                              \
	"[rank" #rank "]:[E120 04:40:20.4 ProcessGroupNCCL.cpp:616] [Rank " #rank                  \
	"] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE, "    \
	"NumelIn=12866560, NumelOut=12866560, Timeout(ms)=600000) ran for 600047 milliseconds "    \
	"before timing out.\n"
#define READY(host, rank)                                                                          \
	host ":15:15 [0] NCCL INFO ncclCommInitRank comm 0x1 rank " #rank                          \
	     " nranks 2 cudaDev 0 busId 1a000 commId 0x5 - Init COMPLETE\n"
#define SETS(host, name, value)                                                                    \
	host ":15:15 [0] NCCL INFO " name " set by environment to " value "\n"
#define TRUNCATED                                                                                  \
	"h1:15:16 [0] transport/net_socket.cc:486 NCCL WARN NET/Socket : peer 10.3.4.12<34935> "   \
	"message truncated : receiving 524288 bytes instead of 65536.\n"
#define LINK(host, mtu) host ": 3: ens6: <BROADCAST,UP> mtu " mtu " qdisc mq state UP\n"
#define HANGS READY("h1", 0) READY("h2", 1) GAVE_UP(0) GAVE_UP(1)
#define PING(addr, bytes) "PING " addr " (" addr ") " bytes " bytes of data.\n"
#define GOOD "1 packets transmitted, 1 received, 0% packet loss, time 0ms\n"
#define BAD "3 packets transmitted, 0 received, 100% packet loss, time 2035ms\n"
#define OTHER_MODEL                                                                                \
	"[rank0]: RuntimeError: DDP expects same model across all ranks, but Rank 0 has 158 "      \
	"params, while rank 2 has inconsistent 161 params.\n"

static const struct {
	const char *log, *entry, *because, *fix; /* NULL: nothing is said; any */
} all[] = {
	{SETS("h1", "NCCL_ALGO", "Ring") SETS("h2", "NCCL_ALGO", "Tree") TRUNCATED, "NET-016",
	 "NCCL_ALGO is Ring on h1, but Tree on h2", "unset NCCL_ALGO "},
	{SETS("h1", "NCCL_SOCKET_IFNAME", "eth0") SETS("h2", "NCCL_SOCKET_IFNAME", "eth0")
		 SETS("h2", "NCCL_PROTO", "Simple") READY("h1", 0) READY("h2", 1) TRUNCATED,
	 "NET-016", "NCCL_PROTO is Simple on h2, and not set on h1", "unset NCCL_PROTO "},
	/* it ended before it would have read it, or says nothing of what it reads */
	{SETS("h1", "NCCL_SOCKET_IFNAME", "eth0") SETS("h2", "NCCL_PROTO", "Simple") READY("h2", 1)
		 TRUNCATED,
	 "CON-017", NULL, NULL},
	{SETS("h2", "NCCL_PROTO", "Simple") READY("h1", 0) READY("h2", 1) TRUNCATED, "CON-017",
	 NULL, NULL},
	/* two processes of one host */
	{SETS("h1", "NCCL_ALGO", "Ring") SETS("h1", "NCCL_ALGO", "Tree") TRUNCATED, "CON-017", NULL,
	 NULL},
	{"[0] host=h1 commit=3f9c2ab81 torch=2.5.1\n[2] host=h2 commit=9e1d77c02 "
	 "torch=2.5.1\n" OTHER_MODEL,
	 "PT-009", "h1 has commit 3f9c2ab, but h2 9e1d77c", "git checkout"},
	{"[rank0]: torch 2.5.1 cuda 12.4\n[rank2]: torch 2.4.0 cuda 12.4\n" OTHER_MODEL, "PT-009",
	 "rank 0 has torch 2.5.1, but rank 2 2.4.0", NULL},
	{"[0] host=h1 commit=3f9c2ab81\n[2] host=h2 commit=3f9c2ab\n" OTHER_MODEL, "PT-009", NULL,
	 NULL},
	{LINK("h1", "9001") LINK("h2", "1500") READY("h1", 0) READY("h2", 1) GAVE_UP(0) GAVE_UP(1),
	 "IF-029", "ens6 has MTU 9001 on h1, but 1500 on h2", "ip link set ens6 mtu"},
	{LINK("h1",
	      "9001") "h2: 4: docker0: <BROADCAST,UP> mtu 1450 qdisc noqueue state UP\n"
		      "h1: 4: docker0: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP\n" READY(
			      "h1", 0) READY("h2", 1) GAVE_UP(0) GAVE_UP(1),
	 "PT-112", "all 2 ranks waited in ALLREDUCE number 4: nobody is missing", NULL},
	/* of an interface that is not used */
	{LINK("h1", "9001") LINK(
		 "h2",
		 "1500") "h1:15:15 [0] NCCL INFO Bootstrap : Using eth0:10.7.0.10<0>\n" READY("h1",
											      0)
		 READY("h2", 1) GAVE_UP(0) GAVE_UP(1),
	 "PT-112", "all 2 ranks waited in ALLREDUCE number 4: nobody is missing", NULL},
	/* the path takes what passed, and that is what to type */
	{HANGS PING("10.9.0.2", "1392(1420)") GOOD PING("10.9.0.2", "1472(1500)") BAD, "IF-029",
	 "ping -s 1392 10.9.0.2 is answered, and -s 1472 is not: the path takes an MTU of at least "
	 "1420, and less than 1500",
	 " mtu 1420 "},
	{HANGS PING("fd00::2", "1372") GOOD PING("fd00::2", "1452") BAD, "IF-029",
	 "ping -s 1372 fd00::2 is answered, and -s 1452 is not: the path takes an MTU of at least "
	 "1420, and less than 1500",
	 " mtu 1420 "},
	{HANGS PING("10.9.0.2", "56(84)") GOOD PING("10.9.0.2", "1472(1500)") BAD, "IF-029",
	 "ping -s 56 10.9.0.2 is answered, and -s 1472 is not: the path takes an MTU of at least "
	 "84, and less than 1500",
	 " mtu 1280 "},
	/* in pieces much passes; whole it is proof */
	{HANGS "$ ping -c 1 -s 8000 10.9.0.2\n" PING("10.9.0.2", "8000(8028)") GOOD
	 "$ ping -c 1 -s 8972 10.9.0.2\n" PING("10.9.0.2", "8972(9000)") BAD,
	 "PT-112", "all 2 ranks waited in ALLREDUCE number 4: nobody is missing", NULL},
	{HANGS "$ ping -c 1 -M do -s 8000 10.9.0.2\n" PING("10.9.0.2", "8000(8028)") GOOD
	 "$ ping -c 1 -M do -s 8972 10.9.0.2\n" PING("10.9.0.2", "8972(9000)") BAD,
	 "IF-029",
	 "ping -s 8000 10.9.0.2 is answered, and -s 8972 is not: the path takes an MTU of at least "
	 "8028, and less than 9000",
	 " mtu 8028 "},
};

static void what_differs_is_named(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		AUTO(told_done) struct told t = {0};
		const struct cause *c;

		tell_of(&t, all[i].log);
		assert_true(t.x.causes.n > 0);
		c = &t.x.causes.v[0];
		assert_string_equal(c->sig->id, all[i].entry);
		if (all[i].because)
			assert_string_equal(c->because, all[i].because);
		else
			assert_null(c->because);
		if (all[i].fix)
			assert_non_null(strstr(c->fix.v[0], all[i].fix));
	}
}

static bool advises(const struct cause *c, const char *words)
{
	for (size_t i = 0; i < c->fix.n; i++)
		if (strstr(c->fix.v[i], words))
			return true;
	return false;
}

static void what_may_be_is_advised(void **state UNUSED)
{
	static const struct {
		const char *log, *entry, *fix;
	} logs[] = {
		{READY("h1", 0) READY("h2", 1) GAVE_UP(0) GAVE_UP(1), "PT-112",
		 "whether large packets pass both ways"},
		{"   - [2] finished collective #1204, but didn't join collective #1205 (count from "
		 "1)\n",
		 "PT-039", "drop_last=True"},
		{"RuntimeError: Rank 3 failed to pass monitoredBarrier in 1800000 ms\n", "PT-027",
		 "drop_last=True"},
		{"h1:4:9 [0] misc/socket.cc:525 NCCL WARN socketPollConnect: exceeded timeouts "
		 "(3)\n",
		 "CON-004", "allow all TCP"},
	};

	for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
		AUTO(told_done) struct told t = {0};

		tell_of(&t, logs[i].log);
		assert_true(t.x.causes.n > 0);
		assert_string_equal(t.x.causes.v[0].sig->id, logs[i].entry);
		assert_true(advises(&t.x.causes.v[0], logs[i].fix));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_differs_is_named),
		cmocka_unit_test(what_may_be_is_advised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
