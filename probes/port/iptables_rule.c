/*
 * One rule of iptables-save in the words of nft's JSON. What is not known here
 * stands there as a match of some kind ("xt"), which perhaps applies.
 */
#include "probes/port/iptables.h"

#include "lib/report/json.h"

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

/* --- what it asks -------------------------------------------------------------------- */
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

/* "eth+" is every interface whose name begins so. */
static void ask_iface(struct ipt *r, const char *key)
{
	const char *name = ipt_value(r);
	size_t n = strlen(name);

	if (n && name[n - 1] == '+')
		name = arena_printf(r->n->a, "%.*s*", (int)n - 1, name);
	ipt_ask(r, ipt_key("meta", key), cJSON_CreateString(name));
}

static void ask_protocol(struct ipt *r)
{
	const char *name = ipt_value(r);

	if (streq(name, "all"))
		return;
	name = streq(name, "6") ? "tcp" : streq(name, "17") ? "udp" : name;
	ipt_ask(r, ipt_key("meta", "l4proto"), cJSON_CreateString(name));
}

/* --- what it does -------------------------------------------------------------------- */
static bool is_chain(const struct ipt *r, const char *name)
{
	return nft_find_chain(r->n, r->c, name) != NULL;
}

/* "--to-source 10.0.0.1:1024-65535": the address; NULL: more than one. */
static const char *new_source(struct ipt *r)
{
	const char *to = "";
	size_t n;

	while (r->at < r->words.n && !streq(to, "--to-source"))
		to = ipt_value(r);
	to = ipt_value(r);
	n = strchr(to, '.') ? strcspn(to, ":") : strcspn(to, "]");
	to = arena_strndup(r->n->a, to + (*to == '['), n - (*to == '['));
	return *to && !strchr(to, '-') ? to : NULL;
}

static void act(struct ipt *r, const char *target, const char *how)
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
		ipt_ask_flags(r, "FIN,SYN,RST,ACK", "SYN");
	}
	if (streq(target, "CT") && streq(ipt_value(r), "--notrack"))
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
static bool ask_head(struct ipt *r, const char *opt)
{
	const char *ip = r->c->family;

	if (streq(opt, "-s"))
		ipt_ask(r, ipt_payload(ip, "saddr"), address(ipt_value(r), r->n->a));
	else if (streq(opt, "-d"))
		ipt_ask(r, ipt_payload(ip, "daddr"), address(ipt_value(r), r->n->a));
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

cJSON *iptables_rule(const struct nft *n, const struct nft_chain *c, const char *words)
{
	struct ipt r = {.n = n, .c = c, .expr = cJSON_CreateArray()};
	const char *opt, *word;

	while ((word = next_word(&words, n->a)))
		*LIST_ADD(n->a, &r.words) = word;
	while (r.at < r.words.n) {
		opt = ipt_value(&r);
		r.no = streq(opt, "!");
		if (r.no)
			opt = ipt_value(&r);
		if (streq(opt, "-j") || streq(opt, "-g")) {
			act(&r, ipt_value(&r), streq(opt, "-j") ? "jump" : "goto");
			break; /* how it does it is no matter */
		}
		if (!ask_head(&r, opt))
			ipt_option(&r, opt);
	}
	return r.expr;
}
