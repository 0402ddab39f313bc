/*
 * What Gloo, torch, Open MPI and UCX would do on composed machines, and what is
 * said about their settings. The same rules are held against the real programs in tests/diff.
 */
#include "lib/core/file.h"
#include "lib/report/json.h"
#include "probes/iface/suggest.h"
#include "probes/rules/torch.h"
#include "tests/unit/stacks_ground.h"

#define DOCKER "link 9 docker0 kind=bridge\naddr docker0 172.17.0.1/16\n"

static const char *joined(struct arena *a, const str_list *l)
{
	char *s = arena_strdup(a, "");

	for (size_t i = 0; i < l->n; i++)
		s = arena_printf(a, "%s%s%s", s, i ? "," : "", l->v[i]);
	return s;
}

static const struct row {
	const char *stack, *machine, *env;
	enum outcome outcome;
	const char *interfaces, *address, *rule;
	bool reachable;
} rows[] = {
	{"gloo", TWO ME("10.1.0.5"), NULL, OUTCOME_OK, "eth1", "10.1.0.5", "hostname", true},
	{"gloo", TWO ME("127.0.1.1"), NULL, OUTCOME_OK, "lo", "127.0.1.1", "hostname", false},
	{"gloo", TWO ME("10.9.9.9"), NULL, OUTCOME_OK, "lo", "127.0.0.1", "hostname:loopback",
	 false},
	{"gloo", TWO, NULL, OUTCOME_OK, "lo", "127.0.0.1", "hostname:loopback", false},
	{"gloo", "link 2 eth0\naddr eth0 10.0.0.5/24\n", NULL, OUTCOME_FAILS, "", NULL,
	 "hostname:none", false},
	{"gloo", TWO ME("10.0.0.5"), "GLOO_SOCKET_IFNAME=eth1,eth0", OUTCOME_OK, "eth1,eth0",
	 "10.1.0.5", "GLOO_SOCKET_IFNAME", true},
	{"gloo", TWO ME("10.0.0.5"), "GLOO_SOCKET_IFNAME=eth1,", OUTCOME_OK, "eth1", "10.1.0.5",
	 "GLOO_SOCKET_IFNAME", true},
	{"gloo", TWO ME("10.0.0.5"), "GLOO_SOCKET_IFNAME=eth1,,eth0", OUTCOME_FAILS, "", NULL,
	 "GLOO_SOCKET_IFNAME", false},
	{"gloo", TWO ME("10.0.0.5"), "GLOO_SOCKET_IFNAME=^lo", OUTCOME_FAILS, "", NULL,
	 "GLOO_SOCKET_IFNAME", false},
	{"gloo", TWO ME("10.0.0.5"), "GLOO_SOCKET_IFNAME=e", OUTCOME_OK, "eth0", "10.0.0.5",
	 "hostname", true},
	{"gloo", "laptop", "GLOO_SOCKET_IFNAME=br-0a1b2c3d4e5f", OUTCOME_OK, "br-0a1b2c3d4e5f",
	 "172.19.0.1", "GLOO_SOCKET_IFNAME", false},
	/* what NCCL cannot be reached at, Gloo cannot, either */
	{"gloo", TWO "link 4 br0 kind=bridge\naddr br0 10.4.0.1/24\n", "GLOO_SOCKET_IFNAME=br0",
	 OUTCOME_OK, "br0", "10.4.0.1", "GLOO_SOCKET_IFNAME", false},
	{"gloo", TWO "link 5 mgmt kind=vrf\nlink 4 eth2 master=mgmt\naddr eth2 10.4.0.1/24\n",
	 "GLOO_SOCKET_IFNAME=eth2", OUTCOME_OK, "eth2", "10.4.0.1", "GLOO_SOCKET_IFNAME", false},
	{"gloo",
	 TWO "link 5 ovs kind=openvswitch\nlink 4 eth2 pci=0000:03:00.0 master=ovs\n"
	     "link 6 br-ex kind=openvswitch\naddr br-ex 10.4.0.1/24\n",
	 "GLOO_SOCKET_IFNAME=br-ex", OUTCOME_OK, "br-ex", "10.4.0.1", "GLOO_SOCKET_IFNAME", true},
	{"gloo", "wsl2", "GLOO_SOCKET_IFNAME=eth0", OUTCOME_OK, "eth0", "172.23.240.213",
	 "GLOO_SOCKET_IFNAME", false},
	{"gloo", "wsl2-mirrored", NULL, OUTCOME_OK, "eth0", "172.16.3.42", "hostname", true},
	{"openmpi", "wsl2", NULL, OUTCOME_OK, "eth0", "172.23.240.213",
	 "automatic:not 127.0.0.1/8,sppp", false},
	{"ucx", "wsl2", NULL, OUTCOME_OK, "eth0", "172.23.240.213", "automatic:tcp", false},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=10.0.0.5", OUTCOME_OK, "eth0", "10.0.0.5",
	 "MASTER_ADDR:hosts", true},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=10.1.0.5", OUTCOME_OK, "eth1", "10.1.0.5",
	 "MASTER_ADDR:unnoticed", true},
	{"torch", TWO "file /etc/hosts \"10.0.0.5 node0\" \"10.0.0.5 head\"\n", "MASTER_ADDR=head",
	 OUTCOME_OK, "eth0", "10.0.0.5", "MASTER_ADDR:hosts-newer", true},
	{"torch", TWO "file /etc/hosts \"10.0.0.5 head node0\"\n", "MASTER_ADDR=head", OUTCOME_OK,
	 "eth0", "10.0.0.5", "MASTER_ADDR:hosts", true},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=10.1.0.9", OUTCOME_OK, "eth1", "10.1.0.5",
	 "MASTER_ADDR:connects", true},
	{"torch", TWO ME("10.0.0.9"), "MASTER_ADDR=node0", OUTCOME_OK, "eth0", "10.0.0.5",
	 "MASTER_ADDR:misled", true},
	{"torch", TWO, "MASTER_ADDR=10.0.0.5", OUTCOME_OK, "eth0", "10.0.0.5",
	 "MASTER_ADDR:torchrun-fails", true},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=nowhere", OUTCOME_FAILS, "", NULL,
	 "MASTER_ADDR:unresolved", false},
	{"torch", LO "link 2 eth0\naddr eth0 10.0.0.5/24\n" ME("10.0.0.5"), "MASTER_ADDR=10.9.0.1",
	 OUTCOME_FAILS, "", NULL, "MASTER_ADDR:no-route", false},
	{"torch", TWO ME("127.0.1.1"), "MASTER_ADDR=node0", OUTCOME_OK, "lo", "127.0.1.1",
	 "MASTER_ADDR:hosts", false},
	{"torch", TWO ME("10.1.0.5"), NULL, OUTCOME_OK, "eth1", "10.1.0.5", "MASTER_ADDR:unset",
	 true},
	{"torch", TWO, NULL, OUTCOME_FAILS, "", NULL, "MASTER_ADDR:unset", false},
	{"openmpi", TWO, NULL, OUTCOME_OK, "eth0,eth1", "10.0.0.5",
	 "automatic:not 127.0.0.1/8,sppp", true},
	{"openmpi", "laptop", NULL, OUTCOME_OK, "wlp0s20f3,docker0,br-0a1b2c3d4e5f,tailscale0",
	 "192.168.1.42", "automatic:not 127.0.0.1/8,sppp", false},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_include=10.1.0.0/16", OUTCOME_OK, "eth1", "10.1.0.5",
	 "btl_tcp_if_include", true},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_include=10.9.0.0/16", OUTCOME_OK, "eth0,eth1",
	 "10.0.0.5", "automatic:not 127.0.0.1/8,sppp", true},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_include=10.0.0.5/32", OUTCOME_OK, "lo,eth0,eth1",
	 "127.0.0.1", "btl_tcp_if_include", false},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_exclude=eth", OUTCOME_OK, "lo", "127.0.0.1",
	 "btl_tcp_if_exclude", false},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_exclude=lo,eth", OUTCOME_NONE, "", NULL,
	 "btl_tcp_if_exclude", false},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_include=eth7", OUTCOME_FAILS, "", NULL,
	 "btl_tcp_if_include", false},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_include=eth0;OMPI_MCA_btl_tcp_if_exclude=lo",
	 OUTCOME_FAILS, "", NULL, "include+exclude", false},
	/* 5 keeps what is before a name that is not there, 4 nothing */
	{"openmpi", TWO, "PATH=" FIVE ";OMPI_MCA_btl_tcp_if_include=eth1,eth7,eth0", OUTCOME_OK,
	 "eth1", "10.1.0.5", "btl_tcp_if_include", true},
	{"openmpi", TWO, "PATH=" FIVE ";OMPI_MCA_btl_tcp_if_include=eth7,eth0", OUTCOME_FAILS, "",
	 NULL, "btl_tcp_if_include", false},
	{"openmpi", TWO, "PATH=" FOUR ";OMPI_MCA_btl_tcp_if_include=eth1,eth7,eth0", OUTCOME_FAILS,
	 "", NULL, "btl_tcp_if_include", false},
	{"openmpi", TWO, "PATH=/nowhere;OMPI_MCA_btl_tcp_if_include=eth1,eth7", OUTCOME_OK, "eth1",
	 "10.1.0.5", "btl_tcp_if_include", true},
	{"openmpi", TWO, "OMPI_MCA_btl=^tcp", OUTCOME_NONE, "", NULL, "btl", false},
	{"openmpi", TWO, "OMPI_MCA_btl=vader,self", OUTCOME_NONE, "", NULL, "btl", false},
	{"openmpi", TWO,
	 "HOMECONF=# x\nbtl_tcp_if_include =  eth1 \n;ETCCONF=btl_tcp_if_include=eth0", OUTCOME_OK,
	 "eth1", "10.1.0.5", "btl_tcp_if_include", true},
	/* what is not the distribution's does not read the distribution's file, but its own */
	{"openmpi", TWO, "ETCCONF=btl_tcp_if_include=eth0", OUTCOME_OK, "eth0", "10.0.0.5",
	 "btl_tcp_if_include", true},
	{"openmpi", TWO, "PATH=" FOUR ";ETCCONF=btl_tcp_if_include=eth0", OUTCOME_OK, "eth0,eth1",
	 "10.0.0.5", "automatic:not 127.0.0.1/8,sppp", true},
	{"openmpi", TWO,
	 "PATH=" FIVE "/;FIVECONF=btl_tcp_if_include=eth1;ETCCONF=btl_tcp_if_include=eth0",
	 OUTCOME_OK, "eth1", "10.1.0.5", "btl_tcp_if_include", true},
	{"ucx", TWO, NULL, OUTCOME_OK, "eth0,eth1", "10.0.0.5", "automatic:tcp", true},
	{"ucx", LO "link 2 eth0\naddr eth0 169.254.7.1/16\naddr eth0 10.0.0.5/24\n", NULL,
	 OUTCOME_OK, "eth0", "10.0.0.5", "automatic:tcp", true},
	{"ucx", TWO RDMA, NULL, OUTCOME_OK, "mlx5_0:1", NULL, "automatic:rdma", true},
	{"ucx", TWO RDMA, "UCX_TLS=tcp,self", OUTCOME_OK, "eth0,eth1", "10.0.0.5", "automatic:tcp",
	 true},
	{"ucx", TWO RDMA, "UCX_NET_DEVICES=eth1", OUTCOME_OK, "eth1", "10.1.0.5", "UCX_NET_DEVICES",
	 true},
	{"ucx", TWO RDMA, "UCX_NET_DEVICES=mlx5_0:1,eth0", OUTCOME_OK, "mlx5_0:1,eth0", NULL,
	 "UCX_NET_DEVICES", true},
	{"ucx", TWO RDMA, "UCX_NET_DEVICES=mlx5_1:1", OUTCOME_FAILS, "", NULL, "UCX_NET_DEVICES",
	 false},
	{"ucx", LO, NULL, OUTCOME_NONE, "", NULL, "automatic:tcp", false},
};

