/*
 * What is made of an option table: help that fits its width, a man page that
 * mandoc takes, and completions that real shells complete with.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lib/core/opt.h"
#include "lib/core/text.h"

static const char *const kinds[] = {"table", "tap", "json", NULL};
static const char *const verbs[] = {"emit", "join", NULL};
static const char *const hows[] = {"computed", "fixed", NULL};

static const struct opt rows[] = {
	{.help = "First"},
	{'l', "long-switch", NULL,
	 "a sentence that is long enough to be broken at any width that a person would use",
	 OPT_BOOL, .env = "T_LONG"},
	{0, "format", "KIND", "it's [odd]: a \\ and a | in it", OPT_CHOICE, .choices = kinds,
	 .def = "table"},
	{0, "bashrc", "HOW", "may stand alone", OPT_CHOICE, .choices = hows, .if_bare = "computed"},
	{'d', "directory", "DIR", "a folder", OPT_STR, .complete = OPT_C_DIR},
	{0, "output", "FILE", "a file", OPT_STR, .complete = OPT_C_FILE},
	{.help = "Second"},
	{'p', "peer", "HOST[:PORT]", "a host", OPT_LIST, .complete = OPT_C_HOST},
	{0, "hosts", "HOSTS", "hosts, or a file of them", OPT_STR, .complete = OPT_C_HOSTS},
	{'i', "interface", "IF", "an interface", OPT_STR, .complete = OPT_C_IFACE},
	{0, "count", "N", "a number", OPT_UINT, .min = 1},
	{0, "color", NULL, "on unless switched off", OPT_BOOL, .def = "on"},
	{0, "secret", NULL, "in no help", OPT_BOOL, .hidden = true},
	{.help = "Empty"},
};
static const struct opt_table table = {rows, ARRAY_LEN(rows), NULL};

static const struct command cmd = {
	.name = "optest",
	.summary = "a command that exists for its help",
	.synopsis = "[OPTIONS]\n--peer HOST",
	.about = "A paragraph that teaches something and is longer than one line of it can hold.\n"
		 "\n  verbatim --as-it-is\n\n.starts with a dot\n'and a quote",
	.examples = "  optest --format json   # one\n  optest 'a-b' \\n      # a remark\n",
	.environment = "T_BESIDE What no option says.\n",
	.operand = "FILE[:LINE]",
	.operand_complete = OPT_C_FILE,
	.verbs = verbs,
	.line_verb = "emit",
};

static const struct opt_usage all = {&cmd, &table, 1};

/* What operands may be called, where no verb is one. */
static const struct command of_hosts = {
	.name = "opthosts", .operand = "HOST[:PORTS]", .operand_complete = OPT_C_HOST};
static const struct command wrapping = {
	.name = "optwraps", .operand = "it's[:x]", .operand_complete = OPT_C_FILE, .wraps = true};

typedef void render_fn(const struct opt_usage *, struct text *);

static const char *rendered_of(struct arena *a, render_fn *render, const struct opt_usage *usage)
{
	struct text out;

	text_init(&out, a);
	render(usage, &out);
	return out.s;
}

static const char *rendered(struct arena *a, render_fn *render)
{
	return rendered_of(a, render, &all);
}

static void save(const char *path, const char *s)
{
	AUTO_FILE FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(s, f) >= 0);
}

/* What a shell command prints; fails the test where it does not end with 0. */
static const char *shell(struct arena *a, const char *command)
{
	FILE *f = popen(command, "r");
	struct text out;
	char buf[512];
	int rc;

	assert_non_null(f);
	text_init(&out, a);
	for (size_t n; (n = fread(buf, 1, sizeof(buf), f));)
		text_addn(&out, buf, n);
	rc = pclose(f);
	if (rc)
		fail_msg("%s\nends with %d: %s", command, rc, out.s);
	return out.s;
}

static bool has_tool(const char *name)
{
	char command[128];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", name);
	return system(command) == 0;
}

static int enter_folder(void **state)
{
	static char folder[] = "/tmp/t_opt_render.XXXXXX";

	*state = mkdtemp(folder);
	return !*state || chdir(folder) || mkdir("dir one", 0700) || mkdir("empty", 0700);
}

static int leave_folder(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", (const char *)*state);
	return chdir("/") || system(command);
}

static void help_fits_its_width(void **state UNUSED)
{
	static const unsigned widths[] = {36, 40, 59, 60, 80, 100};

	for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct text out;

		text_init(&out, &a);
		opt_help(&all, widths[i], &out);
		for (const char *s = out.s; *s; s += strcspn(s, "\n") + 1)
			if (strcspn(s, "\n") > widths[i] || s[strspn(s, " ")] == '\0')
				fail_msg("at %u columns: '%.*s'", widths[i], (int)strcspn(s, "\n"),
					 s);
		assert_null(strstr(out.s, " \n"));
	}
}

