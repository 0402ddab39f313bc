/* Which names NCCL reads, which words it knows, and what is said of others. */
#include "lib/host/nccl_alike.h"
#include "probes/log/settings.h"
#include "probes/rules/nccl_known.h"
#include "tests/unit/lint_bench.h"

#define LO "link 1 lo type=loopback state=unknown\naddr lo 127.0.0.1/8\n"
#define PLAIN LO "link 2 eth0\naddr eth0 10.0.0.5/24\n"
#define RDMA                                                                                       \
	PLAIN "link 20 n0 pci=0000:10:00.0\nrdma mlx5_0 pci=0000:10:00.0\n"                        \
	      "port mlx5_0 1 state=\"4: ACTIVE\" layer=InfiniBand rate=\"200 Gb/sec (4X HDR)\" "   \
	      "gids=4\n"

static void the_list_is_in_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < nccl_known_n; i++) {
		const struct nccl_known *k = &nccl_known[i];

		if (i && strcmp(k[-1].name, k->name) >= 0)
			fail_msg("%s", k->name);
		if (nccl_known_elsewhere(k->name) || (k->gone && k->gone <= k->since))
			fail_msg("%s", k->name);
		assert_ptr_equal(nccl_known_find(k->name), k);
	}
	assert_null(nccl_known_find("NCCL_FOO"));
}

/* Who speaks of a setting of NCCL's elsewhere in this suite means one that there is. */
static void others_speak_of_what_there_is(void **state)
{
	char words[] = TRANSPORT_SETTINGS, *rest = words, *word;

	(void)state;
	for (size_t i = 0; i < nccl_settings_n; i++)
		if (!nccl_known_find(nccl_settings[i].name))
			fail_msg("%s", nccl_settings[i].name);
	while ((word = strsep(&rest, "|")))
		if (!nccl_known_find(word))
			fail_msg("%s", word);
}

