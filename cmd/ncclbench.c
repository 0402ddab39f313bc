/* ncclbench: how fast are collectives between these ranks, are their results
 * right, and is that normal. */
#include "bench/dev/gpus.h"
#include "bench/sweep/ask.h"
#include "bench/sweep/job.h"
#include "bench/sweep/saved.h"
#include "bench/sweep/table.h"
#include "cmd/app.h"
#include "lib/core/units.h"
#include "lib/host/gpu.h"
#include "probes/html/html.h"

#include <math.h>

#define NOT_GIVEN ASK_NOT_GIVEN
enum { RANKS_MAX = ASK_RANKS_MAX };

struct config {
	const char *coll, *backend, *op, *type, *root, *bind, *library;
	struct where where;
	struct where_role role;
	struct ask_sizes sizes;
	uint64_t threads, gpus, sockets, iters, warmup, aggregate, cycles, average, per_iter, skip,
		check, blocking, unalign;
	uint64_t cpu_time, timestamps, timeout_s, memory;
	struct ask_flags flags;
	bool pairs, find_slow, wire_rate;
	double nic_gbps, warn, fail;
	const char *expect, *baseline, *analyze, *instance, *plot, *page;
	struct job_opts job;
	str_list notes, plot_with;
	char **argv; /* behind the program's name */
};

#define AT(field) .off = offsetof(struct config, field)

