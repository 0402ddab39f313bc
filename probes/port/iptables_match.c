/* What the modules of iptables ask a packet for, in the words of nft's JSON. */
#include "probes/port/iptables.h"

#include "lib/report/json.h"

#include <ctype.h>

static cJSON *key2(const char *kind, const char *a, const char *av, const char *b, const char *bv)
{
	cJSON *key = cJSON_CreateObject(), *in = json_object(key, kind);

	json_str(in, a, av);
	if (b)
		json_str(in, b, bv);
	return key;
}

cJSON *ipt_payload(const char *protocol, const char *field)
{
	return key2("payload", "protocol", protocol, "field", field);
}

cJSON *ipt_key(const char *kind, const char *name) { return key2(kind, "key", name, NULL, 0); }

void ipt_ask(struct ipt *r, cJSON *left, cJSON *right)
{
	cJSON *match = json_object(json_push_object(r->expr), "match");

	json_str(match, "op", r->no ? "!=" : "==");
	cJSON_AddItemToObject(match, "left", left);
	cJSON_AddItemToObject(match, "right", right);
}

/* What the module named last looks at. */
void ipt_unknown(struct ipt *r) { json_str(json_push_object(r->expr), "xt", r->module ?: ""); }

/* "80", "80:90" */
static cJSON *port(const char *text)
{
	const char *colon = strchr(text, ':');
	double first = strtod(text, NULL), last = colon ? strtod(colon + 1, NULL) : first;
	cJSON *o, *range;

	if (!colon)
		return cJSON_CreateNumber(first);
	o = cJSON_CreateObject();
	range = json_array(o, "range");
	cJSON_AddItemToArray(range, cJSON_CreateNumber(first));
	cJSON_AddItemToArray(range, cJSON_CreateNumber(last));
	return o;
}

static cJSON *a_word(const char *text)
{
	char low[32];
	size_t n = 0;

	for (; text[n] && n + 1 < sizeof(low); n++)
		low[n] = (char)tolower((unsigned char)text[n]);
	low[n] = '\0';
	return cJSON_CreateString(low);
}

/* "80,443,1000:2000", "RELATED,ESTABLISHED" */
static cJSON *several(const char *text, cJSON *(*one)(const char *text), struct arena *a)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t n; *text; text += n + (text[n] == ',')) {
		n = strcspn(text, ",");
		cJSON_AddItemToArray(list, one(arena_strndup(a, text, n)));
	}
	return list;
}

/* "--tcp-flags MASK WANTED", "--syn" */
void ipt_ask_flags(struct ipt *r, const char *mask, const char *want)
{
	cJSON *left = cJSON_CreateObject(), *and = json_array(left, "&");

	cJSON_AddItemToArray(and, ipt_payload("tcp", "flags"));
	cJSON_AddItemToArray(and, several(mask, a_word, r->n->a));
	ipt_ask(r, left, several(streq(want, "NONE") ? "" : want, a_word, r->n->a));
}

/* --- options of modules ------------------------------------------------------------- */
static void ask_ports(struct ipt *r, const char *opt)
{
	bool source = starts_with(opt, "--sport");

	ipt_ask(r, ipt_payload("th", source ? "sport" : "dport"),
		several(ipt_value(r), port, r->n->a));
}

/* Of either end. */
static void ask_either_port(struct ipt *r, const char *opt)
{
	cJSON *key = ipt_payload("th", "dport");

	(void)opt;
	cJSON_AddItemToObject(key, "or", ipt_payload("th", "sport"));
	ipt_ask(r, key, several(ipt_value(r), port, r->n->a));
}

/* "10.0.0.1-10.0.0.9" */
static void ask_range(struct ipt *r, const char *opt)
{
	const char *text = ipt_value(r), *dash = strchr(text, '-');
	cJSON *o = cJSON_CreateObject(), *range = json_array(o, "range");

	json_push_str(range, dash ? arena_strndup(r->n->a, text, (size_t)(dash - text)) : text);
	json_push_str(range, dash ? dash + 1 : text);
	ipt_ask(r, ipt_payload(r->c->family, streq(opt, "--src-range") ? "saddr" : "daddr"), o);
}

static void ask_state(struct ipt *r, const char *opt)
{
	(void)opt;
	ipt_ask(r, ipt_key("ct", "state"), several(ipt_value(r), a_word, r->n->a));
}

static void ask_direction(struct ipt *r, const char *opt)
{
	(void)opt;
	ipt_ask(r, ipt_key("ct", "direction"), a_word(ipt_value(r)));
}

static void ask_type(struct ipt *r, const char *opt)
{
	cJSON *key = cJSON_CreateObject(), *fib = json_object(key, "fib");

	json_str(fib, "result", "type");
	json_push_str(json_array(fib, "flags"), streq(opt, "--dst-type") ? "daddr" : "saddr");
	ipt_ask(r, key, several(ipt_value(r), a_word, r->n->a));
}

/* "unicast" is what comes to this host alone. */
static void ask_packet_type(struct ipt *r, const char *opt)
{
	const char *type = ipt_value(r);

	(void)opt;
	ipt_ask(r, ipt_key("meta", "pkttype"),
		cJSON_CreateString(streq(type, "unicast") ? "host" : type));
}

/* What most packets have not: a mark that some other rule gives, a place in a list of ipset's. */
static void ask_mark(struct ipt *r, const char *opt)
{
	(void)opt;
	ipt_ask(r, ipt_key("meta", "mark"), a_word(ipt_value(r)));
}