static void predictions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		struct prediction p;
		struct ground *g;

		g = stand(row->machine, row->env);
		rules_find(row->stack)->predict(&g->in, &p);
		if (p.outcome != row->outcome ||
		    !streq(joined(&g->c.a, &p.interfaces), row->interfaces) ||
		    !streq(p.rule, row->rule) || p.reachable != row->reachable ||
		    (row->address && !streq(p.address, row->address)))
			fail_msg("row %zu %s %s: %s %s %s %s reachable=%d (%s)", i, row->stack,
				 row->env ? row->env : "", outcome_name(p.outcome),
				 joined(&g->c.a, &p.interfaces), p.address ? p.address : "-",
				 p.rule, p.reachable, p.why ? p.why : "");
		assert_non_null(p.why);
		assert_int_equal(!p.reachable, p.unreachable_why != NULL);
	}
	(void)stand(NULL, NULL);
}

/* The first interface's name stands before it where this is said. */
static void another_interfaces_address_is_called_its(void **state)
{
	struct prediction p;
	struct ground *g = stand(TWO DOCKER, NULL);

	(void)state;
	rules_find("openmpi")->predict(&g->in, &p);
	assert_string_equal(p.interface, "eth0");
	assert_string_equal(p.unreachable_why,
			    "data would also go over docker0, whose address 172.17.0.1 belongs to "
			    "containers or virtual machines on this host only");
	(void)stand(NULL, NULL);
}