static const struct opt rows[] = {
	{.help = "What to measure"},
	{0, "coll", "NAME", "the collective", OPT_CHOICE, AT(coll), .choices = coll_names,
	 .def = "all_reduce"},
	{0, "backend", "NAME",
	 "who carries the data; auto: nccl where every rank has a GPU, else tcp, in host memory",
	 OPT_CHOICE, AT(backend), .choices = backend_names, .def = "auto"},
	{0, "nccl", "PATH", "nccl: this libnccl.so.2", OPT_STR, AT(library), .complete = OPT_C_FILE,
	 .def = "the one that PyTorch would use"},
	{'t', "nthreads", "N", "multiplies the ranks", OPT_UINT, AT(threads), .min = 1,
	 .max = RANKS_MAX, .def = "1"},
	{'g', "ngpus", "N", "multiplies the ranks", OPT_UINT, AT(gpus), .min = 1, .max = RANKS_MAX,
	 .def = "1"},
	{'o', "op", "OP", "the reduction", OPT_CHOICE, AT(op), .choices = redop_names,
	 .def = "sum"},
	{'d', "datatype", "TYPE", "float, half, bfloat16, f8e4m3, int32 ... or all", OPT_STR,
	 AT(type), .def = "float"},
	{'r', "root", "RANK", "for collectives with a root: its rank, or all", OPT_STR, AT(root),
	 .def = "0"},

	{.help = "Who is slow"},
	{0, "pairs", NULL, "latency, bandwidth and loss of every pair of hosts, as a matrix",
	 OPT_BOOL, AT(pairs)},
	{0, "find-slow", NULL, "the same, and only who stands out: a node or a link", OPT_BOOL,
	 AT(find_slow)},
	{0, "rails", "LIST", "tcp: each of these network cards by itself (eth0,eth1); none: not",
	 OPT_STR, AT(flags.rails), .def = "those of one name and subnet on all hosts"},

	{.help = "Sizes (none given: some for the latency, then larger while that helps)"},
	{'b', "minbytes", "SIZE", "the first size", OPT_SIZE, AT(sizes.min), .def = "32M"},
	{'e', "maxbytes", "SIZE", "the last size", OPT_SIZE, AT(sizes.max), .def = "32M"},
	{'i', "stepbytes", "SIZE", "add so much each time", OPT_SIZE, AT(sizes.step)},
	{'f', "stepfactor", "N", "multiply each time", OPT_UINT, AT(sizes.factor), .def = "2"},
	{'u', "unalign", "N", "begin buffers so many elements late", OPT_UINT, AT(unalign),
	 .max = 256, .def = "0"},

	{.help = "How to measure"},
	{'n', "iters", "N", "timed iterations", OPT_UINT, AT(iters), .min = 1, .max = 1000000,
	 .def = "20"},
	{'w', "warmup_iters", "N", "iterations before, not timed", OPT_UINT, AT(warmup),
	 .max = 1000000, .def = "1"},
	{'m', "agg_iters", "N", "operations in each iteration", OPT_UINT, AT(aggregate), .min = 1,
	 .max = 1000000, .def = "1"},
	{'N', "run_cycles", "N", "go through all sizes so often; 0: until stopped", OPT_UINT,
	 AT(cycles), .def = "1"},
	{'a', "average", "HOW", "whose time counts: 0 rank 0's, 1 mean, 2 least, 3 most", OPT_UINT,
	 AT(average), .max = 3, .def = "1"},
	{'c', "check", "N", "verify every size so often; 0: do not", OPT_UINT, AT(check),
	 .max = 1000, .def = "1"},
	{'z', "blocking", "HOW",
	 "1 barrier in each iteration, 2 wait for it alone, 3 barrier, not timed", OPT_UINT,
	 AT(blocking), .max = 3, .def = "0"},
	{'C', "report_cputime", "0|1", "report processor time", OPT_UINT, AT(cpu_time), .max = 1,
	 .def = "0"},
	{'T', "timeout", "SECONDS", "as --deadline", OPT_UINT, AT(timeout_s), .max = 1000000},
	{0, "sockets", "N", "tcp: connections per pair of ranks", OPT_UINT, AT(sockets), .max = 8},
	{0, "bind", "ADDR", "tcp: the address to use, on this machine alone", OPT_STR, AT(bind),
	 .def = "the one that the other hosts reach"},

	{.help = "What to show"},
	{'I', "per_iter_timing", "0|1", "columns for single iterations", OPT_UINT, AT(per_iter),
	 .max = 1, .def = "0"},
	{'K', "per_iter_skip", "N", "leave so many first iterations out of those", OPT_UINT,
	 AT(skip), .max = 1000000, .def = "0"},
	{0, "wire-rate", NULL, "columns for what the busiest rank sent, GB/s (tcp)", OPT_BOOL,
	 AT(wire_rate)},
	{'S', "report_timestamps", "0|1", "the time of day in every row", OPT_UINT, AT(timestamps),
	 .max = 1, .def = "0"},
	{'M', "memory", "0|1", "say how much memory was used", OPT_UINT, AT(memory), .max = 1,
	 .def = "0"},
	{'J', "output_file", "FILE",
	 "also write nccl-tests' JSON, iteration times included; of FILE.csv a line each result",
	 OPT_STR, AT(job.verdict.nccl_json), .complete = OPT_C_FILE},
	{0, "plot", "FILE", "draw bandwidth and time over size: an SVG; - draws here", OPT_STR,
	 AT(plot), .complete = OPT_C_FILE},
	{0, "plot-with", "FILE", "and another saved run beside it", OPT_LIST, AT(plot_with),
	 .complete = OPT_C_FILE},
	{0, "report", "FILE.html", "write the run as one page; --pairs as heat maps", OPT_STR,
	 AT(page), .complete = OPT_C_FILE},

	{.help = "Is it normal"},
	{0, "expect", "LIMIT",
	 "fail below: GB/s of bus bandwidth (--pairs: of each pair), or PERCENT% of the possible",
	 OPT_STR, AT(expect)},
	{0, "warn-below", "PERCENT",
	 "of what is possible, or of the baseline; not less than --fail-below", OPT_DOUBLE,
	 AT(warn), .def = "55, on one host 70, of a baseline 90"},
	{0, "fail-below", "PERCENT", "likewise; to be given with a lower --warn-below", OPT_DOUBLE,
	 AT(fail), .def = "38, on one host 50, of a baseline 80"},
	{0, "save-baseline", "FILE", "keep the results to compare with", OPT_STR,
	 AT(job.verdict.save_baseline), .complete = OPT_C_FILE},
	{0, "baseline", "FILE", "compare with those", OPT_STR, AT(baseline),
	 .complete = OPT_C_FILE},
	{0, "analyze", "FILE", "measure nothing: judge a saved output; - reads stdin", OPT_STR,
	 AT(analyze), .complete = OPT_C_FILE},
	{0, "nic", "GBITS", "--analyze: what one host's network cards do together", OPT_DOUBLE,
	 AT(nic_gbps)},
	{0, "instance", "TYPE", "--analyze: of which cloud instance it is (p5.48xlarge)", OPT_STR,
	 AT(instance)},

	{.help = "Of nccl-tests, for a GPU (said so where they do nothing)"},
	{'p', "parallel_init", "0|1", "initialize in parallel", OPT_UINT, AT(flags.parallel_init),
	 .max = 1},
	{'G', "cudagraph", "N", "replay a CUDA graph", OPT_UINT, AT(flags.graph)},
	{'R', "local_register", "0|1|2",
	 "nccl: register buffers with the network; 2: as symmetric memory", OPT_UINT,
	 AT(flags.registers), .max = 2, .def = "0"},
	{'D', "device_implementation", "N", "device API kernels: nccl-tests alone has them",
	 OPT_UINT, AT(flags.device_api)},
	{'V', "device_cta_count", "N", "their number of CTAs", OPT_UINT, AT(flags.ctas), .min = 1,
	 .max = 128},
	{'x', "cta_policy", "0|1|2", "few CTAs (1), or none (2)", OPT_UINT, AT(flags.cta_policy),
	 .max = 2},
	{'y', "stream_null", "0|1", "use the null stream", OPT_UINT, AT(flags.stream_null),
	 .max = 1},
};

