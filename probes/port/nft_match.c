/* Does a packet match what a rule asks? */
#include "lib/report/json.h"
#include "probes/port/nft.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/icmp6.h>

enum kind { ABSENT, UNKNOWN, NUMBER, WORD, ADDRESS };

/* What a key stands for in this packet. ABSENT: the packet has no such thing. */
struct value {
	enum kind kind;
	double number; /* of a word too, where it has one; NAN: it has none */
	const char *word;
	union addr addr;
	const struct nft_packet *tracked; /* of a connection's state: whose */
};

static struct value word(const char *s)
{
	return (struct value){.kind = WORD, .word = s, .number = NAN};
}
static struct value number(double n) { return (struct value){.kind = NUMBER, .number = n}; }
static struct value unknown(void) { return (struct value){.kind = UNKNOWN}; }

static struct value address(const union addr *a, int family)
{
	if (a->sa.sa_family != family)
		return (struct value){.kind = ABSENT};
	return (struct value){.kind = ADDRESS, .addr = *a};
}

/* Where there is no /etc/protocols, nft writes the number. */
static struct value protocol(const struct nft_packet *p)
{
	if (p->icmp6)
		return (struct value){.kind = WORD, .word = "ipv6-icmp", .number = IPPROTO_ICMPV6};
	return (struct value){.kind = WORD,
			      .word = p->udp ? "udp" : "tcp",
			      .number = p->udp ? IPPROTO_UDP : IPPROTO_TCP};
}

static struct value of_ports(const struct nft_packet *p, const char *field)
{
	if (streq(field, "dport"))
		return number(addr_port(&p->to));
	if (streq(field, "sport") && addr_port(&p->from))
		return number(addr_port(&p->from));
	return unknown();
}

/* A question for a neighbour (135) and its answer (136). */
static struct value of_icmp6(const struct nft_packet *p, const char *field)
{
	if (streq(field, "type"))
		return (struct value){.kind = WORD,
				      .word = p->icmp6 == ND_NEIGHBOR_SOLICIT
						      ? "nd-neighbor-solicit"
						      : "nd-neighbor-advert",
				      .number = p->icmp6};
	return streq(field, "code") ? number(0) : unknown();
}

static struct value of_payload(const struct nft_packet *p, const cJSON *payload)
{
	const char *proto = json_get_str(payload, "protocol"), *field;
	const char *ours = p->icmp6 ? "icmpv6" : p->udp ? "udp" : "tcp";
	int family = p->from.sa.sa_family;

	field = json_get_str(payload, "field");
	if (!proto || !field)
		return unknown();
	if (streq(proto, "ip") || streq(proto, "ip6")) {
		int theirs = streq(proto, "ip") ? AF_INET : AF_INET6;

		if (streq(field, "saddr"))
			return address(&p->from, theirs);
		if (streq(field, "daddr") && !p->icmp6) /* it may go to a group */
			return address(&p->to, theirs);
		if (theirs != family)
			return (struct value){.kind = ABSENT};
		return streq(field, "protocol") || streq(field, "nexthdr") ? protocol(p)
									   : unknown();
	}
	if (streq(proto, ours) || streq(proto, "th"))
		return p->icmp6 ? of_icmp6(p, field) : of_ports(p, field);
	if (streq(proto, "ether") || streq(proto, "vlan"))
		return unknown();
	return (struct value){.kind = ABSENT}; /* icmp, the other of tcp and udp ... */
}

static struct value of_meta(const struct nft_packet *p, const cJSON *meta)
{
	const char *key = json_get_str(meta, "key");
	bool v4 = p->from.sa.sa_family == AF_INET;

	if (!key)
		return unknown();
	if (streq(key, "l4proto"))
		return protocol(p);
	if (streq(key, "nfproto"))
		return word(v4 ? "ipv4" : "ipv6");
	if (streq(key, "protocol"))
		return word(v4 ? "ip" : "ip6");
	if (streq(key, p->input ? "iifname" : "oifname") || streq(key, p->input ? "iif" : "oif"))
		return p->iface ? word(p->iface) : unknown();
	if (streq(key, "pkttype"))
		return p->icmp6 ? unknown() : word("host");
	return unknown();
}

static struct value of_ct(const struct nft_packet *p, const cJSON *ct)
{
	const char *key = json_get_str(ct, "key");

