/* term.[ch] and log.[ch]: what a terminal shows and what it must never be told. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "lib/core/log.h"
#include "lib/core/term.h"

#include <cmocka.h>

static void utf8_locale(bool on)
{
	unsetenv("LC_CTYPE");
	unsetenv("LANG");
	setenv("LC_ALL", on ? "en_US.UTF-8" : "C", 1);
}

static void reads_the_locale(void **state)
{
	static const struct {
		const char *all, *ctype, *lang;
		bool utf8;
	} cases[] = {
		{NULL, NULL, NULL, false},     {NULL, NULL, "C.UTF-8", true},
		{"", "de_DE.utf8", "C", true}, {"POSIX", "C.UTF-8", "C.UTF-8", false},
		{NULL, "C", "C.UTF-8", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
		const char *values[] = {cases[i].all, cases[i].ctype, cases[i].lang};

		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			(void)(values[k] ? setenv(names[k], values[k], 1) : unsetenv(names[k]));
		assert_int_equal(term_utf8(), cases[i].utf8);
	}
}

static void cleans(void **state)
{
	static const struct {
		const char *in, *utf8, *ascii;
	} cases[] = {
		{"plain ~", "plain ~", "plain ~"},
		{"a\nb\tc\r", "a b c ", "a b c "},
		{"\x1b[31mred\x07", "?[31mred?", "?[31mred?"},
		{"caf\xc3\xa9", "caf\xc3\xa9", "caf?"},
		{"\xc2\x9b"
		 "31m",
		 "?31m", "?31m"},				 /* CSI in one character */
		{"\xe2\x80\xaegpj.exe", "?gpj.exe", "?gpj.exe"}, /* right to left */
		{"\xff\xc3", "??", "??"},
		{"\x7f", "?", "?"},
		{"", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int utf8 = 0; utf8 < 2; utf8++) {
			char s[64];

			snprintf(s, sizeof(s), "%s", cases[i].in);
			utf8_locale(utf8);
			term_clean(s);
			assert_string_equal(s, utf8 ? cases[i].utf8 : cases[i].ascii);
		}
}

static void counts_columns(void **state)
{
	static const struct {
		const char *s;
		size_t columns, in_two; /* bytes that fit in two columns */
	} cases[] = {
		{"", 0, 0},
		{"abc", 3, 2},
		{"\xc3\xa9t\xc3\xa9", 3, 3},
		{"e\xcc\x81"
		 "e",
		 2, 4},				    /* a combining accent */
		{"\xe6\xbc\xa2\xe5\xad\x97", 4, 3}, /* two wide characters */
		{"a\xe6\xbc\xa2", 3, 1},	    /* the wide one is not cut in half */
		{"\xf0\x9f\x98\x80", 2, 4},
		{"\x01\xff", 2, 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(term_columns(cases[i].s), cases[i].columns);
		assert_int_equal(term_fit(cases[i].s, 2), cases[i].in_two);
	}
}

/* A terminal of our own: the master to read from; the slave takes the place of @fd. */
static int open_terminal(int fd, int *ret_saved)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	struct winsize ws = {.ws_row = 24, .ws_col = 50};

	assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(slave >= 0 && ioctl(slave, TIOCSWINSZ, &ws) == 0);
	*ret_saved = dup(fd);
	assert_int_equal(dup2(slave, fd), fd);
	(void)close(slave);
	return master;
}

static void probes(void **state)
{
	static const struct {
		const char *term, *no_color, *columns;
		bool color;
		unsigned width;
	} cases[] = {
		{"xterm", NULL, NULL, true, 50},      {"xterm", "1", NULL, false, 50},
		{"xterm", "", "120", true, 120},      {"dumb", NULL, NULL, false, 50},
		{NULL, NULL, "junk", false, 50},      {"xterm", NULL, "3", true, 20},
		{"xterm", NULL, "99999", true, 1000},
	};
	AUTO_CLOSE int master = -1, saved = -1;
	struct term t;

	(void)state;
	master = open_terminal(0, &saved);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *names[] = {"TERM", "NO_COLOR", "COLUMNS"};
		const char *values[] = {cases[i].term, cases[i].no_color, cases[i].columns};

		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			(void)(values[k] ? setenv(names[k], values[k], 1) : unsetenv(names[k]));
		term_probe(&t, 0);
		assert_true(t.is_tty);
		assert_int_equal(t.color, cases[i].color);
		assert_int_equal(t.width, cases[i].width);
		assert_string_equal(term_on(&t, STYLE_RED), t.color ? "\033[31m" : "");
	}
	assert_int_equal(dup2(saved, 0), 0);
	term_probe(&t, -1);
	assert_false(t.is_tty || t.color);
	assert_int_equal(t.width, 80);
	unsetenv("COLUMNS");
}

