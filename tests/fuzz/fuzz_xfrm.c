/*
 * Hostile bytes where the kernel's IPsec policies and keys should be: taken message by message as
 * they come, then asked what they stop.
 */
#include "lib/net/xfrm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void ask_xfrm(const struct xfrm *x, const char *from, const char *to, struct arena *a)
{
	union addr f, t;

	if (addr_parse(from, &f) || addr_parse(to, &t))
		abort();
	for (int out = 0; out < 2; out++) {
		const struct xfrm_policy *p = xfrm_stops(x, out, NULL, &f, &t);

		if (p && (p->out != out || (!p->blocks && !p->asks_for)))
			abort();
		if (p && !*xfrm_describe(p, a))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a = {0};
	struct xfrm x = {0};
	bool whole = false;

	/* in two parts, as the kernel would send them: each is aligned */
	for (int part = 0; part < 2; part++) {
		size_t some = part ? n : n / 2;
		char *at = arena_alloc(&a, some + 1);

		memcpy(at, data, some);
		data += some;
		n -= some;
		if (!xfrm_take(&x, at, some, &a, &whole))
			break;
		if (whole)
			abort();
	}
	ask_xfrm(&x, "10.0.0.1", "10.0.0.2", &a);
	ask_xfrm(&x, "fd00::1", "fd00::2", &a);
	arena_done(&a);
	return 0;
}
