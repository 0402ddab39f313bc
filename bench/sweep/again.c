#include "bench/sweep/again.h"

#include "bench/sweep/asked.h"

/* Between whom, and by what: the same for tables and pairs. */
static const char *const of_ranks[] = {"backend", "nccl", "nccl-blocking", "nthreads",
				       "ngpus",	  "bind", "sockets",	   NULL};
/* What a table is of, and how it is judged. */
static const char *const of_table[] = {
	"coll",		 "op",	       "datatype",	 "root",
	"groups",	 "unalign",    "agg_iters",	 "average",
	"blocking",	 "expect",     "warn-below",	 "fail-below",
	"cudagraph",	 "cta_policy", "local_register", "report_cputime",
	"parallel_init", NULL};
/* That of one case of it is said anew. */
static const char *const of_case[] = {"coll",	    "groups",	      "unalign",
				      "agg_iters",  "blocking",	      "cudagraph",
				      "cta_policy", "local_register", NULL};

static const char *typed(const struct asked *q, const char *const *names, struct arena *a)
{
	const struct opt_table t = {asked_rows, ASKED_NROWS, (void *)(uintptr_t)q};

	return opt_typed(&t, &asked_defaults, names, a);
}

void again_words(const struct asked *q, struct arena *a, struct again *ret)
{
	*ret = (struct again){.start = typed(q, of_ranks, a),
			      .asked = typed(q, of_table, a),
			      .exact = typed(q, of_case, a)};
}

void again_where(const struct where *w, const struct where_role *role, struct arena *a,
		 struct again *ret)
{
	ret->bare = !role->is_rank && where_is_bare(w);
	ret->start = role->is_rank
			     ? NULL
			     : arena_printf(a, "%s%s", where_typed(w, "ncclbench", a), ret->start);
}

void again_fix(struct finding *f, const struct again *g, const char *options, const char *remark)
{
	if (g->start)
		finding_fix(f, "%s %s%s%s", g->start, options, remark ? "  # " : "", remark ?: "");
	else
		finding_fix(f, "- ncclbench %s, started as these ranks were%s%s", options,
			    remark ? ": " : "", remark ?: "");
}

void again_sizes(struct finding *f, const struct again *g, const char *sizes, const char *remark)
{
	again_fix(f, g, arena_printf(f->a, "%s%s", sizes, g->asked ?: ""), remark);
}

void again_case(struct finding *f, const struct again *g, const struct coll_case *c,
		const char *remark)
{
	const char *op = c->coll->reduces ? arena_printf(f->a, " -o %s", redop_name(c->op)) : "";
	const char *root = c->coll->rooted ? arena_printf(f->a, " -r %d", c->root) : "";
	size_t bytes = coll_bytes(c);

	again_fix(f, g,
		  arena_printf(f->a, "-b %zu -e %zu -d %s%s%s%s -c 10", bytes, bytes,
			       dtype_name(c->type), op, root, g->exact ?: ""),
		  remark);
}