static const char about[] =
	"Measures collectives as nccl-tests does, with its flags and its table, and needs neither "
	"MPI nor a GPU to start. Every size is verified, element by element, on every rank; a rank "
	"that dies or hangs is named, and what was finished is printed.\n\n"
	"Without a GPU two local ranks exchange host memory over TCP: that says something about "
	"this machine and nothing about NCCL, and every output says so.";

static const char examples[] =
	"  ncclbench                            # latency and bandwidth, in 20 seconds at most\n"
	"  ncclbench -b 8 -e 1G                 # 28 sizes, doubling\n"
	"  ncclbench --coll alltoall --np 4 -b 1M -e 64M -d bfloat16\n"
	"  ncclbench -b 1M -e 64M -o all -d all # every type and reduction, verified\n"
	"  ncclbench --json --expect 2          # for a script: exit 1 below 2 GB/s\n";

static void note(struct app *app, struct config *c, const char *text)
{
	*LIST_ADD(&app->arena, &c->notes) = text;
}

static void fill_job(struct app *app, struct config *c)
{
	struct sweep_opts *s = &c->job.rank.sweep;

	s->coll = coll_find(c->coll);
	s->ops = ask_ops(c->op);
	s->iters = c->iters;
	s->warmup = c->warmup;
	s->aggregate = c->aggregate;
	s->cycles = c->cycles;
	s->average = (enum sweep_average)c->average;
	s->blocking = (enum sweep_blocking)c->blocking;
	s->check = c->check;
	s->skip = c->skip;
	s->unalign = c->unalign;
	s->cpu_time = c->cpu_time;
	s->budget_ns = 20 * NS_PER_S;
	c->job.rank.mode = c->pairs || c->find_slow ? RANK_PAIRS : RANK_SWEEP;
	c->job.verdict.pairs = c->pairs;
	c->job.rank.backend = c->backend;
	c->job.rank.bind = c->bind;
	c->job.rank.library = c->library;
	c->job.rank.rails = c->flags.rails;
	c->job.rank.registers = (unsigned)c->flags.registers;
	/* pairs: one flow shows best what a link does */
	c->job.rank.sockets = c->sockets		       ? (unsigned)c->sockets
			      : c->job.rank.mode == RANK_PAIRS ? 1
							       : 0;
	c->job.rank.deadline_ns = app->common.deadline_ns;
	c->job.story.sweep = *s;
	c->job.story.per_iter = c->per_iter;
	c->job.story.timestamps = c->timestamps;
	c->job.story.wire_rate = c->wire_rate;
	c->job.story.memory = c->memory;
	c->job.rank.with_times = s->keep_each = c->job.verdict.nccl_json;
	c->job.verdict.warn = c->warn / 100;
	c->job.verdict.fail = c->fail / 100;
	c->job.verdict.argv = (const char *const *)(void *)c->argv;
	c->job.verdict.plot_here = c->plot && streq(c->plot, "-");
	c->job.verdict.plot = c->plot && !streq(c->plot, "-") ? c->plot : NULL;
	*LIST_ADD(&app->arena, &c->plot_with) = NULL;
	c->job.verdict.plot_with = c->plot_with.v;
}

