/* What a line names (addresses, ports, interfaces, names), and advice made of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/file.h"
#include "probes/log/catalogue.h"
#include "probes/log/extract.h"
#include "probes/log/line.h"

static const struct {
	const char *line, *addr, *port, *iface, *name;
	enum trust trust;
} named[] = {
	{"Connect to 128::1d<42538> returned 113", "128::1d", "42538", "", "", 0},
	{"Connect to 10.0.0.2<42538> failed", "10.0.0.2", "42538", "", "", 0},
	{"Connect to fe80::1%ib0<4> failed", "fe80::1%ib0", "4", "", "", 0},
	{"remote=[127.0.0.1]:41233", "127.0.0.1", "41233", "", "", 0},
	{"trying to connect to (10.0.0.1, 29500).", "10.0.0.1", "29500", "", "", TRUST_PLAIN},
	{"to connect to (node7, 29500).", "node7", "29500", "", "", 0},
	{"remote=[node0]:29500): Connection reset", "node0", "29500", "", "", 0},
	{"[::ffff:10.0.0.9]:29500 (errno: 110)", "10.0.0.9", "29500", "", "", 0},
	{"any local network address. port: 29500, useIpv6: 0", "", "29500", "", "", 0},
	{"Using ens3:10.0.0.5<0>", "10.0.0.5", "", "ens3", "", 0},
	{"bind to [::]:29500 (errno: 98", "::", "29500", "", "", 0},
	{"misc/socket.cc:533 NCCL WARN x", "", "", "", "", 0},
	{"version 2.18.5", "", "", "", "", 0},
	{"bind on address ('0.0.0.0', 8000): address already", "0.0.0.0", "8000", "", "", 0},
	{"took ('a', 12) and ('b', 3)", "", "12", "", "", 0},
	{"is trying to use a port number 6379 that is used", "", "6379", "", "", 0},
	{"The specified port is 6379. This", "", "6379", "", "", 0},
	{"listen tcp :9400: bind: address already in use", "", "9400", "", "", 0},
	{"any network address of (node0, 29500). The client socket has failed to connect to "
	 "88.85.0.0:63606 (errno: 113",
	 "node0", "29500", "", "", TRUST_PLAIN},
	{"connect/validate to host 10.77.9.9:29500 - retrying (try=0)", "10.77.9.9", "29500", "",
	 "", TRUST_PLAIN},
	{"connect/validate to host fd00::1:29500 - retrying", "fd00::1", "29500", "", "",
	 TRUST_PLAIN},
	{"trying to connect to (localhost, 0).", "localhost", "", "", "", TRUST_PLAIN},
	{"The client socket has failed to connect to 88.85.0.0:63606 (", "88.85.0.0", "63606", "",
	 "", TRUST_NONE},
	{"The client socket has failed to connect to [100::e073:0]:20 (", "100::e073:0", "20", "",
	 "", TRUST_DOUBT},
	{"The client socket has failed to connect to [10.0.0.5]:29500 (", "10.0.0.5", "29500", "",
	 "", TRUST_USUAL},
	{"The server socket has failed to bind to 0.0.0.0:29500 (", "0.0.0.0", "29500", "", "",
	 TRUST_USUAL},
	{"local=[127.0.0.1]:37551, remote=[127.0.1.1]:58256$0, error", "127.0.1.1", "58256", "", "",
	 0},
	{"addr=[localhost]:7707, remote=[node0]:29500) timed out", "node0", "29500", "", "", 0},
	{"read tcp 10.0.0.1:5000->10.0.0.2:6443: i/o timeout", "10.0.0.2", "6443", "", "", 0},
	{"IPv6 network addresses of (nodeX00, 29500) cannot be retrieved", "nodeX00", "29500", "",
	 "nodeX00", TRUST_PLAIN},
	{"ssh: Could not resolve hostname gpu77: Name or", "", "", "", "gpu77", 0},
	{"** server can't find node9.lan: NXDOMAIN", "", "", "", "node9.lan", 0},
	{"java.net.UnknownHostException: worker-3", "", "", "", "worker-3", 0},
	{"dial tcp: lookup train-0.svc on 10.0.0.10:53: no such host", "10.0.0.10", "53", "",
	 "train-0.svc", 0},
	{"getaddrinfo for 10.0.0.1 failed", "10.0.0.1", "", "", "", 0},
};

static void addresses_are_found(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		struct extract x;

		extract_line(named[i].line, &x);
		if (!streq(x.addr, named[i].addr) || !streq(x.port, named[i].port) ||
		    !streq(x.iface, named[i].iface) || !streq(x.name, named[i].name) ||
		    x.trust != named[i].trust)
			fail_msg("%s: addr '%s' port '%s' iface '%s' name '%s' trust %d",
				 named[i].line, x.addr, x.port, x.iface, x.name, (int)x.trust);
	}
}

static void templates_are_filled(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	const struct term_value v[] = {{"addr", "10.0.0.2"}, {"good", NULL}};
	const struct filling f = {&a, v, 2, "b(.)d", "abcd"}, other = {&a, v, 2, "x(.)d", "abcd"};

	assert_string_equal(fill_template(&f, "to {addr|ADDR}", true), "to 10.0.0.2");
	assert_string_equal(fill_template(&f, "to {good|ens5}", false), "to ens5");
	assert_null(fill_template(&f, "to {good}", false));
	assert_string_equal(fill_template(&f, "{{x}}", true), "{x}");
	assert_string_equal(fill_template(&f, "got {1|?}", true), "got c");
	assert_string_equal(fill_template(&other, "got {1|?}", false), "got ?");
	assert_string_equal(fill_template(&f, "open {", false), "open {");
}

/* "fd00::1:29500" would be another address. */
static void ports_follow_brackets(void **state UNUSED)
{
	static const struct {
		const char *addr, *shell, *text;
	} all[] = {{"fd00::1", "portcheck '[fd00::1]':29500", "at [fd00::1]:29500, of fd00::1"},
		   {"fe80::1%ens5", "portcheck '[fe80::1%ens5]':29500",
		    "at [fe80::1%ens5]:29500, of fe80::1%ens5"},
		   {"10.0.0.1", "portcheck 10.0.0.1:29500", "at 10.0.0.1:29500, of 10.0.0.1"},
		   {"node0", "portcheck node0:29500", "at node0:29500, of node0"}};
	AUTO(arena_done) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		const struct term_value v = {"addr", all[i].addr};
		const struct filling f = {&a, &v, 1, NULL, NULL};

		assert_string_equal(fill_template(&f, "portcheck {addr|PEER}:29500", true),
				    all[i].shell);
		assert_string_equal(fill_template(&f, "at {addr}:29500, of {addr}", false),
				    all[i].text);
		assert_string_equal(fill_template(&f, "{addr}: gone", false),
				    arena_printf(&a, "%s: gone", all[i].addr));
	}
}

