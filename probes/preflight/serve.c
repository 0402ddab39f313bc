#include "probes/preflight/serve.h"

#include "lib/cluster/launch.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"

static void serving(const char *line, void *arg UNUSED)
{
	log_say("type this on the other machines:");
	log_hint("%s", line);
}

/* The last "--NAME VALUE" or "--NAME=VALUE" that can be read; app_main() of each rank judges the
 * whole line. */
static uint64_t value_of(char **argv, const char *name, int (*parse)(const char *, uint64_t *),
			 uint64_t most, uint64_t otherwise)
{
	size_t n = strlen(name);
	uint64_t v;

	for (; *argv; argv++) {
		const char *text = starts_with(*argv, name) && (*argv)[n] == '=' ? *argv + n + 1
				   : streq(*argv, name)				 ? argv[1]
										 : NULL;

		if (text && !parse(text, &v) && v <= most)
			otherwise = v;
	}
	return otherwise;
}

static uint64_t number_of(char **argv, const char *name, uint64_t otherwise)
{
	return value_of(argv, name, parse_uint, UINT16_MAX, otherwise);
}

bool serve_is_meant(char **words)
{
	bool meant = false;

	for (; *words; words++) {
		if (streq(*words, "--help") || streq(*words, "-h"))
			return false;
		meant |= streq(*words, "--serve");
	}
	return meant;
}

int serve_run(char **argv, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	struct launch_opts o = {.serve = true,
				.serve_port = (uint16_t)number_of(argv, "--port", 0),
				.wait = (unsigned)number_of(argv, "--wait", 1),
				.np_per_host = 1,
				.argv = (const char *const *)argv,
				.out_fd = STDOUT_FILENO,
				.err_fd = STDERR_FILENO,
				.raw = true,
				.serving = serving};
	struct launch_result r;

	interrupt_install();
	interrupt_budget(value_of(argv, "--budget", parse_duration, UINT64_MAX, 0));
	if (launch_run(&o, &a, &r, e))
		return err_exit_code(e);
	if (r.failure)
		log_error("%s", r.failure);
	else if (!r.nranks && interrupt_err(e)) /* else it was rank 0 that said so */
		return err_exit_code(e);
	return r.code;
}
