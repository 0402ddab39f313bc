/* Channels between hosts whose data takes the way through the host's memory (no GDRDMA). */
#include "probes/log/explain.h"

/* A host none of whose channels reach GPU memory directly, beside one whose all do. */
static void one_sided(struct why *w, struct arena *a, struct explanation *x)
{
	const struct actor *with = NULL, *without = NULL;
	struct cause *c = explain_find(x, "IB-010");

	for (size_t i = 0; c && i < w->actors.v.n; i++) {
		const struct actor *y = &w->actors.v.v[i];

		if (y->direct)
			with = y;
		if (y->bounced)
			without = y;
	}
	if (!c || !with || !without)
		return;
	if (with == without || streq(with->who.host, without->who.host)) {
		explain_raise(c, w->healthy && !x->in_trouble ? 30 : 58,
			      "some channels have GDRDMA and some have not");
		return;
	}
	explain_raise(c, w->healthy && !x->in_trouble ? 48 : 74,
		      arena_printf(a, "%s has channels without GDRDMA, %s has it",
				   without->who.host, with->who.host));
	*LIST_ADD(a, &x->notes) = c->because;
}

/* Nothing fails for that, and all of it is slow. Where NIC and GPU are merely far apart, NCCL may
 * be right; and what reaches GPU memory on some channels is not off. */
static void off_everywhere(const struct why *w, struct explanation *x)
{
	enum { SLOW = 48 /* a warning: some GPUs have no GPUDirect */ };
	struct cause *c = explain_find(x, "IB-009");
	bool bounced = false;

	for (size_t i = 0; i < w->actors.v.n; i++) {
		if (w->actors.v.v[i].direct)
			return;
		bounced |= w->actors.v.v[i].bounced > 0;
	}
	if (bounced && explain_says(c, "Disabled for HCA"))
		explain_raise(c, SLOW, "no channel over InfiniBand or RoCE has GDRDMA");
}

void gdr(struct why *w, struct arena *a, struct explanation *x)
{
	one_sided(w, a, x);
	off_everywhere(w, x);
}
