/* The kernel's log: lines of GPUs, NVSwitches and PCIe, what they mean, and when they no longer
 * count. */
#include "lib/host/klog.h"
#include "probes/node/xid.h"
#include "tests/unit/gpu_world.h"

#include <math.h>

static void t_parse(void **state)
{
	static const struct {
		const char *line, *bus;
		int code;
	} rows[] = {
		{"NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off",
		 "0000:3b:00", 79},
		{"NVRM: Xid (0000:03:00): 31, Ch 00000010", "0000:03:00", 31},
		{"NVRM: Xid (PCI:0000:3b:00): x", NULL, 0},
		{"NVRM: Xid (PCI:0000:3b:00 79", NULL, 0},
		{"NVRM: Xid (PCI:a-name-that-is-too-long-to-be-one): 79", NULL, 0},
		{"nothing", NULL, 0},
	};
	char where[16];
	bool flag;
	int code;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(xid_parse(rows[i].line, where, &code), rows[i].bus != NULL);
		if (rows[i].bus)
			assert_string_equal(where, rows[i].bus);
		if (rows[i].bus)
			assert_int_equal(code, rows[i].code);
	}
	assert_true(
		sxid_parse("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28002, Non-fatal, Link 39",
			   where, &code, &flag));
	assert_int_equal(code, 28002);
	assert_false(flag);
	assert_true(sxid_parse("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30",
			       where, &code, &flag));
	assert_true(flag);
	assert_true(aer_parse(
		"pcieport 0000:00:01.0: PCIe Bus Error: severity=Corrected, type=Physical", where,
		&flag));
	assert_string_equal(where, "0000:00:01.0");
	assert_true(flag);
	assert_true(aer_parse(
		"nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=", where,
		&flag));
	assert_false(flag);
	assert_true(aer_parse("nvidia 0000:5d:00.0: AER: PCIe Bus Error: severity=Uncorrectable "
			      "(Fatal), type=Inaccessible, (Unregistered Agent ID)",
			      where, &flag));
	assert_string_equal(where, "0000:5d:00.0");
	assert_false(flag);
	assert_true(aer_parse("pcieport 10000:e1:00.0: AER: PCIe Bus Error: severity=Corrected, t",
			      where, &flag));
	assert_string_equal(where, "10000:e1:00.0");
	assert_true(flag);
	assert_true(aer_parse("pcieport 0000:0c:00.0: CXL Bus Error: severity=Corrected, type=x",
			      where, &flag));
	assert_string_equal(where, "0000:0c:00.0");
	assert_false(aer_parse("AER: PCIe Bus Error: severity=Corrected", where, &flag));
	assert_false(aer_parse(": PCIe Bus Error: severity=Corrected", where, &flag));
}

/* Every Xid that asks for something is explained by ncclwhy's catalogue too. */
static void t_catalogue(void **state)
{
	struct arena a = {0};
	const char *meaning;

	(void)state;
	for (int code = 0; code < 200; code++) {
		const struct xid *x = xid_find(code);
		const char *line =
			arena_printf(&a, "NVRM: Xid (PCI:0000:3b:00): %d, pid=1, x", code);

		if (x && x->action >= XID_RESET && code != 46 && code != 151 && code != 156 &&
		    code != 158)
			assert_non_null(xid_catalogued(line, &meaning));
	}
	assert_string_equal(xid_catalogued("NVRM: Xid (PCI:0000:3b:00): 79, x", &meaning),
			    "GPU-011");
	assert_string_equal(xid_catalogued("NVRM: Xid (PCI:0000:3b:00): 13, x", &meaning),
			    "XID-013");
	assert_null(xid_catalogued("usb 1-1: new device", &meaning));
	arena_done(&a);
}

