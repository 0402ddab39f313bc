#ifndef TESTS_UNIT_NFT_RULES_H
#define TESTS_UNIT_NFT_RULES_H
/* Rules as `nft -j` 1.0.6 writes them, with ' for ", put together and parsed. */
#include "tests/unit/nft_verdict.h"

#define CHAIN(name, hook, prio, policy)                                                            \
	"{'chain':{'family':'inet','table':'t','name':'" name "','handle':1,'type':'filter',"      \
	"'hook':'" hook "','prio':" prio ",'policy':'" policy "'}},"
#define PLAIN(name) "{'chain':{'family':'inet','table':'t','name':'" name "','handle':1}},"
#define RULE_IN(chain, handle, expr)                                                               \
	"{'rule':{'family':'inet','table':'t','chain':'" chain "','handle':" handle                \
	",'expr':[" expr "]}},"
#define RULE(handle, expr) RULE_IN("in", handle, expr)
#define IS(left, right) "{'match':{'op':'==','left':" left ",'right':" right "}},"
#define NOT(left, right) "{'match':{'op':'!=','left':" left ",'right':" right "}},"
#define IN(left, right) "{'match':{'op':'in','left':" left ",'right':" right "}},"
#define DPORT "{'payload':{'protocol':'tcp','field':'dport'}}"
#define SADDR "{'payload':{'protocol':'ip','field':'saddr'}}"
#define SPORT "{'payload':{'protocol':'tcp','field':'sport'}}"
#define MASKED(mask) "{'&':[{'payload':{'protocol':'ip','field':'frag-off'}}," mask "]}"
#define PAIR "{'concat':[" SADDR "," DPORT "]}"
#define PAIRS(elem) "{'set':{'family':'inet','name':'pairs','table':'t','elem':" elem "}},"
#define SADDR6 "{'payload':{'protocol':'ip6','field':'saddr'}}"
#define META(key) "{'meta':{'key':'" key "'}}"
#define STATE "{'ct':{'key':'state'}}"
#define FLAGS "{'payload':{'protocol':'tcp','field':'flags'}}"
#define EACH(stmt) "{'set':{'op':'add','elem':" SADDR ",'set':'@s','stmt':" stmt "}},"
#define ACCEPT "{'accept':null}"
#define DROP "{'drop':null}"
#define REJECT "{'reject':{'type':'icmpx','expr':'port-unreachable'}}"
#define INPUT(policy) CHAIN("in", "input", "0", policy)

/* The last comma is taken off. */
static inline char *quoted(struct arena *a, const char *rules)
{
	char *s = arena_printf(a, "{'nftables':[%s]}", rules);
	size_t n = strlen(s);

	if (n > 4 && s[n - 3] == ',')
		s[n - 3] = ' ';
	for (char *p = s; *p; p++)
		if (*p == '\'')
			*p = '"';
	return s;
}

static inline void parse(const char *rules, struct arena *a, struct nft *ret)
{
	const char *json = quoted(a, rules);
	struct err e = {0};

	assert_int_equal(nft_parse(json, strlen(json), a, ret, &e), 0);
}

/* From 10.0.0.1 to its own port 5. */
static inline void rules_and_packet(const char *rules, struct arena *a, struct nft *n,
				    struct nft_packet *p)
{
	parse(rules, a, n);
	assert_int_equal(addr_parse("10.0.0.1", &p->from), 0);
	p->to = p->from;
	addr_set_port(&p->to, 5);
}

struct nft_case {
	const char *what, *rules; /* the last comma is taken off */
	const char *from;
	uint16_t port;
	enum nft_verdict verdict;
	bool perhaps;
	const char *describe; /* NULL: not looked at */
};

static inline void expect_cases(const struct nft_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		AUTO(arena_done) struct arena a = {0};
		AUTO(nft_done) struct nft rules;
		struct nft_packet p = packet_from(cases[i].from, cases[i].port);
		const char *json = quoted(&a, cases[i].rules);
		struct err e = {0};

		if (nft_parse(json, strlen(json), &a, &rules, &e))
			fail_msg("%s: %s: %s", cases[i].what, e.msg, json);
		expect_verdict(&rules, &p, cases[i].what, cases[i].verdict, cases[i].perhaps,
			       cases[i].describe, &a);
	}
}

#endif
