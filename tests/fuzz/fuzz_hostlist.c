/* Any text as a host list: refused, or names that ssh may be given and that fold and unfold. */
#include "lib/cluster/hostlist.h"

static void expect(bool truth)
{
	if (!truth)
		abort();
}

static void check_name(const char *name)
{
	expect(*name && *name != '-' && strlen(name) <= 255);
	expect(!strpbrk(name, " \t\r\n,;[]'\"$`\\/*?()<>|&!#~{}") && !strstr(name, "@-"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	char *s = arena_strndup(&a, (const char *)data, n);
	host_list hosts, again;
	struct err e;

	if (hostlist_parse(s, &a, &hosts, &e) < 0) {
		expect(e.kind == ERR_USAGE && *e.msg && *e.hint);
		return 0;
	}
	expect(hosts.n > 0 && hosts.n <= HOSTLIST_MAX);
	if (hosts.n > 4096)
		return 0; /* long lists teach nothing new */
	expect(hostlist_parse(hostlist_fold(&a, &hosts), &a, &again, &e) == 0);
	expect(again.n == hosts.n);
	for (size_t i = 0; i < hosts.n; i++) {
		check_name(hosts.v[i].name);
		expect(streq(hosts.v[i].name, again.v[i].name));
	}
	return 0;
}
