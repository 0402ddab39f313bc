/* Any bytes as what a host says of its files: none of them may lie outside of its folder here. */
#include "lib/cluster/fetch.h"

static void expect(bool truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	enum { ASKED = 3 };
	AUTO(arena_done) struct arena a = {0};
	AUTO_FREE char *exact = malloc(n ? n : 1); /* no NUL behind it */
	size_t at = 0, before = 0;
	struct frame f;

	expect(exact != NULL);
	memcpy(exact, data, n);
	while (frame_next(exact, n, &at, ASKED, &a, &f)) {
		expect(at > before && at <= n && f.asked < ASKED);
		before = at;
		if (f.name)
			expect(*f.name == '/' && !strstr(f.name, "/../") && !strstr(f.name, "//") &&
			       !ends_with(f.name, "/..") && !ends_with(f.name, "/"));
		if (f.kind == FRAME_FILE)
			expect(f.name && f.n <= f.size && f.data >= exact &&
			       f.data + f.n <= exact + n);
	}
	return 0;
}
