/* What a job did last before it crashed or fell silent is suspected, though no line blames it. */
#include "probes/log/explain.h"

enum {
	SUSPECTED = 56 /* beside what only says that it hangs */,
	MOVELESS = 60,
	MORE = 6, /* than the crash that it explains, which came first */
	WANTED = 70,
	FAINT = 46, /* the log ends there, and that is all */
};

/* A rank with nothing under way, while others wait in a collective that it never began. */
static void never_came(struct why *w, struct arena *a, struct explanation *x)
{
	const struct actor *waits = NULL, *idle = NULL;
	struct cause *c = explain_find(x, "PT-006");

	for (size_t i = 0; i < w->actors.v.n; i++) {
		const struct actor *y = &w->actors.v.v[i];

		if (y->begun > y->ended && (!waits || y->begun > waits->begun))
			waits = y;
		if (y->begun >= 0 && y->begun <= y->ended && (!idle || y->begun < idle->begun))
			idle = y;
	}
	if (!waits || !idle || idle->begun >= waits->begun)
		return;
	*LIST_ADD(a, &x->notes) =
		arena_printf(a,
			     "%s waits in collective %lld, but %s has begun only %lld and ended "
			     "them all: it never came; look there",
			     who_text(a, &waits->who), (long long)waits->begun,
			     who_text(a, &idle->who), (long long)idle->begun);
	if (c && !c->because)
		c->because = x->notes.v[x->notes.n - 1];
}

/* Who finds the TPU taken goes without it; a program that then fails for want of one says so. */
static void without_tpu(struct explanation *x)
{
	const struct cause *failed = explain_find(x, "APP-001");

	if (failed && failed->first && !failed->is_over && strcasestr(failed->first->text, "TPU"))
		explain_suspect(explain_find(x, "TPU-002"), WANTED,
				"the error that the program ended with speaks of the TPU");
}

/* Nothing much was said between the last line of @before and @c. */
static bool is_soon_after(const struct cause *c, const struct record *before)
{
	enum { NEAR = 100 /* lines, of all ranks */ };
	const struct log_event *e = c->first;

	return e && !c->is_over && e->file == before->last_file && e->line > before->last_line &&
	       e->line - before->last_line <= NEAR;
}

/* Where all of it is NVLink, no PCIe is in question. */
struct cause *stuck_between(struct explanation *x)
{
	struct cause *any = explain_find(x, "GPU-015"), *nvlink = explain_find(x, "GPU-129");

	return any && nvlink && nvlink->record->count >= any->record->count ? nvlink : any;
}

void stuck(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *p2p = stuck_between(x), *mnnvl = explain_find(x, "GPU-049");
	struct cause *silent = explain_find(x, "HNG-002"), *nvlink = explain_find(x, "GPU-129");
	const struct cause *crash = explain_find(x, "KRN-006");
	bool timed_out = explain_find(x, "PT-006") || explain_find(x, "PT-007");

	never_came(w, a, x);
	if (nvlink && nvlink != p2p)
		nvlink->weight = 0;
	if (explain_has_reason(x) || why_has_worked(w))
		return;
	without_tpu(x);
	if (mnnvl && crash && is_soon_after(crash, mnnvl->record))
		explain_suspect(mnnvl, crash->weight + MORE,
				"a process crashed after NCCL had chosen it");
	if (timed_out)
		explain_suspect(mnnvl, SUSPECTED, "the very first collectives hang");
	if (w->actors.nhosts > 1)
		return;
	if (silent && silent->record->count > 1) {
		explain_suspect(silent, CONFIDENT + 2,
				"it was said again and again, and nothing else");
		explain_suspect(p2p, MOVELESS, "the ranks came up, and then nothing moved");
	}
	if (timed_out)
		explain_suspect(p2p, SUSPECTED, "the very first collectives hang");
	else if (explain_find(x, "HNG-001"))
		explain_suspect(p2p, FAINT, "the log ends while NCCL connects the GPUs");
	else if (w->healthy && (why_was_interrupted(w) || explain_find(x, "SLM-001")))
		explain_suspect(p2p, FAINT,
				"the ranks came up, and nothing moved until it was ended");
}