/* Numbers do not overlap, and some lines say themselves what they ask for. */
static void t_meanings(void **state)
{
	static const struct {
		int code;
		const char *line;
		enum xid_action action;
		const char *meaning;
	} rows[] = {
		{154, "changed from 0x0 (None) to 0x1 (GPU Reset Required)", XID_RESET, "reset"},
		{154, "changed from 0x0 (None) to 0x2 (OS Reboot)", XID_REBOOT, "reboot"},
		{154, "changed from 0x0 (None) to 0x3 (Drain P2P)", XID_CHECK, "another GPU"},
		{154, "changed from 0x0 (None) to 0x4 (Drain and Reset)", XID_RESET, "end"},
		{154, "changed from 0x2 (OS Reboot) to 0x0 (None)", XID_NOTE, "no recovery"},
		{154, "changed from 0x0 (None) to 0xffffffffffffffffff (x)", XID_RESET, "asks"},
		{154, "something else", XID_RESET, "a recovery"},
		{145, "145, RLW_REMAP Nonfatal XC0 i0 Link 00 (0x4)", XID_CHECK, "not a fatal"},
		{145, "145, RLW_REMAP Fatal XC0 i0 Link 00 (0x4)", XID_RESET, "failed"},
		{79, "79, x Nonfatal x to 0x0", XID_REBOOT, "fell off"},
		{64, "64, x", XID_RESET, "could not be remapped"},
		{136, "136, x", XID_RESET, "could not be trained"},
		{98, "98, x", XID_PROGRAM, "video"},
		{135, "135, x", XID_PROGRAM, "copy"},
		{173, "173, x", XID_CHECK, "(C2C) failed"},
		{174, "174, x", XID_NOTE, "ended"},
		{175, "175, x", XID_CHECK, "memory"},
	};
	struct xid x;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(xid_read(rows[i].code, rows[i].line, &x));
		assert_int_equal(x.action, rows[i].action);
		assert_non_null(strstr(x.meaning, rows[i].meaning));
	}
	assert_false(xid_read(9999, "9999, x", &x));
	assert_int_equal(x.action, XID_CHECK);
	for (int code = 0, last = -1; code < 200; code++) {
		const struct xid *found = xid_find(code);

		assert_true(!found || (found->first <= code && code <= found->last));
		if (found && found->first == code)
			assert_true(last < code);
		last = found ? found->last : last;
	}
}

static void t_log_forms(void **state)
{
	static const char *const words[] = {"Xid ("};
	struct gpu_world w;
	klog_list l;

	(void)state;
	gpu_make(&w, "host h\n");
	assert_false(klog_read(&w.c.a, words, 1, &l));
	gpu_file(&w, "/dev/kmsg",
		 "6,1,5140900,-;NVRM: Xid (a): 1\n SUBSYSTEM=pci\n12,2,7000000,-,caller=T1;Xid (b\n"
		 "<4>[  123.456789] Xid (c\nXid (d without an end");
	assert_true(klog_read(&w.c.a, words, 1, &l));
	assert_int_equal(l.n, 3);
	assert_true(fabs(l.v[0].seconds - 5.1409) < 1e-6);
	assert_string_equal(l.v[0].text, "NVRM: Xid (a): 1");
	assert_string_equal(l.v[1].text, "Xid (b");
	assert_true(fabs(l.v[2].seconds - 123.456789) < 1e-6);
	assert_string_equal(l.v[2].text, "Xid (c");
	gpu_done(&w);
}

/* Forms of lines as in NVIDIA's "XID Errors" and the kernel's aer.c; composed, not recorded. */
#define LOADED "6,1,1000000,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15\n"
#define AT(us, text) "4,2," us ",-;" text "\n"

