/* Ranks that called other things under one number of one group. */
#include "probes/flight/court.h"

enum kind { SAME, OTHER_OP, OTHER_SIZE, OTHER_TYPE };

static bool has(const char *op, const char *part) { return strstr(op, part) != NULL; }

/* Each rank may give, or take, another number of elements. */
static bool is_uneven(const char *op)
{
	return has(op, "all_to_all") || has(op, "alltoall") || has(op, "coalesced") ||
	       has(op, "_v") || has(op, "barrier") || has(op, "ALLTOALL");
}

static bool differ(flight_word a, flight_word b) { return a && b && a != b; }

/* One shape or another is the same to NCCL, which counts elements. */
static bool differ_in_size(const struct court *c, flight_word a, flight_word b)
{
	int64_t n = c->f->words.v[a].elements;

	return differ(a, b) && (!n || n != c->f->words.v[b].elements);
}

/* What every rank of such a collective must give alike. */
struct must {
	bool in, out, in_types, out_types;
};

static struct must must_of(const char *op)
{
	bool scatter = streq(op, "scatter"), gather = streq(op, "gather");
	bool sizes = !is_uneven(op), types = !has(op, "barrier") && !has(op, "coalesced");

	return (struct must){sizes && !scatter, sizes && !gather,
			     types && !scatter && !has(op, "broadcast"), types && !gather};
}

static enum kind compare(const struct court *c, const struct flight_entry *a,
			 const struct flight_entry *b)
{
	struct must m = must_of(flight_said(c->f, a->op));

	if (a->op != b->op)
		return OTHER_OP;
	if ((m.in && differ_in_size(c, a->in, b->in)) ||
	    (m.out && differ_in_size(c, a->out, b->out)))
		return OTHER_SIZE;
	if ((m.in_types && differ(a->in_types, b->in_types)) ||
	    (m.out_types && differ(a->out_types, b->out_types)))
		return OTHER_TYPE;
	return SAME;
}

struct met {
	int rank;
	const struct flight_entry *e;
	/* alike in those that call it alike: thousands of ranks are sorted, not compared in pairs
	 */
	int64_t shape[5];
};
typedef LIST(struct met) met_list;

/* One shape or another of as many elements is one; where they are not known it is itself. */
static int64_t size_of(const struct court *c, flight_word w)
{
	int64_t n = c->f->words.v[w].elements;

	return n ? n : -(int64_t)w;
}

/* @whole: with what it was called with, where that must be alike. */
static void take_shape(const struct court *c, bool whole, struct met *x)
{
	struct must m = must_of(flight_said(c->f, x->e->op));

	memset(x->shape, 0, sizeof(x->shape));
	x->shape[0] = x->e->op;
	x->shape[1] = whole && m.in ? size_of(c, x->e->in) : 0;
	x->shape[2] = whole && m.out ? size_of(c, x->e->out) : 0;
	x->shape[3] = whole && m.in_types ? x->e->in_types : 0;
	x->shape[4] = whole && m.out_types ? x->e->out_types : 0;
}

static int by_shape(const void *pa, const void *pb)
{
	const struct met *a = pa, *b = pb;

	for (size_t i = 0; i < ARRAY_LEN(a->shape); i++)
		if (a->shape[i] != b->shape[i])
			return a->shape[i] < b->shape[i] ? -1 : 1;
	return a->rank - b->rank;
}

static bool is_of_shape(const struct met *a, const struct met *b)
{
	return memcmp(a->shape, b->shape, sizeof(a->shape)) == 0;
}

/* What most of them did; of as many, what the first did. */
static const struct flight_entry *usual(const struct court *c, const met_list *l, bool whole)
{
	struct met *v = arena_alloc(c->a, l->n * sizeof(*v)), *best = v;
	size_t most = 0, n;

	memcpy(v, l->v, l->n * sizeof(*v));
	for (size_t i = 0; i < l->n; i++)
		take_shape(c, whole, &v[i]);
	qsort(v, l->n, sizeof(*v), by_shape);
	for (size_t i = 0; i < l->n; i += n) {
		for (n = 1; i + n < l->n && is_of_shape(&v[i], &v[i + n]); n++)
			;
		if (n > most || (n == most && v[i].rank < best->rank)) {
			most = n;
			best = &v[i];
		}
	}
	return best->e;
}

