/* Links, bridges, access control, IOMMU and peer memory, from composed trees. */
#include "lib/host/pcie.h"
#include "tests/unit/gpu_world.h"

#include <math.h>

/*
 * Two GPUs behind a switch; in another slot a third one and a RoCE card.
 * Composed after the kernel's Documentation/ABI/testing/sysfs-bus-pci and the
 * PCI Express Base Specification; not recorded.
 */
static const char machine[] =
	"host node0\n"
	"pci pci0000:00/0000:00:01.0 class=0x060400 vendor=0x8086 device=0x2030\n"
	"pci pci0000:00/0000:00:01.0/0000:01:00.0 class=0x060400 vendor=0x10b5 device=0x8796\n"
	"pci pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0 class=0x030200 vendor=0x10de "
	"device=0x20b0 driver=nvidia numa=0\n"
	"pci pci0000:00/0000:00:01.0/0000:01:00.0/0000:03:00.0 class=0x030200 vendor=0x10de "
	"device=0x20b0 driver=nvidia numa=0\n"
	"pci pci0000:00/0000:00:02.0 class=0x060400 vendor=0x8086 device=0x2030\n"
	"pci pci0000:00/0000:00:02.0/0000:04:00.0 class=0x030200 vendor=0x10de device=0x20b0 "
	"driver=nvidia numa=0\n"
	"pci pci0000:00/0000:00:02.0/0000:05:00.0 class=0x020000 vendor=0x15b3 device=0x1019 "
	"driver=mlx5_core numa=0\n"
	"rdma mlx5_0 pci=0000:05:00.0\n"
	"port mlx5_0 1 state=\"4: ACTIVE\" layer=Ethernet rate=\"100 Gb/sec (4X EDR)\"\n";

static void link_is(struct gpu_world *w, const char *pci, int lanes, int max, const char *speed,
		    const char *max_speed)
{
	const char *dir = arena_printf(&w->c.a, "/sys/bus/pci/devices/%s", pci);

	gpu_file(w, arena_printf(&w->c.a, "%s/current_link_width", dir),
		 arena_printf(&w->c.a, "%d\n", lanes));
	gpu_file(w, arena_printf(&w->c.a, "%s/max_link_width", dir),
		 arena_printf(&w->c.a, "%d\n", max));
	gpu_file(w, arena_printf(&w->c.a, "%s/current_link_speed", dir),
		 arena_printf(&w->c.a, "%s\n", speed));
	gpu_file(w, arena_printf(&w->c.a, "%s/max_link_speed", dir),
		 arena_printf(&w->c.a, "%s\n", max_speed));
}

static void healthy_links(struct gpu_world *w)
{
	static const char *const all[] = {"0000:02:00.0", "0000:03:00.0", "0000:04:00.0",
					  "0000:05:00.0", "0000:01:00.0", "0000:00:02.0"};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		link_is(w, all[i], 16, 16, i < 3 ? "2.5 GT/s PCIe" : "16.0 GT/s PCIe",
			"16.0 GT/s PCIe");
}

static void t_read(void **state)
{
	struct gpu_world w;
	struct pcie_link l;
	str_list bridges;

	(void)state;
	gpu_make(&w, machine);
	healthy_links(&w);
	pcie_link(&w.c.a, "0000:02:00.0", &l);
	assert_int_equal(l.width, 16);
	assert_true(fabs(l.gts - 2.5) < 1e-9 && fabs(l.gts_max - 16) < 1e-9);
	link_is(&w, "0000:02:00.0", 0, 255, "Unknown", "");
	pcie_link(&w.c.a, "0000:02:00.0", &l);
	assert_int_equal(l.width, 0);
	assert_int_equal(l.width_max, 0);
	assert_true(isnan(l.gts) && isnan(l.gts_max));
	pcie_bridges(&w.c.a, "0000:02:00.0", &bridges);
	assert_int_equal(bridges.n, 2);
	assert_string_equal(bridges.v[0], "0000:01:00.0");
	assert_string_equal(bridges.v[1], "0000:00:01.0");
	pcie_bridges(&w.c.a, "0000:77:00.0", &bridges);
	assert_int_equal(bridges.n, 0);
	gpu_done(&w);
}

