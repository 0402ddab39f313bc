/* Any bytes as a shell's rc file: our block goes in once and comes out without a trace. */
#include "lib/core/rcfile.h"

#include "lib/core/diff.h"

static const char body[] = "export NCCL_SOCKET_IFNAME==eth0\n";

static void expect(bool truth)
{
	if (!truth)
		abort();
}

static bool is_same(struct span x, struct span y) { return x.n == y.n && !memcmp(x.s, y.s, x.n); }

static void check(struct span old, enum rc_place where, struct arena *a)
{
	struct span clean, once, twice, back;
	bool found;
	struct err e;

	if (rc_remove(a, old, &clean, &found, &e) < 0) {
		expect(rc_put(a, old, body, where, &once, &e) < 0 && *e.hint);
		return;
	}
	expect(rc_put(a, old, body, where, &once, &e) == 0);
	expect(rc_put(a, once, body, where, &twice, &e) == 0);
	expect(is_same(once, twice));
	expect(rc_remove(a, once, &back, &found, &e) == 0 && found);
	expect(is_same(back, clean));
	(void)text_diff(a, "f", old, once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO_FREE char *exact = malloc(n ? n : 1);

	expect(exact != NULL);
	memcpy(exact, data, n);
	check((struct span){exact, n}, RC_APPEND, &a);
	check((struct span){exact, n}, RC_KEEP, &a);
	check((struct span){exact, n}, RC_ABOVE_INTERACTIVE, &a);
	return 0;
}