static void ask_list(struct ipt *r, const char *opt)
{
	const char *name = ipt_value(r);

	(void)opt;
	(void)ipt_value(r); /* by which of its addresses */
	ipt_ask(r, ipt_key("ipset", name), cJSON_CreateTrue());
}

/* How many connections there may be of one, or of all. */
static void ask_count(struct ipt *r, const char *opt)
{
	cJSON *count = json_object(json_push_object(r->expr), "ct count");

	(void)opt;
	json_num(count, "val", strtod(ipt_value(r), NULL));
}

static void ask_limit(struct ipt *r, const char *opt)
{
	(void)opt;
	cJSON_AddNullToObject(json_push_object(r->expr), "limit");
	(void)ipt_value(r);
}

/* "3", "3/1": type and code; save prints numbers, whatever was typed. */
static void ask_icmp(struct ipt *r, const char *opt)
{
	const char *text = ipt_value(r), *slash = strchr(text, '/');
	const char *of = streq(opt, "--icmp-type") ? "icmp" : "icmpv6";
	char *end;
	double type = strtod(text, &end);

	if (end == text || (slash && r->no)) {
		ipt_unknown(r);
		return;
	}
	ipt_ask(r, ipt_payload(of, "type"), cJSON_CreateNumber(type));
	if (slash)
		ipt_ask(r, ipt_payload(of, "code"), cJSON_CreateNumber(strtod(slash + 1, NULL)));
}

static void ask_hops(struct ipt *r, const char *opt)
{
	(void)opt;
	ipt_ask(r, ipt_payload("ip6", "hoplimit"), cJSON_CreateNumber(strtod(ipt_value(r), NULL)));
}

/* A header that the first packet of a TCP connection has not. */
static void ask_header(struct ipt *r, const char *name)
{
	ipt_ask(r, key2("exthdr", "name", name, NULL, NULL), cJSON_CreateTrue());
}

static void ask_fragment(struct ipt *r, const char *opt)
{
	(void)opt;
	ask_header(r, "frag");
}

/* "ipv6-frag", "ipv6-nonxt", "protocol" ...; the last two may be of any packet. */
static void ask_headers(struct ipt *r, const char *opt)
{
	const char *names = ipt_value(r);

	(void)opt;
	if (r->no || strstr(names, "non") || strstr(names, "prot"))
		ipt_unknown(r);
	else
		ask_header(r, "hbh");
}

static void ask_tcp_flags(struct ipt *r, const char *opt)
{
	const char *mask = streq(opt, "--syn") ? "FIN,SYN,RST,ACK" : ipt_value(r);

	ipt_ask_flags(r, mask, streq(opt, "--syn") ? "SYN" : ipt_value(r));
}

/* rpfilter: nothing comes from a peer of ours that has no way back. */
static void ask_way_back(struct ipt *r, const char *opt)
{
	cJSON *key = cJSON_CreateObject();

	(void)opt;
	(void)json_object(key, "fib");
	ipt_ask(r, key, cJSON_CreateFalse());
}

/* Modules whose options are known here, or that ask nothing. */
static void ask_with(struct ipt *r, const char *opt)
{
	static const char *const known[] = {"tcp",	"udp",	      "multiport", "conntrack",
					    "state",	"addrtype",   "limit",	   "comment",
					    "rpfilter", "icmp",	      "icmp6",	   "pkttype",
					    "mark",	"connmark",   "set",	   "connlimit",
					    "iprange",	"ipv6header", "hl"};
	/* of headers that they ask about, whatever more they ask of them */
	static const char *const none[] = {"rt", "frag", "hbh", "dst", "mh"};

	(void)opt;
	r->module = ipt_value(r);
	if (is_among(r->module, none, ARRAY_LEN(none)))
		ask_header(r, r->module);
	else if (!is_among(r->module, known, ARRAY_LEN(known)))
		ipt_unknown(r);
}

static void skip(struct ipt *r, const char *opt)
{
	(void)opt;
	(void)ipt_value(r);
}

static const struct {
	const char *opt;
	void (*ask)(struct ipt *r, const char *opt);
} options[] = {
	{"-m", ask_with},
	{"-f", ask_fragment},
	{"--sport", ask_ports},
	{"--sports", ask_ports},
	{"--dport", ask_ports},
	{"--dports", ask_ports},
	{"--ports", ask_either_port},
	{"--src-range", ask_range},
	{"--dst-range", ask_range},
	{"--ctstate", ask_state},
	{"--state", ask_state},
	{"--ctdir", ask_direction},
	{"--src-type", ask_type},
	{"--dst-type", ask_type},
	{"--pkt-type", ask_packet_type},
	{"--mark", ask_mark},
	{"--match-set", ask_list},
	{"--connlimit-above", ask_count},
	{"--connlimit-upto", ask_count},
	{"--limit", ask_limit},
	{"--icmp-type", ask_icmp},
	{"--icmpv6-type", ask_icmp},
	{"--hl-eq", ask_hops},
	{"--header", ask_headers},
	{"--syn", ask_tcp_flags},
	{"--tcp-flags", ask_tcp_flags},
	{"--invert", ask_way_back},
	{"--comment", skip},
	{"--limit-burst", skip},
	{"--connlimit-mask", skip},
};

void ipt_option(struct ipt *r, const char *opt)
{
	static const char *const nothing[] = {"--validmark",	   "--loose", "--accept-local",
					      "--connlimit-saddr", "--soft",  "--connlimit-daddr"};

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (streq(opt, options[i].opt)) {
			options[i].ask(r, opt);
			return;
		}
	if (*opt == '-' && !is_among(opt, nothing, ARRAY_LEN(nothing)))
		ipt_unknown(r);
}
