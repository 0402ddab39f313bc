/* What is said of NCCL's settings, and which settings are suggested. */
#include "probes/iface/suggest.h"
#include "tests/unit/lint_bench.h"

#define LO "link 1 lo type=loopback state=unknown\naddr lo 127.0.0.1/8\naddr lo ::1/128\n"
#define PLAIN                                                                                      \
	LO "link 2 eth1\naddr eth1 10.0.0.5/24\nlink 3 eth10 alt=blue\naddr eth10 10.0.1.5/24\n"   \
	   "link 4 ens5 state=nocarrier\naddr ens5 10.0.2.5/24\nlink 5 docker0 kind=bridge\n"      \
	   "addr docker0 172.17.0.1/16\nlink 6 bare\n"
#define V6 LO "link 2 eth0\naddr eth0 10.0.0.5/24\naddr eth0 fd00::5/64\n"
#define LL6 LO "link 2 eth0\naddr eth0 10.0.0.5/24\naddr eth0 fe80::5/64\n"
#define LL4 LO "link 2 eth0\naddr eth0 169.254.7.1/16\naddr eth0 10.0.0.5/24\n"
#define PORT(dev, number, state, layer, rate)                                                      \
	"port " dev " " number " state=\"" state "\" layer=" layer " rate=\"" rate                 \
	" Gb/sec (4X HDR)\" gids=4\n"
#define IB(dev, number, state) PORT(dev, number, state, "InfiniBand", "200")
#define ROCE(dev, state) PORT(dev, "1", state, "Ethernet", "100")
#define GID(dev) "gid " dev " 1 0 ::ffff:0a00:0005 type=\"RoCE v2\" dev=eth0\n"
#define RDMA(dev, pci) "rdma " dev " pci=" pci "\n"
#define PCI0 "0000:10:00.0"
#define PCI1 "0000:11:00.0"
#define ETH0 LO "link 2 eth0\naddr eth0 10.0.0.5/24\n"
#define NICS "link 20 n0 pci=" PCI0 "\nlink 21 n1 pci=" PCI1 "\n"
#define TWO_IB                                                                                     \
	ETH0 NICS RDMA("mlx5_1", PCI0) IB("mlx5_1", "1", "4: ACTIVE") RDMA("mlx5_10", PCI1)        \
		IB("mlx5_10", "1", "4: ACTIVE")
#define ONE_DOWN                                                                                   \
	ETH0 NICS RDMA("mlx5_0", PCI0) IB("mlx5_0", "1", "4: ACTIVE") RDMA("mlx5_1", PCI1)         \
		IB("mlx5_1", "1", "1: DOWN")
#define MIXED                                                                                      \
	ETH0 NICS RDMA("mlx5_0", PCI0) IB("mlx5_0", "1", "4: ACTIVE") RDMA("mlx5_1", PCI1)         \
		ROCE("mlx5_1", "4: ACTIVE") GID("mlx5_1")
#define ZERO_GID                                                                                   \
	ETH0 NICS RDMA("mlx5_0", PCI0) ROCE("mlx5_0", "4: ACTIVE") GID("mlx5_0")                   \
		RDMA("mlx5_1", PCI1) ROCE("mlx5_1", "4: ACTIVE")

#define IFNAME "NCCL_SOCKET_IFNAME"

/* Names that a shell and sed would read otherwise. */
#define ODD                                                                                        \
	LO "link 2 \"a'b\"\nlink 3 'c\\d;'\nlink 4 'c\\d;x'\n"                                     \
	   "addr \"a'b\" 10.0.0.5/24\naddr 'c\\d;' 10.1.0.5/24\naddr 'c\\d;x' 10.2.0.5/24\n"

#define NAT LO "link 2 eth0\naddr eth0 10.0.2.15/24\nroute default via=10.0.2.2 dev=eth0\n"

