/*
 * Any command line (arguments separated by NUL): it runs, answers or is
 * refused with a message and advice; and help, man page and completions of a
 * command whose texts are the input are made without a fault.
 */
#include "lib/core/opt.h"
#include "lib/core/text.h"

enum { MAX_ARGS = 32 };

struct config {
	bool flag;
	uint64_t count, size, wait;
	double ratio;
	const char *text, *kind, *how;
	str_list items;
};

static const char *const kinds[] = {"table", "json", "junit", NULL};

#define AT(field) .off = offsetof(struct config, field)
static const struct opt rows[] = {
	{'f', "flag", NULL, "a switch", OPT_BOOL, AT(flag)},
	{'c', "count", "N", "a number", OPT_UINT, AT(count), .min = 1, .max = 99},
	{'s', "size", "SIZE", "a size", OPT_SIZE, AT(size)},
	{0, "wait", "TIME", "a time", OPT_DURATION, AT(wait), .max = 5000000000},
	{0, "ratio", "X", "a ratio", OPT_DOUBLE, AT(ratio), .max = 1},
	{'t', "text", "TEXT", "any text", OPT_STR, AT(text)},
	{'k', "kind", "KIND", "a choice", OPT_CHOICE, AT(kind), .choices = kinds},
	{0, "json", NULL, "a short form", OPT_STR, AT(kind), .if_bare = "json"},
	{0, "how", "HOW", "may stand alone", OPT_CHOICE, AT(how), .choices = kinds,
	 .if_bare = "table"},
	{OPT_HOSTS("of these"), AT(text)},
	{'i', "item", "ITEM", "repeated", OPT_LIST, AT(items)},
};

static void expect(bool truth)
{
	if (!truth)
		abort();
}

static void check_parse(char **argv, int argc, bool operands_taken)
{
	AUTO(arena_done) struct arena a = {0};
	struct config cfg = {.count = 1};
	struct opt_table table = {rows, ARRAY_LEN(rows), &cfg};
	struct command cmd = {.name = "fuzzed",
			      .summary = "s",
			      .synopsis = "[OPTIONS]",
			      .operand = operands_taken ? "HOST" : NULL};
	const struct opt_usage usage = {&cmd, &table, 1};
	str_list operands = {0};
	const char *answer = NULL;
	struct err e = {0};

	switch (opt_parse(&usage, argc, argv, &a, &operands, &answer, &e)) {
	case OPT_ERROR:
		expect(e.kind == ERR_USAGE && *e.msg && *e.hint);
		break;
	case OPT_DONE:
		expect(answer && *answer);
		break;
	case OPT_RUN:
		expect(e.kind == ERR_NONE && cfg.count >= 1 && cfg.count <= 99);
		expect(cfg.ratio >= 0 && cfg.ratio <= 1);
		expect(operands_taken || !operands.n);
		break;
	}
}

static void check_renderings(const char *s, unsigned width)
{
	AUTO(arena_done) struct arena a = {0};
	struct opt row = {'x', s, s, s, OPT_STR, .env = s, .def = s};
	struct opt_table table = {&row, 1, NULL};
	struct command cmd = {
		.name = "x", .summary = s, .synopsis = s, .about = s, .examples = s, .exits = s};
	const struct opt_usage usage = {&cmd, &table, 1};
	struct text out;

	text_init(&out, &a);
	opt_help(&usage, width, &out);
	opt_man(&usage, &out);
	opt_markdown(&usage, &out);
	opt_bash(&usage, &out);
	opt_zsh(&usage, &out);
	expect(strlen(out.s) == out.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *argv[MAX_ARGS + 1] = {(char *)"fuzzed"};
	char *s = malloc(n + 1);
	int argc = 1;

	expect(s != NULL);
	memcpy(s, data, n);
	s[n] = '\0';
	for (size_t at = 0; at < n && argc < MAX_ARGS; at += strlen(s + at) + 1)
		argv[argc++] = s + at;
	check_parse(argv, argc, n & 1);
	check_renderings(s, (unsigned)(n % 100));
	free(s);
	return 0;
}
