/*
 * Any bytes as somebody's saved benchmark: a table, nccl-tests' JSON, ours. What is
 * accepted can be judged and drawn.
 */
#include "bench/sweep/expect.c" /* these seven are pure but for reading files */
#include "bench/sweep/expect_gpu.c"
#include "bench/sweep/export_plot.c"
#include "bench/sweep/instances.c"
#include "bench/sweep/saved.c"
#include "bench/sweep/saved_judge.c"
#include "bench/sweep/saved_table.c"
#include "tests/fuzz/hush.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void judge(const saved_list *l)
{
	const struct report_opts o = {.command = "ncclbench", .format = "json", .host = "node0"};
	struct err e = {0};
	struct report *r = report_new(&o, &e);

	if (!r)
		abort();
	const struct saved_opts want = {.nic_gbps = l->v[0].ranks % 2 ? NAN : 100,
					.instance = l->v[0].hosts % 2 ? "p5.48xlarge" : NULL,
					.expect_gbps = l->v[0].ranks % 3 ? 0 : 7,
					.expect_share = l->v[0].ranks % 4 ? 0 : 0.8};

	saved_judge(l, &want, r);
	if (!report_count(r, ST_PASS) && !report_count(r, ST_FAIL) && !report_count(r, ST_WARN) &&
	    !report_count(r, ST_INFO))
		abort();
	(void)report_end(r, &e);
}

static void draw(const saved_list *l, struct arena *a)
{
	plot_runs runs = {0};
	const char *svg;

	for (size_t i = 0; i < l->n && i < 8; i++)
		*LIST_ADD(a, &runs) = (struct plot_run){"file", l->v[i].run.points};
	for (size_t width = 0; width < 200; width += 60)
		if (!*plot_text(&runs, width, a))
			abort();
	svg = plot_svg(&runs, "a\nb", a);
	if (strstr(svg, "nan") || strstr(svg, "inf"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};
	saved_list l;

	hush();
	if (saved_parse("file", arena_strndup(&a, (const char *)data, n), n, &a, &l, &e)) {
		if (e.kind != ERR_USAGE || !*e.msg)
			abort();
		return 0;
	}
	for (size_t i = 0; i < l.n; i++)
		if (!l.v[i].run.points.n || l.v[i].ranks < 0 || l.v[i].hosts < 0 ||
		    l.v[i].hosts > l.v[i].ranks)
			abort();
	if (!l.n)
		abort();
	judge(&l);
	draw(&l, &a);
	return 0;
}