/* What the log writes while stderr is a pipe or a terminal. */
static void logged(bool terminal, void (*talk)(void), char *ret, size_t n)
{
	AUTO_CLOSE int from = -1, saved = -1;
	int ends[2];
	size_t got = 0;

	if (terminal) {
		from = open_terminal(2, &saved);
	} else {
		assert_int_equal(pipe(ends), 0);
		from = ends[0];
		saved = dup(2);
		assert_int_equal(dup2(ends[1], 2), 2);
		(void)close(ends[1]);
	}
	if (fork() == 0) { /* a log of its own: it looks at its terminal once */
		talk();
		_exit(0);
	}
	assert_true(wait(NULL) > 0);
	assert_int_equal(dup2(saved, 2), 2);
	for (ssize_t more; (more = read(from, ret + got, n - 1 - got)) > 0;)
		got += (size_t)more; /* until nobody has the other side open */
	ret[got] = '\0';
}

static void talk_all(void)
{
	log_say("say %s", "a\033[2Jb\nc");
	log_hint("with say");
	log_ask("do it");
	log_warn("careful");
	log_hint("- with warning");
	log_error("broken");
	log_detail("detail");
	log_hint("with detail");
	log_debug("debug");
	log_progress("never in a pipe", 1, 2);
}

static void log_levels(void **state)
{
	static const char *const want[] = {
		[LOG_QUIET] = "t: do it\nt: warning: careful\n   - with warning\nt: broken\n",
		[LOG_NORMAL] = "t: say a?[2Jb c\n  -> with say\nt: do it\nt: warning: careful\n"
			       "   - with warning\nt: broken\n",
		[LOG_VERBOSE] = "t: say a?[2Jb c\n  -> with say\nt: do it\nt: warning: careful\n"
				"   - with warning\nt: broken\nt: detail\n  -> with detail\n",
		[LOG_DEBUG] = "t: say a?[2Jb c\n  -> with say\nt: do it\nt: warning: careful\n"
			      "   - with warning\nt: broken\nt: detail\n  -> with detail\n"
			      "t: debug: debug\n",
	};
	char text[8192];

	(void)state;
	for (enum log_level l = LOG_QUIET; l <= LOG_DEBUG; l++) {
		log_init("t", l);
		logged(false, talk_all, text, sizeof(text));
		assert_string_equal(text, want[l]);
	}
}

static void talk_long(void)
{
	char *s = malloc(20000);

	memset(s, 'x', 19999);
	s[19999] = '\0';
	log_error("%s", s);
	free(s);
}

static void log_cuts_what_is_endless(void **state)
{
	char text[8192];

	(void)state;
	logged(false, talk_long, text, sizeof(text));
	assert_true(strlen(text) > 4000 && strlen(text) < 4200);
	assert_non_null(strstr(text, "x...\n"));
}

static void talk_progress(void)
{
	log_init("t", LOG_NORMAL);
	log_progress("asking a node with a very long name indeed, \033[2J", 1, 4);
	log_progress("too soon after the first", 2, 4);
	log_progress("peers", 4, 4);
	log_warn("careful");
	log_progress("peers", 3, 0);
	log_progress_end();
	log_progress_end();
}

static void progress_is_wiped(void **state)
{
	char text[8192];

	(void)state;
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	utf8_locale(true);
	logged(true, talk_progress, text, sizeof(text));
	/* a terminal of 50 columns, which turns \n into \r\n */
	assert_string_equal(text, "\rasking a node with a very long name indeed, ?[2J \033[K"
				  "\rpeers 4 of 4 (100%)\033[K"
				  "\r\033[K\033[33mt: warning: \033[0mcareful\r\n"
				  "\rpeers 3\033[K\r\033[K");
	setenv("TERM", "dumb", 1);
	logged(true, talk_progress, text, sizeof(text));
	assert_string_equal(text, "t: warning: careful\r\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_locale),	    cmocka_unit_test(cleans),
		cmocka_unit_test(counts_columns),	    cmocka_unit_test(probes),
		cmocka_unit_test(progress_is_wiped),	    cmocka_unit_test(log_levels),
		cmocka_unit_test(log_cuts_what_is_endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
