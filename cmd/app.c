#include "cmd/app.h"

#include "lib/cluster/launch.h"
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "lib/report/here.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#define AT(field) .off = offsetof(struct app_common, field)
#define LONGEST (365 * 24 * 3600 * NS_PER_S)

static const struct opt common_rows[] = {
	{.help = "Output"},
	{0, "json", NULL, "short for --format json", OPT_STR, AT(format), .if_bare = "json",
	 .beside = "output"},
	{0, "format", "FORMAT", "how the answer is written", OPT_CHOICE, AT(format),
	 .choices = renderer_names, .env = "WINDSOCK_FORMAT", .def = "table"},
	{0, "output", "FILE", "write it to FILE, replaced in one step when all is done", OPT_STR,
	 AT(output), .complete = OPT_C_FILE},
	{0, "strict", NULL, "let warnings fail the command (exit 1)", OPT_BOOL, AT(strict)},
	{0, "quiet", NULL, "show only what is wrong, and the verdict", OPT_BOOL, AT(quiet)},
	{0, "verbose", NULL, "show every check, and what is being done", OPT_BOOL, AT(verbose)},
	{0, "debug", NULL, "say on stderr what was looked at, and what it was", OPT_BOOL,
	 AT(debug)},
	{.help = "Time"},
	{0, "deadline", "TIME", "the longest wait without progress", OPT_DURATION, AT(deadline_ns),
	 .min = NS_PER_MS, .max = LONGEST, .def = "10s"},
	{0, "budget", "TIME", "the longest time for the whole command; 0 sets none", OPT_DURATION,
	 AT(budget_ns), .max = LONGEST, .def = "0"},
	{0, "sysroot", "DIR", "look at a recorded machine below DIR", OPT_STR, AT(sysroot),
	 .complete = OPT_C_DIR, .hidden = true},
};

static void app_done(struct app *app) { arena_done(&app->arena); }

/* One line for a wrong command line, so that a script's log stays readable; else the advice below.
 */
static int fail(const struct err *e)
{
	AUTO(arena_done) struct arena a = {0};

	if (e->kind == ERR_USAGE && *e->hint) {
		log_error("%s; %s", e->msg, e->hint);
	} else {
		log_error("%s", e->msg);
		if (*e->hint)
			log_hint("%s", here_line(&a, err_fix(e, &a)));
	}
	return err_exit_code(e);
}

/* What the format's readers go by; of a rank that we started, or who takes part in --serve, it is
 * who waits for it. */
static int exit_code(const struct app *app, int own, bool warned)
{
	return getenv("WINDSOCK_RANK") ? own
				       : renderer_exit_code(app->report_opts.format, own, warned);
}

/*
 * There is no report yet. Who reads a document gets one all the same, whose verdict is the error;
 * where it belongs into a file that cannot be made, there is none.
 */
static int end_early(const struct report_opts *opts, struct err *e)
{
	struct report_opts o = *opts;
	struct err unwritten = {0};
	struct report *r;

	if (!o.format || streq(o.format, "table"))
		return err_exit_code(e);
	o.page = NULL; /* it may be what cannot be made */
	r = report_new(&o, &unwritten);
	return r ? report_end(r, e) : err_exit_code(e);
}

static int give_up(const struct app *app, const struct app_spec *spec, char *const *argv,
		   struct err *e)
{
	int code = end_early(&app->report_opts, e);

	(void)fail(e);
	if (spec->failed)
		spec->failed(argv, e);
	return exit_code(app, code, false);
}

/* Of a command line that was wrong before its end was read. */
static const char *format_asked(int argc, char **argv)
{
	const char *asked = getenv("WINDSOCK_FORMAT");

	for (int i = 1; i < argc && !streq(argv[i], "--"); i++)
		if (streq(argv[i], "--json"))
			asked = "json";
		else if (starts_with(argv[i], "--format="))
			asked = argv[i] + strlen("--format=");
		else if (streq(argv[i], "--format") && i + 1 < argc)
			asked = argv[i + 1];
	return asked && renderer_find(asked) && !getenv("WINDSOCK_RANK") ? asked : NULL;
}

/* A file opened while stdout is closed must not become stdout. Writing there still fails. */
static void reserve_standard_streams(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/dev/null", fd ? O_RDONLY : O_WRONLY);
}

/*
 * Whoever shares our terminal or pipe may have it not blocking: what a slow reader had no room for
 * would be lost. That flag is theirs, so the same is opened once more, for us. (Not blocking at
 * first, or a pipe that nobody reads would be waited for. A socket cannot be opened anew.)
 */
static void open_to_wait(int fd)
{
	AUTO_CLOSE int own = -1;
	int flags = fcntl(fd, F_GETFL);
	char path[32];
	struct stat st;

	if (flags < 0 || !(flags & O_NONBLOCK) || fstat(fd, &st) ||
	    (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)))
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, (flags & O_ACCMODE) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own >= 0 && !fcntl(own, F_SETFL, flags & ~O_NONBLOCK))
		(void)dup2(own, fd);
}

static int print(const char *answer)
{
	struct err e = {0};

	if (fputs(answer, stdout) < 0 || fflush(stdout)) {
		err_sys(&e, "cannot write to stdout");
		(void)file_advise_stdout(&e);
		return fail(&e);
	}
	return 0;
}

static enum log_level level(const struct app_common *c)
{
	return c->debug ? LOG_DEBUG : c->verbose ? LOG_VERBOSE : c->quiet ? LOG_QUIET : LOG_NORMAL;
}