static const struct lint_row {
	const char *machine, *name, *value, *origin, *findings;
	const char *fix; /* of the first finding; NULL: whatever */
} lints[] = {
	{PLAIN, IFNAME, "=eth1", ENV, "lint.nccl:pass", ""},
	{PLAIN, IFNAME, "^docker,lo", ENV, "lint.nccl:pass", NULL},
	{PLAIN, IFNAME, "", ENV, "lint.ifname.short:info lint.nccl:pass", NULL},
	{PLAIN, IFNAME, "e", ENV, "lint.ifname.short:fail", "unset NCCL_SOCKET_IFNAME"},
	{PLAIN, IFNAME, "wlan0", ENV, "lint.ifname.nomatch:fail", NULL},
	{PLAIN, IFNAME, "=ens5", ENV, "lint.ifname.nomatch:fail", NULL},
	{PLAIN, IFNAME, "=blue", ENV, "lint.ifname.nomatch:fail", NULL},
	{PLAIN, IFNAME, "bare", ENV, "lint.ifname.nomatch:fail", NULL},
	{PLAIN, IFNAME, "=eth1,ens9", ENV, "lint.ifname.nomatch:info lint.nccl:pass", NULL},
	{PLAIN, IFNAME, " eth1", ENV, "lint.ifname.blank:fail lint.ifname.nomatch:fail",
	 "export NCCL_SOCKET_IFNAME=eth1"},
	{PLAIN, IFNAME, "eth1, eth10", ENV, "lint.ifname.blank:fail",
	 "export NCCL_SOCKET_IFNAME=eth1,eth10"},
	{PLAIN, IFNAME, "\"=eth1\"", CONF,
	 "lint.ifname.quote:fail lint.ifname.nomatch:fail lint.conf.quote:fail",
	 "sed -i '3c\\NCCL_SOCKET_IFNAME==eth1' /etc/nccl.conf"},
	{PLAIN, IFNAME, "==", ENV, "lint.ifname.caret-inside:warn lint.ifname.nomatch:fail",
	 "unset NCCL_SOCKET_IFNAME"},
	{PLAIN, IFNAME, "^docker", ENV, "lint.ifname.caret-lo:fail",
	 "export NCCL_SOCKET_IFNAME='^docker,lo'"},
	{PLAIN, IFNAME, "^docker,^lo", ENV,
	 "lint.ifname.caret-inside:fail lint.ifname.caret-lo:fail",
	 "export NCCL_SOCKET_IFNAME='^docker,lo'"},
	{PLAIN, IFNAME, "^^", ENV, "lint.ifname.caret-inside:fail lint.ifname.caret-lo:fail",
	 "unset NCCL_SOCKET_IFNAME"},
	{PLAIN, IFNAME, "eth1,=eth10", ENV, "lint.ifname.caret-inside:warn",
	 "export NCCL_SOCKET_IFNAME=eth1,eth10"},
	/* what was to be left out is not taken in */
	{PLAIN, IFNAME, "eth,^docker,^lo", ENV, "lint.ifname.caret-inside:warn",
	 "export NCCL_SOCKET_IFNAME=eth"},
	{PLAIN, IFNAME, "=eth1,^docker0", ENV, "lint.ifname.caret-inside:warn",
	 "export NCCL_SOCKET_IFNAME='=eth1'"},
	{PLAIN, IFNAME, "=^docker0,=lo", ENV,
	 "lint.ifname.caret-inside:warn lint.ifname.nomatch:fail",
	 "export NCCL_SOCKET_IFNAME='^=docker0,lo'"},
	{ODD, IFNAME, "a'b", CONF, "lint.ifname.quote:fail", NULL},
	{ODD, IFNAME, "c\\d;", CONF, "lint.ifname.overmatch:warn",
	 "sed -i '3c\\NCCL_SOCKET_IFNAME==c\\\\d;' /etc/nccl.conf"},
	{ODD, IFNAME, "c\\d;", ENV, "lint.ifname.overmatch:warn",
	 "export NCCL_SOCKET_IFNAME='=c\\d;'"},
	{PLAIN, IFNAME, "eth1", ENV, "lint.ifname.overmatch:warn",
	 "export NCCL_SOCKET_IFNAME='=eth1'"},
	{PLAIN, IFNAME, "eth", ENV, "lint.ifname.overmatch:info lint.nccl:pass", NULL},
	{PLAIN, IFNAME, "eth1:1", ENV, "lint.ifname.port:warn",
	 "export NCCL_SOCKET_IFNAME='=eth1'"},
	{PLAIN, IFNAME, "=docker0", ENV, "lint.ifname.unreachable:warn", NULL},
	{"wsl2", IFNAME, "=eth0", ENV, "lint.nccl:pass", NULL}, /* nothing better is there */
	{NAT "link 3 eth1\naddr eth1 10.9.0.2/24\n", IFNAME, "=eth0", ENV,
	 "lint.ifname.unreachable:warn", "eval \"$(ifprobe --suggest)\""},
	{PLAIN, "NCCL_SOCKET_FAMILY", "AF_INET", ENV, "lint.nccl:pass", NULL},
	{PLAIN, "NCCL_SOCKET_FAMILY", "inet6", ENV, "lint.family.unknown:fail",
	 "export NCCL_SOCKET_FAMILY=AF_INET6"},
	{PLAIN, "NCCL_SOCKET_FAMILY", "AF_INET6", ENV, "lint.family.nomatch:fail",
	 "unset NCCL_SOCKET_FAMILY"},
	{LL6, "NCCL_SOCKET_FAMILY", "AF_INET6", ENV, "lint.family.linklocal:warn",
	 "unset NCCL_SOCKET_FAMILY"},
	{V6, "NCCL_SOCKET_FAMILY", "AF_INET6", ENV, "lint.nccl:pass", NULL},
	/* no setting passes over the first address of the best one */
	{LL4, IFNAME, "=eth0", ENV, "lint.ifname.unreachable:warn",
	 "sudo ip addr del 169.254.7.1/16 dev eth0"},
	{PLAIN, "NCCL_COMM_ID", "10.0.0.9:1", ENV, "lint.comm-id:info lint.nccl:pass", NULL},
	{PLAIN, "NCCL_COMM_ID", "10.0.0.9:0", ENV, "lint.comm-id.port:fail", "unset NCCL_COMM_ID"},
	{PLAIN, "NCCL_COMM_ID", "10.0.0.9:abc", ENV, "lint.comm-id.port:fail", NULL},
	{PLAIN, "NCCL_COMM_ID", "10.0.0.9", ENV, "lint.comm-id.port:warn", NULL},
	{PLAIN, "NCCL_COMM_ID", "10.0.0.9:99999", ENV, "lint.comm-id.port:warn", NULL},
	{V6, "NCCL_COMM_ID", "[fd00::9]:65535", ENV, "lint.comm-id:info lint.nccl:pass", NULL},
	{V6, "NCCL_COMM_ID", "[fd00::9]", ENV, "lint.comm-id.port:fail", NULL},
	{V6, "NCCL_COMM_ID", "[fd00::9]:65536", ENV, "lint.comm-id.port:fail", NULL},
	{PLAIN, "NCCL_COMM_ID", "192.0.2.9:1", ENV, "lint.comm-id.bad:fail", NULL},
	{PLAIN, "NCCL_COMM_ID", "", ENV, "lint.comm-id.bad:fail", NULL},
	{PLAIN, "NCCL_COMM_ID", "[fd00::9%abcdefghijklmnop]:1", ENV, "lint.comm-id.bad:fail", NULL},
	{PLAIN, "NCCL_IB_DISABLE", "yes", ENV, "lint.bool:fail", "export NCCL_IB_DISABLE=1"},
	{PLAIN, "NCCL_IB_DISABLE", "no", ENV, "lint.bool:info lint.nccl:pass", NULL},
	{PLAIN, "NCCL_IB_DISABLE", "1", ENV, "lint.nccl:pass", NULL},
	{PLAIN, "NCCL_IB_TIMEOUT", "22s", ENV, "lint.bool:warn", "export NCCL_IB_TIMEOUT=22"},
	{PLAIN, "NCCL_IB_TIMEOUT", "x", ENV, "lint.bool:fail", "unset NCCL_IB_TIMEOUT"},
	{PLAIN, "NCCL_IB_GID_INDEX", "3", ENV, "lint.gid-index:warn", "unset NCCL_IB_GID_INDEX"},
	{PLAIN, "NCCL_IB_GID_INDEX", "-1", ENV, "lint.nccl:pass", NULL},
	{PLAIN, "NCCL_IB_HCA", "mlx5", ENV, "lint.ib.hca:info lint.nccl:pass", NULL},
	{PLAIN, "NCCL_ENV_PLUGIN", "x", ENV, "lint.env-plugin:warn", NULL},
	{PLAIN, "NCCL_DEBUG ", "INFO", CONF, "lint.conf.name:fail",
	 "sed -i '3c\\NCCL_DEBUG=INFO' /etc/nccl.conf"},
	{PLAIN, "export NCCL_DEBUG", "INFO", CONF, "lint.conf.name:fail",
	 "sed -i '3c\\NCCL_DEBUG=INFO' /etc/nccl.conf"},
	{PLAIN, "NCCL_DEBUG", "INFO # note", CONF, "lint.conf.comment:fail",
	 "sed -i '3c\\NCCL_DEBUG=INFO' /etc/nccl.conf"},
	{PLAIN, "NCCL_SOCKET_IFNAME", "=eth0 # rail", CONF,
	 "lint.ifname.blank:fail lint.ifname.nomatch:fail lint.conf.comment:fail",
	 "sed -i '3c\\NCCL_SOCKET_IFNAME==eth0' /etc/nccl.conf"},
	{PLAIN, "\xEF\xBB\xBFNCCL_DEBUG", "INFO", CONF, "lint.conf.name:fail",
	 "sed -i '3c\\NCCL_DEBUG=INFO' /etc/nccl.conf"},
	{PLAIN, "NCCL_SOKET_IFNAME", "eth0", "environment", "lint.name:warn",
	 "export NCCL_SOCKET_IFNAME=eth0"},
	{PLAIN, "NCCL_SOCKET_FMAILY", "AF_INET", "environment", "lint.name:warn",
	 "export NCCL_SOCKET_FAMILY=AF_INET"},
	{PLAIN, "NCCL_SOCKET_NTHREADS", "2", "environment", "lint.nccl:pass", NULL},
	{PLAIN, "NCCL_DEBUG", "INFO\r", CONF, "lint.conf.crlf:fail", NULL},
	{PLAIN, "NCCL_DEBUG", " INFO", CONF, "lint.conf.blank:fail", NULL},
	{PLAIN, "NCCL_DEBUG", "INFO", CONF, "lint.nccl:pass", NULL},
	{TWO_IB, "NCCL_IB_HCA", "=mlx5_1", ENV, "lint.nccl:pass", NULL},
	{TWO_IB, "NCCL_IB_HCA", "mlx5_1", ENV, "lint.ib.hca.overmatch:warn",
	 "export NCCL_IB_HCA='=mlx5_1'"},
	{TWO_IB, "NCCL_IB_HCA", "mlx4", ENV, "lint.ib.hca.nomatch:fail", "unset NCCL_IB_HCA"},
	{TWO_IB, "NCCL_IB_HCA", "mlx5_1:2", ENV, "lint.ib.hca.nomatch:fail", NULL},
	{TWO_IB, "NCCL_IB_HCA", "=mlx5_1, mlx5_10", ENV, "lint.ib.hca.blank:fail", NULL},
	{TWO_IB, "NCCL_IB_HCA", "=mlx5_1,^mlx5_10", ENV, "lint.ib.hca.caret-inside:warn",
	 "export NCCL_IB_HCA='=mlx5_1'"},
	{TWO_IB, "NCCL_IB_HCA", " mlx5_1", ENV, "lint.ib.hca.blank:fail lint.ib.hca.nomatch:fail",
	 "export NCCL_IB_HCA=mlx5_1"},
	{TWO_IB, "NCCL_IB_DISABLE", "1", ENV, "lint.ib.disable:warn", "unset NCCL_IB_DISABLE"},
	{TWO_IB, "NCCL_NET", "socket", ENV, "lint.net.socket:warn", "unset NCCL_NET"},
	{TWO_IB, "NCCL_NET", "ib", ENV, "lint.nccl:pass", NULL},
	{PLAIN, "NCCL_NET", "Socket", ENV, "lint.nccl:pass", NULL},
	{PLAIN, "NCCL_NET", "IB", ENV, "lint.net:fail", "unset NCCL_NET"},
	/* what a plug-in calls its network, it alone knows */
	{PLAIN, "NCCL_NET", "AWS Libfabric", ENV, "lint.nccl:pass", NULL},
	/* data goes over RDMA, so only the bootstrap's member counts */
	{TWO_IB, IFNAME, "=eth0", ENV, "lint.nccl:pass", NULL},
	{ONE_DOWN, "NCCL_IB_HCA", "=mlx5_1", ENV, "lint.ib.hca.nomatch:fail", NULL},
	{ONE_DOWN, "NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1", ENV, "lint.ib.hca.nomatch:warn", NULL},
	{ONE_DOWN, "NCCL_IB_HCA", "=mlx5_0,mlx5_9", ENV, "lint.ib.hca.nomatch:info lint.nccl:pass",
	 NULL},
	{ONE_DOWN, "NCCL_IB_HCA", "mlx5", ENV, "lint.nccl:pass", NULL},
	{ONE_DOWN, "NCCL_IB_HCA", "^mlx5_9", ENV, "lint.nccl:pass", NULL},
	{MIXED, "NCCL_IB_HCA", "mlx5", ENV, "lint.ib.hca.mixed:warn", NULL},
	{ZERO_GID, "NCCL_IB_HCA", "=mlx5_0:1", ENV, "lint.nccl:pass", NULL},
	{ZERO_GID, "NCCL_IB_HCA", "mlx5", ENV, "lint.ib.hca.gid:warn",
	 "eval \"$(ifprobe --suggest)\""},
	{ZERO_GID, "NCCL_IB_HCA", "^mlx5_0", ENV, "lint.ib.hca.gid:fail", NULL},
	{ZERO_GID, "NCCL_IB_HCA", "=mlx5_1:1", ENV, "lint.ib.hca.gid:fail",
	 "eval \"$(ifprobe --suggest)\""},
};

