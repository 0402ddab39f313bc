/* Who came to what the others waited in: everybody, and then the way between them is to blame; or
 * all but a few, whom a Gloo operation that ran out does not name. */
#include "probes/log/explain.h"
#include "probes/log/said.h"

enum {
	BETTER = 5, /* than "a rank did not take part", which is not so */
	BEST = 8,
};

/* All ranks of the job gave up in one and the same collective. */
static bool is_everybody(const struct why *w, const struct waiters *waits)
{
	const struct actor *one = waits->behind;
	bool seen[RANKS_KEPT] = {false};

	if (waits->n < 2 || waits->n != waits->nranks || waits->n > RANKS_KEPT)
		return false;
	for (size_t i = 0; i < w->actors.v.n; i++) {
		const struct actor *y = &w->actors.v.v[i];

		if (y->seq < 0)
			continue;
		if (y->seq != one->seq || !streq(y->op, one->op) || !streq(y->group, one->group) ||
		    y->numel != one->numel || y->who.rank < 0 || y->who.rank >= waits->n ||
		    seen[y->who.rank])
			return false;
		seen[y->who.rank] = true;
	}
	return true;
}

/* Who gave up as much later as each waits came when the other had gone; NULL: nobody did. */
static const char *too_late(const struct why *w, struct arena *a, const struct log_event *said)
{
	const struct actor *first = NULL, *last = NULL;
	long limit = said ? said_in(said->text, "Timeout(ms)=", -1) : -1;

	for (size_t i = 0; i < w->actors.v.n; i++) {
		const struct actor *y = &w->actors.v.v[i];

		if (y->seq < 0 || !y->clock || (first && y->clock != first->clock))
			continue;
		first = !first || y->gave_up_ms < first->gave_up_ms ? y : first;
		last = !last || y->gave_up_ms > last->gave_up_ms ? y : last;
	}
	if (limit <= 0 || !first || last->gave_up_ms - first->gave_up_ms < limit)
		return NULL;
	return arena_printf(a, "%s gave up so much later than %s that it came when that had gone",
			    who_text(a, &last->who), who_text(a, &first->who));
}

static void everybody(struct why *w, struct arena *a, struct explanation *x)
{
	const struct waiters waits = actors_waiting(&w->actors);
	struct cause *timeout = explain_find(x, "PT-006"), *c = explain_find(x, "PT-112");
	const char *said;

	if (c) /* every timeout says what makes it */
		c->weight = 0;
	if (!c || !timeout || timeout->is_over || timeout->because || !is_everybody(w, &waits))
		return;
	said = too_late(w, a, timeout->first);
	if (said) {
		explain_raise(timeout, timeout->weight, said);
		return;
	}
	said = arena_printf(a, "all %d ranks waited in %s number %lld: nobody is missing", waits.n,
			    waits.behind->op, (long long)waits.behind->seq);
	*LIST_ADD(a, &x->notes) = said;
	explain_raise(c, timeout->weight + BETTER, said);
	if (w->actors.nhosts <= 1 && !why_has_worked(w) && !explain_has_reason(x))
		explain_raise(stuck_between(x), timeout->weight + BEST, said);
}

/* Of which size the job said that it is; 0: it did not. */
static long world_of(const struct why *w)
{
	long n = w->gloo_ranks;

	for (size_t i = 0; i < w->actors.v.n; i++)
		if (w->actors.v.v[i].nranks > n)
			n = w->actors.v.v[i].nranks;
	return w->muster[MEMBERS].total > n ? w->muster[MEMBERS].total : n;
}

/* Beyond those that are kept all are one. */
static uint64_t bit_of(int rank) { return 1ULL << (rank < RANKS_KEPT ? rank : RANKS_KEPT - 1); }

/* Those who spoke of Gloo's end, a bit each; what was met once more than is kept is not known. */
static uint64_t who_spoke(struct explanation *x)
{
	static const char *const all[] = {"CON-024", "CON-010", "PT-027"};
	uint64_t bits = 0;

	for (size_t k = 0; k < ARRAY_LEN(all); k++) {
		const struct cause *c = explain_find(x, all[k]);

		for (size_t r = 0; c && r < c->record->nranks; r++)
			bits |= bit_of(c->record->ranks[r]);
	}
	return bits;
}

/* "ranks 2, 5": those of @n whose bit is not set. */
static const char *ranks_text(struct arena *a, uint64_t bits, long n, int missing)
{
	const char *s = missing > 1 ? "ranks" : "rank", *comma = " ";

	for (long r = 0; r < n; r++)
		if (!(bits >> r & 1)) {
			s = arena_printf(a, "%s%s%ld", s, comma, r);
			comma = ", ";
		}
	return s;
}

/* Gloo's timeout does not say for whom it waited: whoever says nothing of it did not wait, or its
 * log is not among these. */
static void silent(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "CON-024");
	uint64_t spoke = who_spoke(x);
	int heard = __builtin_popcountll(spoke);
	long n = world_of(w), missing = n - heard;

	if (!c || c->is_over || c->because || n > RANKS_KEPT || !heard || missing < 1 ||
	    missing > n / 2 || (n < 64 && spoke >> n))
		return;
	explain_raise(c, c->weight + BETTER,
		      arena_printf(a,
				   "%d of %ld ranks waited in it; %s never said that %s did: look "
				   "there",
				   heard, n, ranks_text(a, spoke, n, (int)missing),
				   missing > 1 ? "they" : "it"));
}

/* "TIMEOUT self_rank = 0 pair_rank = 3": who is waited for, and waits for nobody. Not where lines
 * were left out. */
static void awaited(struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "CON-024");
	uint64_t waits = 0;

	if (c && c->record->count > c->record->events.n)
		return;
	for (size_t i = 0; c && i < c->record->events.n; i++) {
		long self = said_in(c->record->events.v[i].text, "self_rank = ", -1);

		waits |= self >= 0 && self < RANKS_KEPT ? 1ULL << self : 0;
	}
	for (size_t i = 0; waits && i < c->record->events.n; i++) {
		const char *text = c->record->events.v[i].text;
		long self = said_in(text, "self_rank = ", -1),
		     pair = said_in(text, "pair_rank = ", -1);

		if (self < 0 || pair < 0 || pair >= RANKS_KEPT || waits >> pair & 1)
			continue;
		explain_raise(c, c->weight + BETTER,
			      arena_printf(a, "rank %ld waited for rank %ld, which does not say so",
					   self, pair));
		return;
	}
}

/* Who came to a monitored barrier knows only that rank 0 did not let it out. */
static void let_nobody_out(struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-027");
	const struct log_event *e = explain_event(c, "successfully reached");
	long by = e ? said_in(e->text, "send/recv from rank ", -1) : -1;

	if (by >= 0 && !c->because && !explain_says(c, "failed to pass"))
		explain_raise(c, c->weight,
			      arena_printf(a,
					   "%s came, and waited for rank %ld, whose log says who "
					   "did not, or what it did itself",
					   who_text(a, &e->who), by));
}

void came(struct why *w, struct arena *a, struct explanation *x)
{
	everybody(w, a, x);
	awaited(a, x);
	silent(w, a, x);
	let_nobody_out(a, x);
}