/* --- check ------------------------------------------------------------------------------- */
static const struct lint {
	const char *stack, *machine, *env, *check;
	const char *status, *says, *fix; /* status NULL: nothing is said under this id */
} lints[] = {
	{"gloo", TWO, NULL, "lint.gloo.ifname", NULL, NULL, NULL},
	{"gloo", TWO, "GLOO_SOCKET_IFNAME=eth1", "lint.gloo.ifname", "pass", "exactly", NULL},
	{"gloo", TWO, "GLOO_SOCKET_IFNAME==eth1", "lint.gloo.ifname", "fail", "NCCL's syntax",
	 "export GLOO_SOCKET_IFNAME=eth1"},
	{"gloo", TWO, "GLOO_SOCKET_IFNAME=^lo", "lint.gloo.ifname", "fail", "NCCL's syntax",
	 "export GLOO_SOCKET_IFNAME=eth0"},
	{"gloo", TWO, "GLOO_SOCKET_IFNAME=eth0, eth1", "lint.gloo.ifname", "fail", "blanks",
	 "export GLOO_SOCKET_IFNAME=eth0,eth1"},
	{"gloo", TWO, "GLOO_SOCKET_IFNAME=eth0, lo", "lint.gloo.ifname", "fail",
	 "=eth0, lo: [ lo]: blanks", "export GLOO_SOCKET_IFNAME=eth0"},
	{"gloo", TWO, "GLOO_SOCKET_IFNAME=eth1,lo,eth9,eth1", "lint.gloo.ifname", "warn",
	 "[lo]: 127.0.0.1 is loopback", "export GLOO_SOCKET_IFNAME=eth1"},
	{"gloo", TWO, "GLOO_SOCKET_IFNAME='eth1'\r", "lint.gloo.ifname", "fail", "quotes",
	 "export GLOO_SOCKET_IFNAME=eth1"},
	{"gloo", TWO, "GLOO_SOCKET_IFNAME=eth", "lint.gloo.ifname", "fail", "no such interface",
	 "export GLOO_SOCKET_IFNAME=eth0"},
	{"gloo", TWO "link 4 eth2\n", "GLOO_SOCKET_IFNAME=eth2", "lint.gloo.ifname", "fail",
	 "no address", "export GLOO_SOCKET_IFNAME=eth0"},
	{"gloo", TWO "link 4 eth2 alt=enp9s0\naddr eth2 10.2.0.5/24\n", "GLOO_SOCKET_IFNAME=enp9s0",
	 "lint.gloo.ifname", "fail", "GLOO_SOCKET_IFNAME=enp9s0: an alternative name",
	 "export GLOO_SOCKET_IFNAME=eth2"},
	{"gloo", TWO, "GLOO_SOCKET_IFNAME=lo", "lint.gloo.ifname", "warn", "loopback",
	 "export GLOO_SOCKET_IFNAME=eth0"},
	{"gloo", TWO, "GLOO_SOCKET_IFNAME=e", "lint.gloo.ifname", "warn", "one character",
	 "export GLOO_SOCKET_IFNAME=eth0"},
	{"gloo", TWO, "GLOO_SOCKET_IFNAME=", "lint.gloo.ifname", "warn", "ignores an empty value",
	 "export GLOO_SOCKET_IFNAME=eth0"},
	{"gloo", TWO, "GLOO_SOCKET_IFNAME=eth0,,eth1", "lint.gloo.ifname", "fail", "empty entry",
	 "export GLOO_SOCKET_IFNAME=eth0"},
	{"torch", TWO, "TP_SOCKET_IFNAME=eth0,eth1", "lint.torch.tp_ifname", "fail", "no such",
	 "export TP_SOCKET_IFNAME=eth0"},
	{"torch", TWO, "TP_SOCKET_IFNAME=eth1", "lint.torch.tp_ifname", "pass", "exactly", NULL},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=10.0.0.5 ", "lint.torch.master_addr", "fail",
	 "blanks", "export MASTER_ADDR=10.0.0.5"},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=\"10.0.0.5\"", "lint.torch.master_addr", "fail",
	 "quote", "export MASTER_ADDR=10.0.0.5"},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=' node0:29500'", "lint.torch.master_addr",
	 "fail", "quote", "export MASTER_ADDR=node0"},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=node 0", "lint.torch.master_addr", "fail",
	 "blank", "export MASTER_ADDR=ADDRESS_OF_RANK_0"},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=[fd00::5]", "lint.torch.master_addr", "fail",
	 "brackets", "export MASTER_ADDR=fd00::5"},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=tcp://10.0.0.5:29500", "lint.torch.master_addr",
	 "fail", "scheme", "export MASTER_ADDR=10.0.0.5"},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=node0:29500", "lint.torch.master_addr", "fail",
	 "port", "export MASTER_ADDR=node0"},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=fd00::5", "lint.torch.master_addr", "pass", "",
	 NULL},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=05", "lint.torch.master_addr", "fail",
	 "the number 0.0.0.5", NULL},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=0.0.0.0", "lint.torch.master_addr", "fail",
	 "connected to", NULL},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=nowhere", "lint.torch.master_addr", "fail",
	 "/etc/hosts", NULL},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=localhost", "lint.torch.master_addr", "warn",
	 "127.0.0.1", "export MASTER_ADDR=10.0.0.5" TORCH_MASTER_OURS},
	/* this one's own address would make a second store here */
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=localhost;RANK=1;WORLD_SIZE=2",
	 "lint.torch.master_addr", "warn", "127.0.0.1", TORCH_MASTER_IN_WORDS},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=localhost;NODE_RANK=1;GROUP_RANK=1",
	 "lint.torch.master_addr", "warn", "127.0.0.1", TORCH_MASTER_IN_WORDS},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=localhost;RANK=1;LOCAL_RANK=1",
	 "lint.torch.master_addr", "warn", "127.0.0.1",
	 "export MASTER_ADDR=10.0.0.5" TORCH_MASTER_OURS},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=10.0.0.9;RANK=0;WORLD_SIZE=2",
	 "lint.torch.master_addr", "warn", "RANK=0 is here", NULL},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=10.0.0.9;RANK=1;WORLD_SIZE=2",
	 "lint.torch.master_addr", "pass", "10.0.0.9", NULL},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=10.0.0.9;RANK=2;WORLD_SIZE=2", "lint.torch.rank",
	 "fail", "ranks 0 to 1", NULL},
	{"torch", TWO ME("127.0.1.1"), "MASTER_ADDR=node0;WORLD_SIZE=16;LOCAL_WORLD_SIZE=8",
	 "lint.torch.master_addr", "fail", "127.0.1.1",
	 "export MASTER_ADDR=10.0.0.5" TORCH_MASTER_OURS},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=localhost;WORLD_SIZE=8;LOCAL_WORLD_SIZE=8",
	 "lint.torch.master_addr", "info", "127.0.0.1", NULL},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=54.1.2.3", "lint.torch.master_addr", "warn",
	 "public", NULL},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=10.0.0.5", "lint.torch.master_addr", "pass",
	 "eth0", NULL},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=10.0.0.5", "lint.torch.store_host", NULL, NULL,
	 NULL},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=10.1.0.5", "lint.torch.store_host", "warn",
	 "nobody hosts",
	 "torchrun --rdzv-backend c10d --rdzv-endpoint 10.1.0.5 --rdzv-conf is_host=1 ..."},
	{"torch", TWO, "MASTER_ADDR=10.1.0.5", "lint.torch.store_host", "warn", "stops there",
	 NULL},
	{"torch", TWO ME("10.9.9.9"), "MASTER_ADDR=127.0.0.1", "lint.torch.own_name", "warn",
	 "10.9.9.9, no address of this host", "torchrun --local-addr 10.0.0.5 ..."},
	{"torch", TWO ME("10.0.0.5"), "MASTER_ADDR=127.0.0.1", "lint.torch.own_name", NULL, NULL,
	 NULL},
	{"torch", TWO, "MASTER_PORT=29500", "lint.torch.master_port", "pass", "29500", NULL},
	{"torch", TWO, "MASTER_PORT=0", "lint.torch.master_port", "fail", "1 and 65535",
	 "export MASTER_PORT=29500"},
	{"torch", TWO, "MASTER_PORT=65536", "lint.torch.master_port", "fail", "1 and 65535",
	 "export MASTER_PORT=29500"},
	{"torch", TWO, "MASTER_PORT=80", "lint.torch.master_port", "warn", "root", NULL},
	{"torch", TWO "file /proc/sys/net/ipv4/ip_local_port_range \"32768 60999\"\n",
	 "MASTER_PORT=40000", "lint.torch.master_port", "info", "32768-60999", NULL},
	{"openmpi", TWO, NULL, "lint.ompi.if_include", NULL, NULL, NULL},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_include=eth0;OMPI_MCA_btl_tcp_if_exclude=lo",
	 "lint.ompi.exclusive", "fail", "both set", "unset OMPI_MCA_btl_tcp_if_exclude"},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_include=10.0.0.0/24", "lint.ompi.if_include", "pass",
	 "", NULL},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_include=eth", "lint.ompi.if_include", "fail",
	 "exact names", "export OMPI_MCA_btl_tcp_if_include=eth0"},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_include=10.9.0.0/24", "lint.ompi.if_include", "fail",
	 "every interface is used", NULL},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_include=10.0.0.5", "lint.ompi.if_include", "fail",
	 "neither a name nor a subnet", NULL},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_include=10.0.0.5/32", "lint.ompi.if_include", "fail",
	 "/32", NULL},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_exclude=eth1", "lint.ompi.if_exclude", "fail",
	 "lets lo in", "export OMPI_MCA_btl_tcp_if_exclude=127.0.0.0/8,eth1"},
	{"openmpi", TWO "link 4 eth10\naddr eth10 10.2.0.5/24\n",
	 "OMPI_MCA_btl_tcp_if_exclude=lo,eth1", "lint.ompi.if_exclude", "warn", "eth10", NULL},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_exclude=lo,eth1", "lint.ompi.if_exclude", "pass", "",
	 NULL},
	{"openmpi", TWO, "PATH=" FIVE ";OMPI_MCA_btl_tcp_if_include=eth1,eth9",
	 "lint.ompi.if_include", "fail", "dropped with all that follows it",
	 "export OMPI_MCA_btl_tcp_if_include=eth0"},
	{"openmpi", TWO, "PATH=" FOUR ";OMPI_MCA_btl_tcp_if_include=eth1,eth9",
	 "lint.ompi.if_include", "fail", "TCP is given up", NULL},
	{"openmpi", TWO, "PATH=" FIVE ";OMPI_MCA_oob_tcp_if_include=eth1", "lint.ompi.moved",
	 "warn", "not heeded by Open MPI 5", "export PRTE_MCA_prte_if_include=eth1"},
	{"openmpi", TWO, "PATH=" FOUR ";OMPI_MCA_oob_tcp_if_include=eth1", "lint.ompi.moved", NULL,
	 NULL, NULL},
	{"openmpi", TWO,
	 "PATH=" FIVE ";OMPI_MCA_oob_tcp_if_include=eth1;PRTE_MCA_prte_if_include=eth1",
	 "lint.ompi.moved", NULL, NULL, NULL},
	{"openmpi", TWO, "PATH=" FIVE ";PRTE_MCA_oob_tcp_if_include=eth9", "lint.ompi.if_include",
	 "fail", "mpirun does not start", "export PRTE_MCA_oob_tcp_if_include=eth0"},
	{"openmpi", TWO, "PATH=" FIVE ";PRTE_MCA_prte_if_include=eth1;PRTE_MCA_prte_if_exclude=lo",
	 "lint.ompi.exclusive", "fail", "does not start", "unset PRTE_MCA_prte_if_exclude"},
	{"openmpi", TWO, "PATH=" FOUR ";HOMECONF=oob_tcp_if_include = eth9\n",
	 "lint.ompi.if_include", "fail", "eth9",
	 "sed -i 's|^ *oob_tcp_if_include *=.*|oob_tcp_if_include = eth0|' "
	 "/home/u/.openmpi/mca-params.conf"},
	{"ucx", TWO RDMA, "UCX_NET_DEVICES=eth0", "lint.ucx.net_devices", "warn", "RDMA off",
	 "unset UCX_NET_DEVICES"},
	{"ucx", TWO, "UCX_NET_DEVICES=eth0", "lint.ucx.net_devices", "pass", "", NULL},
	{"ucx", TWO DOCKER, "UCX_NET_DEVICES=eth0,docker0", "lint.ucx.net_devices", "warn",
	 "lets docker0 in, whose address 172.17.0.1 belongs to containers",
	 "export UCX_NET_DEVICES=eth0"},
	{"ucx", TWO RDMA DOCKER, "UCX_NET_DEVICES=docker0,mlx5_0:1", "lint.ucx.net_devices", "warn",
	 "lets docker0 in", "export UCX_NET_DEVICES=mlx5_0:1"},
	{"openmpi", TWO DOCKER, "OMPI_MCA_btl_tcp_if_include=172.17.0.0/16", "lint.ompi.if_include",
	 "warn", "lets docker0 in", "export OMPI_MCA_btl_tcp_if_include=eth0"},
	{"openmpi", TWO, "OMPI_MCA_btl_tcp_if_include=lo", "lint.ompi.if_include", "warn",
	 "127.0.0.1 is loopback", "export OMPI_MCA_btl_tcp_if_include=eth0"},
	{"ucx", TWO RDMA, "UCX_NET_DEVICES=mlx5_0", "lint.ucx.net_devices", "fail", "mlx5_0:1",
	 "unset UCX_NET_DEVICES"},
	{"ucx", TWO RDMA, "UCX_NET_DEVICES=all", "lint.ucx.net_devices", NULL, NULL, NULL},
};

