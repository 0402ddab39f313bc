/* Is what was measured between many normal, and who of them stands out? */
#include "bench/sweep/expect.h"
#include "bench/sweep/peers.h"
#include "bench/sweep/slow.h"
#include "lib/core/units.h"

#include <math.h>

/* Of what others of the same kind reach; two runs of one GPU differ by 2 %. */
static const double SLOW = 0.9, VERY_SLOW = 0.75;
static const struct limits {
	double normal, bad;
} of_pcie = {0.85, 0.6}, of_nvlink = {0.7, 0.5}; /* of all that there is, as of a ring */
static const double ALIKE = 0.1;		 /* so near the median is who is like the others */
enum { NAMED_MOST = 8 };

/* --- what PCIe gives ------------------------------------------------------------------------ */

static const struct {
	int generation; /* with 16 lanes; 0: only fewer */
	double gbps;
	const char *words;
} links[] = {{5, 55, "PCIe 5.0 x16 gives"},
	     {4, 25, "PCIe 4.0 x16 or 5.0 x8 gives"},
	     {3, 12.5, "PCIe 3.0 x16 or 4.0 x8 gives"},
	     {0, 6.3, "PCIe 3.0 x8 or 4.0 x4 gives"},
	     {0, 3.2, "PCIe 3.0 x4 gives"}};

static double pcie_gbps(int generation)
{
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (generation && links[i].generation == generation)
			return links[i].gbps;
	return NAN;
}

/* What a link gives that is near it; NULL: none is. */
static const char *looks_like(double gbps)
{
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (gbps > links[i].gbps * 0.8 && gbps < links[i].gbps * 1.15)
			return links[i].words;
	return NULL;
}

/* --- each of them, by its best -------------------------------------------------------------- */

struct picture {
	const struct peers *p;
	const struct saved_opts *o;
	struct arena *a;
	double *each;	/* of columns: the most that it had with anybody */
	double usual;	/* the median of those */
	double least;	/* of all values */
	bool are_alike; /* most are near the usual: who is not stands out */
	int measured;
	int apart; /* pairs that reach each other in no way */
};

static double at(const struct peers *p, int row, int col)
{
	bool is_own = p->kind == PEERS_GPUS && row == col; /* that is its memory */

	return is_own ? NAN : p->gbps[row * p->cols + col];
}

static struct picture look(const struct peers *p, const struct saved_opts *o, struct arena *a)
{
	struct picture x = {.p = p, .o = o, .a = a, .least = NAN};
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
	return x;
}

/* "55.2 GB/s, the median of 8 GPUs" */
static const char *measured(const struct picture *x)
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

static const char *fix_of(enum peers_kind kind)
{
	switch (kind) {
	case PEERS_HOST:
	case PEERS_SHARED:
		return "nvidia-smi -q | grep -A 8 'GPU Link Info'   # width and generation, now "
		       "and "
		       "at most";
	case PEERS_MEMORY:
		return "nvidia-smi -q -d ECC,ROW_REMAPPER,CLOCK";
	case PEERS_NODES:
		return "- windsock --full on that node: what is wrong with it";
	default:
		return "nvidia-smi nvlink --status   # a link that is down; then nvidia-smi nvlink "
		       "-e";
	}
}

static void say_slow(const struct picture *x, const char *check, const char *who, double gbps,
		     const char *subject, struct report *r)
{
	struct finding *f = report_find(r, check, who);

	finding_value(f, gbps, "GB/s");
	finding_expect(f, ">= %.4g GB/s", SLOW * x->usual);
	finding_set(f, gbps < VERY_SLOW * x->usual ? ST_FAIL : ST_WARN,
		    "%s: %.4g GB/s, %.0f %% of the %.4g GB/s of the others", subject, gbps,
		    gbps / x->usual * 100, x->usual);
	finding_fix(f, "%s", fix_of(x->p->kind));
	report_add(r, f);
}

