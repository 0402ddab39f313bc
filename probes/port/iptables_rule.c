/*
 * One rule of iptables-save in the words of nft's JSON. What is not known here
 * stands there as a match of some kind ("xt"), which perhaps applies.
 */
#include "lib/report/json.h"
#include "probes/port/nft.h"

#include <ctype.h>

struct rule {
	const struct nft *n;
	const struct nft_chain *c;
	cJSON *expr;
	str_list words;
	size_t at;
	bool no;	    /* a "!" stands before the option */
	const char *module; /* "-m", the last one; NULL: none yet */
};

/* --- words -------------------------------------------------------------------------- */
/* One word, its quotes and backslashes gone; NULL at the end. */
static const char *next_word(const char **at, struct arena *a)
{
	const char *p = *at + strspn(*at, " ");
	char *word = arena_alloc(a, strlen(p) + 1), *to = word;
	bool quoted = *p == '"';

	if (!*p)
		return NULL;
	for (p += quoted; *p && *p != (quoted ? '"' : ' '); p++) {
		if (*p == '\\' && p[1])
			p++;
		*to++ = *p;
	}
	*at = p + (quoted && *p);
	return word;
}

static const char *value(struct rule *r) { return r->at < r->words.n ? r->words.v[r->at++] : ""; }

/* --- what it asks -------------------------------------------------------------------- */
static cJSON *key2(const char *kind, const char *a, const char *av, const char *b, const char *bv)
{
	cJSON *key = cJSON_CreateObject(), *in = json_object(key, kind);

	json_str(in, a, av);
	if (b)
		json_str(in, b, bv);
	return key;
}

static cJSON *payload(const char *protocol, const char *field)
{
	return key2("payload", "protocol", protocol, "field", field);
}

static cJSON *key1(const char *kind, const char *name) { return key2(kind, "key", name, NULL, 0); }

static void add_match(struct rule *r, cJSON *left, cJSON *right)
{
	cJSON *match = json_object(json_push_object(r->expr), "match");

	json_str(match, "op", r->no ? "!=" : "==");
	cJSON_AddItemToObject(match, "left", left);
	cJSON_AddItemToObject(match, "right", right);
}

/* What the module named last looks at. */
static void add_unknown(struct rule *r)
{
	json_str(json_push_object(r->expr), "xt", r->module ?: "");
}

static cJSON *address(const char *text, struct arena *a)
{
	const char *slash = strchr(text, '/');
	cJSON *o, *prefix;
	char *end;
	long len = slash ? strtol(slash + 1, &end, 10) : 0;

	if (!slash || *end) /* a mask that is no length: it perhaps matches */
		return cJSON_CreateString(text);
	o = cJSON_CreateObject();
	prefix = json_object(o, "prefix");
	json_str(prefix, "addr", arena_strndup(a, text, (size_t)(slash - text)));
	json_num(prefix, "len", (double)len);
	return o;
}

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

/* "eth+" is every interface whose name begins so. */
static void ask_iface(struct rule *r, const char *key)
{
	const char *name = value(r);
	size_t n = strlen(name);

	if (n && name[n - 1] == '+')
		name = arena_printf(r->n->a, "%.*s*", (int)n - 1, name);
	add_match(r, key1("meta", key), cJSON_CreateString(name));
}

static void ask_protocol(struct rule *r)
{
	const char *name = value(r);

	if (streq(name, "all"))
		return;
	name = streq(name, "6") ? "tcp" : streq(name, "17") ? "udp" : name;
	add_match(r, key1("meta", "l4proto"), cJSON_CreateString(name));
}

/* "--tcp-flags MASK WANTED", "--syn" */
static void ask_flags(struct rule *r, const char *mask, const char *want)
{
	cJSON *left = cJSON_CreateObject(), *and = json_array(left, "&");

	cJSON_AddItemToArray(and, payload("tcp", "flags"));
	cJSON_AddItemToArray(and, several(mask, a_word, r->n->a));
	add_match(r, left, several(streq(want, "NONE") ? "" : want, a_word, r->n->a));
}

static void ask_type(struct rule *r, const char *whose)
{
	cJSON *key = cJSON_CreateObject(), *fib = json_object(key, "fib");

	json_str(fib, "result", "type");
	json_push_str(json_array(fib, "flags"), whose);
	add_match(r, key, several(value(r), a_word, r->n->a));
}

/* What most packets have not: a mark that some other rule gives, a place in a list of ipset's. */
static void ask_mark(struct rule *r) { add_match(r, key1("meta", "mark"), a_word(value(r))); }

static void ask_list(struct rule *r)
{
	const char *name = value(r);

	(void)value(r); /* by which of its addresses */
	add_match(r, key1("ipset", name), cJSON_CreateTrue());
}

/* How many connections there may be of one, or of all. */
static void ask_count(struct rule *r)
{
	cJSON *count = json_object(json_push_object(r->expr), "ct count");

	json_num(count, "val", strtod(value(r), NULL));
}

/* rpfilter: nothing comes from a peer of ours that has no way back. */
static void ask_way_back(struct rule *r)
{
	cJSON *key = cJSON_CreateObject();

	(void)json_object(key, "fib");
	add_match(r, key, cJSON_CreateFalse());
}

/* --- what it does -------------------------------------------------------------------- */
static bool is_chain(const struct rule *r, const char *name)
{
	return nft_find_chain(r->n, r->c, name) != NULL;
}

/* "--to-source 10.0.0.1:1024-65535": the address; NULL: more than one. */
static const char *new_source(struct rule *r)
{
	const char *to = "";
	size_t n;

	while (r->at < r->words.n && !streq(to, "--to-source"))
		to = value(r);
	to = value(r);
	n = strchr(to, '.') ? strcspn(to, ":") : strcspn(to, "]");
	to = arena_strndup(r->n->a, to + (*to == '['), n - (*to == '['));
	return *to && !strchr(to, '-') ? to : NULL;
}

