#include "bench/sweep/alike.h"

#include "lib/core/text.h"
#include "lib/core/units.h"

#include <inttypes.h>

/* In the order of alike_of(). What a rank may have for itself (an address to use, the path of
 * a library, a deadline, files to write) is not here. */
static const char *const flags[ALIKE_OPTIONS] = {
	"--coll",  "--backend",	 "-d",	     "-o",	  "-r",	      "--pairs",
	"--rails", "--together", "-b",	     "-e",	  "-i",	      "-f",
	"-n",	   "-w",	 "-m",	     "-N",	  "-a",	      "-c",
	"-z",	   "-C",	 "-K",	     "-u",	  "-R",	      "-G",
	"-J",	   "--for",	 "--within", "--sockets", "--replay", "--nccl-blocking",
	"--groups"};
enum { SHOWN_OPTIONS = 3, SHOWN_VALUES = 3, SHOWN_RANKS = 40 /* characters */ };

typedef char word[sizeof(((struct alike *)0)->v[0])];

/* Of a long one the beginning, and what tells it from others that begin so. */
static void put_text(word *w, const char *text)
{
	int room = (int)sizeof(*w), n = snprintf(*w, sizeof(*w), "%s", text);

	if (n >= room)
		(void)snprintf(*w, sizeof(*w), "%.*s... (%08" PRIx32 ")", room - 15, text,
			       text_hash(0, text));
}

static void put(word *w, uint64_t v) { (void)snprintf(*w, sizeof(*w), "%" PRIu64, v); }

/* As it was typed, or shorter. */
static void put_size(word *w, uint64_t v)
{
	static const char units[] = "TGMK";

	for (size_t i = 0; units[i]; i++) {
		uint64_t unit = UINT64_C(1) << (40 - 10 * i);

		if (!v || v % unit)
			continue;
		(void)snprintf(*w, sizeof(*w), "%" PRIu64 "%c", v / unit, units[i]);
		return;
	}
	put(w, v);
}

/* One of @names, or all of them. */
static void put_set(word *w, unsigned set, const char *const *names)
{
	put_text(w, set & (set - 1) ? "all" : set ? names[__builtin_ctz(set)] : "none");
}

static void put_time(word *w, uint64_t ns)
{
	struct unit_buf b;

	put_text(w, ns ? format_duration(&b, ns) : "not given");
}

static const char *when(bool given) { return given ? "given" : "not given"; }

static void put_sizes(word *w, const struct sweep_opts *s)
{
	if (s->adaptive) {
		for (size_t i = 0; i < 3; i++)
			put_text(&w[i], when(false));
	} else {
		put_size(&w[0], s->min);
		put_size(&w[1], s->max);
		put_size(&w[2], s->step);
	}
	put(&w[3], s->factor);
}

void alike_of(const struct rank_opts *o, struct alike *ret)
{
	const struct sweep_opts *s = &o->sweep;
	const uint64_t numbers[] = {s->iters,
				    s->warmup,
				    s->aggregate,
				    s->cycles,
				    (uint64_t)s->average,
				    s->check,
				    (uint64_t)s->blocking,
				    s->cpu_time,
				    s->skip,
				    s->unalign,
				    o->registers,
				    s->graph};
	word *w = ret->v;

	*ret = (struct alike){.deadline_ns = o->deadline_ns};
	put_text(w++, s->coll->name);
	put_text(w++, o->backend);
	put_set(w++, s->types, dtype_names);
	put_set(w++, s->ops, redop_names);
	if (s->root < 0)
		put_text(w++, "all");
	else
		put(w++, (uint64_t)s->root);
	put_text(w++, when(o->mode == RANK_PAIRS));
	put_text(w++, o->rails ? o->rails : "auto");
	put_text(w++, when(o->together));
	put_sizes(w, s);
	w += 4;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		put(w++, numbers[i]);
	put_text(w++, when(s->keep_each));
	put_time(w++, s->for_ns);
	put_time(w++, s->within_ns);
	put(w++, o->sockets);
	put_text(w++, when(o->mode == RANK_REPLAY));
	put_text(w++, when(o->calls_block));
	put_text(w++, o->groups ? o->groups : when(false));
}