static int name_ones(const struct picture *x, const char *subject, struct report *r)
{
	const char *check = x->p->kind == PEERS_NODES ? "slow.node" : "slow.gpu";
	int named = 0;

	for (int c = 0; c < x->p->cols && named < NAMED_MOST; c++)
		if (x->each[c] < SLOW * x->usual) {
			say_slow(x, check, x->p->names[c], x->each[c], subject, r);
			named++;
		}
	return named;
}

static bool is_slow_pair(const struct picture *x, int row, int col)
{
	return at(x->p, row, col) < SLOW * x->usual && x->each[row] >= SLOW * x->usual &&
	       x->each[col] >= SLOW * x->usual;
}

/* Both of whom do well with others. Where it is every fourth one, that is how they are connected.
 */
static int name_pairs(const struct picture *x, const char *subject, struct report *r)
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
		return 0;
	}
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n && named < NAMED_MOST; k++)
			if (is_slow_pair(x, i, k)) {
				say_slow(x, "slow.pair",
					 arena_printf(x->a, "%s, %s", names[i], names[k]),
					 at(x->p, i, k), subject, r);
				named++;
			}
	return named;
}

/* Of two nobody can say which one it is. */
static void name_slow(const struct picture *x, const char *subject, struct report *r)
{
	if (!x->are_alike) {
		if (x->measured > 2)
			report_remark(r,
				      "%s: from %.4g to %.4g GB/s: too different to say who is "
				      "slow.",
				      subject, x->least, x->usual);
		return;
	}
	(void)name_ones(x, subject, r);
	if (x->p->kind == PEERS_GPUS)
		(void)name_pairs(x, subject, r);
}

/* --- against what there should be ----------------------------------------------------------- */

static void by_share(const struct picture *x, double possible, const struct limits *l,
		     const char *of, struct finding *f)
{
	double share = x->usual / possible, asked = x->o->expect_share;
	double normal = asked > 0 ? asked : l->normal, bad = asked > 0 ? asked : l->bad;
	const char *like = share < normal ? looks_like(x->usual) : NULL;

	finding_set(f,
		    share >= normal ? ST_PASS
		    : share < bad   ? ST_FAIL
				    : ST_WARN,
		    "%s: %.0f %% of %s%s%s", measured(x), share * 100, of,
		    like ? "; it is what " : "", like ?: "");
	finding_expect(f, ">= %.4g GB/s", possible * normal);
	if (share < normal)
		finding_fix(f, "%s", fix_of(x->p->kind));
}

static const char *unknown(const struct peers *p)
{
	return p->gpu ? "this GPU is not in the table" : "it does not say of which GPU";
}

static void judge_host(const struct picture *x, const struct expect_gpu *g, struct finding *f)
{
	double gives = pcie_gbps(g ? g->pcie : 0);
	const char *like = looks_like(x->usual);

	if (x->p->both_ways || x->p->kind == PEERS_SHARED)
		finding_set(f, ST_INFO, "%s, while others use the same links: not judged",
			    measured(x));
	else if (!isnan(gives))
		by_share(x, gives, &of_pcie,
			 arena_printf(x->a, "the %g GB/s that PCIe %d.0 x16 gives, which %s has",
				      gives, g->pcie, g->name),
			 f);
	else if (g)
		finding_set(f, ST_INFO, "%s; what leads to %s's host is not in the table",
			    measured(x), g->name);
	else
		finding_set(f, ST_INFO, "%s%s%s; not judged: %s", measured(x),
			    like ? ", which is what " : "", like ?: "", unknown(x->p));
}

/* Four of them may have no switch, and each two a third of the links. */
static void judge_links(const struct picture *x, const struct expect_gpu *g, struct finding *f)
{
	bool by_third = x->p->cols <= 4 && x->usual < of_nvlink.normal * g->nvlink &&
			x->usual >= of_nvlink.normal * g->nvlink / 3;
	double possible = by_third ? g->nvlink / 3 : g->nvlink;

	by_share(x, possible, &of_nvlink,
		 arena_printf(x->a, "%s%g GB/s of %s each way",
			      by_third ? "a third of the " : "the ", g->nvlink, g->generation),
		 f);
	if (f->status != ST_PASS && looks_like(x->usual))
		finding_fix(f,
			    "nvidia-smi topo -m; systemctl status nvidia-fabricmanager   # do they "
			    "use NVLink at all?");
}

