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
		"interface  kind      speed (Mb/s)\n"
		"           addresses\n"
		"lo         loopback             -\n"
		"           127.0.0.1/8 ::1/128\n"
		"enp39s0    physical         25000\n"
		"           10.0.0.1/24 fe80::5054:ff:fe12:3456/64\n"
		"           2001:db8::1/64\n"
		"eth?[2J1   veth                 -\n"
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
}

/* An interface with these addresses, beside columns that take 17 or 32 of the 60. */
static const char *many_addresses, *driver;
static void talk_addresses(struct report *r)
{
	static const struct column columns[] = {
		{.name = "interface", .is_text = true},
		{.name = "mtu"},
		{.name = "driver", .is_text = true},
		{.name = "addresses", .is_text = true, .is_list = true},
	};
	static const struct series wide = {"interfaces", columns, ARRAY_LEN(columns), true};

	report_series(r, &wide);
	report_row(r, (struct cell[]){T("lo"), N(65536), T(NULL), T("127.0.0.1/8\n::1/128")});
	report_row(r, (struct cell[]){T("ens5"), N(9001), T(driver), T(many_addresses)});
}

/* Addresses are what people copy. */
static void no_address_is_cut(void **state)
{
	static const struct {
		const char *driver, *addresses, *want;
	} cases[] = {
		{NULL, "10.0.0.1/24 private",
		 "interface    mtu  addresses\n"
		 "lo         65536  127.0.0.1/8, ::1/128\n"
		 "ens5        9001  10.0.0.1/24 private\n"},
		{NULL, "10.0.0.1/24 private\nfe80::5054:ff:fe12:3456/64 link-local",
		 "interface    mtu  addresses\n"
		 "lo         65536  127.0.0.1/8, ::1/128\n"
		 "ens5        9001  10.0.0.1/24 private\n"
		 "                  fe80::5054:ff:fe12:3456/64 link-local\n"},
		{"virtio_net", "10.0.0.1/24 private\nfe80::5054:ff:fe12:3456/64 link-local",
		 "interface    mtu  driver\n"
		 "           addresses\n"
		 "lo         65536  -\n"
		 "           127.0.0.1/8, ::1/128\n"
		 "ens5        9001  virtio_net\n"
		 "           10.0.0.1/24 private\n"
		 "           fe80::5054:ff:fe12:3456/64 link-local\n"},
		{"virtio_net", "2001:db8:1234:5678:9abc:def0:1234:5678/128 unique-local",
		 "interface    mtu  driver\n"
		 "  addresses\n"
		 "lo         65536  -\n"
		 "  127.0.0.1/8, ::1/128\n"
		 "ens5        9001  virtio_net\n"
		 "  2001:db8:1234:5678:9abc:def0:1234:5678/128 unique-local\n"},
		{NULL, "2001:db8:1234:5678:9abc:def0:1234:5678/128 of a kind that is long to say",
		 "interface    mtu  addresses\n"
		 "lo         65536  127.0.0.1/8, ::1/128\n"
		 "ens5        9001  2001:db8:1234:5678:9abc:def0:1234:5678/128\n"
		 "                  of a kind that is long to say\n"},
		{"a driver with a name as long as a line is wide, almost, and no address", NULL,
		 "interface    mtu\n"
		 "  driver\n"
		 "  addresses\n"
		 "lo         65536\n"
		 "  -\n"
		 "  127.0.0.1/8, ::1/128\n"
		 "ens5        9001\n"
		 "  a driver with a name as long as a line is wide, almost,\n"
		 "  and no address\n"},
	};
	char got[8192];

	(void)state;
	setenv("NO_COLOR", "1", 1);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		driver = cases[i].driver;
		many_addresses = cases[i].addresses;
		on_terminal(talk_addresses, (struct report_opts){0}, got, sizeof(got));
		assert_string_equal(got, cases[i].want);
	}
}

static void talk_typed(struct report *r)
{
	report_remark(r, "1. reach: node1 is not reached from node0, no answer at all: a firewall");
	report_remark(r,
		      "   -> windsock on 'node[0-1]' 'nft insert rule inet sg in  accept' # here");
	report_remark(r, "On every other node type:  portcheck 10.77.0.2:29500,34239,35051");
	report_remark(r, "  0  . + + + + + + + + +  + + + + + + + + + +  node0.example.com");
	report_remark(r, "Confirm: nvidia-smi --query-compute-apps=pid,used_memory --format=csv");
	report_remark(r, "         sacct -j JOB -o MaxRSS,ReqMem,Elapsed,State,ExitCode,NodeList");
	report_remark(r, "Why:     the container was started without --network host, by docker");
	report_remark(r, "  or     outside of containers a bridge was taken for a network here");
}

