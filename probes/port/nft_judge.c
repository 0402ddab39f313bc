/* The way of a packet through the chains of its hook. */
#include "lib/report/json.h"
#include "probes/port/nft.h"

enum { MAX_JUMPS = 16, MAX_STEPS = 200000 };

enum step { GO_ON, RETURN, PERHAPS_RETURN, ENDED };

struct walk {
	const struct nft *n;
	const struct nft_packet *asked;
	struct nft_packet p; /* as the base chain sees it */
	const struct nft_chain *base;
	struct nft_answer answer; /* of the base chain we are in */
	bool ended;		  /* answer is final there */
	bool notrack;		  /* a rule of an earlier chain says so */
	enum nft_doubt may_pass;  /* some rule there perhaps accepts it; SURE: none */
	enum nft_doubt back;	  /* of the last PERHAPS_RETURN */
	struct nft_answer doubt;  /* the first rule that only perhaps stops it; of all chains */
	bool doubted;
	unsigned steps;
};

static enum step walk_chain(struct walk *w, const struct nft_chain *c, unsigned depth,
			    enum nft_doubt doubt);

static enum nft_doubt doubts(enum nft_doubt x, enum nft_doubt y) { return x > y ? x : y; }

static enum step perhaps_return(struct walk *w, enum nft_doubt doubt)
{
	w->back = doubt;
	return doubt == SURE ? RETURN : PERHAPS_RETURN;
}

/* A verdict that perhaps applies is remembered; the walk goes on as if it did not. */
static enum step decide(struct walk *w, enum nft_verdict v, const struct nft_rule *r,
			enum nft_doubt doubt)
{
	const struct nft_answer x = {.verdict = v, .rule = r, .chain = r->chain, .base = w->base};

	if (doubt == SURE) {
		w->answer = x;
		w->ended = true;
		return ENDED;
	}
	if (v == NFT_ACCEPT) {
		w->may_pass = doubts(w->may_pass, doubt);
	} else if (!w->doubted) {
		w->doubt = x;
		w->doubt.alike = doubt == ALIKE;
		w->doubted = true;
	}
	return GO_ON;
}

static enum step follow(struct walk *w, const struct nft_rule *r, const cJSON *jump, bool is_goto,
			unsigned depth, enum nft_doubt doubt)
{
	const char *name = json_get_str(jump, "target");
	const struct nft_chain *to = name ? nft_find_chain(w->n, r->chain, name) : NULL;
	enum step s;

	if (!to || depth >= MAX_JUMPS)
		return GO_ON;
	s = walk_chain(w, to, depth + 1, doubt);
	if (s == ENDED)
		return ENDED;
	return is_goto ? perhaps_return(w, doubt) : GO_ON;
}

/* Some program decides, and what it accepts goes on behind this base chain. */
static enum step ask_program(struct walk *w, const struct nft_rule *r)
{
	(void)decide(w, NFT_ACCEPT, r, UNLIKE);
	return decide(w, NFT_DROP, r, UNLIKE);
}

/* What leaves by the name of another machine is answered there. */
static bool is_disguised(const struct walk *w, const cJSON *snat)
{
	const char *text = json_get_str(snat, "addr");
	union addr as;

	return text && !w->p.input && !addr_parse(text, &as) &&
	       as.sa.sa_family == w->p.from.sa.sa_family && !addr_equal(&as, &w->p.from);
}

/* It answers a SYN by itself, lets in whoever answers that, and drops what else has none of its
 * cookies: nft's takes a SYN-ACK for such, iptables' asks for SYNs alone. */
static enum step meet_proxy(struct walk *w, const struct nft_rule *r, enum nft_doubt doubt)
{
	if (w->p.udp || w->p.icmp6)
		return GO_ON;
	return decide(w, w->p.answer ? NFT_DROP : NFT_ACCEPT, r, doubt);
}

/* "reject with icmp": nft does not say that such a rule asks for IPv4 first. */
static bool is_others(const struct nft_packet *p, const char *type)
{
	return streq(type, p->from.sa.sa_family == AF_INET ? "icmpv6" : "icmp");
}