static void help_says_what_the_table_says(void **state UNUSED)
{
	static const char *const parts[] = {
		"optest - a command that exists for its help\n\nUsage: optest [OPTIONS]\n"
		"       optest --peer HOST\nBegin: optest --format json  # one (more at the "
		"end)\n\n",
		"\n  verbatim --as-it-is\n",
		"\n\nFirst:\n  -l, --long-switch       a sentence that is long enough to be broken "
		"at any\n                          width that a person would use (env: T_LONG)\n",
		"\n  --format KIND           it's [odd]: a \\ and a | in it (table, tap, json;\n"
		"                          default: table)\n",
		"\n  --bashrc[=HOW]          may stand alone (computed, fixed; alone: "
		"computed)\n",
		"\n\nSecond:\n  -p, --peer HOST[:PORT]  a host (may be repeated)\n",
		"\n  --[no-]color            on unless switched off (default: on)\n",
		"\n\nHelp:\n  -h, --help              show this help\n",
		"\n\nExamples:\n  optest --format json  # one\n  optest 'a-b' \\n       # a "
		"remark\n",
		"\n  2  the command line is wrong\n",
	};
	AUTO(arena_done) struct arena a = {0};
	struct text out;

	text_init(&out, &a);
	opt_help(&all, 80, &out);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (!strstr(out.s, parts[i]))
			fail_msg("'%s' is not in\n%s", parts[i], out.s);
	assert_null(strstr(out.s, "secret"));
	assert_null(strstr(out.s, "Empty"));
	assert_null(strstr(out.s, "generate"));
}

static void man_page_is_clean(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	const char *page = rendered(&a, opt_man);

	assert_non_null(strstr(page, "\n\\&.starts with a dot\n\\&'and a quote\n"));
	assert_non_null(strstr(page, ".B \\-\\-format KIND\n"));
	assert_non_null(strstr(page, ".B T_LONG\n"));
	assert_non_null(strstr(page, ".B T_BESIDE\nWhat no option says.\n"));
	assert_null(strstr(page, "secret"));
	if (!has_tool("mandoc"))
		skip();
	save("optest.1", page);
	assert_string_equal(shell(&a, "mandoc -T lint -W warning optest.1 2>&1"), "");
	page = shell(&a, "mandoc -T ascii optest.1 | col -b");
	assert_non_null(strstr(page, "a \\ and a | in it"));
	assert_non_null(strstr(page, "optest 'a-b' \\n"));
}

static void markdown_is_a_table(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	const char *s = rendered(&a, opt_markdown);

	assert_non_null(strstr(s, "\n\n| First | |\n|---|---|\n| `-l, --long-switch` | "));
	assert_non_null(strstr(s, "| `--format KIND` | it's [odd]: a \\\\ and a \\| in it "));
	assert_null(strstr(s, "secret"));
}

struct completion {
	const char *words; /* a bash array: the last is being typed */
	const char *want;  /* candidates, sorted, one blank between */
};

/* As readline would split the line: "=" is a word of its own. */
static const struct completion completions[] = {
	{"optest --f", "--format"},
	{"optest --ba", "--bashrc --bashrc="},
	{"optest --no-c", "--no-color"},
	{"optest --sec", ""},
	{"optest --format ''", "json table tap"},
	{"optest --format t", "table tap"},
	{"optest --format =", "json table tap"},
	{"optest --format = t", "table tap"},
	{"optest --format=t", "--format=table --format=tap"},
	{"optest --bashrc = f", "fixed"},
	{"optest --bashrc em", "empty"},
	{"optest --color = f", ""},
	{"optest --count ''", ""},
	{"optest --directory ''", "dir one empty"},
	{"optest -d e", "empty"},
	{"optest --output = e", "empty"},
	{"optest --peer t", "t-one t-two"},
	{"optest --peer t-one,t-t", "t-one,t-two"},
	{"optest -p t-t", "t-two"},
	{"optest --hosts t", "t-one t-two"},
	{"optest --hosts em", "empty"},
	{"optest --hosts t-one,t-t", "t-one,t-two"},
	{"optest --hosts t-one,em", ""},
	{"optest --interface l", "lo"},
	{"optest -i x,lo", "x,lo"},
	{"optest -- --f", ""},
	{"optest -- em", "empty"},
	{"optest em", "emit empty"},
	{"optest x em", "empty"},
	{"optest emit t", "t-one t-two"},
	{"optest emit t-one,t-t", "t-one,t-two"},
	{"optest emit t-one em", "empty"},
};