static void judge_gpus(const struct picture *x, const struct expect_gpu *g, struct finding *f)
{
	if (x->p->both_ways || x->p->kind == PEERS_TOTAL)
		finding_set(f, ST_INFO, "%s, from %.4g on", measured(x), x->least);
	else if (g && g->is_switched && g->nvlink > 0)
		judge_links(x, g, f);
	else
		finding_set(f, ST_INFO, "%s, from %.4g on; not judged: %s", measured(x), x->least,
			    !g		    ? unknown(x->p)
			    : g->nvlink > 0 ? "it has other links to each of the others"
					    : "a PCIe card: it depends on bridges and switches");
}

/* Of collectives, and of what NVLink carries: PCIe is judged by what it is. */
static void judge_expected(const struct picture *x, double gbps, struct finding *f)
{
	finding_value(f, x->least, "GB/s");
	finding_set(f, x->least < gbps ? ST_FAIL : ST_PASS, "%s, the least is %.4g, expected %g",
		    measured(x), x->least, gbps);
	finding_expect(f, ">= %g GB/s", gbps);
	if (f->status == ST_FAIL)
		finding_fix(f, "%s", fix_of(x->p->kind));
}

static void judge_nodes(const struct picture *x, struct finding *f)
{
	if (x->o->expect_share > 0) {
		finding_set(f, ST_ERROR, "%s: there is nothing to take --expect PERCENT of",
			    measured(x));
		return;
	}
	finding_set(f, ST_INFO, "%s; not judged: it does not say of which GPUs", measured(x));
	finding_fix(f, "- say what is expected: --expect GBPS");
}

static void judge_speed(const struct picture *x, struct finding *f)
{
	const struct peers *p = x->p;
	struct expect_gpu known;
	const struct expect_gpu *g = expect_gpu(p->gpu, &known) ? &known : NULL;
	bool by_number = p->kind == PEERS_NODES || (p->kind == PEERS_GPUS && !p->both_ways);

	finding_value(f, x->usual, "GB/s");
	if (x->o->expect_gbps > 0 && by_number)
		judge_expected(x, x->o->expect_gbps, f);
	else if (p->kind == PEERS_HOST || p->kind == PEERS_SHARED)
		judge_host(x, g, f);
	else if (p->kind == PEERS_GPUS || p->kind == PEERS_TOTAL)
		judge_gpus(x, g, f);
	else if (p->kind == PEERS_NODES)
		judge_nodes(x, f);
	else
		finding_set(f, ST_INFO, "%s, inside its own memory", measured(x));
}

/* Where others have a switch between them, or at least each other. */
static void judge_apart(const struct picture *x, const char *subject, struct report *r)
{
	struct finding *f;

	if (!x->apart)
		return;
	f = report_find(r, "link.peer", subject);
	finding_set(f, ST_WARN, "%d of %d pairs of GPUs do not reach each other (N/A)", x->apart,
		    x->p->cols * (x->p->cols - 1));
	finding_fix(f, "nvidia-smi topo -p2p r; systemctl status nvidia-fabricmanager   # IOMMU, "
		       "ACS, or no fabric manager");
	report_add(r, f);
}

static void judge_end(const struct peers *p, const char *subject, struct report *r)
{
	struct finding *f;

	if (!p->failure)
		return;
	f = report_find(r, "coll.data", subject);
	finding_set(f, ST_FAIL, "the run failed: %s", p->failure);
	finding_fix(f, "- what that node wrote says why: nodes/NODE/benchmarks beside the summary");
	report_add(r, f);
}

void peers_judge(const struct peers *p, const char *subject, const struct saved_opts *o,
		 struct report *r)
{
	const char *check = p->kind == PEERS_NODES ? "coll.bandwidth" : "link.bandwidth";
	struct picture x = look(p, o, report_arena(r));
	struct finding *f = report_find(r, check, subject);

	judge_end(p, subject, r);
	judge_speed(&x, f);
	report_add(r, f);
	judge_apart(&x, subject, r);
	name_slow(&x, p->test, r);
}
