#include "bench/coll/coll.h"
#include "lib/core/arena.h"

#define COLL(name) extern const struct coll coll_##name;
#include "gen/colls.h"
#undef COLL

const struct coll *const colls[] = {
#define COLL(name) &coll_##name,
#include "gen/colls.h"
#undef COLL
	NULL,
};

const char *const coll_names[] = {
#define COLL(name) #name,
#include "gen/colls.h"
#undef COLL
	"hypercube",
	NULL,
};

/* "", "_perf", and "_perf_mpi", as some install it. */
static bool is_end_of_name(const char *s)
{
	return !*s || (starts_with(s, "_perf") && (!s[5] || s[5] == '_' || s[5] == '.'));
}

const struct coll *coll_find(const char *name)
{
	for (size_t i = 0; colls[i]; i++) {
		size_t n = strlen(colls[i]->name);

		if (strncmp(name, colls[i]->name, n) == 0 && is_end_of_name(name + n))
			return colls[i];
	}
	/* there: an all_gather written with sends and receives */
	return starts_with(name, "hypercube") ? coll_find("all_gather") : NULL;
}

double coll_factor_one(int ranks)
{
	(void)ranks;
	return 1;
}

double coll_factor_parts(int ranks) { return (double)(ranks - 1) / ranks; }

void coll_sizes_whole(int ranks, size_t part, struct coll_sizes *ret)
{
	(void)ranks;
	*ret = (struct coll_sizes){.count = part, .send = part, .recv = part};
}

struct coll_sizes coll_sizes(const struct coll *c, size_t bytes, enum dtype type, int ranks)
{
	size_t element = dtype_size(type), count = bytes / element;
	struct coll_sizes s;

	if (c->is_of_parts) /* nccl-tests keeps parts aligned to 16 bytes */
		count = count / (size_t)ranks & ~(16 / element - 1);
	c->sizes(ranks, count, &s);
	return s;
}

size_t coll_bytes(const struct coll_case *c)
{
	const struct coll_sizes *s = &c->sizes;

	return (s->send > s->recv ? s->send : s->recv) * dtype_size(c->type);
}

double coll_algbw(const struct coll_case *c, double seconds)
{
	double bytes = (double)c->sizes.count * (double)dtype_size(c->type);

	return bytes * (c->coll->is_of_parts ? c->ranks : 1) / 1e9 / seconds;
}

static char *at(const struct coll_case *c, void *p, size_t elements)
{
	return (char *)p + elements * dtype_size(c->type);
}

static bool in_place(const struct coll_case *c, const struct coll_buffers *b)
{
	return b->in_place && !c->coll->between;
}

static char *send_at(const struct coll_case *c, const struct coll_buffers *b)
{
	return in_place(c, b) ? at(c, b->recv, c->sizes.send_step * (size_t)c->rank) : b->send;
}

static char *recv_at(const struct coll_case *c, const struct coll_buffers *b)
{
	return in_place(c, b) ? at(c, b->recv, c->sizes.recv_step * (size_t)c->rank) : b->recv;
}

static struct pattern pattern_of(const struct coll_case *c, int rank)
{
	return (struct pattern){.type = c->type,
				.op = c->coll->reduces ? c->op : PATTERN_MOVES,
				.ranks = c->ranks,
				.rank = rank,
				.seed = c->seed};
}

void coll_fill(const struct coll_case *c, const struct coll_buffers *b, struct dev *d)
{
	const struct pattern p = pattern_of(c, c->rank);

	d->clear(d, b->recv, coll_bytes(c));
	d->fill(d, send_at(c, b), &p, 0, c->sizes.send);
}

/* To each rank, then from each. */
static const size_t *counts_of(const struct coll_case *c)
{
	static _Thread_local struct arena kept;
	size_t *v, n = (size_t)c->ranks;

	arena_done(&kept);
	v = arena_alloc(&kept, 2 * n * sizeof(*v));
	for (int p = 0; p < c->ranks; p++) {
		v[p] = c->coll->between(c->ranks, c->sizes.count, c->rank, p);
		v[n + (size_t)p] = c->coll->between(c->ranks, c->sizes.count, p, c->rank);
	}
	return v;
}

struct comm_request coll_request(const struct coll_case *c, const struct coll_buffers *b)
{
	const size_t *counts = c->coll->between ? counts_of(c) : NULL;

	return (struct comm_request){.kind = c->coll->kind,
				     .send = send_at(c, b),
				     .recv = recv_at(c, b),
				     .count = c->sizes.count,
				     .type = c->type,
				     .op = c->op,
				     .root = c->root,
				     .send_counts = counts,
				     .recv_counts = counts ? counts + c->ranks : NULL};
}

struct check {
	const struct coll_case *c;
	struct dev *d;
	char *recv;
	size_t wrong;
};

static void check_piece(void *arg, size_t to, size_t n, int from, size_t from_at)
{
	struct check *k = arg;
	const struct pattern p = pattern_of(k->c, from);

	k->wrong += k->d->wrong(k->d, at(k->c, k->recv, to), &p, from_at, n);
}

size_t coll_wrong(const struct coll_case *c, const struct coll_buffers *b, struct dev *d)
{
	struct check k = {.c = c, .d = d, .recv = recv_at(c, b)};

	c->coll->expect(c, check_piece, &k);
	return k.wrong;
}
