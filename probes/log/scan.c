#include "probes/log/scan.h"

#include <endian.h>
#include <limits.h>

enum {
	GRAM = 5,
	TAIL = 4,
	STRIDE = SCAN_MIN - GRAM + 1,
	AT_END = (8 - GRAM + STRIDE - 1) / STRIDE, /* places where no word can be read any more */
	TABLE_BITS = 18,
	HEAD_BITS = 15,
	NONE = UINT16_MAX,
};

/* One of the STRIDE grams of a literal. */
struct key {
	uint64_t gram : 8 * GRAM, n : 16; /* of its literal */
	uint32_t tail;			  /* the literal's last bytes: the first may be many's */
	uint16_t offset;		  /* in its literal */
	uint16_t next;			  /* of the same head */
};

struct scan {
	/* by hash: has a literal such a gram? Bits, so that all of it stays in the first cache */
	uint64_t is_key[(1 << TABLE_BITS) / 64];
	uint16_t heads[1 << HEAD_BITS];
	struct key *keys; /* STRIDE for each literal */
	struct literal *v;
	size_t n;
	unsigned version; /* of the two tables */
};

static inline uint32_t four_at(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t gram_at(const char *p)
{
	return (uint64_t)(unsigned char)p[GRAM - 1] << 32 | four_at(p);
}

/* The same in one step, where three bytes more can be read. */
static inline uint64_t gram_of_word(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v) & UINT64_MAX >> (64 - 8 * GRAM);
}

static inline uint64_t hash(uint64_t gram, int bits)
{
	return gram * 0x9e3779b97f4a7c15 >> (64 - bits);
}

static inline void mark(struct scan *s, uint64_t gram)
{
	uint64_t h = hash(gram, TABLE_BITS);

	s->is_key[h / 64] |= UINT64_C(1) << (h % 64);
}

static inline unsigned is_marked(const uint64_t *is_key, uint64_t gram)
{
	uint64_t h = hash(gram, TABLE_BITS);

	return is_key[h / 64] >> (h % 64) & 1;
}

/* What logs are full of: a literal's other pieces are looked for. */
static const char everyday[] =
	"                [rank0]:   File "
	"\"/usr/local/lib/python3.10/site-packages/torch/distributed/"
	"run.py\", line 100, in main    return self._call_impl(*args, **kwargs) "
	"Traceback (most recent call last): RuntimeError: failed to connect to "
	"NCCL INFO comm 0x rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId 1000 commId 0x - Init START "
	"Init COMPLETE Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0 P2P/CUMEM/read "
	"Connected all rings trees NCCL_SOCKET_IFNAME set by environment to NET/IB : Using "
	"NCCL WARN Call to ProcessGroupNCCL.cpp torch.distributed.elastic [INFO] WARNING ERROR "
	"2025-01-01 00:00:00,000 localhost "
	"[rank1]:[E ProcessGroupNCCL.cpp: [Rank 1] Watchdog caught collective operation timeout: "
	"WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
	"600000 milliseconds before timing out. torch.distributed.DistBackendError: NCCL error in: "
	"Last error: ValueError: CUDA error: Exception: exitcode  : 1 (pid: 1) Error: ERROR: "
	"error: Connection closed by (Connection refused) timed out ";

enum { EVERYDAY = 64 /* times as common as what is in a literal */ };

static void count_grams(const char *s, size_t n, unsigned each, unsigned *counts)
{
	for (size_t at = 0; at + GRAM <= n; at++)
		counts[hash(gram_at(s + at), TABLE_BITS)] += each;
}

static void choose_keys(struct scan *s, size_t i, const unsigned *counts)
{
	const struct literal *l = &s->v[i];
	unsigned least = UINT_MAX, common = 0, of[STRIDE] = {0};
	size_t from = 0;

	for (size_t at = 0; at + GRAM <= l->n; at++) {
		unsigned *gram = &of[at % STRIDE]; /* there is the one that leaves the window */

		common -= *gram;
		*gram = counts[hash(gram_at(l->s + at), TABLE_BITS)];
		common += *gram;
		if (at + 1 >= STRIDE && common < least) {
			least = common;
			from = at + 1 - STRIDE;
		}
	}
	for (size_t j = 0; j < STRIDE; j++)
		s->keys[i * STRIDE + j] = (struct key){.gram = gram_at(l->s + from + j),
						       .n = (uint16_t)l->n,
						       .tail = four_at(l->s + l->n - TAIL),
						       .offset = (uint16_t)(from + j)};
}

struct scan *scan_new(struct arena *a, const struct literal *v, size_t n, const bool *is_left_out)
{
	AUTO(arena_done) struct arena tmp = {0};
	unsigned *counts = arena_alloc(&tmp, sizeof(*counts) << TABLE_BITS);
	struct scan *s = ARENA_NEW(a, struct scan);