/* Before the one that they wait in the op alone counts: some differences do no harm. */
static enum kind differs(const struct court *c, const struct flight_entry *a,
			 const struct flight_entry *b, bool whole)
{
	return whole ? compare(c, a, b) : a->op == b->op ? SAME : OTHER_OP;
}

static bool are_alike(const struct court *c, const met_list *l, bool whole)
{
	for (size_t i = 1; i < l->n; i++)
		if (differs(c, l->v[0].e, l->v[i].e, whole) != SAME)
			return false;
	return true;
}

static void collect(const struct court *c, uint32_t group, uint32_t seq, met_list *ret)
{
	const struct flight_group *g = &c->f->groups.v[group];
	const struct flight_entry *e;

	ret->n = 0;
	for (size_t i = 0; i < g->n; i++)
		if (view_presence(court_view(c, g->ranks[i]), group, seq, &e) == HERE)
			*LIST_ADD(c->a, ret) = (struct met){.rank = g->ranks[i], .e = e};
}

/* All that is sent is received, where all ranks are known. */
static bool is_short(const struct court *c, const met_list *l, int64_t *in, int64_t *out)
{
	const char *op = flight_said(c->f, l->v[0].e->op);

	*in = *out = 0;
	if (!has(op, "all_to_all") || l->n != c->f->groups.v[l->v[0].e->group].n)
		return false;
	for (size_t i = 0; i < l->n; i++) {
		*in += c->f->words.v[l->v[i].e->in].elements;
		*out += c->f->words.v[l->v[i].e->out].elements;
	}
	return *in && *out && *in != *out;
}

static const char *what(const struct court *c, enum kind kind, const struct flight_entry *a,
			const struct flight_entry *other)
{
	flight_word w = kind == OTHER_OP ? a->op
			: kind == OTHER_TYPE
				? differ(a->in_types, other->in_types) ? a->in_types : a->out_types
			: differ_in_size(c, a->in, other->in) ? a->in
							      : a->out;

	return arena_printf(c->a, "%s%s", flight_said(c->f, w), say_at(c, a));
}

static void advise(struct court *c, struct flight_cause *t, enum kind kind)
{
	if (kind == OTHER_OP) {
		tell_line(c, &t->causes,
			  "a branch of the program that not all ranks take skips or adds a "
			  "collective: from there on each meets the wrong one of the others");
		tell_line(c, &t->causes, "two threads call collectives of one group");
		tell_line(c, &t->fix,
			  "- make all ranks of the group call the same collectives in the same "
			  "order");
		return;
	}
	tell_line(
		c, &t->causes,
		kind == OTHER_SIZE
			? "the last batch is smaller there, or a shape depends on the data, on the "
			  "rank or on what was loaded"
			: "mixed precision is set differently, or a tensor was made in another "
			  "type "
			  "there");
	tell_line(
		c, &t->fix,
		kind == OTHER_SIZE
			? "- pad to one shape (DataLoader(..., drop_last=True)), or all_gather the "
			  "sizes first"
			: "- convert the tensor before the call: tensor.to(dtype)");
}