static enum step statement(struct walk *w, const struct nft_rule *r, const cJSON *s, unsigned depth,
			   enum nft_doubt doubt)
{
	if (json_get(s, "accept"))
		return decide(w, NFT_ACCEPT, r, doubt);
	if (json_get(s, "drop"))
		return decide(w, NFT_DROP, r, doubt);
	if (json_get(s, "reject") && !is_others(&w->p, json_text(json_get(s, "reject"), "type")))
		return decide(w, NFT_REJECT, r, doubt);
	if (json_get(s, "synproxy"))
		return meet_proxy(w, r, doubt);
	if (json_get(s, "queue"))
		return ask_program(w, r);
	if (json_get(s, "dnat") || json_get(s, "redirect")) /* only chains of that type have it */
		return decide(w, NFT_DROP, r, doubt);
	if (json_get(s, "snat"))
		return decide(w, is_disguised(w, json_get(s, "snat")) ? NFT_DROP : NFT_ACCEPT, r,
			      doubt);
	if (json_get(s, "masquerade"))
		return decide(w, NFT_ACCEPT, r, doubt);
	if (json_get(s, "notrack"))
		w->notrack |= doubt == SURE;
	if (json_get(s, "return"))
		return perhaps_return(w, doubt);
	if (json_get(s, "jump"))
		return follow(w, r, json_get(s, "jump"), false, depth, doubt);
	if (json_get(s, "goto"))
		return follow(w, r, json_get(s, "goto"), true, depth, doubt);
	return GO_ON;
}

/* Pairs [key, verdict], in place or in a named map. */
static enum step verdict_map(struct walk *w, const struct nft_rule *r, const cJSON *vmap,
			     unsigned depth, enum nft_doubt doubt)
{
	const cJSON *key = json_get(vmap, "key"), *data = json_get(vmap, "data");
	const struct nft_set *map;
	enum step all = GO_ON;

	if (cJSON_IsString(data) && data->valuestring[0] == '@') {
		map = nft_find_set(w->n, r->chain, data->valuestring + 1);
		data = map ? map->elem : NULL;
	} else {
		data = json_get(data, "set");
	}
	for (const cJSON *i = cJSON_IsArray(data) ? data->child : NULL; i; i = i->next) {
		const cJSON *want = cJSON_GetArrayItem(i, 0), *verdict = cJSON_GetArrayItem(i, 1);
		enum truth t = nft_is(w->n, r, key, want, &w->p);
		enum step s;

		if (t == NO || ++w->steps > MAX_STEPS)
			continue;
		s = statement(w, r, verdict, depth,
			      t == YES ? doubt : doubts(doubt, nft_doubt_of_key(key)));
		if (s == ENDED || s == RETURN || (doubt == SURE && t == YES))
			return s;
		all = s == GO_ON ? all : s;
	}
	return all;
}

static enum step walk_rule(struct walk *w, const struct nft_rule *r, unsigned depth,
			   enum nft_doubt doubt)
{
	for (const cJSON *s = r->expr ? r->expr->child : NULL; s; s = s->next) {
		const cJSON *match = json_get(s, "match"), *vmap = json_get(s, "vmap");
		enum step step = GO_ON;

		if (++w->steps > MAX_STEPS)
			return GO_ON;
		if (match) {
			enum truth t = nft_match(w->n, r, match, &w->p);

			if (t == NO)
				return GO_ON;
			if (t == PERHAPS)
				doubt = doubts(doubt, nft_doubt_of(s));
		} else if (nft_is_condition(s)) {
			doubt = doubts(doubt, nft_doubt_of(s));
		} else if (vmap) {
			step = verdict_map(w, r, vmap, depth, doubt);
		} else {
			step = statement(w, r, s, depth, doubt);
		}
		if (step != GO_ON)
			return step;
	}
	return GO_ON;
}

static enum step walk_chain(struct walk *w, const struct nft_chain *c, unsigned depth,
			    enum nft_doubt doubt)
{
	for (size_t i = 0; i < c->nrules && w->steps < MAX_STEPS; i++) {
		enum step s = walk_rule(w, &w->n->rules.v[c->first_rule + i], depth, doubt);

		if (s == ENDED)
			return ENDED;
		if (s == RETURN)
			break;
		if (s == PERHAPS_RETURN) /* perhaps nothing behind it is looked at */
			doubt = doubts(doubt, w->back);
	}
	return GO_ON;
}

static bool is_of_card(const struct nft_chain *c, const char *iface)
{
	const cJSON *i = cJSON_IsArray(c->devs) ? c->devs->child : c->devs;

	for (; i && iface; i = cJSON_IsArray(c->devs) ? i->next : NULL)
		if (cJSON_IsString(i) && streq(i->valuestring, iface))
			return true;
	return !c->devs || !iface;
}

static bool is_nat(const struct nft_chain *c) { return c->type && streq(c->type, "nat"); }

static bool concerns(const struct nft_chain *c, const struct nft_packet *p, const char *hook)
{
	const char *family = p->from.sa.sa_family == AF_INET ? "ip" : "ip6";

	if (!c->hook || !streq(c->hook, hook))
		return false;
	if (streq(hook, "ingress") || streq(hook, "egress"))
		return (streq(c->family, "netdev") || streq(c->family, "inet")) &&
		       is_of_card(c, p->iface);
	return streq(c->family, "inet") || streq(c->family, family);
}