/* Nothing else said: a rank on each GPU here. */
static int count_gpus(struct app *app, struct config *c, struct err *e)
{
	bool may = streq(c->backend, "auto") || streq(c->backend, "nccl");
	struct gpus gpus;

	if (!may || !where_is_bare(&c->where) || c->role.is_rank)
		return 0;
	if (gpus_look_aside(app->common.deadline_ns, &app->arena, &gpus, e))
		return -1;
	if (gpus.n > 2)
		c->role.size = c->role.here = c->where.bare = (uint64_t)gpus.n;
	return 0;
}

/* -t and -g where somebody else has started all ranks: nobody would multiply them. */
static int check_each(const struct config *c, struct err *e)
{
	if (!c->role.is_rank || c->role.ours || c->where.each == 1)
		return 0;
	err_set(e, ERR_USAGE,
		"-t and -g multiply the ranks that ncclbench starts, and this is one that was "
		"started already");
	return err_hint(e, "start %zu times as many, one for each GPU, and leave them out",
			(size_t)c->where.each);
}

static int find_ranks(struct app *app, struct config *c, struct err *e)
{
	const struct ask_where in = {&c->where, &c->role, c->coll, c->backend, c->argv};
	const char *crowded;

	c->where.each = c->threads * c->gpus;
	if (c->timeout_s)
		c->where.deadline_ns = c->timeout_s * NS_PER_S;
	if (where_role(&c->where, &app->arena, &c->role, e) || check_each(c, e))
		return -1;
	crowded = where_deadline(&c->where, &c->role, &app->arena, &app->common.deadline_ns);
	if (crowded && !c->role.is_rank)
		note(app, c, crowded);
	return count_gpus(app, c, e) || ask_where(&in, &app->arena, &c->job, e) ? -1 : 0;
}

/* Who started ranks does, else the first of them; another must not open an output. */
static bool reports(const struct where_role *role)
{
	return !role->is_rank || (!role->ours && role->rank <= 0);
}

/* A rank of ours says what is wrong with the command line where its launcher hears it. */
static uint64_t known_size(const struct config *c) { return c->role.ours ? 0 : c->role.size; }

