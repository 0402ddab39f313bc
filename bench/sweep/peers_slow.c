/* Who of many that should be alike stands out? */
#include "bench/sweep/peers_look.h"
#include "bench/sweep/slow.h"
#include "lib/core/units.h"

#include <math.h>

/* Of what others of the same kind reach; two runs of one GPU differ by 2 %. */
static const double SLOW = 0.9, VERY_SLOW = 0.75;
static const double ALIKE = 0.1; /* so near the median is who is like the others */
enum { NAMED_MOST = 8 };

static double at(const struct peers *p, int row, int col)
{
	bool is_own = p->kind == PEERS_GPUS && row == col; /* that is its memory */

	return is_own ? NAN : p->gbps[row * p->cols + col];
}

void peers_look(const struct peers *p, const struct saved_opts *o, struct arena *a,
		struct peers_look *ret)
{
	struct peers_look x = {.p = p, .o = o, .a = a, .least = NAN};
	int near = 0;

	x.each = arena_alloc(a, ((size_t)p->cols + 1) * sizeof(double));
	for (int c = 0; c < p->cols; c++) {
		x.each[c] = NAN;
		for (int r = 0; r < p->rows; r++) {
			x.each[c] = fmax(x.each[c], at(p, r, c));
			if (p->kind == PEERS_GPUS)
				x.each[c] = fmax(x.each[c], at(p, c, r));
			x.least = fmin(x.least, at(p, r, c));
			x.apart += p->kind == PEERS_GPUS && r != c && isnan(at(p, r, c));
		}
		x.measured += !isnan(x.each[c]);
	}
	x.usual = slow_median(x.each, (size_t)p->cols, a);
	for (int c = 0; c < p->cols; c++)
		near += fabs(x.each[c] - x.usual) <= ALIKE * x.usual;
	x.are_alike = x.measured > 2 && near * 2 > x.measured;
	*ret = x;
}

const char *peers_measured(const struct peers_look *x)
{
	struct unit_buf size;
	const char *what = x->p->kind == PEERS_NODES ? "node" : "GPU";
	const char *of = x->p->bytes > 0 ? arena_printf(x->a, " at %s",
							format_size(&size, (uint64_t)x->p->bytes))
					 : "";

	if (x->measured == 1)
		return arena_printf(x->a, "%.4g GB/s%s of one %s", x->usual, of, what);
	return arena_printf(x->a, "%.4g GB/s%s, the median of %d %ss", x->usual, of, x->measured,
			    what);
}

/* --- who stands out ------------------------------------------------------------------------- */

const char *peers_fix(enum peers_kind kind)
{
	switch (kind) {
	case PEERS_HOST:
	case PEERS_SHARED:
		return "nvidia-smi -q | grep -A 8 'GPU Link Info'   # now and at most";
	case PEERS_MEMORY:
		return "nvidia-smi -q -d ECC,ROW_REMAPPER,CLOCK";
	case PEERS_NODES:
		return "- windsock --full on that node: what is wrong with it";
	default:
		return "nvidia-smi nvlink --status   # is a link down? its errors: nvidia-smi "
		       "nvlink -e";
	}
}

static void say_slow(const struct peers_look *x, const char *check, const char *who, double gbps,
		     const char *subject, struct report *r)
{
	struct finding *f = report_find(r, check, who);

	finding_value(f, gbps, "GB/s");
	finding_expect(f, ">= %.4g GB/s", SLOW * x->usual);
	finding_set(f, gbps < VERY_SLOW * x->usual ? ST_FAIL : ST_WARN,
		    "%s: %.4g GB/s, %.0f %% of the %.4g GB/s of the others", subject, gbps,
		    gbps / x->usual * 100, x->usual);
	finding_fix(f, "%s", peers_fix(x->p->kind));
	report_add(r, f);
}

static void say_rest(const char *subject, int named, const char *what, struct report *r)
{
	if (named > NAMED_MOST)
		report_remark(r, "%s: %d more %s are slow.", subject, named - NAMED_MOST, what);
}

static void name_ones(const struct peers_look *x, const char *subject, struct report *r)
{
	bool is_node = x->p->kind == PEERS_NODES;
	int named = 0;

	for (int c = 0; c < x->p->cols; c++)
		if (x->each[c] < SLOW * x->usual && named++ < NAMED_MOST)
			say_slow(x, is_node ? "slow.node" : "slow.gpu", x->p->names[c], x->each[c],
				 subject, r);
	say_rest(subject, named, is_node ? "nodes" : "GPUs", r);
}

static bool is_slow_pair(const struct peers_look *x, int row, int col)
{
	return at(x->p, row, col) < SLOW * x->usual && x->each[row] >= SLOW * x->usual &&
	       x->each[col] >= SLOW * x->usual;
}

/* Both of whom do well with others. Where it is every fourth one, that is how they are connected.
 */
static void name_pairs(const struct peers_look *x, const char *subject, struct report *r)
{
	const char *const *names = x->p->names;
	int slow = 0, n = x->p->cols, named = 0;

	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			slow += is_slow_pair(x, i, k);
	if (slow * 4 > n * (n - 1)) {
		report_remark(r,
			      "%s: %d of %d pairs are slower than the others: they are connected "
			      "in several ways (nvidia-smi topo -m).",
			      subject, slow, n * (n - 1));
		return;
	}
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			if (is_slow_pair(x, i, k) && named++ < NAMED_MOST)
				say_slow(x, "slow.pair",
					 arena_printf(x->a, "%s, %s", names[i], names[k]),
					 at(x->p, i, k), subject, r);
	say_rest(subject, named, "pairs", r);
}

void peers_name_slow(const struct peers_look *x, const char *subject, struct report *r)
{
	if (!x->are_alike) {
		if (x->measured > 2)
			report_remark(r,
				      "%s: from %.4g to %.4g GB/s: too different to say who is "
				      "slow.",
				      subject, x->least, x->usual);
		return;
	}
	name_ones(x, subject, r);
	if (x->p->kind == PEERS_GPUS)
		name_pairs(x, subject, r);
}
