/* A collective that timed out because one rank was busy alone: it saved, or worked on while the
 * others stood in a barrier. What was said before the silence, and in what they waited, tells. */
#include "probes/log/loner.h"

enum {
	MS_PER_S = 1000,
	SAVING = 8, /* more than the timeout that it explains, which gets some for being first */
	ALONE = 6,
	NEAR = 12, /* lines from that word to the timeout, where no clock tells */
	NEAR_MOST = 400,
	PROVEN_AT = 3, /* collectives of a group that show that its network works */
	SHORT_S = 600, /* torch's own limit for NCCL; a shorter one was set by somebody */
};

long loner_limit_s(const struct cause *c)
{
	for (size_t i = 0; i < c->record->events.n; i++) {
		const char *p = strstr(c->record->events.v[i].text, "Timeout(ms)=");

		if (p)
			return strtol(p + strlen("Timeout(ms)="), NULL, 10) / MS_PER_S;
	}
	return 0;
}

/* The others began to wait when it began to save, or a little later. */
static bool is_of_then(const struct log_event *save, const struct cause *timeout, long limit)
{
	const struct log_event *e = timeout->first;
	int64_t ms = event_later_ms(e, save), want = (int64_t)limit * MS_PER_S;

	if (save->file != e->file || save->line >= e->line || e->line - save->line > NEAR_MOST)
		return false;
	if (!want || !save->clock || save->clock != e->clock)
		return e->line - save->line <= NEAR;
	return ms > want - want / 5 && ms < want + want / 2;
}

/* The latest word of it before the timeout, of those that were kept. */
static const struct log_event *saving(const struct cause *c, const struct cause *timeout,
				      long limit)
{
	const struct log_event *best = NULL;

	for (size_t i = 0; i < c->record->events.n; i++) {
		const struct log_event *e = &c->record->events.v[i];

		if (is_of_then(e, timeout, limit) && (!best || e->line > best->line))
			best = e;
	}
	return best;
}

/* Of a log with hundreds of checkpoints the first few words are kept, and where the last one was.
 */
static bool is_last_near(const struct cause *c, const struct cause *timeout)
{
	const struct record *r = c->record;
	uint64_t at = timeout->first->line;

	return r->count > r->events.n && r->last_file == timeout->first->file &&
	       r->last_line < at && at - r->last_line <= NEAR;
}

static void judge_saving(struct arena *a, struct explanation *x, const struct cause *timeout)
{
	struct cause *c = explain_find(x, "PT-100");
	const struct log_event *e = c ? saving(c, timeout, loner_limit_s(timeout)) : NULL;

	if (!c || (!e && !is_last_near(c, timeout)))
		return;
	explain_raise(c, timeout->weight + SAVING,
		      e ? arena_printf(a, "'%.80s' was said before the wait, in line %llu", e->body,
				       (unsigned long long)e->line)
			: arena_printf(a, "line %llu, before the wait, says so",
				       (unsigned long long)c->record->last_line));
	c->first = timeout->first;
}

/* All of them waited there: then nobody is missing, and the network is to blame. */
static bool is_somebody_missing(const struct why *w)
{
	const struct waiters waits = actors_waiting(&w->actors);

	for (size_t i = 0; i < w->actors.v.n; i++) {
		const struct actor *y = &w->actors.v.v[i];

		if (y->seq >= 0 && (y->numel > 1 || y->seq < PROVEN_AT))
			return false;
	}
	return waits.n && (!waits.nranks || waits.n < waits.nranks);
}

static void judge_barrier(struct why *w, struct arena *a, struct explanation *x,
			  const struct cause *timeout)
{
	struct cause *c = explain_find(x, "PT-101");
	long limit = loner_limit_s(timeout);
	const char *said = timeout->because;

	if (!c || !is_somebody_missing(w))
		return;
	if (limit && limit < SHORT_S)
		said = arena_printf(a, "the limit was %ld s only%s%s", limit, said ? "; " : "",
				    said ? said : "");
	else if (limit && !said)
		said = arena_printf(a, "they waited %ld minutes", limit / 60);
	explain_raise(c, timeout->weight + ALONE, said);
	c->first = timeout->first;
}

bool loner_is_echo(const struct explanation *x, const struct cause *timeout)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *c = &x->causes.v[i];

		if (c->first && !c->is_over && c->weight >= CONFIDENT &&
		    (c->sig->tier == TIER_ROOT ||
		     (c->sig->tier == TIER_GENERIC && event_before(c->first, timeout->first))))
			return true;
	}
	return false;
}

void loner(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const own[] = {"PT-100", "PT-101"};
	const struct cause *timeout = explain_find(x, "PT-006");

	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		struct cause *c = explain_find(x, own[i]);

		if (c) /* every healthy job says such things */
			c->weight = 0;
	}
	if (!timeout || timeout->is_over || !timeout->first || loner_is_echo(x, timeout))
		return;
	judge_barrier(w, a, x, timeout);
	judge_saving(a, x, timeout);
}
