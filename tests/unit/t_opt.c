/* The parser: what a command line sets, and what it is told when it is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/core/near.h"
#include "lib/core/opt.h"
#include "lib/core/units.h"
#include "lib/core/version.h"

enum { MAX_ARGS = 20 };

struct config {
	bool flag, other;
	uint64_t count, size, wait;
	double ratio;
	const char *text, *kind, *how;
	str_list items;
};

static const char *const kinds[] = {"table", "json", "junit", NULL};
static const char *const hows[] = {"computed", "fixed", NULL};

#define AT(field) .off = offsetof(struct config, field)
static const struct opt own_rows[] = {
	{.help = "Own"},
	{'f', "flag", NULL, "a switch", OPT_BOOL, AT(flag), .env = "T_FLAG"},
	{'o', "other", NULL, "another", OPT_BOOL, AT(other)},
	{'c', "count", "N", "a number", OPT_UINT, AT(count), .min = 1, .max = 99, .env = "T_COUNT"},
	{'s', "size", "SIZE", "a size", OPT_SIZE, AT(size)},
	{0, "wait", "TIME", "a time", OPT_DURATION, AT(wait), .min = NS_PER_MS},
	{0, "ratio", "X", "a ratio", OPT_DOUBLE, AT(ratio), .max = 1},
	{0, "pace", "X", "any positive number", OPT_DOUBLE, AT(ratio)},
	{'t', "text", "TEXT", "any text", OPT_STR, AT(text)},
	{0, "how", "HOW", "may stand alone", OPT_CHOICE, AT(how), .choices = hows,
	 .if_bare = "computed"},
	{'i', "item", "ITEM", "repeated", OPT_LIST, AT(items), .env = "T_ITEM"},
	{OPT_HOSTS("of these"), AT(text)},
	{0, "secret", NULL, "a test hook", OPT_BOOL, AT(other), .hidden = true},
	{'V', "vectors", NULL, "takes the letter of --version", OPT_BOOL, AT(other)},
};
/* A second table that comes too late with one name and one letter. */
static const struct opt shared_rows[] = {
	{.help = "Shared"},
	{'f', "format", "KIND", "a choice", OPT_CHOICE, AT(kind), .choices = kinds,
	 .env = "T_FORMAT"},
	{0, "json", NULL, "short for --format json", OPT_STR, AT(kind), .if_bare = "json"},
	{0, "count", "N", "never reached", OPT_BOOL, AT(flag)},
};

struct outcome {
	struct arena a;
	struct config cfg;
	str_list operands;
	const char *answer;
	struct err e;
	enum opt_result rc;
};

static void outcome_done(struct outcome *o) { arena_done(&o->a); }

/* Arguments are separated by one blank; "_" stands for an empty one. */
static void parse(struct outcome *o, const char *operand, const char *line)
{
	struct command cmd = {.name = "x", .summary = "s", .synopsis = "", .operand = operand};
	char *argv[MAX_ARGS + 1] = {(char *)"x"};
	struct opt_table tables[] = {{own_rows, ARRAY_LEN(own_rows), &o->cfg},
				     {shared_rows, ARRAY_LEN(shared_rows), &o->cfg}};
	const struct opt_usage usage = {&cmd, tables, ARRAY_LEN(tables)};
	int argc = 1;

	*o = (struct outcome){.cfg = {.count = 7, .kind = "table"}};
	for (size_t n; *line; line += n + (line[n] == ' ')) {
		n = strcspn(line, " ");
		assert_true(argc < MAX_ARGS);
		argv[argc++] = n == 1 && *line == '_' ? arena_strdup(&o->a, "")
						      : arena_strndup(&o->a, line, n);
	}
	o->rc = opt_parse(&usage, argc, argv, &o->a, &o->operands, &o->answer, &o->e);
}

static void one_error(const char *line, const char *msg, const char *hint)
{
	AUTO(outcome_done) struct outcome o;

	parse(&o, NULL, line);
	if (o.rc != OPT_ERROR || o.e.kind != ERR_USAGE)
		fail_msg("'%s' was accepted", line);
	if (!streq(o.e.msg, msg) || !streq(o.e.hint, hint))
		fail_msg("'%s' says '%s' / '%s'\nwant '%s' / '%s'", line, o.e.msg, o.e.hint, msg,
			 hint);
}

