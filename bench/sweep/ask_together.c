/* Options that contradict each other, or that nobody would heed beside another one. */
#include "bench/sweep/ask.h"
#include "bench/sweep/baseline.h"
#include "bench/sweep/expect.h"

/* Pairs have a matrix, and no table of sizes. */
static int of_sizes(const struct job_opts *o, struct err *e)
{
	const struct verdict_opts *v = &o->verdict;
	const struct {
		bool given;
		const char *name;
	} options[] = {
		{v->nccl_json, "-J"},
		{v->plot || v->plot_here, "--plot"},
		{v->save_baseline, "--save-baseline"},
		{v->baseline, "--baseline"},
		{v->expect_share > 0, "--expect PERCENT"},
	};

	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		if (!options[i].given)
			continue;
		err_set(e, ERR_USAGE,
			"%s is of a table of sizes, which --pairs and --find-slow "
			"do not make",
			options[i].name);
		return err_hint(e, "they have --expect GB/s, --json and --report FILE.html");
	}
	return 0;
}

static int of_pictures(const struct verdict_opts *v, struct err *e)
{
	bool beside = v->plot_with && *v->plot_with;

	if (beside && !v->plot && !v->plot_here)
		return err_set(e, ERR_USAGE,
			       "--plot-with draws beside --plot: add --plot FILE.svg");
	return report_check_picture(v->plot, "--plot", e);
}

/* What is below both limits fails: the one for warnings has to be the higher one. */
static int of_limits(const struct verdict_opts *v, struct err *e)
{
	double usual = v->baseline ? BASELINE_FAIL : EXPECT_FAIL, warn = v->warn.of_all;

	if (!v->warn.given || warn >= share_or(&v->fail, usual))
		return 0;
	if (v->fail.given)
		return err_set(e, ERR_USAGE,
			       "--warn-below %g is less than --fail-below %g: nothing would warn",
			       warn * 100, v->fail.of_all * 100);
	err_set(e, ERR_USAGE,
		"--warn-below %g is less than what fails without --fail-below, %g%s: nothing would "
		"warn",
		warn * 100, usual * 100, v->baseline ? " of a baseline" : "");
	return err_hint(e, "give both, as --warn-below %g --fail-below %g", warn * 100, warn * 50);
}

/* A baseline of nothing is like any other run. */
static int of_baselines(const struct job_opts *o, struct err *e)
{
	const struct sweep_opts *s = &o->rank.sweep;

	if (!o->verdict.save_baseline || !*o->verdict.save_baseline || s->adaptive ||
	    s->max >= BASELINE_LARGE)
		return 0;
	err_set(e, ERR_USAGE, "--save-baseline: %s",
		s->max ? "baselines are compared by sizes from 1 MiB on, and none is so large"
		       : "empty messages leave nothing to compare with");
	return err_hint(e, "-b 1M -e 64M");
}

/* Of "auto" it is said when the ranks have met: they may have no GPU. */
static int of_iterations(const struct rank_opts *o, struct err *e)
{
	const struct sweep_opts *s = &o->sweep;
	const char *beside = rank_graph_beside(o);
	bool is_graph = s->graph && streq(o->backend, "nccl");
	uint64_t samples = is_graph ? s->graph : s->iters;

	if (is_graph && beside)
		return err_set(e, ERR_USAGE,
			       "-G launches all iterations as one, and does not go with %s: leave "
			       "one of them out",
			       beside);
	return s->skip && s->skip >= samples
		       ? err_set(e, ERR_USAGE, "-K leaves nothing of %zu %s", (size_t)samples,
				 is_graph ? "launches (-G)" : "iterations")
		       : 0;
}

int ask_together(const struct job_opts *o, struct err *e)
{
	const struct verdict_opts *v = &o->verdict;

	if (o->rank.mode == RANK_PAIRS && of_sizes(o, e))
		return -1;
	return of_iterations(&o->rank, e) || of_limits(v, e) || of_pictures(v, e) ||
			       of_baselines(o, e)
		       ? -1
		       : 0;
}
