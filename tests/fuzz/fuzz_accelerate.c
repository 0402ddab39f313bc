/* accelerate's file: any bytes become keys, a way to launch, and findings. */
#include "probes/rules/accelerate.h"

#include <fcntl.h>
#include <net/if.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)argc;
	(void)argv;
	if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
		abort();
	return 0;
}

/* Names are asked for nowhere: what is none of ours, and no number, is left out. */
static bool asks_nobody(const struct accelerate *c, struct arena *a)
{
	const char *ip = accelerate_address(c, a);
	union addr is;

	return !ip || addr_parse(ip, &is) == 0;
}

static void judge(const struct accelerate *c, struct arena *a)
{
	struct iface eth0 = {
		.index = 2, .name = "eth0", .flags = IFF_UP | IFF_RUNNING, .naddrs = 1};
	struct iface_addr addr = {.iface = &eth0, .label = "eth0", .prefix = 24};
	struct inventory inv = {.a = a, .ifaces = {&eth0, 1, 1}, .addrs = {&addr, 1, 1}};
	struct rules_input in = {.inv = &inv};
	struct report_opts o = {.command = "fuzz", .format = "json", .host = "h"};
	struct err e = {0};
	struct report *r = report_new(&o, &e);

	if (!r || addr_parse("10.0.0.5", &addr.addr))
		abort();
	accelerate_check(c, &in, r);
	(void)report_end(r, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	struct accelerate c = {.path = "~/it's"};

	if (n && *data == '{')
		accelerate_parse_json(&c, (const char *)data, n, &a);
	else
		accelerate_parse(&c, (const char *)data, n, &a);
	for (size_t i = 0; i < c.keys.n; i++)
		if (*data != '{' && strchr(c.keys.v[i].name, '\n'))
			abort();
	if (asks_nobody(&c, &a))
		judge(&c, &a);
	return 0;
}
