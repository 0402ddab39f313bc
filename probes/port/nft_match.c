/* Does a packet match what a rule asks? */
#include "lib/report/json.h"
#include "probes/port/nft_value.h"

#include <math.h>

static enum truth any_of(enum truth a, enum truth b)
{
	return a == YES || b == YES ? YES : a == PERHAPS || b == PERHAPS ? PERHAPS : NO;
}

static enum truth all_of(enum truth a, enum truth b)
{
	return a == NO || b == NO ? NO : a == PERHAPS || b == PERHAPS ? PERHAPS : YES;
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

/* Some number of a span, asked whether it is between two. */
static enum truth is_span_in(const struct value *v, double lo, double hi)
{
	if (lo <= v->number && v->last <= hi)
		return YES;
	return hi < v->number || lo > v->last ? NO : PERHAPS;
}

static enum truth in_range(const struct value *v, const cJSON *range)
{
	const cJSON *lo = cJSON_GetArrayItem(range, 0), *hi = cJSON_GetArrayItem(range, 1);
	int above, below;

	if (v->kind == SPAN && cJSON_IsNumber(lo) && cJSON_IsNumber(hi))
		return is_span_in(v, lo->valuedouble, hi->valuedouble);
	above = lo ? order(v, lo) : 2;
	below = hi ? order(v, hi) : 2;

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
			 const cJSON *want, unsigned depth);

/* "ip saddr . tcp dport" and "10.0.0.0/8 . 1024-65535", part by part. */
static enum truth are_several(const struct nft *n, const struct nft_rule *r, const struct value *v,
			      const cJSON *want, unsigned depth)
{
	const cJSON *key = v->keys;
	enum truth t = YES;

	for (const cJSON *i = want->child; i && t != NO; i = i->next) {
		struct value part;

		if (!key)
			return PERHAPS;
		part = nft_value(v->packet, key);
		t = all_of(t, is_one(n, r, &part, i, depth + 1));
		key = key->next;
	}
	return t;
}

static enum truth is_one(const struct nft *n, const struct nft_rule *r, const struct value *v,
			 const cJSON *want, unsigned depth)
{
	const struct nft_set *set;

	if (v->kind == ABSENT)
		return NO;
	if (v->kind == UNKNOWN || depth > 6)
		return PERHAPS;
	if (cJSON_IsString(want) && want->valuestring[0] == '@') {
		set = nft_find_set(n, r->chain, want->valuestring + 1);
		return !set ? PERHAPS : set->elem ? is_any(n, r, v, set->elem, depth + 1) : NO;
	}
	if (cJSON_IsString(want))
		return is_word(v, want->valuestring);
	if (cJSON_IsNumber(want) && v->kind == SPAN)
		return is_span_in(v, want->valuedouble, want->valuedouble);
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
	if (json_get(want, "concat") && v->kind == SEVERAL)
		return are_several(n, r, v, json_get(want, "concat"), depth);
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
	struct value v = nft_value(p, key);

	return want ? is_one(n, r, &v, want, 0) : PERHAPS;
}

static enum truth span_compares(const struct value *v, const char *op, const cJSON *want)
{
	double than = cJSON_IsNumber(want) ? want->valuedouble : NAN;

	if (isnan(than) || !strchr("<>", *op))
		return PERHAPS;
	if (*op == '<')
		return is_span_in(v, -INFINITY, op[1] ? than : than - 1);
	return is_span_in(v, op[1] ? than : than + 1, INFINITY);
}

static enum truth compare(const struct value *v, const char *op, const cJSON *want)
{
	int o;

	if (v->kind == ABSENT)
		return NO;
	if (v->kind == SPAN)
		return span_compares(v, op, want);
	o = order(v, want);
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
	struct value v = nft_value(p, left);
	enum truth t;

	if (!left || !right)
		return PERHAPS;
	if (nft_is_flags(left))
		return p->icmp6 ? NO : nft_match_flags(left, op, right, p);
	/* "exthdr rt exists": whether, and not what is in it */
	if (v.kind == ABSENT && json_get(left, "exthdr") && cJSON_IsBool(right))
		return truth(cJSON_IsFalse(right) != streq(op, "!="));
	/* "no way back": a reverse-path filter in rules; peers of our own subnet have one */
	if (json_get(left, "fib") && cJSON_IsFalse(right))
		return truth(streq(op, "!="));
	if (!streq(op, "==") && !streq(op, "!=") && !streq(op, "in"))
		return compare(&v, op, right);
	t = is_one(n, r, &v, right, 0);
	if (json_get(left, "or")) { /* iptables' --ports: of either end */
		struct value other = nft_value(p, json_get(left, "or"));

		t = any_of(t, is_one(n, r, &other, right, 0));
	}
	if (!streq(op, "!=") || v.kind == ABSENT)
		return t;
	return t == PERHAPS ? PERHAPS : truth(t == NO);
}
