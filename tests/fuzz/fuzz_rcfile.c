/* Any bytes as a shell's rc file: our block goes in once and comes out without a trace. */
#include "lib/core/rcfile.h"

#include "lib/core/diff.h"

static const char body[] = "export NCCL_SOCKET_IFNAME==eth0\n";

static void expect(bool truth)
{
	if (!truth)
		abort();
}

static void check(const char *old, size_t n, enum rc_place where, struct arena *a)
{
	size_t n0, n1, n2, n3;
	char *clean, *once, *twice, *back;
	bool found;
	struct err e;

	if (rc_remove(a, old, n, &clean, &n0, &found, &e) < 0) {
		expect(rc_put(a, old, n, body, where, &once, &n1, &e) < 0 && *e.hint);
		return;
	}
	expect(rc_put(a, old, n, body, where, &once, &n1, &e) == 0);
	expect(rc_put(a, once, n1, body, where, &twice, &n2, &e) == 0);
	expect(n1 == n2 && !memcmp(once, twice, n1));
	expect(rc_remove(a, once, n1, &back, &n3, &found, &e) == 0 && found);
	expect(n3 == n0 && !memcmp(back, clean, n0));
	(void)text_diff(a, "f", old, n, once, n1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO_FREE char *exact = malloc(n ? n : 1);

	expect(exact != NULL);
	memcpy(exact, data, n);
	check(exact, n, RC_APPEND, &a);
	check(exact, n, RC_ABOVE_INTERACTIVE, &a);
	return 0;
}