/* A line of advice is pasted; who wrote the log must not be who writes the command. */
static void no_log_writes_a_command(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	static const char *const bad[] = {"$(reboot)",	 "x;reboot",  "fe80::1%`id`",
					  "a b",	 "-oProxy=x", "n0'$(id)'",
					  "fe80::1%;id", "*",	      "\033]0;x"};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const struct term_value v = {"host", bad[i]};
		const struct filling f = {&a, &v, 1, "=(.*)", arena_printf(&a, "=%s", bad[i])};

		assert_string_equal(fill_template(&f, "ssh {host|HOST}", true), "ssh HOST");
		assert_string_equal(fill_template(&f, "ssh {1|HOST}", true), "ssh HOST");
		assert_null(fill_template(&f, "ssh {host}", true));
		assert_non_null(strstr(fill_template(&f, "said {host|?}", false), bad[i]));
	}
}

static bool fills(const struct signature *g, int group, const char *raw)
{
	AUTO(arena_done) struct arena a = {0};
	struct signature_re re;
	struct log_line l;
	const char *where;

	line_parse(raw, strlen(raw), &l);
	assert_int_equal(signature_compile(&a, g, &re), 0);
	where = signature_where(g, &re, l.text, l.body);
	return extract_group(&a, group, g->ere, where);
}

/* @text: of lines.tsv. */
static bool is_ever_filled(const struct signature *g, int group, const char *text)
{
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		AUTO(arena_done) struct arena a = {0};

		if (starts_with(line, g->id) && starts_with(line + strlen(g->id), "\t+\t") &&
		    fills(g, group,
			  arena_strndup(&a, line + strlen(g->id) + 3,
					strcspn(line + strlen(g->id) + 3, "\n"))))
			return true;
	}
	return false;
}

/* A template that names a group of its expression gets it from some line. */
static void groups_are_filled(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};
	char *text;
	size_t n;

	assert_int_equal(file_read("tests/logs/lines.tsv", 1 << 20, &a, &text, &n, &e), 0);
	for (size_t i = 0; i < signature_count; i++) {
		const struct signature *g = &signatures[i];
		const char *all = arena_printf(&a, "%s\n%s\n%s\n%s", g->meaning, g->causes,
					       g->confirm, g->fix);

		for (const char *p = all; (p = strchr(p, '{')); p++)
			if (p[1] >= '1' && p[1] <= '9' && p[2] == '|' &&
			    !is_ever_filled(g, p[1] - '0', text))
				fail_msg("%s: no line of lines.tsv fills {%c|...}", g->id, p[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_found),	 cmocka_unit_test(templates_are_filled),
		cmocka_unit_test(ports_follow_brackets), cmocka_unit_test(no_log_writes_a_command),
		cmocka_unit_test(groups_are_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
