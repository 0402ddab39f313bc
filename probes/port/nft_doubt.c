/* What cannot be judged of a rule from here, and whether it is the same for all that asks alike. */
#include "lib/report/json.h"
#include "probes/port/nft.h"

/* More connections than anybody opens here to ask: what counts so many of them, counts others'. */
enum { MANY = 1024 };

static bool is_limit(const cJSON *s)
{
	return json_get(s, "limit") || json_get(s, "quota") || json_get(s, "ct count");
}

/* "add @clients { ip saddr limit rate over 1/second }", as hashlimit and connlimit are written; one
 * that but notes them, or counts their packets, is none. */
static bool limits_each(const cJSON *s)
{
	const cJSON *of = json_get(s, "set") ?: json_get(s, "meter"), *stmt = json_get(of, "stmt");

	if (!cJSON_IsArray(stmt))
		return is_limit(stmt);
	for (const cJSON *i = stmt->child; i; i = i->next)
		if (is_limit(i))
			return true;
	return false;
}

bool nft_is_condition(const cJSON *s) { return is_limit(s) || limits_each(s) || json_get(s, "xt"); }

/* A mark that is not 0, or a place in a list of ipset's. */
static bool asks_for_few(const cJSON *match)
{
	const char *op = json_get_str(match, "op") ?: "==";
	const cJSON *left = json_get(match, "left"), *right = json_get(match, "right"), *of;
	const char *text = cJSON_GetStringValue(right);

	if (json_get(left, "&"))
		left = json_get(left, "&")->child;
	of = json_get(left, "meta") ?: json_get(left, "ct");
	if (json_get(left, "ipset"))
		return streq(op, "==");
	return streq(op, "==") && streq(json_text(of, "key"), "mark") &&
	       (text ? strtoul(text, NULL, 0) : cJSON_IsNumber(right) && right->valuedouble > 0);
}

/* A rate any packet may reach, and what a program decides nobody knows: those are no such rules. */
bool nft_stops_seldom(const struct nft_rule *r)
{
	bool few = false;

	for (const cJSON *s = r->expr ? r->expr->child : NULL; s; s = s->next) {
		if (nft_is_condition(s) || json_get(s, "queue"))
			return false;
		few |= asks_for_few(json_get(s, "match"));
	}
	return few;
}

/* --- is it the same for all ports? -------------------------------------------------- */
/* Of who sends, of the card or the clock; a mark, or a processor, may be another by the port. */
static bool is_meta_alike(const char *key)
{
	static const char *const alike[] = {
		"skuid",    "skgid",	 "cgroup",  "iif",	"oif",	   "iifname",  "oifname",
		"pkttype",  "length",	 "iifkind", "oifkind",	"iiftype", "oiftype",  "iifgroup",
		"oifgroup", "protocol",	 "nfproto", "day",	"hour",	   "time",     "ipsec",
		"secpath",  "rtclassid", "sdif",    "sdifname", "ibrname", "ibriport", "l4proto"};

	return is_among(key, alike, ARRAY_LEN(alike));
}

static bool is_payload_alike(const cJSON *payload)
{
	static const char *const of[] = {"ip", "ip6", "ether", "vlan"};
	const char *field = json_text(payload, "field");

	return is_among(json_text(payload, "protocol"), of, ARRAY_LEN(of)) && !streq(field, "id") &&
	       !streq(field, "checksum");
}

static bool is_key_alike(const cJSON *key)
{
	static const char *const alike[] = {"exthdr", "tcp option", "ip option", "fib",
					    "socket", "osf",	    "rt",	 "ipsec"};

	if (json_get(key, "&"))
		key = json_get(key, "&")->child;
	if (json_get(key, "payload"))
		return is_payload_alike(json_get(key, "payload"));
	if (json_get(key, "meta"))
		return is_meta_alike(json_text(json_get(key, "meta"), "key"));
	for (size_t i = 0; i < ARRAY_LEN(alike); i++)
		if (json_get(key, alike[i]))
			return true;
	return false;
}

/* What iptables' modules look at that are not known here by what they ask. */
static bool is_module_alike(const char *name)
{
	static const char *const alike[] = {"owner",  "mac",	"ttl",	  "hl",	   "dscp",
					    "tos",    "length", "time",	  "tcp",   "physdev",
					    "policy", "cgroup", "tcpmss", "geoip", "devgroup",
					    "ecn",    "realm",	"socket", "osf"};

	return is_among(name, alike, ARRAY_LEN(alike));
}

enum nft_doubt nft_doubt_of_key(const cJSON *key) { return is_key_alike(key) ? ALIKE : UNLIKE; }

enum nft_doubt nft_doubt_of(const cJSON *s)
{
	const cJSON *count = json_get(s, "ct count"), *match = json_get(s, "match");
	bool alike = match   ? is_key_alike(json_get(match, "left"))
		     : count ? json_get_num(count, "val", 0) >= MANY
			     : is_module_alike(json_text(s, "xt"));

	return alike ? ALIKE : UNLIKE;
}
