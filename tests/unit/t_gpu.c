/* GPUs and distances from the PCI tree alone. */
#include "lib/host/gpu.h"
#include "tests/unit/composed.h"

static void t_gpus(void **state)
{
	struct composed c;
	gpu_list all;

	(void)state;
	composed_load(&c, "hgx-h100");
	gpu_read(&c.a, &all);
	assert_int_equal(all.n, 8);
	assert_string_equal(all.v[0].pci, "0000:18:00.0"); /* by address, as nvidia-smi counts */
	assert_string_equal(all.v[1].pci, "0000:2a:00.0");
	assert_string_equal(all.v[7].pci, "0000:db:00.0");
	assert_int_equal(all.v[7].numa, 1);
	assert_int_equal(all.v[0].vendor, GPU_NVIDIA);
	assert_int_equal(all.v[0].device_id, 0x2330);
	assert_string_equal(all.v[0].driver, "nvidia");
	composed_done(&c);
}

static void t_vendors(void **state)
{
	static const struct {
		const char *pci, *class, *vendor;
		int found; /* -1: no GPU */
	} rows[] = {
		{"0000:00:02.0", "0x038000", "0x8086", -1}, /* a processor's own */
		{"0000:01:00.0", "0x030000", "0x10de", GPU_NVIDIA},
		{"0000:02:00.0", "0x030200", "0x10de", GPU_NVIDIA},
		{"0000:02:00.1", "0x040300", "0x10de", -1}, /* its sound */
		{"0000:03:00.0", "0x068000", "0x10de", -1}, /* NVSwitch */
		{"0000:04:00.0", "0x120000", "0x1002", GPU_AMD},
		{"0000:05:00.0", "0x038000", "0x1002", GPU_AMD},
		{"0000:06:00.0", "0x030000", "0x8086", -1},
		{"0000:29:00.0", "0x038000", "0x8086", GPU_INTEL},
		{"0000:30:00.0", "0x030000", "0x1a03", -1}, /* the BMC's */
		{"0000:31:00.0", "junk", "0x10de", -1},
		{"0000:32:00.0", "0x030200", "0x10de vf=1", -1}, /* a guest's part */
	};

	char lines[2048] = "";
	struct composed c;
	gpu_list all;
	size_t found = 0;
	int n = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		n += snprintf(lines + n, sizeof(lines) - (size_t)n,
			      "pci pci0000:00/%s class=%s vendor=%s\n", rows[i].pci, rows[i].class,
			      rows[i].vendor);
	composed_load(&c, lines);
	gpu_read(&c.a, &all);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].found < 0)
			continue;
		assert_true(found < all.n);
		assert_string_equal(all.v[found].pci, rows[i].pci);
		assert_int_equal(all.v[found].vendor, rows[i].found);
		assert_null(all.v[found].driver);
		assert_int_equal(all.v[found].numa, -1);
		found++;
	}
	assert_int_equal(found, all.n);
	composed_done(&c);
}

/* A processor's own graphics beside them would be one more on the hosts that have it. */
static void t_for_jobs(void **state)
{
#define NVIDIA(at) "pci pci0000:00/0000:0" at ":00.0 class=0x030200 vendor=0x10de\n"
#define INSTINCT(at) "pci pci0000:00/0000:0" at ":00.0 class=0x038000 vendor=0x1002\n"
#define RADEON(at) "pci pci0000:00/0000:0" at ":00.0 class=0x030000 vendor=0x1002 device=0x164e\n"
	static const struct {
		const char *machine;
		size_t n;
		const char *first;
	} rows[] = {
		{RADEON("1") NVIDIA("2") NVIDIA("3"), 2, "0000:02:00.0"},
		{RADEON("1") INSTINCT("2"), 1, "0000:02:00.0"},
		{RADEON("1") RADEON("2"), 2, "0000:01:00.0"},
		{"pci pci0000:00/0000:01:00.0 class=0x020000\n", 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct composed c;
		gpu_list all;

		composed_load(&c, rows[i].machine);
		gpu_read(&c.a, &all);
		gpu_keep_for_jobs(&all);
		assert_int_equal(all.n, rows[i].n);
		if (all.n)
			assert_string_equal(all.v[0].pci, rows[i].first);
		composed_done(&c);
	}
}

static void t_distance(void **state)
{
	static const struct {
		const char *machine, *one, *two;
		enum pci_distance distance;
	} rows[] = {
		{"hgx-h100", "0000:18:00.0", "0000:18:00.0", PCI_SAME},
		{"hgx-h100", "0000:18:00.0", "0000:19:00.0", PCI_PIX},
		{"hgx-h100", "0000:18:00.0", "0000:2b:00.0", PCI_NODE},
		{"hgx-h100", "0000:18:00.0", "0000:db:00.0", PCI_SYS},
		{"dgx-roce", "0000:11:00.0", "0000:14:00.0", PCI_PXB},
		{"aws-p4d", "0000:10:1b.0", "0000:10:1c.0", PCI_PHB},
		{"aws-p4d", "0000:10:1b.0", "0000:20:1c.0", PCI_NODE},
		{"aws-p4d", "0000:10:1b.0", "0000:77:77.7", PCI_UNKNOWN},
		/* no NUMA told; a host bridge below a platform device */
		{"pci pci0000:00/0000:00:03.0\npci pci0001:00/0001:00:03.0\n", "0000:00:03.0",
		 "0001:00:03.0", PCI_UNKNOWN},
		{"pci platform/40.pcie/pci0000:00/0000:00:03.0\n"
		 "pci platform/40.pcie/pci0000:00/0000:00:30.0\n",
		 "0000:00:03.0", "0000:00:30.0", PCI_PHB},
	};
	const char *last = NULL;
	struct composed c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		composed_keep(&c, &last, rows[i].machine);
		enum pci_distance d = pci_distance(&c.a, rows[i].one, rows[i].two);

		if (d != rows[i].distance || pci_distance(&c.a, rows[i].two, rows[i].one) != d)
			fail_msg("%s %s: %s", rows[i].one, rows[i].two, pci_distance_name(d));
	}
	composed_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_gpus),
		cmocka_unit_test(t_vendors),
		cmocka_unit_test(t_for_jobs),
		cmocka_unit_test(t_distance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
