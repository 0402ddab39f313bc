/* RDMA that failed: which of several lines about one transfer says why. */
#include "probes/log/explain.h"

enum { MORE = 6 /* than what it explains */, MOST = 95 };

/* mlx5 says only that a completion failed; the dump under it, and what read it, say how. */
static void dumped(struct explanation *x)
{
	enum { NEAR = 16 /* lines: others may speak between */ };
	static const char *const how[] = {"IB-001", "IB-002", "IB-003", "IB-004", NULL};
	struct cause *c = explain_find(x, "IB-015");

	for (size_t i = 0; c && how[i]; i++) {
		const struct cause *o = explain_find(x, how[i]);

		if (!o || o->first->file != c->first->file || o->first->line <= c->first->line ||
		    o->first->line - c->first->line > NEAR ||
		    !strstr(c->first->text, "got completion with error:"))
			continue;
		c->weight = o->weight < CONFIDENT ? o->weight - 1 : CONFIDENT - 1;
		c->is_echo = true;
	}
}

/* Only the end that was sent too much, or too little, says so; the other hears that its request was
 * refused. */
static bool is_refusal(const struct log_event *e)
{
	return strstr(e->text, "status=9 ") || strstr(e->text, "REM_INV_REQ") ||
	       strstr(e->text, "invalid request local work queue") ||
	       strcasestr(e->text, "remote invalid request");
}

static void sizes(struct why *w, struct arena *a, struct explanation *x)
{
	const struct mtus *m = &w->mtus;
	const struct cause *refused = explain_find(x, "IB-015");
	struct cause *c = explain_find(x, "IB-004"), effect;
	const char *said = "the other end of a transfer says that a length was wrong";
	bool is_all = refused && !refused->is_over;

	for (size_t i = 0; is_all && i < refused->record->events.n; i++)
		is_all = is_refusal(&refused->record->events.v[i]);
	if (m->other_bytes)
		said = arena_printf(a, "the MTUs %ld and %ld stand in the log", m->one_bytes,
				    m->other_bytes);
	if (m->other_bytes && c && !c->is_over)
		c->because = said;
	if (!is_all || !(c || m->other_bytes))
		return;
	effect = *refused; /* the list may grow */
	explain_reason(explain_add(w, a, x, "IB-004"), &effect, explain_above(&effect, MORE, MOST),
		       said);
}

/* Such an access is one that was too long, or one of memory that the card does not reach: then
 * its own transfers fail, too, or the IOMMU says that it stopped one. */
static void violated(struct why *w, struct arena *a, struct explanation *x)
{
	const struct cause *mtu = explain_find(x, "IB-004"), *stopped = explain_find(x, "KRN-021");
	struct cause *c = explain_find(x, "IB-002"), effect;

	if (!mtu || mtu->is_over || w->mtus.other_bytes || !(c || stopped) || (c && c->is_over))
		return;
	for (size_t i = 0; i < mtu->record->events.n; i++)
		if (!strstr(mtu->record->events.v[i].text, "local access violation"))
			return;
	effect = *mtu; /* the list may grow */
	c = explain_add(w, a, x, "IB-002");
	c->first = c->first ? c->first : effect.first;
	explain_reason(c, &effect, effect.weight + MORE,
		       stopped ? "the IOMMU stopped a transfer of a device"
			       : "so the card reported an access violation");
	explain_find(x, "IB-004")->weight = CONFIDENT - 1;
}

void wire(struct why *w, struct arena *a, struct explanation *x)
{
	dumped(x);
	sizes(w, a, x);
	violated(w, a, x);
}
