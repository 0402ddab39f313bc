/* Addresses: what is one, what kind, which network; splitting host and port; resolving. */
#include "lib/net/own_addr.h"

#include <net/if.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void t_parse_and_print(void **state)
{
	static const struct {
		const char *in, *out; /* out NULL: refused */
	} rows[] = {
		{"10.0.0.1", "10.0.0.1"},
		{"fd00::1", "fd00::1"},
		{"[fd00::1]", "fd00::1"},
		{"FD00:0::0001", "fd00::1"},
		{"::ffff:10.0.0.1", "::ffff:10.0.0.1"},
		{"fe80::1%lo", "fe80::1%lo"},
		{"fe80::1%1", "fe80::1%lo"},
		{"[fe80::1%lo]", "fe80::1%lo"},
		{"fe80::1%4294967", "fe80::1%4294967"},
		{"ff02::1%lo", "ff02::1%lo"},
		{"", NULL},
		{"[", NULL},
		{"[]", NULL},
		{"[10.0.0.1]", NULL},
		{"10.0.0.1%lo", NULL},
		{"fd00::1%lo", NULL},
		{"fe80::1%", NULL},
		{"fe80::1%0", NULL},
		{"fe80::1%nosuchif0", NULL},
		{"fe80::1%99999999999", NULL},
		{"10.0.0", NULL},
		{"010.0.0.1", NULL},
		{"10.0.0.1 ", NULL},
		{" 10.0.0.1", NULL},
		{"10.0.0.256", NULL},
		{"node1", NULL},
		{"fd00::1::2", NULL},
		{"fd00::1]", NULL},
		{"111111111111111111111111111111111111111111111111111111111111111111111111111111"
		 "11",
		 NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		union addr a;
		struct addr_text t;
		int rc = addr_parse(rows[i].in, &a);

		if (rc != (rows[i].out ? 0 : -1))
			fail_msg("\"%s\" gave %d", rows[i].in, rc);
		if (!rc)
			assert_string_equal(addr_print(&a, &t), rows[i].out);
	}
}

static union addr ip(const char *s)
{
	union addr a;

	if (addr_parse(s, &a))
		fail_msg("%s is no address", s);
	return a;
}

static void t_print_others(void **state)
{
	struct addr_text t;
	struct sockaddr un = {.sa_family = AF_UNIX};
	union addr a = ip("fe80::1%lo");

	(void)state;
	addr_set_port(&a, 65535);
	assert_string_equal(addr_print_port(&a, &t), "[fe80::1%lo]:65535");
	assert_int_equal(addr_port(&a), 65535);
	assert_int_equal(addr_len(&a), sizeof(struct sockaddr_in6));
	a = ip("10.0.0.1");
	addr_set_port(&a, 80);
	assert_string_equal(addr_print_port(&a, &t), "10.0.0.1:80");
	assert_int_equal(addr_len(&a), sizeof(struct sockaddr_in));
	assert_string_equal(addr_sockaddr_print(NULL, &t), "-");
	assert_string_equal(addr_sockaddr_print(&un, &t), "-");
	a = ip("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255");
	assert_string_equal(addr_print(&a, &t), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
}

static void t_split(void **state)
{
	static const struct {
		const char *in, *host;
		unsigned port;
	} rows[] = {
		{"node1", "node1", 0},
		{"node1:29500", "node1", 29500},
		{"10.0.0.1:1", "10.0.0.1", 1},
		{"node1.example.com.:65535", "node1.example.com.", 65535},
		{"[fd00::1]:22", "fd00::1", 22},
		{"[fd00::1]", "fd00::1", 0},
		{"fd00::1", "fd00::1", 0},
		{"::1", "::1", 0},
		{"fd00::1:8080", "fd00::1:8080", 0}, /* an address of its own */
		{.in = "fd00::1:29500"},
		{"fe80::1%ens5", "fe80::1%ens5", 0},
		{"[fe80::1%ens5]:22", "fe80::1%ens5", 22},
		{"n\303\270de:5", "n\303\270de", 5},
		{"my_node-1", "my_node-1", 0},
		{.in = ""},
		{.in = ":"},
		{.in = ":80"},
		{.in = "host:"},
		{.in = "host:0"},
		{.in = "host:65536"},
		{.in = "host:99999999999999999999"},
		{.in = "host:-1"},
		{.in = "host:+80"},
		{.in = "host:080"},
		{.in = "host: 80"},
		{.in = "host:80 "},
		{.in = "host:8o"},
		{.in = "ho st"},
		{.in = "host\n"},
		{.in = "host\t:80"},
		{.in = "\x7fhost"},
		{.in = "a:b:c"},
		{.in = "1:2:3:4:5:6:7:8:9"},
		{.in = "[fd00::1"},
		{.in = "[fd00::1]x"},
		{.in = "[fd00::1]:"},
		{.in = "[]:80"},
		{.in = "[node1]:80"},
		{.in = "[10.0.0.1]:80"},
		{.in = "[[::1]]:80"},
		{.in = "fe80::1%"},
		{.in = "fe80::1%-x y"},
		{.in = "fd00::1%eth0"},
		{.in = "-oProxyCommand=x"},
		{.in = "http://node1"},
		{.in = "user@node1"},
		{.in = "node1,node2"},
		{.in = "%"},
	};
	AUTO(arena_done) struct arena a = {0};
	char name[260];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *host = "untouched";
		uint16_t port = 7;
		int rc = addr_split(rows[i].in, &a, &host, &port);

		if (rc != (rows[i].host ? 0 : -1))
			fail_msg("\"%s\" gave %d", rows[i].in, rc);
		assert_string_equal(host, rc ? "untouched" : rows[i].host);
		assert_int_equal(port, rc ? 7 : rows[i].port);
	}
	for (unsigned n = 253; n < 255; n++) {
		const char *host;
		uint16_t port;

		memset(name, 'a', n);
		name[n] = '\0';
		assert_int_equal(addr_split(name, &a, &host, &port), n == 253 ? 0 : -1);
	}
}

static void t_class(void **state)
{
	static const struct {
		const char *in;
		enum addr_class is;
	} rows[] = {
		{"127.0.0.1", ADDR_LOOPBACK},
		{"127.0.1.1", ADDR_LOOPBACK},
		{"127.255.255.255", ADDR_LOOPBACK},
		{"128.0.0.1", ADDR_PUBLIC},
		{"::1", ADDR_LOOPBACK},
		{"::ffff:127.0.0.1", ADDR_LOOPBACK},
		{"169.254.0.1", ADDR_LINKLOCAL},
		{"169.253.255.255", ADDR_PUBLIC},
		{"169.255.0.0", ADDR_PUBLIC},
		{"fe80::1", ADDR_LINKLOCAL},
		{"febf::1", ADDR_LINKLOCAL},
		{"fec0::1", ADDR_PRIVATE},
		{"10.0.0.0", ADDR_PRIVATE},
		{"10.255.255.255", ADDR_PRIVATE},
		{"9.255.255.255", ADDR_PUBLIC},
		{"11.0.0.0", ADDR_PUBLIC},
		{"172.15.255.255", ADDR_PUBLIC},
		{"172.16.0.0", ADDR_PRIVATE},
		{"172.31.255.255", ADDR_PRIVATE},
		{"172.32.0.0", ADDR_PUBLIC},
		{"192.168.0.0", ADDR_PRIVATE},
		{"192.169.0.0", ADDR_PUBLIC},
		{"::ffff:192.168.1.1", ADDR_PRIVATE},
		{"100.63.255.255", ADDR_PUBLIC},
		{"100.64.0.0", ADDR_SHARED},
		{"100.127.255.255", ADDR_SHARED},
		{"100.128.0.0", ADDR_PUBLIC},
		{"fc00::1", ADDR_PRIVATE},
		{"fdff::1", ADDR_PRIVATE},
		{"fbff::1", ADDR_PUBLIC},
		{"2001:db8::1", ADDR_PUBLIC},
		{"8.8.8.8", ADDR_PUBLIC},
		{"223.255.255.255", ADDR_PUBLIC},
		{"224.0.0.1", ADDR_OTHER},
		{"239.255.255.255", ADDR_OTHER},
		{"240.0.0.1", ADDR_PRIVATE},
		{"255.255.255.254", ADDR_PRIVATE},
		{"255.255.255.255", ADDR_OTHER},
		{"0.0.0.0", ADDR_OTHER},
		{"0.1.2.3", ADDR_OTHER},
		{"::", ADDR_OTHER},
		{"::2", ADDR_PUBLIC},
		{"ff02::1", ADDR_OTHER},
	};
	union addr none = {0}, four = ip("169.254.0.1"), six = ip("fe80::1");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		union addr a = ip(rows[i].in);

		if (addr_class(&a) != rows[i].is)
			fail_msg("%s is %s", rows[i].in, addr_class_name(addr_class(&a)));
	}
	assert_true(addr_is_linklocal4(&four));
	assert_false(addr_is_linklocal4(&six));
	assert_false(addr_is_linklocal4(&none));
	assert_int_equal(addr_class(&none), ADDR_OTHER);
	assert_string_equal(addr_class_name(ADDR_LINKLOCAL), "link-local");
}

