/* What the dumps of PyTorch's Flight Recorder tell: each rank's calls become collectives that its
 * group did together, these a step, and its collectives moves. */
#include "bench/replay/dumps.h"
#include "bench/replay/named.h"
#include "bench/replay/window.h"
#include "lib/core/stats.h"

#include <math.h>

/* --- whose ------------------------------------------------------------------------------------ */

static bool has_dump(const struct reading *r, int rank)
{
	size_t lo = 0, hi = r->ndumps;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (r->dumps[mid]->rank < rank)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->ndumps && r->dumps[lo]->rank == rank;
}

static void see_rank(struct traffic *t, int rank)
{
	t->ranks = rank >= t->ranks ? rank + 1 : t->ranks;
}

/* Where no dump lists a group's ranks: those whose dumps know it. */
static int *ranks_seen(const struct reading *r, uint32_t group, size_t *ret_n)
{
	int *v = arena_alloc(r->a, (r->ndumps + 1) * sizeof(*v));

	*ret_n = 0;
	for (size_t i = 0; i < r->ndumps; i++)
		for (size_t k = 0; k < r->dumps[i]->groups.n; k++)
			if (r->dumps[i]->groups.v[k] == group) {
				v[(*ret_n)++] = r->dumps[i]->rank;
				break;
			}
	return v;
}

/* What PyTorch says where the program says nothing. */
static const char *name_of(const struct flight_group *g)
{
	static const char *const nothing[] = {"undefined", "default_pg", "mesh_default"};

	for (size_t i = 0; i < ARRAY_LEN(nothing); i++)
		if (streq(g->desc, nothing[i]))
			return "";
	return g->desc;
}

/* Of one rank nothing goes anywhere; in a damaged dump one is there twice. */
static bool is_group(struct reading *r, const int *ranks, size_t n)
{
	int *sorted = arena_alloc(r->a, (n + 1) * sizeof(*sorted));

	if (n)
		memcpy(sorted, ranks, n * sizeof(*sorted));
	sort_ints(sorted, n);
	for (size_t i = 1; i < n; i++)
		if (sorted[i] == sorted[i - 1])
			return false;
	return n > 1;
}

static void take_groups(struct reading *r)
{
	r->group_of = arena_alloc(r->a, (r->f->groups.n + 1) * sizeof(*r->group_of));
	for (uint32_t i = 0; i < r->f->groups.n; i++) {
		const struct flight_group *g = &r->f->groups.v[i];
		size_t n = r->is_known[i] ? g->n : 0;
		const int *ranks = g->is_told ? g->ranks : ranks_seen(r, i, &n);

		for (size_t k = 0; k < n; k++)
			see_rank(r->t, ranks[k]);
		r->group_of[i] = is_group(r, ranks, n)
					 ? traffic_group(r->t, name_of(g), ranks, (uint32_t)n)
					 : UINT32_MAX;
	}
	for (size_t i = 0; i < r->ndumps; i++)
		see_rank(r->t, r->dumps[i]->rank);
	for (int i = 0; i < r->t->ranks; i++)
		if (!has_dump(r, i))
			*LIST_ADD(r->t->a, &r->t->missing) = i;
}

/* --- which calls -------------------------------------------------------------------------------
 */

/* "send 0->1": of the two ranks that it is between, which are a group then. @ret: NULL where its
 * other side tells of it, or nobody can be told. */
static bool pair_of(struct reading *r, const struct flight_entry *e, uint32_t *ret)
{
	const char *op = flight_said(r->f, e->op);
	bool sends = starts_with(op, "send ");
	const struct traffic_group *g = &r->t->groups.v[r->group_of[e->group]];
	char *end;
	long me = strtol(op + 5, &end, 10), peer;
	int both[2];

	if (end[0] && end[1])
		end += 2; /* the arrow */
	peer = strtol(end, NULL, 10);
	if (me < 0 || peer < 0 || me == peer || me >= (long)g->n || peer >= (long)g->n)
		return false;
	both[!sends] = g->ranks[me];
	both[sends] = g->ranks[peer];
	if (!sends && has_dump(r, both[0]))
		return false;
	*ret = traffic_group(r->t, r->t->families.v[g->family].name, both, 2);
	return true;
}