static void says_what_is_wrong(void **state UNUSED)
{
	static const char help[] = "see x --help";
	static const char *const rows[][3] = {
		{"--falg", "unknown option '--falg'", "did you mean --flag?"},
		{"--fla=3", "unknown option '--fla'", "did you mean --flag?"},
		{"--no-flga", "unknown option '--no-flga'", "did you mean --no-flag?"},
		{"--zzzzzz", "unknown option '--zzzzzz'", help},
		{"--secre", "unknown option '--secre'", help},
		{"--no-count", "unknown option '--no-count'", help},
		{"-flag", "unknown option '-flag'", "did you mean --flag?"},
		{"-help", "unknown option '-help'", "did you mean --help?"},
		{"--FLAG", "unknown option '--FLAG'", "did you mean --flag?"},
		{"--junit", "unknown option '--junit'", "did you mean --format=junit?"},
		{"--count-them", "unknown option '--count-them'", "did you mean --count?"},
		{"--nodelist", "unknown option '--nodelist'", "did you mean --hosts?"},
		{"-j", "unknown option '-j'", "did you mean --json?"},
		{"-H", "unknown option '-H'", "did you mean --how, --hosts or --help?"},
		{"-z", "unknown option '-z'", help},
		{"-c=5", "-c takes its value without '='", "did you mean -c 5?"},
		{"-c=", "-c takes its value without '='", "did you mean -c N?"},
		{"-zflag", "unknown option '-zflag'", "did you mean --flag?"},
		{"-fz", "unknown option '-z' in '-fz'", help},
		{"---", "unknown option '---'", help},
		{"--=x", "unknown option '--'", help},
		{"apple", "unexpected operand 'apple'", help},
		{"host", "unexpected operand 'host'", "did you mean --hosts?"},
		{"Junit", "unexpected operand 'Junit'", "did you mean --format=junit?"},
		{"-", "unexpected operand '-'", help},
		{"_", "unexpected operand ''", help},
		{"format", "unexpected operand 'format'", "did you mean --format?"},
		{"-- --flag", "unexpected operand '--flag'", "did you mean --flag?"},
		{"--flag=1", "--flag takes no value, but got '1'", help},
		{"--json=1", "--json takes no value, but got '1'", help},
		{"--help=x", "--help takes no value, but got 'x'", help},
		{"--count", "--count needs a value", "--count N: a number (env: T_COUNT)"},
		{"-fc", "-c needs a value", "-c N: a number (env: T_COUNT)"},
		{"--text --flag", "--text needs a value, but '--flag' follows",
		 "--text TEXT: any text"},
		{"--hosts a, b", "--hosts takes one word, but 'b' follows",
		 "did you mean --hosts a,b?"},
		{"--hosts=a, b", "--hosts takes one word, but 'b' follows",
		 "did you mean --hosts a,b?"},
		{"--hosts= a,b -f", "--hosts takes one word, but 'a,b' follows",
		 "did you mean --hosts a,b?"},
		{"--hosts a -f b", "unexpected operand 'b'", help},
		{"--JSON", "unknown option '--JSON'", "did you mean --json?"},
		{"cnt1", "unexpected operand 'cnt1'", help}, /* a host's name: not --count */
		{"--cout", "unknown option '--cout'", "did you mean --count?"},
		{"--hosts n[1-2] ,n7 n9 -f", "--hosts takes one word, but ',n7' follows",
		 "did you mean --hosts 'n[1-2],n7,n9'?"},
		{"--count=", "--count: '' is not a whole number from 1 to 99", help},
		{"--count _", "--count: '' is not a whole number from 1 to 99", help},
		{"--count 0", "--count: '0' is not a whole number from 1 to 99", help},
		{"-c100", "-c: '100' is not a whole number from 1 to 99", help},
		{"-c -5", "-c: '-5' is not a whole number from 1 to 99", help},
		{"--count 4x", "--count: '4x' is not a whole number from 1 to 99", help},
		{"-s 3Q", "-s: '3Q' is not a size (8, 64K, 1M, 1G)", help},
		{"--wait 5parsecs",
		 "--wait: '5parsecs' is not a time (500ms, 10s, 2m, 1h), at least 1 ms", help},
		{"--wait 1us", "--wait: '1us' is not a time (500ms, 10s, 2m, 1h), at least 1 ms",
		 help},
		{"--ratio 1.5", "--ratio: '1.5' is not a number from 0 to 1", help},
		{"--ratio nan", "--ratio: 'nan' is not a number from 0 to 1", help},
		{"--ratio -0.1", "--ratio: '-0.1' is not a number from 0 to 1", help},
		{"--pace -1", "--pace: '-1' is not a number, at least 0", help},
		{"--format jsn", "--format: 'jsn' is not one of table, json, junit",
		 "did you mean json?"},
		{"--format JSON", "--format: 'JSON' is not one of table, json, junit",
		 "did you mean json?"},
		{"--format=", "--format: '' is not one of table, json, junit", help},
		{"--how=fix", "--how: 'fix' is not one of computed, fixed", "did you mean fixed?"},
		{"--how fixed", "unexpected operand 'fixed'", "did you mean --how=fixed?"},
		{"--how -f fixed", "unexpected operand 'fixed'", "did you mean --how=fixed?"},
		{"--how table", "unexpected operand 'table'", "did you mean --format=table?"},
		{"json", "unexpected operand 'json'", "did you mean --json?"},
		{"--generate perl", "--generate: 'perl' is not one of bash, zsh, man, markdown",
		 help},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		one_error(rows[i][0], rows[i][1], rows[i][2]);
}

static void fills_the_struct(void **state UNUSED)
{
	AUTO(outcome_done) struct outcome o;

	parse(&o, "HOST",
	      "-fc5 a --size=64K --wait 500ms --ratio 0.5 -thello --how b --item 1 -i2");
	assert_int_equal(o.rc, OPT_RUN);
	assert_true(o.cfg.flag);
	assert_int_equal(o.cfg.count, 5);
	assert_int_equal(o.cfg.size, 65536);
	assert_int_equal(o.cfg.wait, 500 * NS_PER_MS);
	assert_true(o.cfg.ratio == 0.5);
	assert_string_equal(o.cfg.text, "hello");
	assert_string_equal(o.cfg.how, "computed");
	assert_int_equal(o.operands.n, 2);
	assert_string_equal(o.operands.v[1], "b");
	assert_int_equal(o.cfg.items.n, 2);
	assert_string_equal(o.cfg.items.v[0], "1");
	assert_string_equal(o.cfg.items.v[1], "2");
}

static void keeps_defaults_and_last_values(void **state UNUSED)
{
	AUTO(outcome_done) struct outcome plain, last, dashes;

	parse(&plain, NULL, "");
	assert_int_equal(plain.rc, OPT_RUN);
	assert_int_equal(plain.cfg.count, 7);
	assert_string_equal(plain.cfg.kind, "table");

	parse(&last, NULL, "-c1 -c 2 --flag --no-flag --json --format junit --how=fixed");
	assert_int_equal(last.rc, OPT_RUN);
	assert_int_equal(last.cfg.count, 2);
	assert_false(last.cfg.flag);
	assert_string_equal(last.cfg.kind, "junit");
	assert_string_equal(last.cfg.how, "fixed");

	parse(&dashes, "HOST", "--text=--flag --format junit --json - -- --flag -c");
	assert_int_equal(dashes.rc, OPT_RUN);
	assert_string_equal(dashes.cfg.text, "--flag");
	assert_string_equal(dashes.cfg.kind, "json");
	assert_false(dashes.cfg.flag);
	assert_int_equal(dashes.operands.n, 3);
}

static void first_table_keeps_names_and_letters(void **state UNUSED)
{
	AUTO(outcome_done) struct outcome o, v;

	parse(&o, NULL, "-f --count 3");
	assert_int_equal(o.rc, OPT_RUN);
	assert_true(o.cfg.flag);
	assert_int_equal(o.cfg.count, 3);
	parse(&v, NULL, "-V");
	assert_int_equal(v.rc, OPT_RUN);
	assert_true(v.cfg.other);
}

static void asks_the_environment(void **state UNUSED)
{
	AUTO(outcome_done) struct outcome o, argued, alias, bad, help;

	setenv("T_FORMAT", "junit", 1);
	setenv("T_FLAG", "yes", 1);
	setenv("T_ITEM", "a,b", 1);
	setenv("T_COUNT", "", 1);
	parse(&o, NULL, "");
	assert_int_equal(o.rc, OPT_RUN);
	assert_string_equal(o.cfg.kind, "junit");
	assert_true(o.cfg.flag);
	assert_int_equal(o.cfg.count, 7);
	assert_string_equal(o.cfg.items.v[0], "a,b");

	setenv("T_FORMAT", "jsn", 1);
	parse(&argued, NULL, "--format table --no-flag --item c");
	assert_int_equal(argued.rc, OPT_RUN);
	assert_string_equal(argued.cfg.kind, "table");
	assert_false(argued.cfg.flag);
	assert_int_equal(argued.cfg.items.n, 1);
	parse(&alias, NULL, "--json");
	assert_int_equal(alias.rc, OPT_RUN);
	assert_string_equal(alias.cfg.kind, "json");

	parse(&bad, NULL, "");
	assert_int_equal(bad.rc, OPT_ERROR);
	assert_string_equal(bad.e.msg, "T_FORMAT: 'jsn' is not one of table, json, junit");
	assert_string_equal(bad.e.hint, "did you mean json?");
	parse(&help, NULL, "--help");
	assert_int_equal(help.rc, OPT_DONE);
	unsetenv("T_FORMAT");
	setenv("T_FLAG", "perhaps", 1);
	one_error("", "T_FLAG: 'perhaps' is not yes or no", "see x --help");
	unsetenv("T_FLAG");
	unsetenv("T_ITEM");
	unsetenv("T_COUNT");
}

static void answers_by_itself(void **state UNUSED)
{
	static const struct {
		const char *line, *begins;
	} rows[] = {
		{"--version", "x (windsock) " WINDSOCK_VERSION "\n"},
		{"-oh --bogus", "x - s\n"},
		{"--generate bash", "# bash completion for x"},
		{"--generate=zsh", "#compdef x"},
		{"--generate man", ".TH X 1 "},
		{"--generate markdown", "`x`: s\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(outcome_done) struct outcome o;

		parse(&o, NULL, rows[i].line);
		assert_int_equal(o.rc, OPT_DONE);
		if (!starts_with(o.answer, rows[i].begins))
			fail_msg("'%s' answers '%.60s'", rows[i].line, o.answer);
	}
}

/* Where operands are taken only what a comma was meant for is refused. */
static void a_list_of_hosts_is_one_word(void **state UNUSED)
{
	AUTO(outcome_done) struct outcome file, torn, late;

	parse(&file, "FILE", "--hosts a log");
	assert_int_equal(file.rc, OPT_RUN);
	assert_string_equal(file.operands.v[0], "log");
	parse(&torn, "FILE", "--hosts a, b log");
	assert_int_equal(torn.rc, OPT_ERROR);
	assert_string_equal(torn.e.hint, "did you mean --hosts a,b?");
	parse(&late, "FILE", "--hosts a, -- b");
	assert_int_equal(late.rc, OPT_RUN);
}

static void types_again_what_was_given(void **state UNUSED)
{
	static const char *const names[] = {"flag",  "other", "count", "size", "wait",
					    "ratio", "text",  "how",   "item", NULL};
	static const struct {
		const char *line, *want;
	} rows[] = {
		{"", ""},
		{"-c 7", ""}, /* which is the usual one */
		{"--flag -c9 --size=1000 --wait 90", " -f -c 9 -s 1000 --wait 90s"},
		{"-s 64M --wait 1500ms --ratio .25", " -s 64M --wait 1500ms --ratio 0.25"},
		{"--text it's --how -i a|b --item c",
		 " -t 'it'\\''s' --how computed -i 'a|b' -i c"},
		{"--text=", ""},
		{"--json -s 0", ""}, /* another table's; and none */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct config usual = {.count = 7, .text = ""};
		AUTO(outcome_done) struct outcome o;
		struct opt_table t = {own_rows, ARRAY_LEN(own_rows), &o.cfg};

		parse(&o, NULL, rows[i].line);
		assert_int_equal(o.rc, OPT_RUN);
		o.cfg.text = o.cfg.text ?: "";
		assert_string_equal(opt_typed(&t, &usual, names, &o.a), rows[i].want);
	}
}

static void finds_the_nearest_name(void **state UNUSED)
{
	static const char *const names[] = {
		"suggest",	 "predict", "check", "ip",  "interface",  "peer",    "quiet",
		"output-format", "cpu",	    "cuda",  "avg", "all_reduce", "formats", "format"};
	static const struct {
		const char *got, *want;
	} rows[] = {
		{"sugest", "suggest"},
		{"usggest", "suggest"},
		{"suggestt", "suggest"},
		{"pre", "predict"},
		{"outptu-fromat", "output-format"},
		{"iterfacs", "interface"},
		{"pi", NULL},
		{"xx", NULL},
		{"", NULL},
		{"p", NULL},
		{"quite", "quiet"},
		{"QUIET", "quiet"},
		{"AllReduce", "all_reduce"},
		{"all-reduce", "all_reduce"},
		{"all_reduce_perf", "all_reduce"},
		{"peer-host", "peer"},
		{"gpu", "cuda"}, /* and not cpu, which is one letter away */
		{"cpus", "cpu"},
		{"FORMAT", "format"}, /* and not what begins so */
		{"ip-of-it", NULL},   /* so short a beginning is an accident */
		{"mean", "avg"},
		{"banana", NULL},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		 NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *near = nearest_name(rows[i].got, names, ARRAY_LEN(names));

		if (!streq(near ? near : "-", rows[i].want ? rows[i].want : "-"))
			fail_msg("'%s' is nearest to '%s'", rows[i].got, near ? near : "-");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(fills_the_struct),
		cmocka_unit_test(keeps_defaults_and_last_values),
		cmocka_unit_test(first_table_keeps_names_and_letters),
		cmocka_unit_test(asks_the_environment),
		cmocka_unit_test(answers_by_itself),
		cmocka_unit_test(a_list_of_hosts_is_one_word),
		cmocka_unit_test(types_again_what_was_given),
		cmocka_unit_test(finds_the_nearest_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
