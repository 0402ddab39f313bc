/* Is what was measured between many normal? */
#include "bench/sweep/expect_gpu.h"
#include "bench/sweep/peers_look.h"

#include <math.h>

static const struct limits {
	double normal, bad;
} of_pcie = {0.85, 0.6}, of_nvlink = {0.7, 0.5}; /* of all that there is, as of a ring */

/* --- what PCIe gives ------------------------------------------------------------------------ */

static const struct {
	int generation; /* with 16 lanes */
	double gbps;
	const char *words;
} links[] = {{5, 55, "PCIe 5.0 x16 gives"},
	     {4, 25, "PCIe 4.0 x16 or 5.0 x8 gives"},
	     {3, 12.5, "PCIe 3.0 x16 or 4.0 x8 gives"},
	     {2, 6.3, "PCIe 3.0 x8 or 4.0 x4 gives"},
	     {1, 3.2, "PCIe 3.0 x4 gives"}};

/* Half the lanes give what the generation before does. */
static double pcie_gbps(const struct expect_gpu *g)
{
	int generation = g->pcie;

	for (int lanes = g->lanes; lanes < 16; lanes *= 2)
		generation--;
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (g->pcie && links[i].generation == generation)
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

/* --- against what there should be ----------------------------------------------------------- */

static void by_share(const struct peers_look *x, double possible, const struct limits *l,
		     const char *of, struct finding *f)
{
	double share = x->usual / possible, asked = x->o->expect_share;
	double normal = asked > 0 ? asked : l->normal, bad = asked > 0 ? asked : l->bad;
	const char *like = share < normal ? looks_like(x->usual) : NULL;

	finding_set(f,
		    share >= normal ? ST_PASS
		    : share < bad   ? ST_FAIL
				    : ST_WARN,
		    "%s: %.0f %% of %s%s%s", peers_measured(x), share * 100, of,
		    like ? "; it is what " : "", like ?: "");
	finding_expect(f, ">= %.4g GB/s", possible * normal);
	if (share < normal)
		finding_fix(f, "%s", peers_fix(x->p->kind));
}

static const char *unknown(const struct peers *p)
{
	return p->gpu ? "this GPU is not in the table" : "it does not say of which GPU";
}

static void judge_host(const struct peers_look *x, const struct expect_gpu *g, struct finding *f)
{
	double gives = g ? pcie_gbps(g) : NAN;
	const char *like = looks_like(x->usual);

	if (x->p->both_ways || x->p->kind == PEERS_SHARED)
		finding_set(f, ST_INFO, "%s, while others use the same links: not judged",
			    peers_measured(x));
	else if (!isnan(gives))
		by_share(x, gives, &of_pcie,
			 arena_printf(x->a, "the %g GB/s that PCIe %d.0 x%d gives, which %s has",
				      gives, g->pcie, g->lanes, g->name),
			 f);
	else if (g)
		finding_set(f, ST_INFO, "%s; what leads to %s's host is not in the table",
			    peers_measured(x), g->name);
	else
		finding_set(f, ST_INFO, "%s%s%s; not judged: %s", peers_measured(x),
			    like ? ", which is what " : "", like ?: "", unknown(x->p));
}

/* Four of them may have no switch, and each two a third of the links. */
static void judge_links(const struct peers_look *x, const struct expect_gpu *g, struct finding *f)
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

static void judge_gpus(const struct peers_look *x, const struct expect_gpu *g, struct finding *f)
{
	if (x->p->both_ways || x->p->kind == PEERS_TOTAL)
		finding_set(f, ST_INFO, "%s, from %.4g on", peers_measured(x), x->least);
	else if (g && g->is_switched && g->nvlink > 0)
		judge_links(x, g, f);
	else
		finding_set(f, ST_INFO, "%s, from %.4g on; not judged: %s", peers_measured(x),
			    x->least,
			    !g		    ? unknown(x->p)
			    : g->nvlink > 0 ? "it has other links to each of the others"
					    : "a PCIe card: it depends on bridges and switches");
}

/* Of collectives, and of what NVLink carries: PCIe is judged by what it is. */
static void judge_expected(const struct peers_look *x, double gbps, struct finding *f)
{
	finding_value(f, x->least, "GB/s");
	finding_set(f, x->least < gbps ? ST_FAIL : ST_PASS, "%s, the least is %.4g, expected %g",
		    peers_measured(x), x->least, gbps);
	finding_expect(f, ">= %g GB/s", gbps);
	if (f->status == ST_FAIL)
		finding_fix(f, "%s", peers_fix(x->p->kind));
}

static void judge_nodes(const struct peers_look *x, struct finding *f)
{
	if (x->o->expect_share > 0) {
		finding_set(f, ST_ERROR, "%s: there is nothing to take --expect PERCENT of",
			    peers_measured(x));
		return;
	}
	finding_set(f, ST_INFO, "%s; not judged: it does not say of which GPUs", peers_measured(x));
	finding_fix(f, "- say what is expected: --expect GBPS");
}

static void judge_speed(const struct peers_look *x, struct finding *f)
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
		finding_set(f, ST_INFO, "%s, inside its own memory", peers_measured(x));
}

/* Where others have a switch between them, or at least each other. */
static void judge_apart(const struct peers_look *x, const char *subject, struct report *r)
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

static void say_failure(const char *words, const char *subject, struct report *r)
{
	struct finding *f = report_find(r, "coll.data", subject);

	finding_set(f, ST_FAIL, "the run failed: %s", words);
	finding_fix(f, "- what that node wrote says why: nodes/NODE/benchmarks beside the summary");
	report_add(r, f);
}

static void say_unread(size_t n, struct report *r)
{
	struct finding *f = report_find(r, "coll.data", "summary");

	finding_set(f, ST_WARN,
		    "%zu line%s cannot be read: cut off, or no JSON; who is in %s is "
		    "missing here",
		    n, n == 1 ? "" : "s", n == 1 ? "it" : "them");
	finding_fix(f, "- was it copied before it was complete? each node's own is in nodes/NODE "
		       "beside it");
	report_add(r, f);
}

static void judge_end(const struct peers *p, const char *subject, struct report *r)
{
	if (p->failure)
		say_failure(p->failure, subject, r);
	for (size_t i = 0; i < p->others.n; i++)
		say_failure(p->others.v[i],
			    arena_strndup(report_arena(r), p->others.v[i],
					  strcspn(p->others.v[i], " ")),
			    r);
	if (p->unread)
		say_unread(p->unread, r);
}

void peers_judge(const struct peers *p, const char *subject, const struct saved_opts *o,
		 struct report *r)
{
	const char *check = p->kind == PEERS_NODES ? "coll.bandwidth" : "link.bandwidth";
	struct peers_look x;
	struct finding *f = report_find(r, check, subject);

	peers_look(p, o, report_arena(r), &x);
	judge_end(p, subject, r);
	judge_speed(&x, f);
	report_add(r, f);
	judge_apart(&x, subject, r);
	peers_name_slow(&x, p->test, r);
}