	if (key && streq(key, "state") && p->icmp6)
		return word("untracked"); /* the kernel tracks no neighbour's */
	if (key && streq(key, "state")) {
		struct value v = word(p->untracked ? "invalid"
				      : p->notrack ? "untracked"
				      : p->answer  ? "established"
						   : "new");

		v.tracked = p;
		return v;
	}
	if (p->untracked || p->notrack)
		return unknown();
	/* of a new one nothing is to be said yet, but where it may have been sent elsewhere */
	if (key && streq(key, "status") && !p->answer && !p->translated)
		return word("none");
	if (key && streq(key, "direction"))
		return word(p->answer ? "reply" : "original");
	return unknown();
}

/* "fib daddr type local"; what comes over lo goes from us to us. */
static struct value of_fib(const struct nft_packet *p, const cJSON *fib)
{
	const char *result = json_get_str(fib, "result");
	const cJSON *flags = json_get(fib, "flags");
	bool self = p->iface && streq(p->iface, "lo"), to = false, from = false;

	for (const cJSON *i = flags ? flags->child : NULL; i; i = i->next) {
		to |= cJSON_IsString(i) && streq(i->valuestring, "daddr");
		from |= cJSON_IsString(i) && streq(i->valuestring, "saddr");
	}
	if (!result || !streq(result, "type") || to == from)
		return unknown();
	return word(self || p->input == to ? "local" : "unicast");
}

static struct value value_of(const struct nft_packet *p, const cJSON *key)
{
	if (json_get(key, "payload"))
		return of_payload(p, json_get(key, "payload"));
	if (json_get(key, "meta"))
		return of_meta(p, json_get(key, "meta"));
	if (json_get(key, "ct"))
		return of_ct(p, json_get(key, "ct"));
	if (json_get(key, "fib"))
		return of_fib(p, json_get(key, "fib"));
	return unknown();
}

static enum truth any_of(enum truth a, enum truth b)
{
	return a == YES || b == YES ? YES : a == PERHAPS || b == PERHAPS ? PERHAPS : NO;
}

static bool has_number(const struct value *v)
{
	return v->kind == NUMBER || (v->kind == WORD && !isnan(v->number));
}

/* -1, 0, 1, or 2 when they cannot be compared. */
static int order(const struct value *v, const cJSON *want)
{
	union addr addr;
	const char *word = cJSON_IsString(want) ? want->valuestring : NULL;
	int order;

	if (has_number(v) && cJSON_IsNumber(want))
		return (v->number > want->valuedouble) - (v->number < want->valuedouble);
	if (v->kind != ADDRESS || !word || addr_parse(word, &addr) ||
	    addr.sa.sa_family != v->addr.sa.sa_family)
		return 2;
	order = addr.sa.sa_family == AF_INET
			? memcmp(&v->addr.v4.sin_addr, &addr.v4.sin_addr, 4)
			: memcmp(&v->addr.v6.sin6_addr, &addr.v6.sin6_addr, 16);
	return (order > 0) - (order < 0);
}

static enum truth in_range(const struct value *v, const cJSON *range)
{
	const cJSON *lo = cJSON_GetArrayItem(range, 0), *hi = cJSON_GetArrayItem(range, 1);
	int above = lo ? order(v, lo) : 2, below = hi ? order(v, hi) : 2;

	return above == 2 || below == 2 ? PERHAPS : truth(above >= 0 && below <= 0);
}

static enum truth in_prefix(const struct value *v, const cJSON *prefix)
{
	const char *text = json_get_str(prefix, "addr");
	double len = json_get_num(prefix, "len", -1);
	union addr net;

	if (v->kind != ADDRESS || !text || addr_parse(text, &net) || !(len >= 0 && len <= 128))
		return PERHAPS;
	return truth(addr_in_subnet(&v->addr, &net, (unsigned)len));
}

/* "eth*" is how nft writes every interface whose name begins so. */
static bool word_is(const char *have, const char *want)
{
	size_t n = strlen(want);

	return n && want[n - 1] == '*' ? strncmp(have, want, n - 1) == 0 : streq(have, want);
}

/* iptables counts being sent elsewhere (DNAT) or under another name (SNAT, last of all) as states
 * that a connection has beside its own. */
static enum truth is_translated(const struct nft_packet *p, const char *how)
{
	bool may_be = streq(how, "dnat") ? p->translated : p->answer;