/* A configuration space with one other extended capability before the access control. */
static void config_is(struct gpu_world *w, const char *pci, size_t n, unsigned control,
		      unsigned next)
{
	const char *path = arena_printf(&w->c.a, "%s/sys/bus/pci/devices/%s/config", w->c.dir, pci);
	unsigned char config[4096] = {0};
	FILE *f = fopen(path, "w");

	config[0x100] = 0x01; /* AER, version 1, the next one at 0x148 */
	config[0x102] = (unsigned char)(0x01 | (next & 15) << 4);
	config[0x103] = (unsigned char)(next >> 4);
	config[0x148] = 0x0d;
	config[0x14a] = 0x01;
	config[0x14e] = (unsigned char)control;
	assert_non_null(f);
	assert_int_equal(fwrite(config, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void t_acs(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_make(&w, machine);
	assert_int_equal(pcie_acs(&w.c.a, "0000:01:00.0"), -1);
	config_is(&w, "0000:01:00.0", 64, 0, 0); /* what others than root see */
	assert_int_equal(pcie_acs(&w.c.a, "0000:01:00.0"), -1);
	config_is(&w, "0000:01:00.0", 256, 0, 0);
	assert_int_equal(pcie_acs(&w.c.a, "0000:01:00.0"), PCIE_ACS_NONE);
	config_is(&w, "0000:01:00.0", 4096, 0x1d, 0x148);
	assert_int_equal(pcie_acs(&w.c.a, "0000:01:00.0"),
			 PCIE_ACS_VALID | PCIE_ACS_REQUESTS | PCIE_ACS_COMPLETIONS);
	config_is(&w, "0000:01:00.0", 4096, 0, 0x148);
	assert_int_equal(pcie_acs(&w.c.a, "0000:01:00.0"), PCIE_ACS_NONE);
	config_is(&w, "0000:01:00.0", 4096, 0x1d, 0x100); /* a list that bites its tail */
	assert_int_equal(pcie_acs(&w.c.a, "0000:01:00.0"), PCIE_ACS_NONE);
	config_is(&w, "0000:01:00.0", 4096, 0x1d, 0xffc); /* and one that leaves the space */
	assert_int_equal(pcie_acs(&w.c.a, "0000:01:00.0"), PCIE_ACS_NONE);
	gpu_done(&w);
}

static void expect(struct gpu_world *w, const char *check, const char *subject, enum status st,
		   const char *message, const char *fix)
{
	const struct gpu_row row = {NULL, check, subject, st, message, fix};

	gpu_run(w);
	gpu_expect(w, &row);
}

static void t_links(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_make(&w, machine);
	gpu_says(&w, NULL, "");
	gpu_run(&w);
	assert_null(gpu_found(&w, "pcie.width", NULL)); /* nothing is known */
	healthy_links(&w);
	expect(&w, "pcie.width", NULL, ST_PASS, NULL, NULL);
	assert_null(gpu_found(&w, "pcie.speed", NULL)); /* GPUs at rest are slow */
	assert_int_equal(cJSON_GetArraySize(json_get(w.data, "pcie")), 4);
	link_is(&w, "0000:03:00.0", 4, 16, "16.0 GT/s PCIe", "16.0 GT/s PCIe");
	expect(&w, "pcie.width", "0000:03:00.0", ST_FAIL, "4 of 16 PCIe lanes",
	       "sudo setpci -s 0000:01:00.0");
	healthy_links(&w);
	link_is(&w, "0000:05:00.0", 8, 16, "16.0 GT/s PCIe", "16.0 GT/s PCIe");
	expect(&w, "pcie.width", "mlx5_0", ST_WARN, "8 of 16", NULL); /* the only one of its kind */
	healthy_links(&w);
	link_is(&w, "0000:00:02.0", 8, 8, "16.0 GT/s PCIe", "16.0 GT/s PCIe");
	link_is(&w, "0000:04:00.0", 8, 16, "16.0 GT/s PCIe", "16.0 GT/s PCIe");
	expect(&w, "pcie.width", "0000:04:00.0", ST_WARN, "in a slot of 8 PCIe lanes", NULL);
	healthy_links(&w);
	link_is(&w, "0000:04:00.0", 8, 8, "16.0 GT/s PCIe", "16.0 GT/s PCIe"); /* made so */
	expect(&w, "pcie.width", NULL, ST_PASS, NULL, NULL);
	healthy_links(&w);
	link_is(&w, "0000:05:00.0", 16, 16, "8.0 GT/s PCIe", "16.0 GT/s PCIe");
	expect(&w, "pcie.speed", "mlx5_0", ST_WARN, "runs at 8 GT/s, 16 are possible", NULL);
	gpu_done(&w);
}

static void t_ways(void **state)
{
	static const char *const bridges[] = {"0000:00:01.0", "0000:01:00.0", "0000:00:02.0"};
	static const char type[] = "/sys/bus/pci/devices/0000:02:00.0/iommu_group/type";
	struct gpu_world w;

	(void)state;
	gpu_make(&w, machine);
	gpu_says(&w, NULL, "");
	expect(&w, "pcie.acs", NULL, ST_SKIP, "root alone", NULL);
	for (size_t i = 0; i < ARRAY_LEN(bridges); i++)
		config_is(&w, bridges[i], 4096, 0, 0x148);
	expect(&w, "pcie.acs", NULL, ST_PASS, NULL, NULL);
	config_is(&w, bridges[1], 4096, 0x1d, 0x148);
	expect(&w, "pcie.acs", NULL, ST_WARN, "1 redirect",
	       "for b in 0000:01:00.0; do sudo setpci");
	assert_string_equal(json_get_str(json_get(w.data, "facts"), "acs"), "on");
	gpu_file(&w, "/proc/cpuinfo", "processor : 0\nflags : fpu hypervisor lm\n");
	expect(&w, "pcie.acs", NULL, ST_INFO, "virtual machines need it", NULL);

	expect(&w, "pcie.iommu", NULL, ST_PASS, "is off", NULL);
	gpu_file(&w, type, "identity\n");
	expect(&w, "pcie.iommu", NULL, ST_PASS, "passes through", NULL);
	gpu_file(&w, type, "DMA-FQ\n");
#ifdef __aarch64__
	expect(&w, "pcie.iommu", NULL, ST_INFO, "1 of 4", NULL);
#else
	expect(&w, "pcie.iommu", NULL, ST_WARN, "1 of 4", "iommu=pt");
#endif
	gpu_done(&w);
}

static void t_peer_memory(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_make(&w, machine);
	gpu_says(&w, NULL, "");
	expect(&w, "pcie.peermem", NULL, ST_SKIP, "cannot be seen", NULL);
	gpu_file(&w, "/proc/driver/nvidia/version",
		 "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550\n");
	gpu_file(&w, "/proc/sys/kernel/osrelease", "5.15.0-1050-aws\n");
	expect(&w, "pcie.peermem", NULL, ST_WARN, "copies everything",
	       "sudo modprobe nvidia-peermem");
	gpu_file(&w, "/proc/driver/nvidia/version",
		 "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550\n");
	expect(&w, "pcie.peermem", NULL, ST_PASS, "DMA-BUF", NULL);
	gpu_file(&w, "/proc/sys/kernel/osrelease", "5.4.0\n");
	expect(&w, "pcie.peermem", NULL, ST_WARN, NULL, NULL);
	gpu_file(&w, "/sys/module/nvidia_peermem/refcnt", "0\n");
	expect(&w, "pcie.peermem", NULL, ST_PASS, "by nvidia_peermem", NULL);
	gpu_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_read),	 cmocka_unit_test(t_acs),
		cmocka_unit_test(t_links),	 cmocka_unit_test(t_ways),
		cmocka_unit_test(t_peer_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
