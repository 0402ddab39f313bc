/* The EFA stack of a p4d as composed: adapters, libraries where PyTorch looks, pairs, settings. */
#include "probes/node/efa.h"
#include "tests/unit/gpu_world.h"

/*
 * Places as Amazon's EFA installer has them, the plug-in's text as `strings`
 * shows it in public reports; composed, not recorded.
 */
static const char fabric[] = "/opt/amazon/efa/lib/libfabric.so.1";
static const char fabric_pc[] = "/opt/amazon/efa/lib/pkgconfig/libfabric.pc";
static const char plugin[] = "/opt/amazon/ofi-nccl/lib/libnccl-net.so";
static const char ldconfig[] = "/etc/ld.so.conf.d/efa.conf";
static const char installed[] = "/opt/amazon/efa_installed_packages";
static const char plugin_bytes[] =
	"ELF? aws-ofi-nccl %s\nNET/OFI Initializing aws-ofi-nccl 1.13.2-aws\n";
static const char *const variables[] = {
	"FI_PROVIDER",
	"NCCL_NET",
	"NCCL_NET_PLUGIN",
	"FI_EFA_USE_DEVICE_RDMA",
	"NCCL_PROTO",
	"FI_LOG_LEVEL",
	"VIRTUAL_ENV",
	"CONDA_PREFIX",
	"LD_LIBRARY_PATH",
	"WINDSOCK_NCCL",
	"FI_EFA_SET_CUDA_SYNC_MEMOPS",
};

static void healthy(struct gpu_world *w)
{
	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		(void)unsetenv(variables[i]);
	gpu_make(w, "aws-p4d");
	gpu_says(w, NULL, "");
	gpu_file(w, "/sys/class/dmi/id/product_name", "p4d.24xlarge\n");
	for (int i = 0; i < 4; i++)
		gpu_file(w, arena_printf(&w->c.a, "/dev/infiniband/uverbs%d", i), "");
	gpu_file(w, ldconfig, "/opt/amazon/efa/lib\n/opt/amazon/ofi-nccl/lib\n");
	gpu_file(w, fabric, "");
	gpu_file(w, fabric_pc, "Name: libfabric\nVersion: 1.22.0amzn1.0\n");
	gpu_file(w, plugin, plugin_bytes);
	gpu_file(w, installed, "# EFA installer version: 1.36.0\n");
	gpu_file(w, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "5128\n");
	gpu_file(w, "/usr/local/lib/python3.10/dist-packages/nvidia_nccl_cu12-2.21.5.dist-info/x",
		 "");
}

static void remove_file(struct gpu_world *w, const char *path)
{
	assert_int_equal(unlink(arena_printf(&w->c.a, "%s%s", w->c.dir, path)), 0);
}

static void expect(struct gpu_world *w, const char *check, const char *subject, enum status st,
		   const char *message, const char *fix)
{
	const struct gpu_row row = {NULL, check, subject, st, message, fix};

	gpu_run(w);
	gpu_expect(w, &row);
}

static void t_healthy(void **state)
{
	struct gpu_world w;
	const cJSON *o;

	(void)state;
	healthy(&w);
	gpu_run(&w);
	for (size_t i = 0; i < w.p.t.items.n; i++) {
		const struct finding *f = w.p.t.items.v[i].f;

		if (starts_with(f->check, "efa.") && f->status != ST_PASS)
			fail_msg("%s %s: %s", f->check, f->subject, f->message);
	}
	o = json_get(w.data, "efa");
	assert_string_equal(json_get_str(o, "instance_type"), "p4d.24xlarge");
	assert_int_equal((int)json_get_num(o, "adapters", 0), 4);
	assert_int_equal((int)json_get_num(o, "adapters_of_type", 0), 4);
	assert_string_equal(json_get_str(o, "plugin"), plugin);
	assert_string_equal(json_get_str(o, "plugin_version"), "1.13.2-aws");
	assert_string_equal(json_get_str(o, "libfabric_version"), "1.22.0amzn1.0");
	assert_string_equal(json_get_str(o, "installer"), "1.36.0");
	assert_null(gpu_found(&w, "efa.open", NULL));
	gpu_done(&w);
}