#define QUIET "lint.nccl:pass"
#define NONE_SUCH "lint.name:info lint.nccl:pass"
static const struct row {
	const char *machine;
	unsigned version; /* 0: the newest */
	const char *name, *value, *findings;
	const char *fix; /* of the first finding; NULL: whatever */
} rows[] = {
	/* a letter or two, or what many call it */
	{PLAIN, 23007, "NCCL_IB_DISABLED", "1", "lint.name:warn", "export NCCL_IB_DISABLE=1"},
	{PLAIN, 23007, "NCCL_P2P_DISABLED", "1", "lint.name:warn", "export NCCL_P2P_DISABLE=1"},
	{PLAIN, 23007, "NCCL_SOCKET_NAME", "eth0", "lint.name:warn",
	 "export NCCL_SOCKET_IFNAME=eth0"},
	{PLAIN, 23007, "NCCL_SOCKET_IFACE", "eth0", "lint.name:warn",
	 "export NCCL_SOCKET_IFNAME=eth0"},
	{PLAIN, 23007, "NCCL_IFNAME", "eth0", "lint.name:warn", "export NCCL_SOCKET_IFNAME=eth0"},
	{PLAIN, 23007, "NCCL_DEBUG_LEVEL", "INFO", "lint.name:warn", "export NCCL_DEBUG=INFO"},
	{PLAIN, 23007, "NCCL_IB_HCAS", "mlx5_0", "lint.name:warn", "export NCCL_IB_HCA=mlx5_0"},
	{PLAIN, 23007, "NCCL_IB_GID_IDX", "3", "lint.name:warn", "export NCCL_IB_GID_INDEX=3"},
	{PLAIN, 23007, "NCCL_DISABLE_IB", "1", "lint.name:warn", "export NCCL_IB_DISABLE=1"},
	{PLAIN, 0, "NCCL_IB_DISABLED", "1", "lint.name:warn", "export NCCL_IB_DISABLE=1"},
	/* a newer one may have such a name */
	{PLAIN, 29907, "NCCL_IB_DISABLED", "1", NONE_SUCH, "export NCCL_IB_DISABLE=1"},
	{PLAIN, 23007, "NCCL_FOO", "1", NONE_SUCH, ""},
	{PLAIN, 23007, "NCCL_MINBYTES", "8G", NONE_SUCH, ""},
	/* what others read */
	{PLAIN, 23007, "NCCL_FASTRAK_CTRL_DEV", "eth0", QUIET, ""},
	{PLAIN, 23007, "NCCL_FASTRAK_IFNAME", "eth1,eth2", QUIET, ""},
	{PLAIN, 23007, "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME", "eth1", QUIET, ""},
	{PLAIN, 23007, "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE", "/x", QUIET, ""},
	{PLAIN, 23007, "NCCL_TUNER_CONFIG_PATH", "/x", QUIET, ""},
	{PLAIN, 23007, "NCCL_DYNAMIC_CHUNK_SIZE", "524288", QUIET, ""},
	{PLAIN, 23007, "NCCL_INSPECTOR_ENABLE", "1", QUIET, ""},
	{PLAIN, 23007, "NCCL_SHARP_DISABLE", "1", QUIET, ""},
	{PLAIN, 23007, "NCCL_IBEXT_DISABLE", "1", QUIET, ""},
	{PLAIN, 23007, "NCCL_TESTS_SPLIT", "AND 0x7", QUIET, ""},
	{PLAIN, 23007, "NCCL_RINGS_REMAP", "0", QUIET, ""},
	{PLAIN, 23007, "NCCL_VERSION", "2.27.3", QUIET, ""},
	{PLAIN, 23007, "NCCL_ASYNC_ERROR_HANDLING", "1", QUIET, ""},
	{PLAIN, 23007, "NCCL_BLOCKING_WAIT", "1", QUIET, ""},
	{PLAIN, 23007, "NCCL_HIGH_PRIORITY", "1", QUIET, ""},
	/* other releases' */
	{PLAIN, 22703, "NCCL_MULTI_RANK_GPU_ENABLE", "yes", "lint.name.release:info lint.nccl:pass",
	 ""},
	{PLAIN, 22703, "NCCL_TREE_THRESHOLD", "0", "lint.name.release:info lint.nccl:pass", ""},
	{PLAIN, 23007, "NCCL_SHM_USE_CUDA_MEMCPY", "1", "lint.name.release:info lint.nccl:pass",
	 ""},
	{PLAIN, 23004, "NCCL_SHM_USE_CUDA_MEMCPY", "1", QUIET, ""},
	/* numbers */
	{PLAIN, 23007, "NCCL_MULTI_RANK_GPU_ENABLE", "yes", "lint.bool:fail",
	 "export NCCL_MULTI_RANK_GPU_ENABLE=1"},
	{PLAIN, 23007, "NCCL_IGNORE_CPU_AFFINITY", "yes", "lint.bool:fail", NULL},
	{PLAIN, 23007, "NCCL_IB_SPLIT_DATA_ON_QPS", "yes", "lint.bool:fail", NULL},
	{PLAIN, 23007, "NCCL_BUFFSIZE", "4M", "lint.bool:warn", "export NCCL_BUFFSIZE=4"},
	{PLAIN, 23007, "NCCL_CROSS_NIC", "0", QUIET, ""},
	{PLAIN, 23007, "NCCL_NET_GDR_READ", "-2", QUIET, ""},
	{PLAIN, 23004, "NCCL_SET_THREAD_NAME", "true", "lint.bool:fail",
	 "export NCCL_SET_THREAD_NAME=1"},
	{PLAIN, 23007, "NCCL_SET_THREAD_NAME", "true", QUIET, ""},
	{PLAIN, 23007, "NCCL_SET_THREAD_NAME", "yes", "lint.word:warn", NULL},
	/* words */
	{PLAIN, 23007, "NCCL_ALGO", "Rings", "lint.word:fail", "export NCCL_ALGO=Ring"},
	{PLAIN, 22304, "NCCL_ALGO", "Rings", "lint.word:fail", "export NCCL_ALGO=Ring"},
	{PLAIN, 23007, "NCCL_ALGO", "ring,^tree", "lint.word:fail", "unset NCCL_ALGO"},
	{PLAIN, 23007, "NCCL_ALGO", "^tree,collnetdirect", QUIET, ""},
	{PLAIN, 23007, "NCCL_ALGO", "Tree;AllReduce:Ring,NVLS;broadcast:^PAT", QUIET, ""},
	{PLAIN, 22304, "NCCL_ALGO", "allreduce:Ring,Tree", "lint.word:warn", "unset NCCL_ALGO"},
	{PLAIN, 23007, "NCCL_ALGO", "Ring;Tree", "lint.word:fail", "unset NCCL_ALGO"},
	{PLAIN, 23007, "NCCL_ALGO", "alltoall:Ring", "lint.word:fail", "unset NCCL_ALGO"},
	{PLAIN, 22203, "NCCL_ALGO", "Ring,PAT", "lint.word:warn", "unset NCCL_ALGO"},
	{PLAIN, 23007, "NCCL_ALGO", "", QUIET, ""},
	{PLAIN, 23007, "NCCL_PROTO", "LL256", "lint.word:fail", "unset NCCL_PROTO"},
	{PLAIN, 23007, "NCCL_PROTO", "simple,LL256", "lint.word:fail", "unset NCCL_PROTO"},
	{PLAIN, 22304, "NCCL_PROTO", "simple,LL256", "lint.word:warn", "unset NCCL_PROTO"},
	{PLAIN, 23007, "NCCL_PROTO", "^LL128;allreduce:LL128", QUIET, ""},
	{PLAIN, 23007, "NCCL_P2P_LEVEL", "NVLINK", "lint.word:warn", "unset NCCL_P2P_LEVEL"},
	{PLAIN, 23007, "NCCL_P2P_LEVEL", "NVL", QUIET, ""},
	{PLAIN, 23007, "NCCL_P2P_LEVEL", "2", QUIET, ""},
	{PLAIN, 23007, "NCCL_NET_GDR_LEVEL", "PXX", "lint.word:warn", "unset NCCL_NET_GDR_LEVEL"},
	{PLAIN, 23007, "NCCL_NET_GDR_LEVEL", "phb", "lint.word:warn",
	 "export NCCL_NET_GDR_LEVEL=PHB"},
	{PLAIN, 23007, "NCCL_NET_MERGE_LEVEL", "PORT", QUIET, ""},
	{PLAIN, 23007, "NCCL_NET_MERGE_LEVEL", "NODE", "lint.word:warn", NULL},
	{PLAIN, 23007, "NCCL_NETDEVS_POLICY", "max:2", QUIET, ""},
	{PLAIN, 23007, "NCCL_NETDEVS_POLICY", "2", "lint.word:warn", NULL},
	{PLAIN, 23007, "NCCL_CTA_POLICY", "1", QUIET, ""},
	{PLAIN, 23007, "NCCL_CTA_POLICY", "efficiency|zero", QUIET, ""},
	{PLAIN, 22809, "NCCL_CTA_POLICY", "zero", "lint.bool:fail", NULL},
	{PLAIN, 23007, "NCCL_DEBUG", "info", QUIET, ""},
	{PLAIN, 23007, "NCCL_DEBUG", "OFF", QUIET, ""},
	{PLAIN, 23203, "NCCL_DEBUG", "ATTN", QUIET, ""},
	{PLAIN, 23007, "NCCL_DEBUG", "INFOS", "lint.word:warn", "export NCCL_DEBUG=INFO"},
	{PLAIN, 23007, "NCCL_DEBUG_SUBSYS", "^INIT,net", QUIET, ""},
	{PLAIN, 23007, "NCCL_DEBUG_SUBSYS", "INIT,NETS", "lint.word:warn", NULL},
	{PLAIN, 23007, "NCCL_IB_ADDR_FAMILY", "inet6", "lint.word:warn", NULL},
	{PLAIN, 23007, "NCCL_IB_ADDR_FAMILY", "AF_INET6", QUIET, ""},
	{PLAIN, 23007, "NCCL_IB_ADDR_RANGE", "10.0.0.0/16", QUIET, ""},
	{PLAIN, 23007, "NCCL_IB_ADDR_RANGE", "10.0.0.0", "lint.ib.addr-range:warn", NULL},
	{PLAIN, 23007, "NCCL_IB_ADDR_RANGE", "fd00::/64", "lint.ib.addr-range:warn", NULL},
	{PLAIN, 23007, "NCCL_IB_ADDR_RANGE", "10.0.0.0/64", "lint.ib.addr-range:warn", NULL},
};

