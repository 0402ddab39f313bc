/* Our block in somebody else's file: where it goes, and that undoing is exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/core/diff.h"
#include "lib/core/rcfile.h"
#include "lib/core/text.h"

enum { RANDOM_TEXTS = 20000, PATCHES = 150 };

#define BLOCK "# >>> windsock >>>\nexport A=1\n# <<< windsock <<<\n"
static const char body[] = "export A=1\n";
static struct arena a;
static struct err e;

static int free_arena(void **state UNUSED)
{
	arena_done(&a);
	return 0;
}

static struct span put_span(struct span old, enum rc_place where)
{
	struct span got;

	assert_int_equal(rc_put(&a, old, body, where, &got, &e), 0);
	assert_int_equal(got.s[got.n], '\0');
	return got;
}

static const char *put(const char *old, enum rc_place where)
{
	return put_span(span_of(old), where).s;
}

static void undoes(const char *text, const char *want, bool want_found)
{
	struct span got;
	bool found;

	assert_int_equal(rc_remove(&a, span_of(text), &got, &found, &e), 0);
	assert_string_equal(got.s, want);
	assert_int_equal(got.n, strlen(want));
	assert_int_equal(found, want_found);
}

static void goes_to_the_end(void **state UNUSED)
{
	assert_string_equal(put("", RC_APPEND), BLOCK);
	assert_string_equal(put("a\n", RC_APPEND), "a\n" BLOCK);
	assert_string_equal(put("a\r\n", RC_APPEND), "a\r\n" BLOCK);
	assert_string_equal(put("a\n", RC_ABOVE_INTERACTIVE), "a\n" BLOCK);
	undoes("", "", false);
	undoes("a", "a", false);
	undoes(BLOCK, "", true);
	undoes(put("a", RC_APPEND), "a", true);
	undoes(put("a\r", RC_APPEND), "a\r", true);
}

static void stays_where_it_is(void **state UNUSED)
{
	const char *other = "# >>> windsock >>>\nexport B=2\n# <<< windsock <<<\n";

	assert_string_equal(put("a\n", RC_KEEP), "a\n" BLOCK);
	assert_string_equal(put(arena_printf(&a, "a\n%sb\n", other), RC_KEEP), "a\n" BLOCK "b\n");
	assert_string_equal(put(arena_printf(&a, "%sb", other), RC_KEEP), BLOCK "b");
	assert_string_equal(put(arena_printf(&a, "%sb\n", put("a", RC_APPEND)), RC_KEEP),
			    "a\n" BLOCK "b\n");
	assert_string_equal(put(put("a", RC_APPEND), RC_KEEP), put("a", RC_APPEND));
}

static void goes_above_every_guard(void **state UNUSED)
{
	static const char *const guards[] = {
		("# If not running interactively, don't do anything\n"
		 "case $- in\n    *i*) ;;\n      *) return;;\nesac\n"),
		"case \"$-\" in *i*) ;; *) return ;; esac\n",
		"[ -z \"$PS1\" ] && return\n",
		"# comment\n# and more\n[ -z \"${PS1:-}\" ] && return # not for scp\n",
		"test -z \"$PS1\" && return 0\n",
		"[[ $- != *i* ]] && return\n",
		"[[ $- == *i* ]] || return\n",
		"if [[ $- != *i* ]]; then return; fi\n",
		"if [[ $- != *i* ]] ; then\n\t# Shell is non-interactive.\n\treturn\nfi\n",
		"if [ -z \"$PS1\" ]; then\n  return\nfi\n",
		"[[ ${-} =~ i ]] || exit 0\n",
		"[ -z \"$PS1\" ] \\\n  && return\n",
		"[[ $- == *i* ]] ||\n  return\n",
		"tty -s || return\n",
		"[ -t 0 ] || return\n",
		"[[ -o interactive ]] || return\n",
		"shopt -q login_shell || return\n",
		"[ -n \"$SSH_TTY\" ] || return\n",
		"  [[ $- != *i* ]] && return\n",
		"[[ $- != *i* ]] && return", /* the last line, without a newline */
	};

	for (size_t i = 0; i < ARRAY_LEN(guards); i++) {
		const char *old = arena_printf(&a, "# ~/.bashrc\n\nx=1\n%s", guards[i]);
		const char *want = arena_printf(&a, "# ~/.bashrc\n\nx=1\n%s%s", BLOCK, guards[i]);

		assert_string_equal(put(old, RC_ABOVE_INTERACTIVE), want);
		undoes(want, old, true);
	}
	assert_string_equal(put("f() {\n\t:\n}\nif x; then\n\ty\nfi\n\t[ -z \"$PS1\" ] && return\n",
				RC_ABOVE_INTERACTIVE),
			    "f() {\n\t:\n}\nif x; then\n\ty\nfi\n" BLOCK
			    "\t[ -z \"$PS1\" ] && return\n");
	/* words that only look as if something were open, or a text that never ends */
	assert_string_equal(put("echo wait for it, if ever\nx=$((1<<n))\ncat <<E\n"
				"[[ $- != *i* ]] && return\n",
				RC_ABOVE_INTERACTIVE),
			    "echo wait for it, if ever\nx=$((1<<n))\ncat <<E\n" BLOCK
			    "[[ $- != *i* ]] && return\n");
	assert_string_equal(put("f() {\n[ -z \"$PS1\" ] && return\necho done\n}\n"
				"[ -z \"$PS1\" ] && return\n",
				RC_ABOVE_INTERACTIVE),
			    "f() {\n[ -z \"$PS1\" ] && return\necho done\n}\n" BLOCK
			    "[ -z \"$PS1\" ] && return\n");
	assert_string_equal(put("#!/bin/bash\n[[ $- != *i* ]] && return\n", RC_ABOVE_INTERACTIVE),
			    "#!/bin/bash\n" BLOCK "[[ $- != *i* ]] && return\n");
	assert_string_equal(put("# <<< conda initialize <<<\n[ -z \"$PS1\" ] && return\n",
				RC_ABOVE_INTERACTIVE),
			    "# <<< conda initialize <<<\n" BLOCK "[ -z \"$PS1\" ] && return\n");
}

