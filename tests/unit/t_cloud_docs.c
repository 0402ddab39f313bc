/* The documents of GCP and Azure, in the shape that their documentation gives them. */
#include "tests/unit/cloud_pair.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void t_gcp_document(void **state)
{
	static const char doc[] =
		"[{\"accessConfigs\":[{\"externalIp\":\"203.0.113.5\",\"type\":\"ONE_TO_ONE_NAT\"}]"
		","
		"\"ip\":\"10.128.0.2\",\"mac\":\"42:01:0a:80:00:02\",\"mtu\":1460},"
		"{\"accessConfigs\":[{\"externalIp\":\"\"}],\"ip\":\"10.128.1.2\"},"
		"{\"accessConfigs\":7,\"ip\":[]}, 5, null]";
	AUTO(arena_done) struct arena a = {0};
	struct cloud c = {0};
	struct metadata m = {.a = &a, .cloud = &c};

	(void)state;
	assert_int_equal(gcp_parse(&m, doc, strlen(doc)), 0);
	assert_int_equal(c.map.n, 1);
	check_pair(&c.map.v[0], "203.0.113.5", "10.128.0.2", "42:01:0a:80:00:02");
	assert_int_equal(gcp_parse(&m, "{}", 2), -1);
	assert_int_equal(gcp_parse(&m, "<html>", 6), -1);
}

static void check_card(const struct cloud_card *c, const char *mac, const char *addrs)
{
	AUTO(arena_done) struct arena a = {0};
	struct addr_text t;
	const char *all = "";

	for (size_t i = 0; i < c->addrs.n; i++)
		all = arena_printf(&a, "%s%s ", all, addr_print(&c->addrs.v[i], &t));
	assert_string_equal(all, addrs);
	if (mac)
		assert_string_equal(c->mac, mac);
	else
		assert_null(c->mac);
	assert_int_equal(c->groups.n, 0);
}

/* Every interface, with and without a public address; what is malformed has none. */
static void t_gcp_cards(void **state)
{
	static const char doc[] =
		"[{\"accessConfigs\":[{\"externalIp\":\"203.0.113.5\"}],\"ip\":\"10.128.0.2\","
		"\"mac\":\"42:01:0a:80:00:02\"},{\"ip\":\"10.128.1.2\",\"mac\":\"x\\u0001\"},"
		"{\"ip\":\"nonsense\"}]";
	AUTO(arena_done) struct arena a = {0};
	struct cloud c = {0};
	struct metadata m = {.a = &a, .cloud = &c, .depth = READ_CARDS};

	(void)state;
	assert_int_equal(gcp_parse(&m, doc, strlen(doc)), 0);
	assert_int_equal(c.cards.n, 3);
	check_card(&c.cards.v[0], "42:01:0a:80:00:02", "10.128.0.2 ");
	check_card(&c.cards.v[1], NULL, "10.128.1.2 ");
	check_card(&c.cards.v[2], NULL, "");
}

static void t_azure_document(void **state)
{
	static const char doc[] =
		"{\"compute\":{\"vmSize\":\"Standard_ND96isr_H100_v5\"},\"network\":{\"interface\":"
		"["
		"{\"ipv4\":{\"ipAddress\":[{\"privateIpAddress\":\"10.0.0.4\","
		"\"publicIpAddress\":\"203.0.113.9\"},{\"privateIpAddress\":\"10.0.0.5\","
		"\"publicIpAddress\":\"\"}],\"subnet\":[{\"address\":\"10.0.0.0\",\"prefix\":"
		"\"24\"}]},"
		"\"macAddress\":\"000D3A328570\"},{\"macAddress\":5}]}}";
	AUTO(arena_done) struct arena a = {0};
	struct cloud c = {0};
	struct metadata m = {.a = &a, .cloud = &c};

	(void)state;
	assert_int_equal(azure_parse(&m, doc, strlen(doc)), 0);
	assert_string_equal(c.instance_type, "Standard_ND96isr_H100_v5");
	assert_int_equal(c.map.n, 1);
	check_pair(&c.map.v[0], "203.0.113.9", "10.0.0.4", "00:0d:3a:32:85:70");
	assert_int_equal(c.cards.n, 0); /* nobody asked for them */
	m.depth = READ_CARDS;
	assert_int_equal(azure_parse(&m, doc, strlen(doc)), 0);
	assert_int_equal(c.cards.n, 2);
	check_card(&c.cards.v[0], "00:0d:3a:32:85:70", "10.0.0.4 10.0.0.5 ");
	check_card(&c.cards.v[1], NULL, "");
	assert_int_equal(azure_parse(&m, "{}", 2), -1);
	assert_int_equal(azure_parse(&m, "[1]", 3), -1);
	assert_int_equal(azure_parse(&m, "", 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_gcp_document),
		cmocka_unit_test(t_gcp_cards),
		cmocka_unit_test(t_azure_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