static void t_adapters(void **state)
{
	struct gpu_world w;

	(void)state;
	healthy(&w);
	gpu_file(&w, "/sys/class/dmi/id/product_name", "p5.48xlarge\n");
	expect(&w, "efa.adapters", NULL, ST_WARN, "4 of the 32 that p5.48xlarge can have",
	       "aws ec2");
	gpu_file(&w, "/sys/class/dmi/id/product_name", "x9.new\n");
	expect(&w, "efa.adapters", NULL, ST_PASS, "4 on x9.new", NULL);
	remove_file(&w, "/dev/infiniband/uverbs3");
	expect(&w, "efa.open", NULL, ST_WARN, "3 of 4", "sudo modprobe ib_uverbs");
	gpu_file(&w, "/.dockerenv", "");
	expect(&w, "efa.open", NULL, ST_WARN, "3 of 4", "docker run --device");
	remove_file(&w, "/sys/bus/pci/devices/0000:10:1b.0/driver");
	expect(&w, "efa.adapters", NULL, ST_FAIL, "1 of 4 have no driver", "sudo modprobe efa");
	gpu_file(&w, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n");
	expect(&w, "efa.hugepages", NULL, ST_INFO, "none are set aside", "vm.nr_hugepages");
	gpu_done(&w);
}

static void t_places(void **state)
{
	struct gpu_world w;

	(void)state;
	healthy(&w);
	gpu_file(&w, ldconfig, "# nothing\n");
	expect(&w, "efa.plugin", NULL, ST_WARN, "where PyTorch does not look",
	       "export LD_LIBRARY_PATH=/opt/amazon/ofi-nccl/lib$");
	expect(&w, "efa.libfabric", NULL, ST_WARN, "where PyTorch does not look",
	       "export LD_LIBRARY_PATH=/opt/amazon/efa/lib$");
	assert_int_equal(setenv("LD_LIBRARY_PATH", "/x:/opt/amazon/ofi-nccl/lib", 1), 0);
	expect(&w, "efa.plugin", NULL, ST_PASS, plugin, NULL);
	(void)unsetenv("LD_LIBRARY_PATH");
	/* conda brings its own, beside its Python */
	assert_int_equal(setenv("CONDA_PREFIX", "/opt/conda", 1), 0);
	gpu_file(&w, "/opt/conda/lib/libnccl-net.so", plugin_bytes);
	expect(&w, "efa.plugin", NULL, ST_PASS, "/opt/conda/lib/libnccl-net.so, 1.13.2-aws", NULL);
	remove_file(&w, "/opt/conda/lib/libnccl-net.so");
	remove_file(&w, plugin);
	expect(&w, "efa.plugin", NULL, ST_WARN, "is not installed", NULL);
	gpu_file(&w, "/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so", plugin_bytes);
	expect(&w, "efa.plugin", NULL, ST_WARN, "only when it is told",
	       "export NCCL_NET_PLUGIN=/opt");
	assert_int_equal(
		setenv("NCCL_NET_PLUGIN", "/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so", 1), 0);
	expect(&w, "efa.plugin", NULL, ST_PASS, "1.13.2-aws", NULL);
	gpu_file(&w, ldconfig, "/opt/amazon/ofi-nccl/lib\n");
	assert_int_equal(setenv("NCCL_NET_PLUGIN", "ofi", 1), 0);
	expect(&w, "efa.plugin", NULL, ST_PASS, "libnccl-net-ofi.so", NULL);
	(void)unsetenv("NCCL_NET_PLUGIN");
	gpu_file(&w, "/opt/amazon/ofi-nccl/lib/libnccl-net.so", "somebody else's");
	expect(&w, "efa.plugin", NULL, ST_INFO, "another network plug-in", NULL);
	remove_file(&w, fabric);
	expect(&w, "efa.libfabric", NULL, ST_WARN, "is not installed", "efa_installer.sh");
	gpu_done(&w);
}

static void t_pairs(void **state)
{
	struct gpu_world w;

	(void)state;
	healthy(&w);
	expect(&w, "efa.pair", NULL, ST_PASS, NULL, NULL);
	gpu_file(&w, installed, "# EFA installer version: 1.26.1\n");
	expect(&w, "efa.pair", "NCCL 2.21 with EFA installer 1.26.1", ST_FAIL, "do not go together",
	       "export FI_EFA_SET_CUDA_SYNC_MEMOPS=0");
	assert_int_equal(setenv("FI_EFA_SET_CUDA_SYNC_MEMOPS", "0", 1), 0);
	expect(&w, "efa.pair", NULL, ST_PASS, NULL, NULL);
	gpu_file(&w, fabric_pc, "Version: 1.17.1amzn1.0\n");
	expect(&w, "efa.pair", "aws-ofi-nccl 1.13.2-aws with libfabric 1.17.1amzn1.0", ST_FAIL,
	       "refuses", NULL);
	assert_true(efa_compare("1.18.1amzn1.0", 1, 18) == 0);
	assert_true(efa_compare("2.1.0", 1, 29) > 0);
	assert_true(efa_compare("1.9", 1, 29) < 0);
	assert_true(efa_compare(NULL, 1, 29) == 0);
	gpu_done(&w);
}

static void t_settings(void **state)
{
	static const struct {
		const char *name, *value, *instance;
		enum status st; /* PASS: nothing is said of it */
	} rows[] = {
		{"FI_PROVIDER", "tcp", "p4d.24xlarge", ST_WARN},
		{"FI_PROVIDER", "efa", "p4d.24xlarge", ST_PASS},
		{"FI_PROVIDER", "^efa", "p4d.24xlarge", ST_WARN},
		{"FI_PROVIDER", "^tcp", "p4d.24xlarge", ST_PASS},
		{"NCCL_NET", "Socket", "p4d.24xlarge", ST_WARN},
		{"NCCL_NET", "ib", "p4d.24xlarge", ST_WARN},
		{"NCCL_NET", "AWS Libfabric", "p4d.24xlarge", ST_PASS},
		{"NCCL_NET_PLUGIN", "none", "p4d.24xlarge", ST_WARN},
		{"FI_EFA_USE_DEVICE_RDMA", "1", "p3dn.24xlarge", ST_FAIL},
		{"FI_EFA_USE_DEVICE_RDMA", "1", "p4d.24xlarge", ST_PASS},
		{"FI_EFA_USE_DEVICE_RDMA", "0", "p4d.24xlarge", ST_WARN},
		{"NCCL_PROTO", "LL128", "p4d.24xlarge", ST_WARN},
		{"NCCL_PROTO", "simple", "p4d.24xlarge", ST_PASS},
		{"NCCL_PROTO", "^LL", "p4d.24xlarge", ST_PASS},
		{"FI_LOG_LEVEL", "debug", "p4d.24xlarge", ST_WARN},
		{"FI_LOG_LEVEL", "warn", "p4d.24xlarge", ST_PASS},
	};
	struct gpu_world w;

	(void)state;
	healthy(&w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool wrong = rows[i].st != ST_PASS;

		gpu_file(&w, "/sys/class/dmi/id/product_name",
			 arena_printf(&w.c.a, "%s\n", rows[i].instance));
		assert_int_equal(setenv(rows[i].name, rows[i].value, 1), 0);
		expect(&w, "efa.setting", wrong ? rows[i].name : NULL, rows[i].st, NULL,
		       wrong ? arena_printf(&w.c.a, "unset %s", rows[i].name) : NULL);
		(void)unsetenv(rows[i].name);
	}
	gpu_done(&w);
}

/* A machine without adapters that could have some: said once, and no stack is missed. */
static void t_none_of_some(void **state)
{
	static const struct {
		const char *type;
		enum status st;
		const char *message;
	} rows[] = {
		{"p5.48xlarge", ST_WARN, "0 of the 32 that p5.48xlarge can have"},
		{"g6e.48xlarge", ST_WARN, "0 of the 4 that"},
		{"g5.12xlarge", ST_INFO, "0 of the 1 that"},
	};
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, "");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t said = 0;

		gpu_file(&w, "/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
		gpu_file(&w, "/sys/class/dmi/id/product_name",
			 arena_printf(&w.c.a, "%s\n", rows[i].type));
		expect(&w, "efa.adapters", NULL, rows[i].st, rows[i].message, "aws ec2");
		for (size_t k = 0; k < w.p.t.items.n; k++)
			said += starts_with(w.p.t.items.v[k].f->check, "efa.");
		assert_int_equal(said, 1);
	}
	gpu_done(&w);
}

/* Another cloud's machine, or one without adapters, hears nothing of EFA. */
static void t_elsewhere(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, NULL, "");
	gpu_run(&w);
	for (size_t i = 0; i < w.p.t.items.n; i++)
		assert_false(starts_with(w.p.t.items.v[i].f->check, "efa."));
	gpu_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_healthy),   cmocka_unit_test(t_none_of_some),
		cmocka_unit_test(t_adapters),  cmocka_unit_test(t_places),
		cmocka_unit_test(t_pairs),     cmocka_unit_test(t_settings),
		cmocka_unit_test(t_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