static int prepare(struct app *app, void *cfg, struct err *e)
{
	struct config *c = cfg;
	struct sweep_opts *s = &c->job.rank.sweep;
	union addr at;

	app->report_opts.page = c->page;
	app->report_opts.draw = html_page;
	if (c->analyze)
		return 0;
	if (c->bind || c->sockets || c->wire_rate || ask_has_rails(c->flags.rails))
		c->backend = ask_tcp(c->backend); /* has these alone */
	c->flags.backend = c->backend;
	c->flags.library = c->library;
	c->flags.bind = c->bind;
	c->flags.sockets = c->sockets;
	c->flags.wire_rate = c->wire_rate;
	c->flags.pairs = c->pairs || c->find_slow;
	if (ask_flags(&c->flags, e) || find_ranks(app, c, e))
		return -1;
	if (!reports(&c->role)) {
		app->report_opts.format = "table";
		app->report_opts.output = app->report_opts.page = NULL;
	}
	if (ask_types(c->type, &s->types, e) || ask_root(c->root, known_size(c), &s->root, e) ||
	    ask_sizes(&c->sizes, s, e) || (c->expect && ask_expect(c->expect, &c->job.verdict, e)))
		return -1;
	if (c->baseline && !c->role.ours) {
		c->job.verdict.baseline = baseline_read(c->baseline, &app->arena, e);
		if (!c->job.verdict.baseline)
			return -1;
	}
	if (c->bind && addr_parse(c->bind, &at))
		return err_set(e, ERR_USAGE, "--bind: '%s' is not an address", c->bind);
	if (c->skip && c->skip >= c->iters)
		return err_set(e, ERR_USAGE, "-K leaves nothing of %zu iterations",
			       (size_t)c->iters);
	fill_job(app, c);
	if (ask_together(&c->job, e))
		return -1;
	app->report_opts.answer_only = !reports(&c->role) || !app->common.quiet;
	if (!reports(&c->role))
		return 0;
	app->report_opts.files =
		c->job.verdict.nccl_json || c->job.verdict.plot || c->job.verdict.save_baseline;
	return ask_files(&c->job.verdict, &app->arena, e);
}

/* Ranks on this host need what they need here; said once, before they start. */
static bool are_here(const struct config *c) { return where_is_here(&c->where) && !c->role.ours; }

/* TCP connections between two of many ranks: those for data and one for last words. */
static unsigned links(const struct config *c)
{
	bool is_ours = !starts_with(c->backend, "mpi") && !streq(c->backend, "gloo");

	return is_ours ? 1 + (unsigned)(c->sockets ? c->sockets : 1) : 0;
}

static int run(struct app *app, void *cfg, struct err *e)
{
	struct config *c = cfg;
	const struct comm_world w = {.library = c->library,
				     .registers = (unsigned)c->flags.registers,
				     .stop_fds = {-1, -1}};

	if (c->analyze) {
		saved_list s;

		if (saved_read(c->analyze, &app->arena, &s, e))
			return -1;
		saved_judge(&s, c->nic_gbps > 0 ? c->nic_gbps : NAN, c->instance, app->report);
		return 0;
	}
	if (where_fits(&c->where, &c->role, links(c), e) ||
	    (ask_backend(c->backend, are_here(c) ? &w : NULL, &c->flags, &app->arena, &c->notes,
			 e) &&
	     (!c->role.is_rank || c->role.ours))) /* else all hear of it, once they have met */
		return -1;
	*e = (struct err){0};
	note(app, c, NULL);
	c->job.story.notes = c->notes.v;
	return job_run(&c->job, app->report, e);
}

static struct config config = {
	.sizes = {NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN},
	.coll = "all_reduce",
	.backend = "auto",
	.op = "sum",
	.type = "float",
	.root = "0",
	.flags = {.cta_policy = NOT_GIVEN},
	.where = WHERE_DEFAULTS,
	.threads = 1,
	.gpus = 1,
	.iters = 20,
	.warmup = 1,
	.aggregate = 1,
	.cycles = 1,
	.average = AVERAGE_MEAN,
	.check = 1,
};
static const struct app_spec spec = {
	.cmd = {.name = "ncclbench",
		.summary = "how fast are collectives between these ranks, and are they right",
		.synopsis = "[OPTIONS]",
		.about = about,
		.examples = examples},
	.rows = rows,
	.nrows = ARRAY_LEN(rows),
	.cfg = &config,
	.shared = {where_rows, WHERE_NROWS, &config.where},
	.prepare = prepare,
	.run = run,
	.instead = launch_intercept,
	.failed = where_decline,
};

/* Called through a link named all_reduce_perf it is that test. */
int main(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc ? argv[0] : "";
	const struct coll *c = strstr(name, "_perf") ? coll_find(name) : NULL;

	if (c)
		config.coll = c->name;
	config.argv = argv + 1;
	return app_main(&spec, argc, argv);
}