/* The machine has been up for 200,000 s: what stands at 199,900 s is 100 s old. */
static const struct {
	const char *log, *nvml;
	struct gpu_row row;
} cases[] = {
	{LOADED, "", {NULL, "xid.log", NULL, ST_PASS, "no error of a GPU", NULL}},
	{LOADED AT("199900000000",
		   "NVRM: Xid (PCI:0000:5d:00): 79, pid=1, GPU has fallen off the bus."),
	 "",
	 {NULL, "xid.gpu", "GPU 3 (0000:5d:00.0)", ST_FAIL, "Xid 79, 1", "reboot"}},
	{LOADED AT("199900000000", "NVRM: Xid (PCI:0000:5d:00): 119, pid=1, Timeout"),
	 "",
	 {NULL, "xid.gpu", "GPU 3", ST_FAIL, "(GSP) did not answer",
	  "sudo nvidia-smi --gpu-reset -i 3"}},
	{LOADED AT("1000000000", "NVRM: Xid (PCI:0000:5d:00): 119, pid=1, Timeout"),
	 "",
	 {NULL, "xid.gpu", "GPU 3", ST_WARN, "2 days ago", NULL}},
	{AT("199900000000",
	    "NVRM: Xid (PCI:0000:5d:00): 119, x") "6,3,199950000000,-;NVRM: loading NVIDIA "
						  "UNIX\n",
	 "",
	 {NULL, "xid.gpu", "GPU 3", ST_WARN, "Xid 119", NULL}},
	{LOADED AT("199900000000", "NVRM: Xid (PCI:0000:5d:00): 64, x"),
	 "3 rows 0 1 0 1\n",
	 {NULL, "xid.gpu", "GPU 3", ST_FAIL, "could not be remapped", "--gpu-reset -i 3"}},
	{LOADED AT("199900000000", "NVRM: Xid (PCI:0000:5d:00): 119, x")
		 AT("199910000000", "NVRM: Xid (PCI:0000:5d:00): 154, GPU recovery action changed "
				    "from 0x0 (None) to 0x2 (OS Reboot)"),
	 "",
	 {NULL, "xid.gpu", "GPU 3", ST_FAIL, "(GSP) did not answer", "--gpu-reset -i 3"}},
	{LOADED AT("199910000000", "NVRM: Xid (PCI:0000:5d:00): 154, GPU recovery action changed "
				   "from 0x0 (None) to 0x2 (OS Reboot)"),
	 "",
	 {NULL, "xid.gpu", "GPU 3", ST_FAIL, "asks for a reboot", "sudo reboot"}},
	{LOADED AT("199900000000", "NVRM: Xid (PCI:0000:5d:00): 119, x")
		 AT("199910000000", "NVRM: Xid (PCI:0000:5d:00): 154, GPU recovery action changed "
				    "from 0x1 (PF FLR) to 0x0 (None)"),
	 "",
	 {NULL, "xid.gpu", "GPU 3", ST_INFO, "asks for no recovery any more", NULL}},
	{LOADED AT("199900000000", "NVRM: Xid (PCI:0000:5d:00): 119, x")
		 AT("199910000000", "NVRM: Xid (PCI:0000:9a:00): 154, GPU recovery action changed "
				    "from 0x1 (PF FLR) to 0x0 (None)"),
	 "",
	 {NULL, "xid.gpu", "GPU 3", ST_FAIL, "(GSP) did not answer", NULL}}, /* of another GPU */
	{LOADED AT("199900000000", "NVRM: Xid (PCI:0000:5d:00): 145, RLW_REMAP Nonfatal XC0 i0"),
	 "",
	 {NULL, "xid.gpu", "GPU 3", ST_WARN, "not a fatal one", NULL}},
	{LOADED AT("199900000000", "NVRM: Xid (PCI:0000:5d:00): 149, NETIR_LINK_EVT Fatal XC0 i0")
		 AT("199910000000", "NVRM: Xid (PCI:0000:5d:00): 149, NETIR_BER Nonfatal XC0 i0"),
	 "",
	 {NULL, "xid.gpu", "GPU 3", ST_FAIL, "one of its NVLinks failed", "--gpu-reset -i 3"}},
	{LOADED AT("199900000000", "NVRM: Xid (PCI:0000:5d:00): 48, x"),
	 "3 ecc.uncorrected 1\n",
	 {NULL, "xid.gpu", "GPU 3", ST_FAIL, "uncorrectable", NULL}},
	{LOADED AT("199900000000", "NVRM: Xid (PCI:0000:5d:00): 48, x"),
	 "",
	 {NULL, "xid.gpu", "GPU 3", ST_INFO, "began anew", NULL}},
	{LOADED AT("199900000000", "NVRM: Xid (PCI:0000:5d:00): 31, x")
		 AT("199910000000", "NVRM: Xid (PCI:0000:5d:00): 31, x"),
	 "",
	 {NULL, "xid.program", "GPU 3", ST_INFO, "Xid 31 2 times", "compute-sanitizer"}},
	{LOADED AT("199900000000", "NVRM: Xid (PCI:0000:77:00): 9999, x"),
	 "",
	 {NULL, "xid.gpu", "GPU at 0000:77:00", ST_WARN, "met an error", NULL}},
	{LOADED AT("199900000000",
		   "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 1"),
	 "",
	 {NULL, "xid.switch", "0000:c1:00.0", ST_FAIL, "a fatal one", NULL}},
	{LOADED AT("199900000000",
		   "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 28002, Non-fatal, Link 1"),
	 "",
	 {NULL, "xid.switch", NULL, ST_WARN, "SXid 28002", NULL}},
	{LOADED AT("199900000000",
		   "pcieport 0000:15:01.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=x"),
	 "",
	 {NULL, "pcie.aer", "0000:15:01.0", ST_FAIL, "1 uncorrectable PCIe error",
	  "lspci -s 0000:15:01.0"}},
	{LOADED AT("199900000000",
		   "nvidia 0000:5d:00.0: AER: PCIe Bus Error: severity=Uncorrectable (Fatal), "
		   "type=Inaccessible, (Unregistered Agent ID)"),
	 "",
	 {NULL, "pcie.aer", "0000:5d:00.0", ST_FAIL, "1 uncorrectable PCIe error",
	  "lspci -s 0000:5d:00.0"}},
	{LOADED AT("199900000000",
		   "nvidia 0000:5d:00.0: PCIe Bus Error: severity=Corrected, type=x"),
	 "",
	 {NULL, "pcie.aer", "0000:5d:00.0", ST_INFO, "1 corrected", NULL}},
	{LOADED AT("199900000000",
		   "pcieport 0000:ff:02.0: PCIe Bus Error: severity=Uncorrected, type=x"),
	 "",
	 {NULL, "xid.log", NULL, ST_PASS, "no error", NULL}}, /* of a disk, say */
};