/*
 * The next base chain of @hook in order of priority after @last, which is NULL for the
 * first. Of equal ones the kernel runs the one that was made last first.
 */
static const struct nft_chain *next_base(const struct nft *n, const struct nft_packet *p,
					 const char *hook, bool nat, const struct nft_chain *last)
{
	const struct nft_chain *best = NULL;

	for (size_t i = 0; i < n->chains.n; i++) {
		const struct nft_chain *c = &n->chains.v[i];

		if (!concerns(c, p, hook) || is_nat(c) != nat ||
		    (last && (c->prio < last->prio || (c->prio == last->prio && c >= last))))
			continue;
		if (!best || c->prio <= best->prio)
			best = c;
	}
	return best;
}

/* Connections are told apart at priority -200 of the first hook behind the card. */
static struct nft_packet as_seen(const struct walk *w, const struct nft_chain *c)
{
	enum { TRACKING = -200 };
	struct nft_packet p = *w->asked;
	bool first = streq(c->hook, "prerouting") || streq(c->hook, "output");

	p.untracked = streq(c->hook, "ingress") || (first && c->prio < TRACKING);
	p.translated = w->n->translates;
	p.notrack = w->notrack && !p.untracked;
	return p;
}

/* What one base chain says; doubts stay in @w. */
static enum nft_verdict ask_base(struct walk *w, const struct nft_chain *c)
{
	w->base = c;
	w->p = as_seen(w, c);
	w->answer = (struct nft_answer){.chain = c, .base = c};
	w->ended = false;
	w->may_pass = SURE;
	(void)walk_chain(w, c, 0, SURE);
	if (!w->ended && c->policy && streq(c->policy, "drop"))
		w->answer.verdict = NFT_DROP;
	w->answer.perhaps = w->may_pass != SURE && w->answer.verdict != NFT_ACCEPT;
	w->answer.alike = w->answer.perhaps && w->may_pass == ALIKE;
	return w->answer.verdict;
}

enum { HOOKS = 3 };

/* The hooks that it passes at a host, in their order. */
static const char *hook_of(const struct nft_packet *p, unsigned i)
{
	static const char *const in[HOOKS] = {"ingress", "prerouting", "input"};
	static const char *const out[HOOKS] = {"output", "postrouting", "egress"};

	return p->input ? in[i] : out[i];
}

struct nft_answer nft_judge(const struct nft *n, const struct nft_packet *p)
{
	struct walk w = {.n = n, .asked = p};

	for (unsigned i = 0; i < HOOKS; i++) {
		const struct nft_chain *c = NULL;

		while ((c = next_base(n, p, hook_of(p, i), false, c))) {
			if (ask_base(&w, c) == NFT_ACCEPT)
				continue;
			return w.answer;
		}
	}
	if (w.doubted) {
		w.doubt.perhaps = true;
		w.doubt.seldom = nft_stops_seldom(w.doubt.rule);
		return w.doubt;
	}
	return (struct nft_answer){.verdict = NFT_ACCEPT};
}

/* The first packet of a connection, which a rule of ours sends elsewhere, or by another name. */
static struct nft_answer judge_nat(const struct nft *n, const struct nft_packet *p)
{
	struct walk w = {.n = n, .asked = p};

	for (unsigned i = 0; i < HOOKS && !p->answer; i++) {
		const struct nft_chain *c = NULL;

		while ((c = next_base(n, p, hook_of(p, i), true, c)))
			if (ask_base(&w, c) != NFT_ACCEPT)
				return w.answer;
	}
	return (struct nft_answer){.verdict = NFT_ACCEPT};
}

size_t nft_judge_all(const struct nft *n, const struct nft_packet *p, struct nft_answer *ret,
		     size_t max)
{
	size_t found = 0;
	bool notrack = false;

	for (unsigned i = 0; i < HOOKS; i++) {
		const struct nft_chain *c = NULL;

		while (found < max && (c = next_base(n, p, hook_of(p, i), false, c))) {
			struct walk w = {.n = n, .asked = p, .notrack = notrack};
			bool passes = ask_base(&w, c) == NFT_ACCEPT;

			notrack = w.notrack;
			if (passes)
				continue;
			ret[found++] = w.answer;
		}
	}
	if (!found && max) {
		*ret = nft_judge(n, p);
		if (ret->verdict == NFT_ACCEPT)
			*ret = judge_nat(n, p);
		found = ret->verdict != NFT_ACCEPT;
	}
	return found;
}