static void settings_are_judged(void **state)
{
	struct bench b = {0};
	const char *fix;

	(void)state;
	unsetenv("MASTER_ADDR");
	for (size_t i = 0; i < ARRAY_LEN(lints); i++) {
		const struct lint_row *l = &lints[i];
		const char *got;

		load(&b, l->machine);
		set(&b, l->name, l->value, l->origin);
		got = check(&b, &fix);
		if (!streq(got, l->findings))
			fail_msg("%s=[%s]: %s, not %s", l->name, l->value, got, l->findings);
		if (l->fix && !streq(fix, l->fix))
			fail_msg("%s=[%s]: fix %s, not %s", l->name, l->value, fix, l->fix);
	}
	composed_done(&b.c);
}

static void the_rest_is_judged(void **state)
{
	static char long_name[1200];
	struct bench b = {0};
	const char *fix;

	(void)state;
	load(&b, PLAIN);
	assert_string_equal(check(&b, &fix), "");
	set(&b, IFNAME, "=eth1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g,h", ENV);
	assert_non_null(strstr(check(&b, &fix), "lint.ifname.too-many:warn"));
	/* NCCL's list has 16 x 68 bytes */
	memset(long_name, 'x', sizeof(long_name) - 1);
	memcpy(long_name, "=eth1,", 6);
	load(&b, PLAIN);
	b.in.nccl_version = 23004;
	set(&b, IFNAME, long_name, ENV);
	assert_non_null(strstr(check(&b, &fix), "lint.ifname.overrun:fail"));
	b.in.nccl_version = 23007; /* cuts it */
	assert_string_equal(check(&b, &fix), "lint.ifname.nomatch:info lint.nccl:pass");
	long_name[16 * 68 - 68 + 5] = '\0'; /* an entry that just fits after =eth1, */
	load(&b, PLAIN);
	b.in.nccl_version = 23004;
	set(&b, IFNAME, long_name, ENV);
	assert_null(strstr(check(&b, &fix), "lint.ifname.overrun"));
	/* PyTorch makes ids of its own */
	load(&b, PLAIN);
	set(&b, "NCCL_COMM_ID", "10.0.0.9:1", ENV);
	setenv("MASTER_ADDR", "10.0.0.9", 1);
	assert_string_equal(check(&b, &fix), "lint.comm-id:warn");
	unsetenv("MASTER_ADDR");
	/* the family leaves the best interface with an address of no use */
	load(&b, LL6);
	set(&b, IFNAME, "=eth0", ENV);
	assert_string_equal(check(&b, &fix), "lint.nccl:pass");
	set(&b, "NCCL_SOCKET_FAMILY", "AF_INET6", ENV);
	assert_string_equal(check(&b, &fix),
			    "lint.ifname.unreachable:warn lint.family.linklocal:warn");
	assert_string_equal(fix, "eval \"$(ifprobe --suggest)\"");
	/* NCCL_NET with what decides whether there is such a network */
	load(&b, PLAIN);
	set(&b, "NCCL_NET", "IB0", ENV);
	set(&b, "NCCL_NET_PLUGIN", "none", ENV);
	assert_string_equal(check(&b, &fix), "lint.net:fail");
	assert_string_equal(fix, "unset NCCL_NET");
	load(&b, TWO_IB);
	set(&b, "NCCL_NET", "IB", ENV);
	assert_true(nccl_ib_carries_data(&b.in));
	set(&b, "NCCL_IB_DISABLE", "1", ENV);
	assert_string_equal(check(&b, &fix), "lint.net:fail lint.ib.disable:warn");
	load(&b, TWO_IB);
	set(&b, "NCCL_NET", "Socket", ENV);
	assert_false(nccl_ib_carries_data(&b.in));
	/* a line that came too late */
	load(&b, PLAIN);
	set(&b, "NCCL_DEBUG", "WARN", ENV);
	set(&b, "NCCL_DEBUG", "INFO", CONF);
	assert_string_equal(check(&b, &fix), "lint.conf.shadowed:info lint.nccl:pass");
	load(&b, PLAIN);
	*LIST_ADD(b.s.a, &b.s.unreadable) =
		(struct conf_trouble){.path = "/etc/nccl.conf", .why = "is a folder"};
	assert_string_equal(check(&b, &fix), "lint.conf.unreadable:warn");
	composed_done(&b.c);
}