static void t_cases(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, "");
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "xid.log", NULL)->status, ST_SKIP);
	gpu_file(&w, "/proc/uptime", "200000.00 1.0\n");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		gpu_file(&w, "/dev/kmsg", cases[i].log);
		gpu_says(&w, gpu_healthy, cases[i].nvml);
		gpu_run(&w);
		gpu_expect(&w, &cases[i].row);
	}
	gpu_done(&w);
}

/* In a container the log is the host's, and so are the GPUs that are not here. */
static void t_others(void **state)
{
	static const struct gpu_row row = {NULL,    "xid.gpu", "GPU at 0000:77:00",
					   ST_INFO, "Xid 79",  NULL};
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, "");
	gpu_file(&w, "/proc/uptime", "200000.00 1.0\n");
	gpu_file(&w, "/dev/kmsg", AT("199900000000", "NVRM: Xid (PCI:0000:77:00): 79, x"));
	gpu_file(&w, "/.dockerenv", "");
	gpu_run(&w);
	gpu_expect(&w, &row);
	gpu_done(&w);
}

static void t_flood(void **state)
{
	struct gpu_world w;
	struct text log;
	const cJSON *entry;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, "");
	gpu_file(&w, "/proc/uptime", "200000.00 1.0\n");
	text_init(&log, &w.c.a);
	for (int i = 0; i < 30000; i++)
		text_addf(
			&log,
			"4,%d,%d000000,-;nvidia 0000:5d:00.0: PCIe Bus Error: severity=Corrected, "
			"type=Physical Layer\n",
			i, 100000 + i);
	gpu_file(&w, "/dev/kmsg", log.s);
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "pcie.aer", NULL)->status, ST_WARN);
	assert_int_equal(cJSON_GetArraySize(json_get(w.data, "kernel_log")), 1);
	entry = cJSON_GetArrayItem(json_get(w.data, "kernel_log"), 0);
	assert_string_equal(json_get_str(entry, "kind"), "aer");
	assert_int_equal((int)json_get_num(entry, "count", 0), KLOG_MAX);
	gpu_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_parse),    cmocka_unit_test(t_catalogue),
		cmocka_unit_test(t_meanings), cmocka_unit_test(t_log_forms),
		cmocka_unit_test(t_cases),    cmocka_unit_test(t_flood),
		cmocka_unit_test(t_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
