#ifndef BENCH_SWEEP_EXPORT_H
#define BENCH_SWEEP_EXPORT_H
/* What a run leaves in files: nccl-tests' own JSON, CSV, and a picture. */
#include "bench/sweep/story.h"

/*
 * -J: the structure that nccl-tests writes, so that its scripts read it. As
 * there, an existing file is left alone and FILE.0, FILE.1 ... is written.
 */
int export_nccl_json(const struct story *s, const char *path, const char *const *argv,
		     struct err *e) MUST_CHECK;
/* -J FILE.csv: a line for each result, for a spreadsheet; likewise. */
int export_csv(const struct story *s, const char *path, struct err *e) MUST_CHECK;
bool export_is_csv(const char *path);
/* Writes @text into a file that was not there: @path, or the first that is free of those. */
int export_new(const char *path, const char *text, struct err *e) MUST_CHECK;

struct plot_point {
	double bytes, busbw, latency_us;
};
struct plot_run { /* one line of a picture */
	const char *name;
	LIST(struct plot_point) points;
};
typedef LIST(struct plot_run) plot_runs;

/* Of a saved run: nccl-tests' table, or JSON of ours or theirs. */
int plot_add_file(plot_runs *runs, const char *path, struct arena *a, struct err *e) MUST_CHECK;
/* Bus bandwidth and latency over size, both axes logarithmic, as one SVG. */
const char *plot_svg(const plot_runs *runs, const char *title, struct arena *a);
/* The same bandwidths in a few lines of text, each beginning with "# "; a letter for each run. */
const char *plot_text(const plot_runs *runs, size_t width, struct arena *a);

#endif