/* What NCCL does with a setting is not what it did, or will do again. */
static void releases_differ(void **state)
{
	static const struct {
		unsigned version;
		const char *name, *value, *findings;
	} rows[] = {
		/* 2.29 compares subnets the wrong way round: what is outside comes first */
		{22809, "NCCL_COMM_ID", "10.0.0.9:1", "lint.comm-id:info lint.nccl:pass"},
		{22902, "NCCL_COMM_ID", "10.0.0.9:1", "lint.comm-id.bad:fail"},
		{22907, "NCCL_COMM_ID", "192.0.2.9:1", "lint.comm-id.bad:fail"},
		{23003, "NCCL_COMM_ID", "10.0.0.9:1", "lint.comm-id:info lint.nccl:pass"},
		/* what is not running is chosen up to 2.27, and leads nowhere */
		{22803, IFNAME, "=ens5", "lint.ifname.nomatch:fail"},
		{22707, IFNAME, "=ens5", "lint.ifname.unreachable:warn"},
		/* without it older ones take entry 0: to unset it would be bad advice */
		{22105, "NCCL_IB_GID_INDEX", "3", "lint.gid-index:warn"},
		{22005, "NCCL_IB_GID_INDEX", "3", "lint.gid-index:info lint.nccl:pass"},
		{22807, "NCCL_ENV_PLUGIN", "x", "lint.env-plugin:warn"},
		{22803, "NCCL_ENV_PLUGIN", "x", "lint.env-plugin:info lint.nccl:pass"},
	};
	struct bench b = {0};
	const char *fix;

	(void)state;
	unsetenv("MASTER_ADDR");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		load(&b, PLAIN);
		b.in.nccl_version = rows[i].version;
		set(&b, rows[i].name, rows[i].value, ENV);
		assert_string_equal(check(&b, &fix), rows[i].findings);
	}
	composed_done(&b.c);
}

