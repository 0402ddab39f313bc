/* What goes over a way to a host comes out of the shells there as it went in, and what is shown to
 * be typed comes out of the one that it is typed into. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/cluster/child.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"

static const char *const words[] = {
	"plain",       "",	     "a b",	"  two  blanks ",
	"it's",	       "'''",	     "\"q\"",	"$HOME `id` $(id) ${x}",
	"a\\b\\\\c\\", "*?[a-z]~",   "!!",	"#no comment",
	"a;b|c&d>e<f", "one\ntwo\n", "\ttab\r", "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xff",
	"-n",	       "%s%n",	     "\x1b[2J"};

/* What @shell makes of @line, which prints one word. */
static const char *through(struct arena *a, const char *shell, const char *line)
{
	char *const argv[] = {(char *)shell, (char[]){"-c"}, (char *)line, NULL};
	struct text got;

	text_init(&got, a);
	child_answer(argv, 10 * NS_PER_S, 1 << 16, &got);
	return got.s;
}

static void a_word_comes_out_as_it_went_in(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		AUTO(arena_done) struct arena a = {0};
		const char *const argv[] = {"printf", "%s", words[i], NULL};
		const char *line = shell_quote_words(&a, argv);

		assert_string_equal(through(&a, "sh", line), words[i]);
		/* as `windsock on` has it: a command line, for sh, behind the account's shell */
		line = arena_printf(&a, "exec sh -c %s", shell_quote(&a, line));
		assert_string_equal(through(&a, "sh", line), words[i]);
		assert_string_equal(through(&a, "bash", line), words[i]);
	}
}

static void a_path_keeps_its_home(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	static const char *const paths[][2] = {
		{"~/it's here", "/h o/it's here"},
		{"~/.nccl.conf", "/h o/.nccl.conf"},
		{"/a b/~/c", "/a b/~/c"},
		{"~x/$y", "~x/$y"},
		{"~", "~"},
	};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		const char *path = shell_quote_path(&a, paths[i][0]);

		assert_string_equal(
			through(&a, "sh", arena_printf(&a, "HOME='/h o'; printf %%s %s", path)),
			paths[i][1]);
	}
}

/* A program in a folder that somebody named oddly is found all the same. */
static void a_program_may_lie_anywhere(void **state UNUSED)
{
	char dir[] = "/tmp/t_quote.XXXXXX";
	struct arena a = {0};
	const char *path;

	assert_non_null(mkdtemp(dir));
	path = arena_printf(&a, "%s/it's $here \xc3\xbc", dir);
	assert_int_equal(symlink("/bin/echo", path), 0);
	assert_string_equal(
		through(&a, "sh", arena_printf(&a, "exec %s there", shell_quote(&a, path))),
		"there\n");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	arena_done(&a);
}

/* A line that is shown has no other line in it, and is the same command. */
static void a_line_that_is_shown_can_be_typed(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		AUTO(arena_done) struct arena a = {0};
		const char *shown = shell_quote_line(&a, words[i]);

		for (const char *c = shown; *c; c++)
			assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
		assert_string_equal(through(&a, "bash", arena_printf(&a, "printf %%s %s", shown)),
				    words[i]);
	}
}

static void a_command_again_but_for_some_options(void **state UNUSED)
{
	static const char *const typed[] = {
		"tool",	  "--lr",   "1",	  "--data", "mnist:/my data",
		"--json", "--lr=2", "--lr-every", "3",	    NULL};
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(
		shell_again(&a, typed,
			    (const struct shell_set[]){{"--lr", "0.5"}, {"--data", NULL}, {0}}),
		"tool --lr 0.5 --data 'mnist:/my data' --lr-every 3");
	assert_string_equal(
		shell_again(&a, typed + 7, (const struct shell_set[]){{"--epochs", "4"}, {0}}),
		"--lr-every 3 --epochs 4");
	assert_string_equal(
		shell_again(&a, typed,
			    (const struct shell_set[]){{"--seed", "1"}, {"--data", "x y"}, {0}}),
		"tool --lr 1 --data 'x y' '--lr=2' --lr-every 3 --seed 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_comes_out_as_it_went_in),
		cmocka_unit_test(a_path_keeps_its_home),
		cmocka_unit_test(a_program_may_lie_anywhere),
		cmocka_unit_test(a_line_that_is_shown_can_be_typed),
		cmocka_unit_test(a_command_again_but_for_some_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
