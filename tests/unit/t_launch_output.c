/* Lines of ranks on their way to a person's terminal, or into a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/cluster/launch_agents.h"

#include <fcntl.h>
#include <termios.h>

static const char hostile[] = "a\033]0;title\007\xc2\x9b"
			      "31m\r\0b\xe2\x80\xae\tc\nlast\033[2J";

/* What arrives at the other end of @fd, which is a file's or a terminal's. */
static void through(int fd, int from, char *got, size_t size)
{
	struct loop loop = {.epfd = -1};
	struct outlet q = outlet_to(fd, &loop);
	struct line l = {0};
	size_t n = 0;

	line_add(&l, &q, "[0] ", hostile, sizeof(hostile) - 1, false);
	line_add(&l, &q, "[0] ", NULL, 0, true);
	outlet_done(&q);
	/* A terminal may hand it on in parts; the last line ends with the second newline. */
	for (int lines = 0; lines < 2; n++) {
		assert_true(n < size - 1 && read(from, got + n, 1) == 1);
		lines += got[n] == '\n';
		got[n] = got[n] ? got[n] : '0';
	}
	got[n] = '\0';
}

static void a_terminal_is_told_nothing(void **state UNUSED)
{
	AUTO_CLOSE int here = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	AUTO_CLOSE int there = here >= 0 && !grantpt(here) && !unlockpt(here)
				       ? open(ptsname(here), O_RDWR | O_NOCTTY | O_CLOEXEC)
				       : -1;
	struct termios raw;
	char got[256];

	if (there < 0) {
		print_message("no terminals here\n");
		skip();
	}
	assert_int_equal(tcgetattr(there, &raw), 0);
	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(there, TCSANOW, &raw), 0);
	assert_int_equal(setenv("LC_ALL", "C.UTF-8", 1), 0);
	through(there, here, got, sizeof(got));
	assert_string_equal(got, "[0] a?]0;title??31m ?b? c\n[0] last?[2J\n");
}

static void a_file_gets_every_byte(void **state UNUSED)
{
	int ends[2];
	char got[256];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	through(ends[1], ends[0], got, sizeof(got));
	assert_string_equal(got, "[0] a\033]0;title\007\xc2\x9b"
				 "31m\r0b\xe2\x80\xae\tc\n[0] last\033[2J\n");
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* A line that never ends is cut where the buffer is full. */
static void a_longest_line(void **state UNUSED)
{
	AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	AUTO_CLOSE int tty = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	const int fds[] = {null, tty};
	char *text = malloc(3 * LINE_MAX_BYTES);

	memset(text, 'x', 3 * LINE_MAX_BYTES);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		struct loop loop = {.epfd = -1};
		struct outlet q = outlet_to(fds[i], &loop);
		struct line l = {0};

		q.broken = fds[i] == tty;
		line_add(&l, &q, "", text, 3 * LINE_MAX_BYTES, false);
		assert_int_equal(l.text.n, 0);
		line_add(&l, &q, "", NULL, 0, true);
		outlet_done(&q);
	}
	free(text);
}

/* What there is no memory for is not passed on, and that is said once. */
static void what_is_lost_is_confessed(void **state UNUSED)
{
	static const size_t endless = (size_t)1 << 62;
	struct loop loop = {.epfd = -1};
	char got[256] = "";
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	for (int which = 0; which < 3; which++) {
		struct outlet out = outlet_to(ends[1], &loop), err = out;

		outlet_add(which == 1 ? &err : &out, "", which ? endless : 0);
		if (which == 2)
			outlet_add(&err, "", endless);
		outlets_confess(&out, &err);
		assert_int_equal(read(ends[0], got, sizeof(got) - 1) > 0, which > 0);
		assert_int_equal(strstr(got, "no memory left") != NULL, which > 0);
		assert_int_equal(read(ends[0], got, sizeof(got) - 1), -1);
	}
	(void)close(ends[0]);
	(void)close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_terminal_is_told_nothing),
		cmocka_unit_test(a_file_gets_every_byte),
		cmocka_unit_test(a_longest_line),
		cmocka_unit_test(what_is_lost_is_confessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
