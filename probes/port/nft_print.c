/* Rules as nft itself writes them, as far as people need to recognise them. */
#include "lib/core/text.h"
#include "lib/report/json.h"
#include "probes/port/nft.h"

enum { LONGEST = 160, MAX_DEPTH = 8 };

static void put_value(struct text *t, const cJSON *v, unsigned depth);

static void put_list(struct text *t, const cJSON *list, unsigned depth)
{
	for (const cJSON *i = list->child; i && t->n < LONGEST; i = i->next) {
		put_value(t, i, depth + 1);
		if (i->next)
			text_add(t, ", ");
	}
}

static void put_key(struct text *t, const cJSON *key);

/* "tcp flags & (syn, ack)", "mark & (32768)" */
static void put_masked(struct text *t, const cJSON *pair)
{
	const cJSON *key = cJSON_GetArrayItem(pair, 0), *mask = cJSON_GetArrayItem(pair, 1);

	if (!json_get(key, "&"))
		put_key(t, key);
	text_add(t, " & (");
	put_value(t, mask, 0);
	text_add(t, ")");
}

/* "rt type", "tcp option maxseg size": its words that are there, one after the other. */
static void put_words(struct text *t, const char *head, const cJSON *of)
{
	static const char *const words[] = {"name", "key", "field"};

	text_add(t, head);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (*json_text(of, words[i]))
			text_addf(t, "%s%s", *head || i ? " " : "", json_text(of, words[i]));
}

/* "fib saddr . iif oif" */
static void put_fib(struct text *t, const cJSON *fib)
{
	const cJSON *flags = json_get(fib, "flags");

	text_add(t, "fib");
	for (const cJSON *i = flags ? flags->child : NULL; i; i = i->next)
		text_addf(t, "%s %s", i == flags->child ? "" : " .",
			  cJSON_IsString(i) ? i->valuestring : "...");
	text_addf(t, " %s", json_text(fib, "result"));
}

static void put_concat(struct text *t, const cJSON *keys)
{
	for (const cJSON *i = keys->child; i && t->n < LONGEST; i = i->next) {
		put_key(t, i);
		text_add(t, i->next ? " . " : "");
	}
}

static bool put_odd_key(struct text *t, const cJSON *key)
{
	if (json_get(key, "exthdr"))
		put_words(t, "", json_get(key, "exthdr"));
	else if (json_get(key, "tcp option"))
		put_words(t, "tcp option", json_get(key, "tcp option"));
	else if (json_get(key, "socket"))
		put_words(t, "socket", json_get(key, "socket"));
	else if (json_get(key, "fib"))
		put_fib(t, json_get(key, "fib"));
	else if (json_get(key, "concat"))
		put_concat(t, json_get(key, "concat"));
	else
		return false;
	return true;
}

static void put_key(struct text *t, const cJSON *key)
{
	const cJSON *payload = json_get(key, "payload");
	const char *name = json_get_str(json_get(key, "meta"), "key");

	if (payload)
		text_addf(t, "%s %s", json_get_str(payload, "protocol") ?: "@",
			  json_get_str(payload, "field") ?: "...");
	else if (name)
		text_add(t, name);
	else if ((name = json_get_str(json_get(key, "ct"), "key")))
		text_addf(t, "ct %s", name);
	else if (json_get(key, "&"))
		put_masked(t, json_get(key, "&"));
	else if (!put_odd_key(t, key))
		text_add(t, "...");
}

static void put_range(struct text *t, const cJSON *range, unsigned depth)
{
	put_value(t, cJSON_GetArrayItem(range, 0), depth + 1);
	text_add(t, "-");
	put_value(t, cJSON_GetArrayItem(range, 1), depth + 1);
}

/* "10.0.0.0/8 . 1024-65535" */
static void put_parts(struct text *t, const cJSON *parts, unsigned depth)
{
	for (const cJSON *i = parts->child; i && t->n < LONGEST; i = i->next) {
		put_value(t, i, depth + 1);
		text_add(t, i->next ? " . " : "");
	}
}

static void put_value(struct text *t, const cJSON *v, unsigned depth)
{
	const cJSON *prefix = json_get(v, "prefix"), *set = json_get(v, "set");
	const cJSON *list = json_get(v, "|") ?: v; /* nft 1.1 has an operator around flags */

	if (!v || depth > MAX_DEPTH || t->n > LONGEST) {
		text_add(t, "...");
	} else if (cJSON_IsNumber(v)) {
		text_addf(t, "%.10g", v->valuedouble);
	} else if (cJSON_IsString(v)) {
		text_add(t, v->valuestring);
	} else if (cJSON_IsArray(list)) {
		put_list(t, list, depth);
	} else if (prefix) {
		text_addf(t, "%s/%.0f", json_get_str(prefix, "addr") ?: "...",
			  json_get_num(prefix, "len", 0));
	} else if (json_get(v, "range")) {
		put_range(t, json_get(v, "range"), depth);
	} else if (set) {
		text_add(t, "{ ");
		put_value(t, set, depth + 1);
		text_add(t, " }");
	} else if (cJSON_IsBool(v)) {
		text_add(t, cJSON_IsTrue(v) ? "exists" : "missing");
	} else if (json_get(v, "concat")) {
		put_parts(t, json_get(v, "concat"), depth);
	} else if (json_get(v, "elem")) {
		put_value(t, json_get(json_get(v, "elem"), "val"), depth + 1);
	} else {
		text_add(t, "...");
	}
}