	s->v = arena_alloc(a, n * sizeof(*s->v));
	for (size_t i = 0; i < n && s->n < SCAN_MAX; i++)
		if (v[i].n >= SCAN_MIN && v[i].n <= UINT16_MAX) {
			s->v[s->n++] = v[i];
			count_grams(v[i].s, v[i].n, 1, counts);
		}
	count_grams(everyday, strlen(everyday), EVERYDAY, counts);
	s->keys = arena_alloc(a, s->n * STRIDE * sizeof(*s->keys));
	for (size_t i = 0; i < s->n; i++)
		choose_keys(s, i, counts);
	scan_leave_out(s, is_left_out);
	return s;
}

size_t scan_count(const struct scan *s) { return s->n; }

void scan_leave_out(struct scan *s, const bool *is_left_out)
{
	memset(s->is_key, 0, sizeof(s->is_key));
	memset(s->heads, 0xff, sizeof(s->heads));
	for (size_t k = 0; k < s->n * STRIDE; k++) {
		uint16_t *head = &s->heads[hash(s->keys[k].gram, HEAD_BITS)];

		if (is_left_out && is_left_out[s->v[k / STRIDE].tag])
			continue;
		mark(s, s->keys[k].gram);
		s->keys[k].next = *head;
		*head = (uint16_t)k;
	}
	s->version++;
}

void scan_begin(struct scan_walk *w, const struct scan *s, const char *text, size_t n)
{
	w->scan = s;
	w->text = text;
	w->n = n;
	w->from = w->at = w->until = 0;
	w->first = w->nplaces = 0;
	w->key = NONE;
	w->version = s->version;
}

/* Finds those of the next places that may be something, without a branch on what nobody can
 * foresee. A function of its own: within another its loop has too few registers. */
static __attribute__((noinline)) void look_ahead(struct scan_walk *w)
{
	const uint64_t *is_key = w->scan->is_key;
	const char *text = w->text + w->at;
	size_t left = w->n - w->at, most = (left - GRAM) / STRIDE + 1;
	size_t n = 0, i = 0, end = most < SCAN_AHEAD ? most : SCAN_AHEAD, words;

	/* up to there a whole word can be read */
	words = left < end * STRIDE + sizeof(uint64_t) ? end - (end < AT_END ? end : AT_END) : end;
	for (; i < words; i++) {
		w->places[n] = (uint16_t)i;
		n += is_marked(is_key, gram_of_word(text + i * STRIDE));
	}
	for (; i < end; i++) {
		w->places[n] = (uint16_t)i;
		n += is_marked(is_key, gram_at(text + i * STRIDE));
	}
	w->from = w->at;
	w->at += end * STRIDE;
	w->first = 0;
	w->nplaces = (unsigned)n;
}

/* By other tables, from the first place on that nobody was told of. */
static void look_again(struct scan_walk *w)
{
	if (w->until < w->at)
		w->at = w->from + (w->until - w->from + STRIDE - 1) / STRIDE * STRIDE;
	w->first = w->nplaces = 0;
	w->version = w->scan->version;
}

static size_t first_place(const struct scan_walk *w)
{
	return w->from + (size_t)w->places[w->first] * STRIDE;
}

static bool has_place(struct scan_walk *w, size_t until)
{
	while (w->first == w->nplaces && w->at < until && w->at + GRAM <= w->n)
		look_ahead(w);
	return w->first < w->nplaces && first_place(w) < until;
}

static bool is_there(const struct scan_walk *w, size_t at, uint64_t gram, const struct key *k,
		     const struct literal *l)
{
	size_t from = at - k->offset;

	return k->gram == gram && k->offset <= at && k->n <= w->n - from &&
	       four_at(w->text + from + k->n - TAIL) == k->tail &&
	       memcmp(w->text + from, l->s, k->n) == 0;
}

bool scan_next(struct scan_walk *w, size_t until, struct scan_hit *ret)
{
	const struct scan *s = w->scan;

	if (w->version != s->version)
		look_again(w);
	while (has_place(w, until)) {
		size_t at = first_place(w);
		uint64_t gram = gram_at(w->text + at);
		uint16_t k = w->key != NONE ? w->key : s->heads[hash(gram, HEAD_BITS)];

		while (k != NONE && !is_there(w, at, gram, &s->keys[k], &s->v[k / STRIDE]))
			k = s->keys[k].next;
		w->key = k != NONE ? s->keys[k].next : NONE;
		w->first += w->key == NONE;
		if (k == NONE)
			continue;
		*ret = (struct scan_hit){at - s->keys[k].offset, s->v[k / STRIDE].tag};
		return true;
	}
	w->until = until;
	return false;
}
