/* NCCL's conf files: any bytes become settings, a prediction and findings. */
#include "lib/host/sysroot.h"
#include "probes/rules/nccl.h"

#include <fcntl.h>
#include <net/if.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static int file;
static char name[32];

/* The conf file is a memory file below a "recorded tree" that has nothing else. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)argc;
	(void)argv;
	file = memfd_create("conf", MFD_CLOEXEC);
	snprintf(name, sizeof(name), "/fd/%d", file);
	if (null < 0 || file < 0 || dup2(null, STDOUT_FILENO) < 0)
		abort();
	return 0;
}

static struct iface ifaces[] = {
	{.index = 1, .name = "lo", .flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK, .naddrs = 1},
	{.index = 2, .name = "eth0", .flags = IFF_UP | IFF_RUNNING, .naddrs = 1},
};

static void judge(struct settings *s, struct arena *a, unsigned version)
{
	struct iface_addr addrs[2] = {{.iface = &ifaces[0], .label = "lo", .prefix = 8},
				      {.iface = &ifaces[1], .label = "eth0", .prefix = 24}};
	struct inventory inv = {.a = a,
				.ifaces = {ifaces, ARRAY_LEN(ifaces), ARRAY_LEN(ifaces)},
				.addrs = {addrs, ARRAY_LEN(addrs), ARRAY_LEN(addrs)}};
	struct rules_input in = {.inv = &inv, .settings = s, .nccl_version = version};
	struct report_opts o = {.command = "fuzz", .format = "json", .host = "h"};
	struct prediction p;
	struct err e = {0};
	struct report *r = report_new(&o, &e);

	if (!r || addr_parse("127.0.0.1", &addrs[0].addr) || addr_parse("10.0.0.5", &addrs[1].addr))
		abort();
	rules_find("nccl")->predict(&in, &p);
	nccl_check(&in, r);
	(void)report_end(r, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const unsigned versions[] = {22203, 22809, 23007};
	AUTO(arena_done) struct arena a = {0};
	struct settings s;

	sysroot_set("/proc/self");
	setenv("NCCL_CONF_FILE", name, 1);
	if (ftruncate(file, 0) || pwrite(file, data, n, 0) != (ssize_t)n)
		abort();
	for (size_t v = 0; v < ARRAY_LEN(versions); v++) {
		settings_read_for(&s, &a, versions[v]);
		for (size_t i = 0; i < s.conf_lines.n; i++)
			if (!*s.conf_lines.v[i].name || strchr(s.conf_lines.v[i].name, '=') ||
			    strlen(s.conf_lines.v[i].value) > 1023)
				abort();
		judge(&s, &a, versions[v]);
	}
	return 0;
}