static void t_subnet(void **state)
{
	static const struct {
		const char *a, *net;
		unsigned prefix;
		bool in;
		const char *network;
	} rows[] = {
		{"10.0.0.5", "10.0.0.0", 24, true, "10.0.0.0"},
		{"10.0.1.5", "10.0.0.0", 24, false, "10.0.1.0"},
		{"10.0.1.5", "10.0.0.9", 23, true, "10.0.0.0"},
		{"10.0.1.5", "99.0.0.0", 0, true, "0.0.0.0"},
		{"10.0.1.5", "10.0.1.5", 32, true, "10.0.1.5"},
		{"10.0.1.5", "10.0.1.4", 32, false, "10.0.1.5"},
		{"10.0.1.5", "10.0.1.4", 31, true, "10.0.1.4"},
		{"10.0.1.5", "10.0.1.5", 33, false, "10.0.1.5"},
		{"10.0.1.5", "fd00::", 0, false, "0.0.0.0"},
		{"::ffff:10.0.1.5", "10.0.1.0", 24, true, "::"},
		{"fd00::1", "fd00::", 64, true, "fd00::"},
		{"fd00:0:0:1::1", "fd00::", 64, false, "fd00:0:0:1::"},
		{"fd00:0:0:1::1", "fd00::", 63, true, "fd00::"},
		{"fd00::1", "fd00::1", 128, true, "fd00::1"},
		{"fd00::1", "fd00::1", 129, false, "fd00::1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		union addr a = ip(rows[i].a), net = ip(rows[i].net), got;
		struct addr_text t;

		if (addr_in_subnet(&a, &net, rows[i].prefix) != rows[i].in)
			fail_msg("%s in %s/%u", rows[i].a, rows[i].net, rows[i].prefix);
		got = addr_network(&a, rows[i].prefix);
		assert_string_equal(addr_print(&got, &t), rows[i].network);
	}
}

static void t_range(void **state)
{
	static const struct {
		const char *text;
		int bits; /* -1: no range */
	} rows[] = {{"10.0.0.0/8", 8},	{"0.0.0.0/0", 0},  {"10.0.0.1", 32},
		    {"fd00::/64", 64},	{"fd00::1", 128},  {"10.0.0.0/33", -1},
		    {"fd00::/129", -1}, {"10.0.0.0/", -1}, {"10.0.0.0/8x", -1},
		    {"/8", -1},		{"", -1},	   {"10.0.0.0/-1", -1},
		    {"name/8", -1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		union addr net;
		unsigned bits = 0;

		if (addr_parse_range(rows[i].text, &net, &bits) != (rows[i].bits < 0 ? -1 : 0) ||
		    (rows[i].bits >= 0 && bits != (unsigned)rows[i].bits))
			fail_msg("'%s': %u", rows[i].text, bits);
	}
}

static void t_equal(void **state)
{
	union addr a = ip("fe80::1%lo"), b = ip("fe80::1"), c = ip("10.0.0.1"),
		   d = ip("::ffff:10.0.0.1"), e = ip("10.0.0.2");

	(void)state;
	assert_true(addr_equal(&a, &a));
	assert_false(addr_equal(&a, &b));
	addr_set_port(&c, 5);
	assert_true(addr_equal(&c, &d));
	assert_false(addr_equal(&c, &e));
	assert_false(addr_equal(&c, &a));
}

static void t_digit_trap(void **state)
{
	static const struct {
		const char *name;
		bool trap;
	} rows[] = {
		{"6841231", true},   {"05", true},	     {"0", true},
		{"0x7f.1", true},    {"10.1", true},	     {"010.0.0.1", true},
		{"10.0.0.1", false}, {"99999999999", false}, {"node1", false},
		{"", false},	     {"1 2", false},	     {"fd00::1", false},
		{"cafe", false},     {"1.2.3.4.5", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (addr_is_digit_trap(rows[i].name) != rows[i].trap)
			fail_msg("%s", rows[i].name);
}

static void t_mistyped(void **state)
{
	static const struct {
		const char *name;
		bool mistyped;
	} rows[] = {
		{"10.0.0.300", true},	{"256.1.1.1", true},
		{"10.0.0.08", true},	{"10..0.1", true},
		{"10.0.0.1", false},	{"0.0.0.0", false},
		{"10.0.300", false},	{"1.2.3.4.5", false},
		{"10.0.0.300a", false}, {"10.0.0.n300", false},
		{"...", true},		{"", false},
		{"fd00::300", false},	{"255.255.255.255", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (addr_is_mistyped(rows[i].name) != rows[i].mistyped)
			fail_msg("%s", rows[i].name);
}

/* As each process of a sandbox has it: loopback is always there; one of the documentation never. */
static void t_own(void **state)
{
	static const struct {
		const char *address;
		bool own;
	} rows[] = {
		{"127.0.0.1", true},	{"::ffff:127.0.0.1", true},  {"192.0.2.1", false},
		{"2001:db8::1", false}, {"::ffff:192.0.2.1", false},
	};
	AUTO(arena_done) struct arena a = {0};
	union addr x;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(addr_parse(rows[i].address, &x), 0);
		if (own_addr(&x) != rows[i].own)
			fail_msg("%s", rows[i].address);
		assert_null(own_addr_interface(&x, &a));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_parse_and_print), cmocka_unit_test(t_print_others),
		cmocka_unit_test(t_split),	     cmocka_unit_test(t_class),
		cmocka_unit_test(t_subnet),	     cmocka_unit_test(t_equal),
		cmocka_unit_test(t_digit_trap),	     cmocka_unit_test(t_own),
		cmocka_unit_test(t_mistyped),	     cmocka_unit_test(t_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