	return may_be && !p->untracked ? PERHAPS : NO;
}

static enum truth is_word(const struct value *v, const char *want)
{
	union addr addr;

	if (streq(want, "*"))
		return YES;
	if (v->tracked && (streq(want, "dnat") || streq(want, "snat")))
		return is_translated(v->tracked, want);
	if (v->kind == ADDRESS)
		return addr_parse(want, &addr) ? PERHAPS : truth(addr_equal(&v->addr, &addr));
	return v->kind == WORD ? truth(word_is(v->word, want)) : PERHAPS;
}

static enum truth is_any(const struct nft *n, const struct nft_rule *r, const struct value *v,
			 const cJSON *list, unsigned depth);

static enum truth is_one(const struct nft *n, const struct nft_rule *r, const struct value *v,
			 const cJSON *want, unsigned depth)
{
	const struct nft_set *set;

	if (v->kind == ABSENT)
		return NO;
	if (v->kind == UNKNOWN || depth > 4)
		return PERHAPS;
	if (cJSON_IsString(want) && want->valuestring[0] == '@') {
		set = nft_find_set(n, r->chain, want->valuestring + 1);
		return !set ? PERHAPS : set->elem ? is_any(n, r, v, set->elem, depth + 1) : NO;
	}
	if (cJSON_IsString(want))
		return is_word(v, want->valuestring);
	if (cJSON_IsNumber(want))
		return has_number(v) ? truth(v->number == want->valuedouble) : PERHAPS;
	if (cJSON_IsArray(want))
		return is_any(n, r, v, want, depth + 1);
	if (json_get(want, "set"))
		return is_any(n, r, v, json_get(want, "set"), depth + 1);
	if (json_get(want, "range"))
		return in_range(v, json_get(want, "range"));
	if (json_get(want, "prefix"))
		return in_prefix(v, json_get(want, "prefix"));
	if (json_get(want, "elem")) /* with a timeout, a counter or a comment */
		return is_one(n, r, v, json_get(json_get(want, "elem"), "val"), depth + 1);
	return PERHAPS;
}

static enum truth is_any(const struct nft *n, const struct nft_rule *r, const struct value *v,
			 const cJSON *list, unsigned depth)
{
	enum truth t = NO;

	if (!cJSON_IsArray(list))
		return is_one(n, r, v, list, depth + 1);
	for (const cJSON *i = list->child; i && t != YES; i = i->next)
		t = any_of(t, is_one(n, r, v, i, depth + 1));
	return t;
}

enum truth nft_is(const struct nft *n, const struct nft_rule *r, const cJSON *key,
		  const cJSON *want, const struct nft_packet *p)
{
	struct value v = value_of(p, key);

	return want ? is_one(n, r, &v, want, 0) : PERHAPS;
}

static enum truth compare(const struct value *v, const char *op, const cJSON *want)
{
	int o = v->kind == ABSENT ? 2 : order(v, want);

	if (v->kind == ABSENT)
		return NO;
	if (o == 2)
		return PERHAPS;
	if (streq(op, "<"))
		return truth(o < 0);
	if (streq(op, ">"))
		return truth(o > 0);
	if (streq(op, "<="))
		return truth(o <= 0);
	return streq(op, ">=") ? truth(o >= 0) : PERHAPS;
}

enum truth nft_match(const struct nft *n, const struct nft_rule *r, const cJSON *match,
		     const struct nft_packet *p)
{
	const char *op = json_get_str(match, "op") ?: "==";
	const cJSON *left = json_get(match, "left"), *right = json_get(match, "right");
	struct value v = value_of(p, left);
	enum truth t;

	if (!left || !right)
		return PERHAPS;
	if (nft_is_flags(left))
		return p->icmp6 ? NO : nft_match_flags(left, op, right, p);
	/* "no way back": a reverse-path filter in rules; peers of our own subnet have one */
	if (json_get(left, "fib") && cJSON_IsFalse(right))
		return truth(streq(op, "!="));
	if (!streq(op, "==") && !streq(op, "!=") && !streq(op, "in"))
		return compare(&v, op, right);
	t = is_one(n, r, &v, right, 0);
	if (!streq(op, "!=") || v.kind == ABSENT)
		return t;
	return t == PERHAPS ? PERHAPS : truth(t == NO);
}
