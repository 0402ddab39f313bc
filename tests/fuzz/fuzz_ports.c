/* Any text as a list of ports, as an operand, and as a line of /proc/net/tcp. */
#include "lib/host/listen.h"
#include "probes/port/targets.h"

static void expect(bool truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	const char *s = arena_strndup(&a, (const char *)data, n < 512 ? n : 512);
	const struct port_env env = {.master = 29500, .range = {32768, 60999, true}};
	const str_list one = {.v = &s, .n = 1, .cap = 1};
	port_list ports = {0}, again = {0};
	target_list targets = {0};
	struct port_holder listener;
	struct err e = {0};

	(void)holder_parse(s, &listener);
	if (!targets_parse(&one, &ports, &env, &a, &targets, &e))
		expect(*targets.v[0].host != '\0');
	if (ports_parse(s, &env, &a, &ports, &e))
		return 0;
	expect(ports.n > 0 && ports.n < 65536);
	s = ports_fold(ports.v, ports.n, 0, &a);
	expect(!ports_parse(s, &env, &a, &again, &e) && again.n == ports.n);
	expect(strlen(ports_fold(ports.v, ports.n, 20, &a)) <= 24);
	return 0;
}
