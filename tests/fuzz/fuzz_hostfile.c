/* Any bytes as a hostfile: refused with the line, or hosts. */
#include "lib/cluster/hostlist.h"

static void expect(bool truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO_FREE char *exact = malloc(n ? n : 1); /* no NUL behind it */
	host_list hosts;
	struct err e;

	expect(exact != NULL);
	memcpy(exact, data, n);
	if (hostfile_parse(exact, n, "hosts", &a, &hosts, &e) < 0) {
		expect(e.kind == ERR_USAGE && starts_with(e.msg, "hosts") && *e.hint);
		return 0;
	}
	expect(hosts.n > 0 && hosts.n <= HOSTLIST_MAX);
	for (size_t i = 0; i < hosts.n; i++)
		expect(*hosts.v[i].name && *hosts.v[i].name != '-');
	return 0;
}