/*
 * The line that --serve printed, pasted without its `join`, or with that word behind the wrong
 * command: its code is a secret, and nobody's name, file or log.
 */
static int refuse_code(int argc, char **argv, struct err *e)
{
	bool is_line = false;

	for (int i = 1; i < argc && !streq(argv[i], "--"); i++)
		is_line |= join_is_code(argv[i]);
	if (!is_line)
		return 0;
	for (int i = 1; i < argc; i++)
		explicit_bzero(argv[i], strlen(argv[i]));
	err_set(e, ERR_USAGE,
		"that is the code of a run: a line to take part begins with `windsock join`");
	return err_hint(e,
			"paste the whole line that --serve printed: windsock join HOST:PORT CODE");
}

static enum opt_result parse(struct app *app, const struct app_spec *spec, int argc, char **argv,
			     const char **ret_answer, struct err *e)
{
	const struct opt_table tables[] = {
		{spec->rows, spec->nrows, spec->cfg},
		spec->shared,
		{common_rows, ARRAY_LEN(common_rows), &app->common},
	};
	const struct opt_usage usage = {app->cmd, tables, ARRAY_LEN(tables)};

	return opt_parse(&usage, argc, argv, &app->arena, &app->operands, ret_answer, e);
}

static int prepare(struct app *app, const struct app_spec *spec, struct err *e)
{
	const struct app_common *c = &app->common;

	log_init(app->cmd->name, level(c));
	if (c->output && !*c->output)
		return err_set(e, ERR_USAGE, "--output: '' is no name of a file");
	sysroot_set(c->sysroot);
	app->report_opts = (struct report_opts){
		.command = app->cmd->name,
		.format = c->format,
		.output = c->output,
		.host = sysroot_is_real() ? NULL : sysroot_hostname(&app->arena),
		.strict = c->strict,
		.quiet = c->quiet,
		.verbose = c->verbose,
	};
	return spec->prepare ? spec->prepare(app, spec->cfg, e) : 0;
}

/* A reader that has seen enough (`| head`) is no error of ours: end quietly, unless there are files
 * to be written. */
static void meet_broken_pipes(const struct app *app)
{
	(void)signal(SIGPIPE, report_has_files(&app->report_opts) ? SIG_IGN : SIG_DFL);
}

/* What would keep the answer from being written is said before anybody works for it. */
static bool is_elsewhere(struct app *app, const struct app_spec *spec, int *ret_code, struct err *e)
{
	const char *output = app->report_opts.output;

	if (!spec->elsewhere ||
	    (output && !streq(output, "-") && report_check_folder(&app->arena, output, e)))
		return false;
	return spec->elsewhere(app, spec->cfg, ret_code, e);
}

/* Who reads the file expects what its name says. */
static void note_ending(const struct report_opts *o)
{
	if (o->output && ends_with(o->output, ".json") && streq(o->format, "table"))
		log_say("%s gets text for people: --json makes it JSON", o->output);
}

static int run(struct app *app, const struct app_spec *spec, char *const *argv)
{
	struct err e = {0};
	bool interrupted, warned;
	int code;

	meet_broken_pipes(app);
	note_ending(&app->report_opts);
	interrupt_install();
	interrupt_budget(app->common.budget_ns);
	if (is_elsewhere(app, spec, &code, &e))
		return code;
	app->report = e.kind == ERR_NONE ? report_new(&app->report_opts, &e) : NULL;
	if (!app->report)
		return give_up(app, spec, argv, &e);
	if (spec->run(app, spec->cfg, &e) && e.kind == ERR_NONE)
		err_set(&e, ERR_SYS, "%s failed without saying why", app->cmd->name);
	log_progress_end();
	/* Whatever run() made of it: the cause is the signal, and nothing is concluded. */
	interrupted = !(spec->picks && interrupt_by_budget()) && interrupt_err(&e) != 0;
	warned = report_count(app->report, ST_WARN);
	code = report_end(app->report, &e);
	if (e.kind != ERR_NONE)
		(void)fail(&e);
	if (e.kind != ERR_NONE && !interrupted && spec->failed)
		spec->failed(argv, &e);
	code = interrupted ? err_exit_code(&e) : code;
	if (spec->ended)
		spec->ended(spec->cfg, code, &e);
	return exit_code(app, code, warned);
}

int app_main(const struct app_spec *spec, int argc, char **argv)
{
	AUTO(app_done)
	struct app app = {
		.cmd = &spec->cmd,
		.common = {.format = "table", .deadline_ns = 10 * NS_PER_S},
	};
	struct err e = {0};
	const char *answer = NULL;
	int code;

	log_init(app.cmd->name, LOG_NORMAL);
	reserve_standard_streams();
	open_to_wait(STDOUT_FILENO);
	open_to_wait(STDERR_FILENO);
	if (spec->instead && spec->instead(argc, argv, &code, &e)) {
		if (e.kind != ERR_NONE)
			(void)fail(&e);
		return code;
	}
	if (refuse_code(argc, argv, &e))
		return fail(&e);
	(void)signal(SIGPIPE, SIG_DFL);
	switch (parse(&app, spec, argc, argv, &answer, &e)) {
	case OPT_ERROR:
		app.report_opts = (struct report_opts){.command = spec->cmd.name,
						       .format = format_asked(argc, argv)};
		return give_up(&app, spec, argv, &e);
	case OPT_DONE:
		return print(answer);
	case OPT_RUN:
		break;
	}
	if (prepare(&app, spec, &e))
		return give_up(&app, spec, argv, &e);
	return run(&app, spec, argv);
}
