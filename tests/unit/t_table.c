/* render_table.c and grid.c where a person watches: width, colour, what is left out. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "lib/core/base.h"

#include <cmocka.h>

#include "tests/unit/report_sample.h"

/* What a person sees: 60 columns, colours. */
static char *on_terminal(void (*talk)(struct report *r), struct report_opts o, char *buf, size_t n)
{
	AUTO_CLOSE int master = posix_openpt(O_RDWR | O_NOCTTY), slave = -1;
	struct winsize ws = {.ws_row = 24, .ws_col = 60};
	struct err e = {0};
	struct report *r;
	size_t got = 0;
	int saved;

	assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(ioctl(slave, TIOCSWINSZ, &ws), 0);
	setenv("TERM", "xterm", 1);
	unsetenv("COLUMNS");
	saved = divert(1, slave);
	r = open_report(o);
	talk(r);
	(void)report_end(r, &e);
	restore(1, saved);
	(void)close(slave);
	slave = -1;
	for (ssize_t more; (more = read(master, buf + got, n - 1 - got)) > 0;)
		got += (size_t)more; /* ends with EIO: nobody has the other side open */
	buf[got] = '\0';
	for (char *p = buf, *to = buf; *to = *p, *p; p++)
		to += *p != '\r';
	return buf;
}

static void talk_view(struct report *r)
{
	add_view(r);
	add(r, "route.peer", "10.0.0.2", ST_FAIL,
	    "goes out of docker0, not ens5, so nobody will find it there",
	    "eval \"$(ifprobe --suggest)\" # this line is longer than the terminal is wide");
	report_covers(r, "this host only; nothing between hosts was tested");
}

static void terminal(void **state)
{
	static const char want[] =
		"Interfaces of node0\n"
		"interface  kind      speed (Mb/s)  addresses\n"
		"lo         loopback             -  127.0.0.1/8 ::1/128\n"
		"enp39s0    physical         25000  10.0.0.1/24 fe80::5054:f\xe2\x80\xa6\n"
		"eth?[2J1   veth                 -  -\n"
		"\n"
		"fail  route.peer         10.0.0.2      goes out of docker0,\n"
		"      not ens5, so nobody will find it there\n"
		"      -> eval \"$(ifprobe --suggest)\" # this line is longer than the terminal is "
		"wide\n"
		"\n"
		"FAIL  the only check failed: this host only; nothing between\n"
		"      hosts was tested\n";
	char got[8192];

	(void)state;
	setenv("NO_COLOR", "1", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	assert_string_equal(on_terminal(talk_view, (struct report_opts){0}, got, sizeof(got)),
			    want);
	unsetenv("NO_COLOR");
	on_terminal(talk_view, (struct report_opts){0}, got, sizeof(got));
	assert_non_null(strstr(got, "\033[31mfail\033[0m  route.peer"));
	assert_non_null(strstr(got, "\033[31mFAIL\033[0m  the only"));
	setenv("LC_ALL", "C", 1);
	on_terminal(talk_view, (struct report_opts){0}, got, sizeof(got));
	assert_non_null(strstr(got, "fe80::5054...\n"));
}

static void talk_many(struct report *r)
{
	report_heading(r, "heading");
	for (int i = 0; i < 40; i++)
		add(r, "peer.tcp", "10.0.0.2", ST_PASS, "answers", NULL);
	add(r, "peer.tcp", "10.0.0.3", ST_FAIL, "is silent", NULL);
}

static void quiet_and_verbose(void **state)
{
	static const struct {
		bool quiet, verbose;
		int lines;
		const char *holds;
	} cases[] = {
		{true, false, 3,
		 "fail  peer.tcp           10.0.0.3      is silent\n\nFAIL  1 of 41"},
		{false, false, 29, "pass  ... and 16 more (--verbose lists them)\n\nFAIL  1 of 41"},
		{false, true, 44, "heading\npass  peer.tcp"},
	};
	char got[16384];

	(void)state;
	setenv("NO_COLOR", "1", 1);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int lines = 0;

		on_terminal(
			talk_many,
			(struct report_opts){.quiet = cases[i].quiet, .verbose = cases[i].verbose},
			got, sizeof(got));
		for (const char *p = got; *p; p++)
			lines += *p == '\n';
		assert_int_equal(lines, cases[i].lines);
		assert_non_null(strstr(got, cases[i].holds));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terminal),
		cmocka_unit_test(quiet_and_verbose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