static void takes_nothing_else_for_a_guard(void **state UNUSED)
{
	static const char *const others[] = {
		"PS1='$ '\n",
		"# [ -z \"$PS1\" ] && return\n",
		"if [ \"$PS1\" ]; then\n  alias l=ls\nfi\nreturn 0\n",
		"f() {\n\t[ -z \"$PS1\" ] && return\n}\n",
		"f()\n{\n\t[ -z \"$PS1\" ] && return\n}\n",
		"f() {\n[ -z \"$PS1\" ] && return\n}\n",
		"cat <<EOF\n[ -z \"$PS1\" ] && return\nEOF\n",
		"cat >x <<-'E'\n[ -z \"$PS1\" ] && return\n\tE\n",
		"for x in 1; do\n  [ -z \"$PS1\" ] && return\ndone\n",
		"true &&\n  [ -z \"$PS1\" ] && return\n",
		"[[ $- == *i* ]] &&\n  echo \\\n  hi\nreturn 0\n",
		"[[ $- == *i* ]] && bind 'set bell-style none' # no return here\n",
		"case $- in *i*) alias l=ls ;; esac\n",
		"echo \\\n[ -z \"$PS1\" ] && return\n", /* the line goes on from above */
		"[ -n \"$PS1\" ] && returning=1\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_string_equal(put(others[i], RC_ABOVE_INTERACTIVE),
				    arena_printf(&a, "%s%s", others[i], BLOCK));
}

static void there_is_only_ever_one(void **state UNUSED)
{
	const char *twice = "a\n" BLOCK "b\n" BLOCK "c\n";

	assert_string_equal(put(twice, RC_APPEND), "a\nb\nc\n" BLOCK);
	undoes(twice, "a\nb\nc\n", true);
	undoes("a\n" BLOCK "b", "a\nb", true);
	/* somebody's editor made it a DOS file */
	undoes("a\r\n# >>> windsock >>>\r\nx\r\n# <<< windsock <<<\r\nb\r\n", "a\r\nb\r\n", true);
	/* the newline that we gave the last line is needed by what came below */
	undoes(arena_printf(&a, "%smore\n", put("a", RC_APPEND)), "a\nmore\n", true);
	/* names that only begin like ours */
	undoes("# >>> windsocks >>>\n", "# >>> windsocks >>>\n", false);
	undoes("# >>> windsock >>>x\n", "# >>> windsock >>>x\n", false);
}

static void a_damaged_block_is_refused(void **state UNUSED)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{"a\n# >>> windsock >>>\nb\n", "end mark is missing"},
		{"a\n# <<< windsock <<<\nb\n", "line 2"},
		{BLOCK "# <<< windsock <<<\n", "line 4"},
		{"# >>> windsock >>>\n" BLOCK, "line 2"},
	};
	struct span got;
	bool found;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct span text = span_of(rows[i].text);

		assert_int_equal(rc_put(&a, text, body, RC_APPEND, &got, &e), -1);
		assert_non_null(strstr(e.msg, rows[i].said));
		assert_int_not_equal(*e.hint, '\0');
		assert_int_equal(rc_remove(&a, text, &got, &found, &e), -1);
	}
	assert_int_equal(rc_put(&a, span_of(""), BLOCK, RC_APPEND, &got, &e), -1);
	assert_int_equal(rc_put(&a, span_of(""), "no newline", RC_APPEND, &got, &e), 0);
	undoes(got.s, "", true);
}