static void act(struct rule *r, const char *target, const char *how)
{
	static const struct {
		const char *theirs, *ours;
	} verdicts[] = {
		{"ACCEPT", "accept"},	  {"DROP", "drop"},	    {"REJECT", "reject"},
		{"RETURN", "return"},	  {"QUEUE", "queue"},	    {"NFQUEUE", "queue"},
		{"DNAT", "dnat"},	  {"REDIRECT", "redirect"}, {"MASQUERADE", "masquerade"},
		{"SYNPROXY", "synproxy"}, {"NOTRACK", "notrack"}};
	cJSON *s;

	if (streq(target, "SYNPROXY")) { /* passes over whatever else */
		r->no = false;
		ask_flags(r, "FIN,SYN,RST,ACK", "SYN");
	}
	if (streq(target, "CT") && streq(value(r), "--notrack"))
		target = "NOTRACK";
	s = json_push_object(r->expr);
	if (streq(target, "SNAT"))
		json_str(json_object(s, "snat"), "addr", new_source(r));
	for (size_t i = 0; i < ARRAY_LEN(verdicts); i++)
		if (streq(target, verdicts[i].theirs)) {
			cJSON_AddNullToObject(s, verdicts[i].ours);
			return;
		}
	if (is_chain(r, target))
		json_str(json_object(s, how), "target", target);
}

/* --- options ------------------------------------------------------------------------- */
static bool ask_head(struct rule *r, const char *opt)
{
	const char *ip = r->c->family;

	if (streq(opt, "-s"))
		add_match(r, payload(ip, "saddr"), address(value(r), r->n->a));
	else if (streq(opt, "-d"))
		add_match(r, payload(ip, "daddr"), address(value(r), r->n->a));
	else if (streq(opt, "-i"))
		ask_iface(r, "iifname");
	else if (streq(opt, "-o"))
		ask_iface(r, "oifname");
	else if (streq(opt, "-p"))
		ask_protocol(r);
	else
		return false;
	return true;
}

static bool ask_module(struct rule *r, const char *opt)
{
	struct arena *a = r->n->a;

	if (streq(opt, "--dport") || streq(opt, "--sport"))
		add_match(r, payload("th", opt + 2), port(value(r)));
	else if (streq(opt, "--dports") || streq(opt, "--sports"))
		add_match(r, payload("th", streq(opt, "--dports") ? "dport" : "sport"),
			  several(value(r), port, a));
	else if (streq(opt, "--ctstate") || streq(opt, "--state"))
		add_match(r, key1("ct", "state"), several(value(r), a_word, a));
	else if (streq(opt, "--ctdir"))
		add_match(r, key1("ct", "direction"), a_word(value(r)));
	else if (streq(opt, "--mark"))
		ask_mark(r);
	else if (streq(opt, "--match-set"))
		ask_list(r);
	else if (streq(opt, "--connlimit-above") || streq(opt, "--connlimit-upto"))
		ask_count(r);
	else if (streq(opt, "--syn"))
		ask_flags(r, "FIN,SYN,RST,ACK", "SYN");
	else if (streq(opt, "--dst-type") || streq(opt, "--src-type"))
		ask_type(r, streq(opt, "--dst-type") ? "daddr" : "saddr");
	else
		return false;
	return true;
}

/* Modules whose options are known here, or that ask nothing. */
static void ask_with(struct rule *r, const char *module)
{
	static const char *const known[] = {"tcp",   "udp",	 "multiport", "conntrack",
					    "state", "addrtype", "comment",   "rpfilter",
					    "limit", "icmp",	 "icmp6",     "pkttype",
					    "mark",  "connmark", "set",	      "connlimit"};

	r->module = module;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (streq(module, known[i]))
			return;
	add_unknown(r);
}

static void ask_other(struct rule *r, const char *opt)
{
	static const char *const nothing[] = {
		"--limit-burst",    "--validmark",	 "--loose",	     "--accept-local",
		"--connlimit-mask", "--connlimit-saddr", "--connlimit-daddr"};
	const char *mask;

	for (size_t i = 0; i < ARRAY_LEN(nothing); i++)
		if (streq(opt, nothing[i]))
			return;
	if (streq(opt, "-m")) {
		ask_with(r, value(r));
	} else if (streq(opt, "--comment")) {
		(void)value(r);
	} else if (streq(opt, "--tcp-flags")) {
		mask = value(r);
		ask_flags(r, mask, value(r));
	} else if (streq(opt, "--invert")) {
		ask_way_back(r);
	} else if (streq(opt, "--limit")) {
		cJSON_AddNullToObject(json_push_object(r->expr), "limit");
	} else if (*opt == '-') {
		add_unknown(r);
	}
}

cJSON *iptables_rule(const struct nft *n, const struct nft_chain *c, const char *words)
{
	struct rule r = {.n = n, .c = c, .expr = cJSON_CreateArray()};
	const char *opt, *word;

	while ((word = next_word(&words, n->a)))
		*LIST_ADD(n->a, &r.words) = word;
	while (r.at < r.words.n) {
		opt = value(&r);
		r.no = streq(opt, "!");
		if (r.no)
			opt = value(&r);
		if (streq(opt, "-j") || streq(opt, "-g")) {
			act(&r, value(&r), streq(opt, "-j") ? "jump" : "goto");
			break; /* how it does it is no matter */
		}
		if (!ask_head(&r, opt) && !ask_module(&r, opt))
			ask_other(&r, opt);
	}
	return r.expr;
}