/* Why it cannot be done again; NULL: it can. */
static const char *trouble_of(struct reading *r, const struct flight_entry *e)
{
	const char *op = flight_said(r->f, e->op), *type = dumps_type(r, e);
	struct named_op known;
	enum dtype t;
	size_t each;

	if (!dumps_is_message(op) && !named_op(op, &known))
		return arena_printf(r->a, "%.60s", *op ? op : "without a name");
	if (!*type)
		return dumps_is_message(op) || !strstr(known.as, "barrier") ? "of empty tensors"
									    : NULL;
	if (!named_type(type, &t, &each))
		return arena_printf(r->a, "%s of %.40s", dumps_is_message(op) ? "sends" : known.as,
				    type);
	return NULL;
}

static void take_call(struct reading *r, size_t dump, uint32_t at, const struct ref *before)
{
	const struct flight_entry *e = &r->dumps[dump]->entries.v[at];
	struct ref ref = {.group = r->group_of[e->group], .seq = e->seq};
	const char *op = flight_said(r->f, e->op), *trouble;

	ref.dump = (uint32_t)dump;
	ref.entry = at;
	if (ref.group == UINT32_MAX || (e->is_end && starts_with(op, "coalesced")))
		return;
	if (dumps_is_message(op) && !pair_of(r, e, &ref.group))
		return;
	if (r->t->groups.v[ref.group].n < 2)
		return;
	trouble = trouble_of(r, e);
	if (trouble) {
		traffic_leave_out(r->t, trouble, 1);
		return;
	}
	if (dumps_is_message(op)) /* counted by each rank for itself: two of them never meet */
		ref.seq = at;
	else if (before && before->group == ref.group && before->seq == ref.seq)
		ref.part = before->part + 1;
	*LIST_ADD(r->a, &r->refs) = ref;
}

static void take_calls(struct reading *r)
{
	r->from = arena_alloc(r->a, (r->ndumps + 1) * sizeof(*r->from));
	for (size_t i = 0; i < r->ndumps; i++) {
		r->from[i] = (uint32_t)r->refs.n;
		for (size_t k = 0; k < r->dumps[i]->entries.n; k++)
			take_call(r, i, (uint32_t)k,
				  r->refs.n > r->from[i] ? &r->refs.v[r->refs.n - 1] : NULL);
	}
	r->from[r->ndumps] = (uint32_t)r->refs.n;
}

/* --- a step ----------------------------------------------------------------------------------- */

static void find_step(struct reading *r)
{
	size_t n = r->refs.n;
	uint32_t *calls = arena_alloc(r->a, (n + 1) * sizeof(*calls));
	int64_t *at_ns = arena_alloc(r->a, (n + 1) * sizeof(*at_ns));
	struct order o = {.calls = calls,
			  .from = r->from,
			  .ranks = r->ndumps,
			  .events = r->events.v,
			  .nevents = r->events.n};
	size_t tangled;

	for (size_t i = 0; i < n; i++) {
		calls[i] = r->refs.v[i].event;
		at_ns[i] = dumps_entry(r, &r->refs.v[i])->created_ns;
	}
	tangled = order_find(&o, r->a);
	if (tangled)
		*LIST_ADD(r->t->a, &r->t->notes) =
			arena_printf(r->t->a,
				     "the ranks called %zu of the collectives in orders that do "
				     "not agree: these "
				     "come last here (ncclwhy on the same dumps says who)",
				     tangled);
	window_find(&o, at_ns, r->t, r->a);
}

int source_dumps(const struct flight *f, struct traffic *t, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	struct reading r = {.f = f, .t = t, .a = &a};

	t->source = "PyTorch's Flight Recorder";
	t->step_s = NAN;
	dumps_choose(&r);
	take_groups(&r);
	take_calls(&r);
	dumps_meet(&r);
	if (!t->kinds.n) {
		err_set(e, ERR_USAGE, "the dumps hold no collective that could be done again%s%s",
			t->left.n ? ": " : "", t->left.n ? t->left.v[0].what : "");
		return err_hint(e, "a training that has begun writes some: "
				   "TORCH_FR_BUFFER_SIZE=20000 keeps so many of each rank");
	}
	find_step(&r);
	traffic_close(t);
	return 0;
}
