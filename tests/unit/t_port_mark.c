/* Which rule gives what this host sends a mark, as nft and iptables write it, with ' for ". */
#include "probes/port/nft.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define CHAIN(type, hook)                                                                          \
	"{'chain':{'family':'ip','table':'t','name':'c','handle':1,'type':'" type                  \
	"','hook':'" hook "','prio':-150,'policy':'accept'}},"
#define TO(address)                                                                                \
	"{'match':{'op':'==','left':{'payload':{'protocol':'ip','field':'daddr'}},'right':"        \
	"'" address "'}},"
#define SET(key, value) "{'mangle':{'key':{'" key "':{'key':'mark'}},'value':" value "}}"
#define RULE(expr) "{'rule':{'family':'ip','table':'t','chain':'c','handle':2,'expr':[" expr "]}}"
#define OUT CHAIN("route", "output")
#define ALL UINT32_MAX

static const struct {
	const char *what, *rules;
	uint32_t mark, mask;
	bool marked;
} cases[] = {
	{"all", OUT RULE(SET("meta", "7")), 7, ALL, true},
	{"what goes there", OUT RULE(TO("10.0.0.2") SET("meta", "7")), 7, ALL, true},
	{"what goes elsewhere", OUT RULE(TO("10.0.0.3") SET("meta", "7")), 7, ALL, false},
	{"another mark", OUT RULE(SET("meta", "8")), 7, ALL, false},
	{"a part of it", OUT RULE(SET("meta", "263")), 7, 0xff, true},
	{"more of it", OUT RULE(SET("meta", "263")), 7, ALL, false},
	{"a bit of it", OUT RULE(SET("meta", "{'|':[{'meta':{'key':'mark'}},16]}")), 16, 16, true},
	{"what is not known", OUT RULE(SET("meta", "{'ct':{'key':'mark'}}")), 7, ALL, false},
	{"the connection's", OUT RULE(SET("ct", "7")), 7, ALL, false},
	{"what comes in", CHAIN("filter", "input") RULE(SET("meta", "7")), 7, ALL, false},
	{"a chain that sends nothing elsewhere", CHAIN("filter", "output") RULE(SET("meta", "7")),
	 7, ALL, false},
};

static struct nft_packet packet(void)
{
	struct nft_packet p = {.iface = "eth0"};

	assert_int_equal(addr_parse("10.0.0.1", &p.from), 0);
	assert_int_equal(addr_parse("10.0.0.2", &p.to), 0);
	return p;
}

static void load(struct nft *n, const char *rules, struct arena *a)
{
	char *json = arena_printf(a, "{'nftables':[%s]}", rules);
	struct err e;

	for (char *p = json; *p; p++)
		if (*p == '\'')
			*p = '"';
	assert_int_equal(nft_parse(json, strlen(json), a, n, &e), 0);
}

static void by_nft(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(arena_done) struct arena a = {0};
		const struct nft_packet p = packet();
		AUTO(nft_done) struct nft n;

		load(&n, cases[i].rules, &a);
		if ((nft_marks(&n, &p, cases[i].mark, cases[i].mask) != NULL) != cases[i].marked)
			fail_msg("%s", cases[i].what);
	}
}

static void by_iptables(void **state UNUSED)
{
	static const char text[] = "*mangle\n:OUTPUT ACCEPT [0:0]\n"
				   "-A OUTPUT -d 10.0.0.2/32 -j MARK --set-xmark 0x7/0xffffffff\n"
				   "-A OUTPUT -d 10.0.0.3/32 -j MARK --set-xmark 0x9/0xffffffff\n"
				   "COMMIT\n";
	AUTO(arena_done) struct arena a = {0};
	const struct nft_packet p = packet();
	AUTO(nft_done) struct nft n;

	load(&n, "", &a);
	nft_add_iptables(&n, "ip", "iptables", false, text, strlen(text));
	assert_non_null(nft_marks(&n, &p, 7, ALL));
	assert_null(nft_marks(&n, &p, 9, ALL)); /* of what goes elsewhere */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_nft),
		cmocka_unit_test(by_iptables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