/* What is copied from a narrow terminal has no line end and no space that was not in it. */
static void typed_lines_stay_whole(void **state)
{
	static const char want[] =
		"1. reach: node1 is not reached from node0, no answer at all:\n"
		"   a firewall\n"
		"   -> windsock on 'node[0-1]' 'nft insert rule inet sg in  accept' # here\n"
		"On every other node type:  portcheck 10.77.0.2:29500,34239,35051\n"
		"  0  . + + + + + + + + +  + + + + + + + + + +\n"
		"node0.example.com\n"
		"Confirm: nvidia-smi --query-compute-apps=pid,used_memory --format=csv\n"
		"         sacct -j JOB -o MaxRSS,ReqMem,Elapsed,State,ExitCode,NodeList\n"
		"Why:     the container was started without --network host,\n"
		"         by docker\n"
		"  or     outside of containers a bridge was taken for a\n"
		"         network here\n"
		"\nERROR  nothing was concluded\n";
	char got[8192];

	(void)state;
	setenv("NO_COLOR", "1", 1);
	on_terminal(talk_typed, (struct report_opts){0}, got, sizeof(got));
	assert_string_equal(got, want);
}

static void talk_once(struct report *r)
{
	struct finding *f = report_find(r, "log.cause", "GPU-009");

	f->rank = 2;
	finding_set(f, ST_FAIL, "rank 2 ran out of memory");
	finding_value(f, 86, "% sure");
	finding_expect(f, "none");
	report_add(r, f);
	f = report_find(r, "log.cause", "GPU-010");
	f->rank = 2;
	finding_set(f, ST_FAIL, "rank 21 ran");
	finding_expect(f, "none");
	report_add(r, f);
}

static void nothing_is_said_twice(void **state)
{
	char got[8192];

	(void)state;
	setenv("NO_COLOR", "1", 1);
	on_terminal(talk_once, (struct report_opts){0}, got, sizeof(got));
	assert_non_null(strstr(got, "GPU-009       rank 2 ran out of\n      memory (86 % sure)\n"));
	assert_non_null(strstr(got, "GPU-010       rank 2: rank 21 ran\n"));
}

static void talk_many(struct report *r)
{
	report_heading(r, "heading");
	for (int i = 0; i < 40; i++)
		add(r, "peer.tcp", "10.0.0.2", ST_PASS, "answers", NULL);
	add(r, "peer.tcp", "10.0.0.3", ST_FAIL, "is silent", NULL);
}

/* One more than are shown, and remarks after them. */
static void talk_one_more(struct report *r)
{
	for (int i = 0; i < 25; i++)
		add(r, "peer.tcp", "10.0.0.2", ST_PASS, i == 24 ? "the last" : "answers", NULL);
	report_remark(r, "a remark");
}

static void talk_two_more(struct report *r)
{
	add(r, "peer.tcp", "10.0.0.2", ST_PASS, "the first", NULL);
	talk_one_more(r);
}

/* The line that says so takes as much room as a finding, and stands with them. */
static void one_is_not_hidden(void **state)
{
	char got[16384];

	(void)state;
	setenv("NO_COLOR", "1", 1);
	on_terminal(talk_one_more, (struct report_opts){0}, got, sizeof(got));
	assert_null(strstr(got, " more"));
	assert_non_null(strstr(got, "the last\n\na remark\n\nPASS  25 checks"));
	on_terminal(talk_two_more, (struct report_opts){0}, got, sizeof(got));
	assert_null(strstr(got, "the last"));
	assert_non_null(strstr(got, "... and 2 more (--verbose lists them)\n\na remark\n\nPASS"));
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
		cmocka_unit_test(no_address_is_cut),
		cmocka_unit_test(typed_lines_stay_whole),
		cmocka_unit_test(nothing_is_said_twice),
		cmocka_unit_test(one_is_not_hidden),
		cmocka_unit_test(quiet_and_verbose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