/* --- suggestions ------------------------------------------------------------------ */

static const struct suggest_row {
	const char *machine, *iface, *address;
	const char *set_family; /* NCCL_SOCKET_FAMILY that is set already, or NULL */
	const char *env;
	size_t left_out;
} suggestions[] = {
	{PLAIN, "eth1", "10.0.0.5", NULL, IFNAME "==eth1", 0},
	{V6, "eth0", "10.0.0.5", NULL, IFNAME "==eth0", 0},
	{V6, "eth0", "fd00::5", NULL, IFNAME "==eth0 NCCL_SOCKET_FAMILY=AF_INET6", 0},
	{V6, "eth0", "10.0.0.5", "AF_INET6", IFNAME "==eth0 NCCL_SOCKET_FAMILY=AF_INET", 0},
	/* said again: what is set here need not be set where the lines are read */
	{V6, "eth0", "fd00::5", "AF_INET6", IFNAME "==eth0 NCCL_SOCKET_FAMILY=AF_INET6", 0},
	/* the label decides what NCCL can be told */
	{LO "link 2 eth0\naddr eth0 10.0.0.5/24 label=eth0:1\n", "eth0", "10.0.0.5", NULL,
	 IFNAME "=eth0", 1},
	{LO "link 2 eth0\naddr eth0 10.0.0.5/24\naddr eth0 10.0.1.5/24 label=eth0:1\n", "eth0",
	 "10.0.1.5", NULL, IFNAME "==eth0", 1},
	{LO "link 2 eth0\naddr eth0 10.0.0.5/24 label=eth0:1\naddr eth0 fd00::5/64\n", "eth0",
	 "10.0.0.5", NULL, IFNAME "=eth0", 1},
	{LO "link 2 eth0\naddr eth0 10.0.0.5/24 label=eth0:1\naddr eth0 fd00::5/64\n"
	    "link 3 eth01\naddr eth01 10.1.0.5/24\n",
	 "eth0", "10.0.0.5", NULL, IFNAME "==eth0", 1},
	{LO "link 2 a,b\naddr a,b 10.0.0.5/24\n", "a,b", "10.0.0.5", NULL, IFNAME "=a,", 1},
	{TWO_IB, "eth0", "10.0.0.5", NULL, IFNAME "==eth0", 0},
	{ONE_DOWN, "eth0", "10.0.0.5", NULL, IFNAME "==eth0", 0},
	{MIXED, "eth0", "10.0.0.5", NULL, IFNAME "==eth0 NCCL_IB_HCA==mlx5_0:1", 1},
	{ZERO_GID, "eth0", "10.0.0.5", NULL, IFNAME "==eth0 NCCL_IB_HCA==mlx5_0:1", 1},
};