/* --- who has what ------------------------------------------------------------------------- */

static bool has(const struct alike *all, int rank, int option, const char *value)
{
	return streq(all[rank].v[option], value);
}

/* "ranks 0-2,5", or "rank 3 (node1)" */
static const char *ranks_with(const struct alike *all, const struct rdzv_member *m, int size,
			      int option, const char *value, struct arena *a)
{
	struct text t;
	int n = 0, last = 0;

	text_init(&t, a);
	for (int r = 0, from; r < size; r++) {
		if (!has(all, r, option, value))
			continue;
		for (from = r; r + 1 < size && has(all, r + 1, option, value);)
			r++;
		if (strlen(t.s) < SHOWN_RANKS)
			text_addf(&t, r > from ? "%s%d-%d" : "%s%d", n ? "," : "", from, r);
		n += r - from + 1;
		last = r;
	}
	if (n > 1)
		return arena_printf(a, "ranks %s%s", t.s,
				    strlen(t.s) < SHOWN_RANKS ? "" : " and others");
	return *m[last].host ? arena_printf(a, "rank %d (%.60s)", last, m[last].host)
			     : arena_printf(a, "rank %d", last);
}

static bool is_first(const struct alike *all, int rank, int option)
{
	for (int r = 0; r < rank; r++)
		if (has(all, r, option, all[rank].v[option]))
			return false;
	return true;
}

/* "-b is 8 on ranks 0,2 and 1M on rank 1 (node1)"; NULL: it is the same everywhere. */
static const char *spread(const struct alike *all, const struct rdzv_member *m, int size,
			  int option, struct arena *a)
{
	int values = 0, said = 0;
	struct text t;

	for (int r = 0; r < size; r++)
		values += is_first(all, r, option);
	if (values < 2)
		return NULL;
	text_init(&t, a);
	text_addf(&t, "%s is ", flags[option]);
	for (int r = 0; r < size && said < SHOWN_VALUES; r++) {
		const char *v = all[r].v[option];

		if (!is_first(all, r, option))
			continue;
		text_addf(&t, "%s%s on %s",
			  !said		       ? ""
			  : said + 1 == values ? " and "
					       : ", ",
			  v, ranks_with(all, m, size, option, v, a));
		said++;
	}
	if (values > said)
		text_addf(&t, ", and %d more values on others", values - said);
	return t.s;
}

int alike_compare(struct alike *all, const struct rdzv_member *m, int size, struct arena *a,
		  struct err *e)
{
	struct text t;
	int differ = 0;

	for (int r = 0; r < size; r++)
		for (int i = 0; i < ALIKE_OPTIONS; i++)
			all[r].v[i][sizeof(word) - 1] = '\0';
	text_init(&t, a);
	for (int i = 0; i < ALIKE_OPTIONS; i++) {
		const char *s = spread(all, m, size, i, a);

		if (s && differ++ < SHOWN_OPTIONS)
			text_addf(&t, "%s%s", differ > 1 ? "; " : "", s);
	}
	if (!differ)
		return 0;
	text_more(&t, ";", (size_t)differ, SHOWN_OPTIONS);
	err_set(e, ERR_SYS, "ranks were started with different options: %s", t.s);
	return err_hint(e, "start every rank with the same command line");
}

int alike_check(struct rank *r, struct err *e)
{
	int size = r->w->world.size;
	struct alike own, *all = arena_alloc(r->a, (size_t)size * sizeof(*all));
	const struct rdzv_member *m;
	size_t n;

	alike_of(r->o, &own);
	if (rdzv_members(r->w->rdzv, &m, &n, e) ||
	    rdzv_all_gather(r->w->rdzv, &own, sizeof(own), all, e))
		return -1;
	for (int i = 0; i < size; i++)
		r->deadline_ns =
			all[i].deadline_ns > r->deadline_ns ? all[i].deadline_ns : r->deadline_ns;
	if (!alike_compare(all, m, size, r->a, e))
		return 0;
	r->check = "rank.alike";
	r->all_know = true;
	return -1;
}
