/* errno, time and ICMP to state and cause; and who listens, from /proc's lines. */
#include "lib/host/listen.h"
#include "probes/port/cause.h"
#include "probes/port/firewall.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define US "10.0.0.1"
#define PEER "10.0.0.2"
#define ROUTER "10.0.0.254"
#define US6 "fd00::1"
#define PEER6 "fd00::2"

static union addr addr(const char *s)
{
	union addr a;

	assert_int_equal(addr_parse(s, &a), 0);
	return a;
}

static bool is_us(const union addr *a, void *arg)
{
	union addr us = addr(US), us6 = addr(US6);

	(void)arg;
	return addr_equal(a, &us) || addr_equal(a, &us6);
}

static void causes(void **state)
{
	static const struct {
		const char *what;
		enum tcp_state from;
		int error;
		unsigned ms;
		const char *to, *by; /* by NULL: no ICMP message */
		uint8_t type, code;
		bool udp;
		enum port_state state;
		enum port_cause cause;
	} cases[] = {
		{"open", TCP_OPEN, 0, 1, PEER, NULL, 0, 0, false, PORT_OPEN, CAUSE_NONE},
		{"RST", TCP_REFUSED, ECONNREFUSED, 1, PEER, NULL, 0, 0, false, PORT_REFUSED,
		 CAUSE_CLOSED},
		{"drop", TCP_FILTERED, ETIMEDOUT, 4000, PEER, NULL, 0, 0, false, PORT_FILTERED,
		 CAUSE_DROPPED},
		{"nft reject", TCP_REFUSED, ECONNREFUSED, 1, PEER, PEER, 3, 3, false,
		 PORT_UNREACHABLE, CAUSE_HOST_FIREWALL},
		{"host-prohibited", TCP_UNREACHABLE, EHOSTUNREACH, 1, PEER, PEER, 3, 10, false,
		 PORT_UNREACHABLE, CAUSE_HOST_FIREWALL},
		{"admin-prohibited", TCP_UNREACHABLE, EHOSTUNREACH, 1, PEER, PEER, 3, 13, false,
		 PORT_UNREACHABLE, CAUSE_HOST_FIREWALL},
		{"protocol unreachable", TCP_UNREACHABLE, ENOPROTOOPT, 1, PEER, PEER, 3, 2, false,
		 PORT_UNREACHABLE, CAUSE_HOST_FIREWALL},
		{"host-unreachable, from the host", TCP_UNREACHABLE, EHOSTUNREACH, 1, PEER, PEER, 3,
		 1, false, PORT_UNREACHABLE, CAUSE_HOST_FIREWALL},
		{"a router's reject", TCP_UNREACHABLE, EHOSTUNREACH, 1, PEER, ROUTER, 3, 13, false,
		 PORT_UNREACHABLE, CAUSE_PATH_FIREWALL},
		{"ARP gave up", TCP_UNREACHABLE, EHOSTUNREACH, 3060, PEER, US, 3, 1, false,
		 PORT_UNREACHABLE, CAUSE_NOBODY},
		{"ARP had given up", TCP_UNREACHABLE, EHOSTUNREACH, 1, PEER, US, 3, 1, false,
		 PORT_UNREACHABLE, CAUSE_NOBODY},
		{"a router's ARP", TCP_UNREACHABLE, EHOSTUNREACH, 3060, PEER, ROUTER, 3, 1, false,
		 PORT_UNREACHABLE, CAUSE_NOBODY_THERE},
		{"a router without route", TCP_UNREACHABLE, ENETUNREACH, 1, PEER, ROUTER, 3, 0,
		 false, PORT_UNREACHABLE, CAUSE_NO_ROUTE_THERE},
		{"our own kernel without route", TCP_UNREACHABLE, ENETUNREACH, 1, PEER, US, 3, 0,
		 false, PORT_UNREACHABLE, CAUSE_NO_ROUTE},
		{"our own reject", TCP_REFUSED, ECONNREFUSED, 1, PEER, US, 3, 3, false,
		 PORT_UNREACHABLE, CAUSE_OWN_FIREWALL},
		{"reject at home", TCP_REFUSED, ECONNREFUSED, 1, US, US, 3, 3, false,
		 PORT_UNREACHABLE, CAUSE_HOST_FIREWALL},
		{"old kernel, at once", TCP_UNREACHABLE, EHOSTUNREACH, 1, PEER, NULL, 0, 0, false,
		 PORT_UNREACHABLE, CAUSE_HOST_FIREWALL},
		{"old kernel, 3 s", TCP_UNREACHABLE, EHOSTUNREACH, 3060, PEER, NULL, 0, 0, false,
		 PORT_UNREACHABLE, CAUSE_NOBODY},
		{"no route here", TCP_UNREACHABLE, ENETUNREACH, 0, PEER, NULL, 0, 0, false,
		 PORT_UNREACHABLE, CAUSE_NO_ROUTE},
		{"prohibit route", TCP_UNREACHABLE, EACCES, 0, PEER, NULL, 0, 0, false,
		 PORT_UNREACHABLE, CAUSE_OWN_ROUTE},
		{"our own drop", TCP_UNREACHABLE, EPERM, 0, PEER, NULL, 0, 0, false,
		 PORT_UNREACHABLE, CAUSE_OWN_FIREWALL},
		{"no descriptor", TCP_ERROR, EMFILE, 0, PEER, NULL, 0, 0, false, PORT_UNKNOWN,
		 CAUSE_LOCAL},
		{"udp closed", TCP_REFUSED, ECONNREFUSED, 1, PEER, PEER, 3, 3, true, PORT_REFUSED,
		 CAUSE_CLOSED},
		{"udp, a router's", TCP_REFUSED, ECONNREFUSED, 1, PEER, ROUTER, 3, 3, true,
		 PORT_UNREACHABLE, CAUSE_PATH_FIREWALL},
		{"udp silence", TCP_FILTERED, ETIMEDOUT, 4000, PEER, NULL, 0, 0, true, PORT_SILENT,
		 CAUSE_UDP},
		{"v6 admin", TCP_UNREACHABLE, EACCES, 1, PEER6, PEER6, 1, 1, false,
		 PORT_UNREACHABLE, CAUSE_HOST_FIREWALL},
		{"v6 port", TCP_REFUSED, ECONNREFUSED, 1, PEER6, PEER6, 1, 4, false,
		 PORT_UNREACHABLE, CAUSE_HOST_FIREWALL},
		{"v6 nobody", TCP_UNREACHABLE, EHOSTUNREACH, 3060, PEER6, US6, 1, 3, false,
		 PORT_UNREACHABLE, CAUSE_NOT_SEEN6},
		{"v6 no route", TCP_UNREACHABLE, ENETUNREACH, 1, PEER6, "fd00::fe", 1, 0, false,
		 PORT_UNREACHABLE, CAUSE_NO_ROUTE_THERE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct scan_probe p = {.to = addr(cases[i].to),
				       .state = cases[i].from,
				       .error = cases[i].error,
				       .took_us = cases[i].ms * 1000,
				       .icmp_type = cases[i].type,
				       .icmp_code = cases[i].code};
		struct port_verdict v;

		if (cases[i].by)
			p.by = addr(cases[i].by);
		v = port_verdict(&p, cases[i].udp, is_us, NULL);
		if (v.state != cases[i].state || v.cause != cases[i].cause)
			fail_msg("%s: state %d cause %d", cases[i].what, v.state, v.cause);
	}
}

static void letters_are_unique(void **state)
{
	(void)state;
	for (int i = 0; i < CAUSE_COUNT; i++)
		assert_int_equal(port_cause_of_letter(port_cause_letter((enum port_cause)i)), i);
	for (int i = 0; i <= PORT_UNKNOWN; i++)
		assert_int_equal(port_state_of_letter(port_state_letter((enum port_state)i)), i);
	assert_int_equal(port_state_of_letter('\0'), -1);
	assert_int_equal(port_cause_of_letter('Z'), -1);
}

static void listeners(void **state)
{
	static const struct {
		const char *line, *at; /* NULL: not a listener */
		unsigned uid;
		unsigned long long inode;
	} cases[] = {
		{"   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     "
		 "0        0 26041 1 0",
		 "0.0.0.0:22", 0, 26041},
		{"  12: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  "
		 "1000        0 99 1 0",
		 "127.0.0.1:29500", 1000, 99},
		{"   1: 00000000000000000000000001000000:733C "
		 "00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  "
		 "   5        0 7 1 0",
		 "[::1]:29500", 5, 7},
		{"   2: 0100007F:733C 0100007F:9999 01 00000000:00000000 00:00000000 00000000     "
		 "0        0 7 1 0",
		 NULL, 0, 0},
		{"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   "
		 "uid  timeout inode",
		 NULL, 0, 0},
		{"   0: 000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0  "
		 "      0 26041 1 0",
		 NULL, 0, 0},
		{"", NULL, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct port_holder got;
		struct addr_text at;

		if (holder_parse(cases[i].line, &got) != (cases[i].at != NULL))
			fail_msg("line %zu", i);
		if (!cases[i].at)
			continue;
		assert_string_equal(addr_print_port(&got.at, &at), cases[i].at);
		assert_int_equal(got.uid, cases[i].uid);
		assert_int_equal(got.inode, cases[i].inode);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(causes),
		cmocka_unit_test(letters_are_unique),
		cmocka_unit_test(listeners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
