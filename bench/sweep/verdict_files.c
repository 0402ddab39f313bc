/* The files that were asked for: a baseline, nccl-tests' JSON, a picture. */
#include "bench/sweep/export.h"
#include "bench/sweep/verdict.h"
#include "lib/core/file.h"
#include "lib/core/log.h"

#include <math.h>

/* As a line of a picture: the better way of each row. */
static void add_story(plot_runs *runs, const struct story *s, const char *name)
{
	struct plot_run *run = LIST_ADD(s->a, runs);

	run->name = name;
	for (size_t i = 0; i < s->rows.n; i++) {
		const struct sweep_row *r = &s->rows.v[i].row;
		bool out = r->out.busbw >= r->in.busbw;

		*LIST_ADD(s->a, &run->points) = (struct plot_point){
			(double)coll_bytes(r->c), out ? r->out.busbw : r->in.busbw,
			(out ? r->out.seconds : r->in.seconds) * 1e6};
	}
}

/* What was measured, and between whom. */
static const char *title_of(const struct story *s)
{
	size_t ranks = s->ranks.n, hosts = s->spread.n;

	return arena_printf(s->a, "%s, %zu rank%s on %zu host%s\n%s over %s, %s",
			    s->sweep.coll->name, ranks, ranks == 1 ? "" : "s", hosts,
			    hosts == 1 ? "" : "s", s->device, s->backend, s->transport);
}

static int draw(const struct story *s, const struct verdict_opts *o, struct err *e)
{
	plot_runs runs = {0};
	const char *svg;

	if (!o->plot && !o->plot_here)
		return 0;
	add_story(&runs, s, "this run");
	for (size_t i = 0; o->plot_with && o->plot_with[i]; i++)
		if (plot_add_file(&runs, o->plot_with[i], s->a, e))
			return -1;
	if (o->plot_here) {
		const char *text = plot_text(&runs, 78, s->a);

		report_answer(s->r, text, strlen(text));
	}
	if (!o->plot)
		return 0;
	svg = plot_svg(&runs, title_of(s), s->a);
	return file_replace(o->plot, svg, strlen(svg), &(struct file_replace_opts){0}, e);
}

/* What a healthy cluster does is not learned from a run that was cut short, or that failed. */
static int save_baseline(const struct story *s, const char *path, struct err *e)
{
	const char *why = s->ended_by			? "the run did not come to its end"
			  : s->totals.bad		? "results were wrong"
			  : report_count(s->r, ST_FAIL) ? "the run failed"
							: NULL;

	if (!why)
		return baseline_save(s, path, e);
	log_warn("--save-baseline: %s was not written: %s", path, why);
	return 0;
}

int verdict_files(const struct story *s, const struct verdict_opts *o, struct err *e)
{
	if (o->save_baseline && save_baseline(s, o->save_baseline, e))
		return -1;
	if (o->nccl_json &&
	    (export_is_csv(o->nccl_json) ? export_csv(s, o->nccl_json, e)
					 : export_nccl_json(s, o->nccl_json, o->argv, e)))
		return -1;
	return draw(s, o, e);
}