static void one(struct bench *b, const struct row *r)
{
	const char *fix, *got;

	load(b, r->machine);
	b->in.nccl_version = r->version;
	set(b, r->name, r->value, ENV);
	got = check(b, &fix);
	if (!streq(got, r->findings))
		fail_msg("%s=[%s] %u: %s, not %s", r->name, r->value, r->version, got, r->findings);
	if (r->fix && !streq(fix, r->fix))
		fail_msg("%s=[%s] %u: fix %s, not %s", r->name, r->value, r->version, fix, r->fix);
}

static void names_and_words_are_judged(void **state)
{
	struct bench b = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		one(&b, &rows[i]);
	composed_done(&b.c);
}

/* NCCL_OOB_NET_IFNAME: names devices of what carries the data. */
static void the_bootstraps_device_is_looked_for(void **state)
{
	static const struct row oob[] = {
		{RDMA, 23007, "", "eth0", "lint.oob:fail", "unset NCCL_OOB_NET_IFNAME"},
		{RDMA, 22304, "", "eth0", "lint.oob:warn", "unset NCCL_OOB_NET_IFNAME"},
		{RDMA, 23007, "", "=mlx5_0:1", QUIET, ""},
		{PLAIN, 23007, "", "eth0", QUIET, ""},
		{PLAIN, 23007, "", "ens5", "lint.oob:fail", NULL},
		{PLAIN, 23007, "", "^lo", QUIET, ""},
	};
	struct bench b = {0};
	const char *fix;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(oob); i++) {
		load(&b, oob[i].machine);
		b.in.nccl_version = oob[i].version;
		set(&b, "NCCL_OOB_NET_IFNAME", oob[i].value, ENV);
		assert_string_equal(check(&b, &fix), "lint.oob:info lint.nccl:pass");
		set(&b, "NCCL_OOB_NET_ENABLE", "1", ENV);
		/* what a plug-in's devices are called, it alone knows */
		assert_string_equal(check(&b, &fix), QUIET);
		set(&b, "NCCL_NET_PLUGIN", "none", ENV);
		assert_string_equal(check(&b, &fix), oob[i].findings);
		if (oob[i].fix)
			assert_string_equal(fix, oob[i].fix);
	}
	composed_done(&b.c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list_is_in_order),
		cmocka_unit_test(others_speak_of_what_there_is),
		cmocka_unit_test(names_and_words_are_judged),
		cmocka_unit_test(the_bootstraps_device_is_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