/* Pieces that matter, in any order, some bytes lost. */
static struct span random_text(unsigned *seed)
{
	static const char *const pieces[] = {
		"\n",
		"# comment\n",
		"case $- in\n",
		"*) return;;\n",
		"esac\n",
		"if [ -z \"$PS1\" ]; then\n",
		"return\n",
		"fi\n",
		"x=1\n",
		"\r\n",
		"[[ $- != *i* ]] && return\n",
		"no newline",
		" ",
		"\\\n",
		"#!/bin/sh\n",
		"# <<< windsock",
		"# >>> windsock >>",
		"# >>> other >>>\n",
		"\t[ -z \"$PS1\" ] && return\n",
		"\xc3\xa9\xff",
	};
	struct text t;

	text_init(&t, &a);
	for (int n = rand_r(seed) % 12; n > 0; n--)
		text_add(&t, pieces[(size_t)rand_r(seed) % ARRAY_LEN(pieces)]);
	if (rand_r(seed) % 8 == 0)
		text_addn(&t, "\0", 1);
	return (struct span){t.s, t.n};
}

static void any_text_comes_back(void **state UNUSED)
{
	unsigned seed = 2;

	for (int i = 0; i < RANDOM_TEXTS; i++) {
		enum rc_place where = (enum rc_place)(i % 3);
		struct span old = random_text(&seed), once, twice, back;
		bool found;

		once = put_span(old, where);
		twice = put_span(once, where);
		assert_int_equal(once.n, twice.n);
		assert_memory_equal(once.s, twice.s, once.n);
		assert_int_equal(rc_remove(&a, once, &back, &found, &e), 0);
		assert_true(found);
		if (back.n != old.n || memcmp(back.s, old.s, old.n))
			fail_msg("text %d changed:\n%s\n--- into\n%s", i, old.s, back.s);
		arena_done(&a);
	}
}

static void a_diff_shows_the_change(void **state UNUSED)
{
	static const struct {
		const char *old, *new, *want;
	} rows[] = {
		{"a\n", "a\n", ""},
		{"", "", ""},
		{"", "a\n", "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n"},
		{"a\n", "", "--- f\n+++ f\n@@ -1,1 +0,0 @@\n-a\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
		 "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
		{"a", "a\n",
		 "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(text_diff(&a, "f", span_of(rows[i].old), span_of(rows[i].new)),
				    rows[i].want);
}

static void write_file(const char *path, const char *text, size_t n)
{
	AUTO_FILE FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
}

static void add_lines(unsigned *seed, struct text *t, int lines)
{
	static const char *const words[] = {"a", "b", "c"};

	for (int i = 0; i < lines; i++)
		text_addf(t, "%s\n", words[rand_r(seed) % 3]);
	if (t->n && rand_r(seed) % 3 == 0)
		t->s[--t->n] = '\0';
}

static void patch_understands_the_diff(void **state UNUSED)
{
	char dir[] = "/tmp/t_rcfile.XXXXXX";
	unsigned seed = 3;

	if (system("command -v patch >/dev/null") != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	for (int i = 0; i < PATCHES; i++) {
		struct text old, new;
		char *diff;

		text_init(&old, &a);
		text_init(&new, &a);
		add_lines(&seed, &old, rand_r(&seed) % 12);
		add_lines(&seed, &new, rand_r(&seed) % 12);
		diff = text_diff(&a, "f", (struct span){old.s, old.n}, (struct span){new.s, new.n});
		write_file("f", old.s, old.n);
		write_file("d", diff, strlen(diff));
		write_file("want", new.s, new.n);
		if (*diff && system("patch -s -p0 <d && { [ -e f ] || : >f; } && cmp -s f want"))
			fail_msg("patch %d: '%s' -> '%s':\n%s", i, old.s, new.s, diff);
		assert_int_equal(*diff == '\0', streq(old.s, new.s));
	}
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(system(arena_printf(&a, "rm -rf '%s'", dir)), 0);
}

#define TEST(f) cmocka_unit_test_teardown(f, free_arena)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(goes_to_the_end),
		TEST(stays_where_it_is),
		TEST(goes_above_every_guard),
		TEST(takes_nothing_else_for_a_guard),
		TEST(there_is_only_ever_one),
		TEST(a_damaged_block_is_refused),
		TEST(any_text_comes_back),
		TEST(a_diff_shows_the_change),
		TEST(patch_understands_the_diff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
