/* A rank whose command line or plug-in is wrong: the others are not to wait for it. */
#include "bench/ranks/where.h"

#include "lib/core/units.h"

/* What @argv[i] says of --@name, as --name=X or --name X; NULL: nothing. */
static const char *value_of(char *const *argv, size_t i, const char *name)
{
	size_t n = strlen(name);
	const char *arg = argv[i];

	if (!starts_with(arg, "--") || !starts_with(arg + 2, name))
		return NULL;
	return arg[2 + n] == '=' ? arg + n + 3 : arg[2 + n] ? NULL : argv[i + 1] ?: "";
}

static int number_or(const char *text, int otherwise)
{
	uint64_t n;

	return text && !parse_uint(text, &n) && n <= WORLD_MAX ? (int)n : otherwise;
}

static bool is_one_of(char *const *argv, size_t i, const char *const *names)
{
	while (*names && !value_of(argv, i, *names))
		names++;
	return *names;
}

/* The line may be what is wrong, so it is read for these words alone. */
static struct world_opts guess(char *const *argv)
{
	/* and what is no rank wherever it is typed */
	static const char *const launching[] = {"np",	"np-per-host", "hosts", "serve",
						"srun", "analyze",     NULL};
	struct world_opts o = {.rank = -1, .size = -1};

	for (size_t i = 1; argv[i] && !streq(argv[i], "--"); i++) {
		o.init = value_of(argv, i, "init") ?: o.init;
		o.rank = number_or(value_of(argv, i, "rank"), o.rank);
		o.size = number_or(value_of(argv, i, "world-size"), o.size);
		o.launching |= is_one_of(argv, i, launching);
	}
	return o;
}

void where_decline(char *const *argv, const struct err *e)
{
	const struct world_opts o = guess(argv);

	if (!o.launching)
		world_decline(&o, e->msg);
}