static const cJSON *find_check(const cJSON *doc, const char *check)
{
	const cJSON *f;

	cJSON_ArrayForEach (f, cJSON_GetObjectItem(doc, "findings"))
		if (streq(json_get_str(f, "check"), check))
			return f;
	return NULL;
}

/* The findings of one module, through the report, as a reader gets them. */
static cJSON *checked(struct ground *g, const struct lint *l)
{
	const char *path = arena_printf(&g->c.a, "%s/report.json", g->c.dir);
	struct report_opts o = {.command = "t", .format = "json", .output = path, .host = "node0"};
	struct err e = {0};
	struct report *r = report_new(&o, &e);
	cJSON *doc;
	size_t n;
	char *text;

	assert_non_null(r);
	rules_find(l->stack)->check(&g->in, r);
	(void)report_end(r, &e);
	assert_int_equal(file_read(path, 1 << 20, &g->c.a, &text, &n, &e), 0);
	doc = json_parse(text, n, 100, &e);
	assert_non_null(doc);
	return doc;
}

static void checks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lints); i++) {
		const struct lint *l = &lints[i];
		struct ground *g;
		const cJSON *f;
		const char *fix;
		cJSON *doc;

		g = stand(l->machine, l->env);
		doc = checked(g, l);
		f = find_check(doc, l->check);
		if (!f != !l->status)
			fail_msg("lint %zu %s: %s", i, l->env ? l->env : "",
				 f ? "said" : "not said");
		if (f) {
			fix = cJSON_GetStringValue(
				cJSON_GetArrayItem(cJSON_GetObjectItem(f, "fix"), 0));
			if (!streq(json_get_str(f, "status"), l->status) ||
			    !strstr(json_get_str(f, "message"), l->says) ||
			    (l->fix && (!fix || !streq(fix, l->fix))))
				fail_msg("lint %zu %s: %s \"%s\" -> %s", i, l->env ? l->env : "",
					 json_get_str(f, "status"), json_get_str(f, "message"),
					 fix ? fix : "");
		}
		cJSON_Delete(doc);
	}
	(void)stand(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(predictions),
		cmocka_unit_test(another_interfaces_address_is_called_its),
		cmocka_unit_test(checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