static void bash_completes(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};

	save("optest.bash", rendered(&a, opt_bash));
	save("aliases",
	     "shopt -s expand_aliases\nalias ls=\"ls -F\" grep=false sed=false sort=false "
	     "tr=false\n");
	save("hosts", "10.0.0.1 t-one\n10.0.0.2 t-two # a remark\n");
	for (size_t i = 0; i < ARRAY_LEN(completions); i++) {
		const struct completion *c = &completions[i];
		const char *got = shell(
			&a,
			arena_printf(
				&a,
				"HOME=/nonexistent HOSTFILE=hosts bash --norc -uc '. ./aliases; . "
				"./optest.bash; "
				"COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
				"_optest; printf \"%%s\\n\" \"${COMPREPLY[@]}\" | sort | "
				"paste -sd\" \"'",
				c->words[strlen(c->words) - 1] == '\''
					? arena_printf(&a, "%.*s\"\"", (int)strlen(c->words) - 2,
						       c->words)
					: c->words));

		if (strncmp(got, c->want, strlen(c->want)) || !streq(got + strlen(c->want), "\n"))
			fail_msg("'%s' completes to '%s', want '%s'", c->words, got, c->want);
	}
	assert_non_null(strstr(shell(&a, "bash --norc -c '. ./optest.bash; complete -p optest'"),
			       "-F _optest optest"));
}

/* A pseudo-terminal with a zsh in it, asked with Ctrl-D what could follow. */
static const char zpty_script[] =
	"zmodload zsh/zpty\n"
	"zpty z 'PS1=P: TERM=dumb zsh -f -i'\n"
	"zpty -w z 'fpath=($PWD $fpath); autoload -Uz compinit; compinit -D -u; unsetopt beep; "
	"LISTMAX=0; zstyle \":completion:*\" list-separator \"@\"; print re\"\"ady'\n"
	"zpty -r z out '*ready*P:*'\n"
	"zpty -w -n z \"$1\"$'\\C-D\\C-U'\n"
	"zpty -w z 'print en\"\"ded'\n"
	"zpty -r z out '*ended*'\n"
	"print -r -- \"$out\"\n"
	"zpty -d z\n";

static void zsh_completes(void **state UNUSED)
{
	static const char *const asked[][3] = {
		{"optest --form", "--format", "it's [odd]: a \\ and a | in it"},
		{"optest --format ", "json", "table"},
		{"optest --format=ta", "table", "tap"},
		{"optest --bashrc=", "computed", "fixed"},
		{"optest -", "-l", "a sentence that is long"},
		{"optest --directory em", "empty/", NULL},
		{"optest --interface l", "lo", NULL},
		{"optest ", "optest.bash", "empty/"},
		{"optest e", "emit", "empty/"},
		{"optest x e", "empty/", NULL},
		{"optest --hosts em", "empty/", NULL},
		{"optest emit localh", "localhost", NULL},
		{"optest emit em", "empty/", NULL},
		{"optest join em", "empty/", NULL},
		{"optest x opt", "optest.bash", NULL},
		{"opthosts localh", "localhost", NULL},
		{"optwraps opt", "optest.bash", NULL},
	};
	const struct opt_usage hosts = {&of_hosts, &table, 1}, wraps = {&wrapping, &table, 1};
	AUTO(arena_done) struct arena a = {0};

	if (!has_tool("zsh"))
		skip();
	save("_optest", rendered(&a, opt_zsh));
	save("_opthosts", rendered_of(&a, opt_zsh, &hosts));
	save("_optwraps", rendered_of(&a, opt_zsh, &wraps));
	save("ask.zsh", zpty_script);
	assert_string_equal(shell(&a, "zsh -n _optest 2>&1"), "");
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		const char *got = shell(
			&a, arena_printf(&a, "timeout 20 zsh -f ask.zsh '%s' 2>&1", asked[i][0]));

		if (strstr(got, "_arguments:"))
			fail_msg("'%s' completes to an error: %s", asked[i][0], got);
		for (size_t j = 1; j < 3 && asked[i][j]; j++)
			if (!strstr(got, asked[i][j]))
				fail_msg("'%s' completes to '%s', want %s", asked[i][0], got,
					 asked[i][j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(help_fits_its_width),
		cmocka_unit_test(help_says_what_the_table_says),
		cmocka_unit_test(man_page_is_clean),
		cmocka_unit_test(markdown_is_a_table),
		cmocka_unit_test(bash_completes),
		cmocka_unit_test(zsh_completes),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