static void put_match(struct text *t, const cJSON *match)
{
	const char *op = json_get_str(match, "op") ?: "==";

	put_key(t, json_get(match, "left"));
	text_add(t, " ");
	if (!streq(op, "==") && !streq(op, "in"))
		text_addf(t, "%s ", op);
	put_value(t, json_get(match, "right"), 0);
}

static void put_reject(struct text *t, const cJSON *reject)
{
	const char *type = json_get_str(reject, "type"), *what = json_get_str(reject, "expr");

	text_add(t, "reject");
	if (type)
		text_addf(t, " with %s", type);
	if (what)
		text_addf(t, " %s", what);
}

static void put_dnat(struct text *t, const cJSON *dnat)
{
	text_add(t, "dnat to ");
	put_value(t, json_get(dnat, "addr"), 0);
	if (json_get(dnat, "port")) {
		text_add(t, ":");
		put_value(t, json_get(dnat, "port"), 0);
	}
}

static void put_mangle(struct text *t, const cJSON *mangle)
{
	put_key(t, json_get(mangle, "key"));
	text_add(t, " set ");
	put_value(t, json_get(mangle, "value"), 0);
}

/* "update @clients { ip saddr limit ... }": what is counted of each, or how often each may. */
static void put_counted(struct text *t, const cJSON *set)
{
	const cJSON *each = json_get(set, "stmt");
	const cJSON *what = cJSON_IsArray(each) ? cJSON_GetArrayItem(each, 0) : each;

	text_addf(t, "%s %s { ", json_get_str(set, "op") ?: "meter",
		  json_get_str(set, "set") ?: json_get_str(set, "name") ?: "...");
	put_key(t, json_get(set, "elem") ?: json_get(set, "key"));
	text_addf(t, "%s }",
		  json_get(what, "limit")      ? " limit ..."
		  : json_get(what, "ct count") ? " ct count ..."
					       : "");
}

static void put_statement(struct text *t, const cJSON *s)
{
	static const char *const plain[] = {"accept", "drop",  "return",   "queue",   "log",
					    "limit",  "quota", "redirect", "notrack", "synproxy"};
	const cJSON *vmap = json_get(s, "vmap");

	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (json_get(s, plain[i]))
			text_add(t, plain[i]);
	if (json_get(s, "ct count"))
		text_addf(t, "ct count %s%.0f",
			  cJSON_IsTrue(json_get(json_get(s, "ct count"), "inv")) ? "over " : "",
			  json_get_num(json_get(s, "ct count"), "val", 0));
	if (json_get(s, "match"))
		put_match(t, json_get(s, "match"));
	else if (json_get(s, "reject"))
		put_reject(t, json_get(s, "reject"));
	else if (json_get(s, "jump"))
		text_addf(t, "jump %s", json_get_str(json_get(s, "jump"), "target") ?: "...");
	else if (json_get(s, "goto"))
		text_addf(t, "goto %s", json_get_str(json_get(s, "goto"), "target") ?: "...");
	else if (json_get(s, "dnat"))
		put_dnat(t, json_get(s, "dnat"));
	else if (json_get(s, "xt"))
		text_add(t, "(an iptables match)");
	else if (json_get(s, "mangle"))
		put_mangle(t, json_get(s, "mangle"));
	else if (json_get(s, "set") || json_get(s, "meter"))
		put_counted(t, json_get(s, "set") ?: json_get(s, "meter"));
	if (!vmap)
		return;
	put_key(t, json_get(vmap, "key"));
	text_add(t, " vmap ...");
}

/* In iptables' own words, as the person who made it typed them. */
static const char *describe_foreign(const struct nft_answer *x, struct arena *a)
{
	const struct nft_chain *c = x->chain;
	const char *table = streq(c->table, "filter") ? "" : arena_printf(a, " -t %s", c->table);

	if (x->rule)
		return arena_printf(a, "%s%s: %.*s", c->tool, table, 2 * LONGEST, x->rule->text);
	return arena_printf(a, "%s%s: -P %s %s", c->tool, table, c->name,
			    streq(c->policy ?: "", "drop") ? "DROP" : "ACCEPT");
}

bool nft_is_mullvads(const struct nft_chain *c)
{
	return !c->tool && streq(c->family, "inet") && streq(c->table, "mullvad");
}

const char *nft_describe(const struct nft_answer *x, struct arena *a)
{
	const struct nft_chain *c = x->chain;
	struct text t;

	if (!c)
		return "no rule";
	if (c->tool)
		return describe_foreign(x, a);
	text_init(&t, a);
	if (nft_is_mullvads(c))
		text_add(&t, "the kill switch of Mullvad VPN, ");
	if (!x->rule) {
		text_addf(&t, "policy %s of %s %s %s", c->policy ?: "accept", c->family, c->table,
			  c->name);
		return t.s;
	}
	text_addf(&t, "%s %s %s, handle %d:", c->family, c->table, c->name, x->rule->handle);
	for (const cJSON *s = x->rule->expr ? x->rule->expr->child : NULL; s && t.n < LONGEST * 2;
	     s = s->next) {
		if (json_get(s, "counter"))
			continue;
		text_add(&t, " ");
		put_statement(&t, s);
	}
	return t.s;
}