static void tell(struct court *c, struct flight_verdict *v, enum kind kind,
		 const struct flight_entry *norm, const met_list *l)
{
	static const char *const ids[] = {"", "FR-002", "FR-003", "FR-004"};
	static const char *const words[] = {"", "called", "gave the sizes", "gave the types"};
	rank_list odd = {0}, others = {0};
	const struct flight_entry *other = NULL;
	struct flight_cause *t;

	for (size_t i = 0; i < l->n; i++)
		if (differs(c, norm, l->v[i].e, kind != OTHER_OP) == SAME) {
			*LIST_ADD(c->a, &others) = l->v[i].rank;
		} else {
			*LIST_ADD(c->a, &odd) = l->v[i].rank;
			other = other ? other : l->v[i].e;
		}
	t = tell_new(c, v, ids[kind], 94, odd.v, odd.n);
	t->is_programs = true;
	t->meaning = arena_printf(c->a, "in #%u of %s %s %s %s, but %s %s", norm->seq,
				  say_group(c, norm->group), say_ranks(c->a, odd.v, odd.n),
				  words[kind], what(c, kind, other, norm),
				  say_ranks(c->a, others.v, others.n), what(c, kind, norm, other));
	if (kind != OTHER_OP)
		t->meaning = arena_printf(c->a, "%s: %s", flight_said(c->f, norm->op), t->meaning);
	advise(c, t, kind);
	tell_line(c, &t->confirm,
		  "TORCH_DISTRIBUTED_DEBUG=DETAIL COMMAND   # checks every call, slowly");
}

static void tell_short(struct court *c, struct flight_verdict *v, const met_list *l, int64_t in,
		       int64_t out)
{
	struct flight_cause *t = tell_new(c, v, "FR-003", 90, NULL, 0);

	t->is_programs = true;
	t->meaning = arena_printf(
		c->a, "%s of %s: all ranks together give %lld elements but expect %lld%s",
		say_op(c, l->v[0].e), say_group(c, l->v[0].e->group), (long long)in, (long long)out,
		say_at(c, l->v[0].e));
	tell_line(c, &t->causes,
		  "the split sizes of two ranks do not agree: what one sends to another is "
		  "not what that expects from it");
	tell_line(c, &t->fix,
		  "- exchange the split sizes first: dist.all_to_all_single(output_splits, "
		  "input_splits)");
}

/* Up to the one that they wait in: the first that is not alike is where they parted. */
static bool judge_group(struct court *c, struct flight_verdict *v, const struct front *f)
{
	enum { BACK = 4000 };
	const struct flight_group *g = &c->f->groups.v[f->group];
	uint32_t from = f->seq;
	met_list l = {0};
	int64_t in, out;

	if (f->is_adrift)
		return false;
	for (size_t i = 0; i < g->n; i++) {
		const struct view *view = court_view(c, g->ranks[i]);
		const struct track *t = view ? view_track(view, f->group) : NULL;

		if (t && t->first < from)
			from = t->first;
	}
	for (uint32_t seq = f->seq - from > BACK ? f->seq - BACK : from; seq <= f->seq; seq++) {
		const struct flight_entry *norm;
		bool whole = seq == f->seq;

		collect(c, f->group, seq, &l);
		if (l.n < 2)
			continue;
		if (are_alike(c, &l, whole)) {
			if (whole && is_short(c, &l, &in, &out))
				return tell_short(c, v, &l, in, out), true;
			continue;
		}
		norm = usual(c, &l, whole);
		for (size_t i = 0; i < l.n; i++) {
			enum kind kind = differs(c, norm, l.v[i].e, whole);

			if (kind != SAME)
				return tell(c, v, kind, norm, &l), true;
		}
	}
	return false;
}

static int by_time(const void *pa, const void *pb)
{
	const struct front *const *a = pa, *const *b = pb;

	return (*a)->created_ns < (*b)->created_ns ? -1 : (*a)->created_ns > (*b)->created_ns;
}

bool judge_match(struct court *c, struct flight_verdict *v)
{
	LIST(const struct front *) waiting = {0};

	for (size_t i = 0; i < c->f->groups.n; i++)
		if (c->fronts[i].seq != NOWHERE)
			*LIST_ADD(c->a, &waiting) = &c->fronts[i];
	if (waiting.n)
		qsort(waiting.v, waiting.n, sizeof(*waiting.v), by_time);
	for (size_t i = 0; i < waiting.n; i++)
		if (judge_group(c, v, waiting.v[i]))
			return true;
	return false;
}