static void suggest_one(struct bench *b, const struct suggest_row *row)
{
	struct suggestion s;
	struct text env;
	union addr a;

	load(b, row->machine);
	if (row->set_family)
		set(b, "NCCL_SOCKET_FAMILY", row->set_family, ENV);
	assert_int_equal(addr_parse(row->address, &a), 0);
	s = (struct suggestion){.a = &b->c.a,
				.iface = composed_iface(&b->c, row->iface),
				.addr = inventory_by_addr(&b->c.inv, &a)};
	assert_non_null(s.addr);
	nccl_suggest(&b->in, &s);
	text_init(&env, &b->c.a);
	for (size_t i = 0; i < s.env.n; i++)
		text_addf(&env, "%s%s=%s", i ? " " : "", s.env.v[i].name, s.env.v[i].value);
	if (!streq(env.s, row->env) || s.left_out.n != row->left_out)
		fail_msg("%s %s: %s, %zu left out; not %s", row->iface, row->address, env.s,
			 s.left_out.n, row->env);
}

static void what_helps_is_suggested(void **state)
{
	struct bench b = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(suggestions); i++)
		suggest_one(&b, &suggestions[i]);
	composed_done(&b.c);
}

static void older_ones_are_not_told_that_they_find_the_gid(void **state)
{
	static const unsigned versions[] = {22005, 22105};
	struct bench b = {0};
	struct suggestion s;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		load(&b, ZERO_GID);
		b.in.nccl_version = versions[i];
		s = (struct suggestion){.a = &b.c.a, .iface = composed_iface(&b.c, "eth0")};
		nccl_suggest(&b.in, &s);
		assert_int_equal(s.left_out.n, 1);
		assert_non_null(strstr(s.left_out.v[0],
				       i ? "NCCL finds the entry itself" : "older than 2.21"));
	}
	composed_done(&b.c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_are_judged),
		cmocka_unit_test(the_rest_is_judged),
		cmocka_unit_test(releases_differ),
		cmocka_unit_test(what_helps_is_suggested),
		cmocka_unit_test(older_ones_are_not_told_that_they_find_the_gid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
