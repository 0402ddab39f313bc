#ifndef CMD_APP_H
#define CMD_APP_H
/*
 * The life of every command: parse the tables, answer --help and its kin, open
 * the report, run, close the report, turn the outcome into an exit code, with
 * a full disk, Ctrl-C and a broken pipe treated alike everywhere. An error that
 * comes before the report is a document of its own in every format but the table.
 *
 *	static const struct app_spec spec = {.cmd = {...}, .rows = rows, ...};
 *
 *	int main(int argc, char **argv)
 *	{
 *		return app_main(&spec, argc, argv);
 *	}
 */
#include "lib/core/log.h"
#include "lib/core/opt.h"
#include "lib/report/report.h"

/* The options every command has, beside its own table. They own no short letters. */
struct app_common {
	const char *format; /* --json sets it too; report_wants_data() is what to ask */
	const char *output, *sysroot;
	bool strict, quiet, verbose, debug;
	uint64_t deadline_ns; /* the longest time without progress, never 0 */
	uint64_t budget_ns;   /* of the whole command; 0: none. interrupt.h watches it */
};

struct app {
	const struct command *cmd;
	struct app_common common;
	struct arena arena; /* of the whole run */
	str_list operands;
	struct report *report; /* open while run() runs */
	struct report_opts report_opts;
};

struct app_spec {
	struct command cmd;
	const struct opt *rows; /* the command's own table */
	size_t nrows;
	void *cfg;		 /* its struct, filled with the defaults */
	struct opt_table shared; /* of a module that several may use, with its own cfg */
	/*
	 * Before anything else: is this call no run of the command, but a hidden
	 * helper or another word (launch_intercept() is such a question)? True
	 * when that was done, with main's exit code; @e is said. May be NULL.
	 */
	bool (*instead)(int argc, char **argv, int *ret_code, struct err *e);
	/* It failed, and has said why: somebody else may wait for it. May be NULL. */
	void (*failed)(char *const *argv, const struct err *e);
	/*
	 * Looks at the parsed options before the report is opened; may set
	 * app->report_opts. Usage errors that a table cannot say belong here:
	 * they leave stdout empty. Of another error stdout has a document, so who is
	 * to be silent sets report_opts.format to "table" first. May be NULL.
	 */
	int (*prepare)(struct app *app, void *cfg, struct err *e);
	/*
	 * After prepare(), before the report is opened: do other processes do it all, and does
	 * one of them answer? True when that was done, with main's exit code. False with @e
	 * filled ends the command; else run() comes. May be NULL.
	 */
	bool (*elsewhere)(struct app *app, void *cfg, int *ret_code, struct err *e);
	/* --budget picks what run() does: what it left is findings, and its passing no failure of
	 * the run. */
	bool picks;
	/* Emits into app->report. 0, or -1 with @e filled. Returns early (either way)
	 * when interrupt_pending(). */
	int (*run)(struct app *app, void *cfg, struct err *e);
	/* All is written, and this is main's exit code; @e is what was said of it (kind ERR_NONE:
	 * nothing). Others may have waited for that. The report is no more. May be NULL. */
	void (*ended)(void *cfg, int code, const struct err *e);
};

int app_main(const struct app_spec *spec, int argc, char **argv);

#endif
