/* The rules of a rank's own that stop pairs of it: each is told once, with all whom it stops. */
#include "probes/port/mesh_self.h"

#include "lib/core/self.h"
#include "lib/core/units.h"
#include "lib/report/here.h"
#include "lib/report/json.h"

enum { MOST_TOLD = 64, PATIENCE_S = 5 };

/* Any port that @rank would ask from: the middle of where it takes them from. */
static union addr asking(const struct mesh_self *s, size_t rank)
{
	const struct mesh_card *c = &s->cards[rank];
	union addr at = s->addrs[rank];

	addr_set_port(&at, (uint16_t)(c->first + (c->last - c->first) / 2));
	return at;
}

static size_t find_rules(struct mesh_self *s, enum mesh_hook hook, size_t from,
			 const union addr *to, cJSON **ret)
{
	union addr asker = asking(s, from);

	if (hook == MESH_IN || hook == MESH_OUT)
		return mesh_rules(&s->local, hook, &s->addrs[from], to, ret);
	return mesh_rules(&s->local, hook, to, &asker, ret);
}

/* --- TCP -------------------------------------------------------------------------- */
struct told {
	enum mesh_hook hook;
	const cJSON *rule;
	cJSON *ranks; /* whom it stops; the last of them is @last */
	size_t last;
};
struct stops {
	struct mesh_self *s;
	cJSON *list;
	struct told told[MOST_TOLD];
	size_t n;
	bool cut; /* there are more */
	struct xfrm xfrm;
};

/* The same text, but for the address of whom each is about. */
static bool same_but_peer(const char *x, const char *x_peer, const char *y, const char *y_peer)
{
	const char *x_at = strstr(x, x_peer), *y_at = strstr(y, y_peer);

	if (!x_at || !y_at)
		return streq(x, y);
	return x_at - x == y_at - y && !strncmp(x, y, (size_t)(x_at - x)) &&
	       streq(x_at + strlen(x_peer), y_at + strlen(y_peer));
}

static struct told *find_told(struct stops *x, enum mesh_hook hook, const cJSON *rule)
{
	for (size_t i = 0; i < x->n; i++) {
		struct told *t = &x->told[i];

		if (t->hook == hook && streq(json_text(t->rule, "rule"), json_text(rule, "rule")) &&
		    json_get_num(t->rule, "least", 0) == json_get_num(rule, "least", 0) &&
		    same_but_peer(json_text(t->rule, "fix"), json_text(t->rule, "peer"),
				  json_text(rule, "fix"), json_text(rule, "peer")))
			return t;
	}
	return NULL;
}

/* Takes over @rule, which stops what comes from @other, or (@to_me false) goes there. */
static void tell(struct stops *x, enum mesh_hook hook, cJSON *rule, size_t other, bool to_me)
{
	struct told *t = find_told(x, hook, rule);

	if (!t && x->n == MOST_TOLD) {
		x->cut = true;
		cJSON_Delete(rule);
		return;
	}
	if (t) {
		cJSON_Delete(rule);
	} else {
		t = &x->told[x->n++];
		json_num(rule, to_me ? "to" : "from", (double)x->s->me);
		*t = (struct told){hook, rule, json_array(rule, to_me ? "from" : "to"), x->s->me};
		cJSON_AddItemToArray(x->list, rule);
	}
	if (t->last != other)
		cJSON_AddItemToArray(t->ranks, cJSON_CreateNumber((double)other));
	t->last = other;
}

/* Rules that one pair meets, each with how many of its ports would be stopped by it. */
struct met {
	cJSON *rule[MESH_MOST_RULES];
	unsigned ports[MESH_MOST_RULES];
	size_t n;
};

/* Of what one fix mends, one. */
static void meet(struct met *all, cJSON *rule)
{
	size_t i = 0;

	while (i < all->n && !streq(json_text(all->rule[i], "fix"), json_text(rule, "fix")))
		i++;
	if (i < all->n || all->n == MESH_MOST_RULES) {
		cJSON_Delete(rule);
	} else {
		all->rule[all->n++] = rule;
		all->ports[i] = 0;
	}
	if (i < all->n)
		all->ports[i]++;
}

/* What rules of ours stop a question for any port of @to, or its answer. */
static bool put_rule(struct stops *x, enum mesh_hook hook, size_t from, size_t to)
{
	struct mesh_self *s = x->s;
	union addr at = s->addrs[to];
	struct met all = {0};

	for (size_t i = 0; i < s->ports[to].n && all.n < MESH_MOST_RULES; i++) {
		cJSON *found[MESH_MOST_RULES];
		size_t n;

		addr_set_port(&at, s->ports[to].v[i]);
		n = find_rules(s, hook, from, &at, found);
		for (size_t k = 0; k < n; k++)
			meet(&all, found[k]);
	}
	for (size_t i = 0; i < all.n; i++) {
		if (cJSON_IsTrue(json_get(all.rule[i], "alike")))
			json_num(all.rule[i], "least", all.ports[i]);
		tell(x, hook, all.rule[i], to == s->me ? from : to, to == s->me);
	}
	return all.n;
}

/* No rule stops it, and yet it does not leave. */
static bool put_marked(struct stops *x, enum mesh_hook hook, size_t peer)
{
	struct mesh_self *s = x->s;
	union addr to = hook == MESH_ANSWER_OUT ? asking(s, peer) : s->addrs[peer];
	bool any = false;

	for (size_t i = 0; i < s->ports[peer].n && !any; i++) {
		cJSON *rule;

		if (hook == MESH_OUT)
			addr_set_port(&to, s->ports[peer].v[i]);
		rule = mesh_marked_rule(&s->local, hook, &s->addrs[s->me], &to);
		if (rule)
			tell(x, hook, rule, peer, hook == MESH_ANSWER_OUT);
		any = rule;
	}
	return any;
}

/* Nor is it that, but IPsec. */
static bool put_ipsec(struct stops *x, enum mesh_hook hook, size_t peer)
{
	const union addr *mine = &x->s->addrs[x->s->me], *theirs = &x->s->addrs[peer];
	bool out = hook == MESH_OUT || hook == MESH_ANSWER_OUT;
	cJSON *rule = mesh_ipsec_rule(&x->s->local, &x->xfrm, hook, out ? mine : theirs,
				      out ? theirs : mine);

	if (rule)
		tell(x, hook, rule, peer, hook == MESH_IN || hook == MESH_ANSWER_OUT);
	return rule;
}

/* Nor that, but there is no room for a new connection. */
static void put_full(struct stops *x, enum mesh_hook hook, size_t peer)
{
	cJSON *rule = mesh_full_table(&x->s->local, hook);

	if (!rule && hook == MESH_IN)
		rule = mesh_full_queue(&x->s->local, x->s->overflows);
	if (rule)
		tell(x, hook, rule, peer, hook == MESH_IN);
}

/* --- IPv6's questions for neighbours ----------------------------------------------- */
/* A rule that stops them, and of whom: of all others, mostly, where it stops any. */
struct stopped {
	struct nft_answer by;
	cJSON *ranks;
};

static cJSON *ranks_of(struct mesh_self *s, enum mesh_hook hook, const struct nft_answer *by,
		       cJSON *list)
{
	cJSON *rule = mesh_neighbour_rule(&s->local, hook, by);
	bool found = hook == MESH_FOUND;

	cJSON_AddItemToArray(list, rule);
	json_num(rule, found ? "to" : "from", (double)s->me);
	return json_array(rule, found ? "from" : "to");
}

/* Says each rule once, and no more than MESH_MOST_RULES of them; false: there are more. */
static bool put_neighbours(struct mesh_self *s, enum mesh_hook hook, cJSON *list)
{
	struct stopped known[MESH_MOST_RULES];
	struct nft_answer by;
	size_t n = 0;
	bool all = true;

	for (size_t i = 0; i < s->n; i++) {
		bool lost = hook == MESH_FOUND ? mesh_lost(s, i, s->me) : mesh_lost(s, s->me, i);
		size_t k = 0;

		if (!lost || i == s->me || s->addrs[i].sa.sa_family != AF_INET6 ||
		    !local_stops_neighbours(&s->local, &s->addrs[s->me], &s->addrs[i], &by))
			continue;
		while (k < n && (known[k].by.rule != by.rule || known[k].by.chain != by.chain))
			k++;
		all &= k < MESH_MOST_RULES;
		if (k == n && n < MESH_MOST_RULES)
			known[n++] = (struct stopped){by, ranks_of(s, hook, &by, list)};
		if (k < n)
			cJSON_AddItemToArray(known[k].ranks, cJSON_CreateNumber((double)i));
	}
	return all;
}

/* The way to a router is found by the same questions. Behind the rules, which say more. */
void mesh_neighbours(struct mesh_self *s, cJSON *line)
{
	cJSON *list = cJSON_GetObjectItem(line, "rules");
	bool found = put_neighbours(s, MESH_FOUND, list),
	     finds = put_neighbours(s, MESH_FINDS, list);

	if (!found || !finds)
		json_bool(line, "rules_cut", true);
}

/* --- all of them ------------------------------------------------------------------- */
/* What a host of theirs asks of us, or we of it: the first of these that explains it is told. */
static void put_peer(struct stops *x, size_t i)
{
	struct mesh_self *s = x->s;

	if (mesh_lost(s, i, s->me) && !put_rule(x, MESH_IN, i, s->me) &&
	    !put_ipsec(x, MESH_IN, i) && !put_rule(x, MESH_ANSWER_OUT, i, s->me) &&
	    !put_marked(x, MESH_ANSWER_OUT, i) && !put_ipsec(x, MESH_ANSWER_OUT, i))
		put_full(x, MESH_IN, i);
	if (mesh_lost(s, s->me, i) && !put_rule(x, MESH_OUT, s->me, i) &&
	    !put_marked(x, MESH_OUT, i) && !put_ipsec(x, MESH_OUT, i) &&
	    !put_rule(x, MESH_ANSWER_IN, s->me, i) && !put_ipsec(x, MESH_ANSWER_IN, i))
		put_full(x, MESH_OUT, i);
}

static void put_rules(struct mesh_self *s, cJSON *line)
{
	struct stops x = {.s = s, .list = json_array(line, "rules")};
	const char *trouble = s->local.fw.unread;
	uint64_t until = now_ns() + PATIENCE_S * NS_PER_S;
	size_t i = 0;

	xfrm_read(&x.xfrm, s->a);
	for (; i < s->n && now_ns() < until; i++)
		if (i != s->me && s->addrs[i].sa.sa_family && s->addrs[s->me].sa.sa_family)
			put_peer(&x, i);
	if (i < s->n && !trouble)
		trouble = "it has so many that they were not all judged";
	if (x.cut && !trouble)
		trouble = "more of its rules stop something than are told at a time";
	json_bool(line, "rules_known", !trouble);
	json_str(line, "rules_trouble", trouble);
	mesh_neighbours(s, line);
}

/* They could not be read; who manages them can be known all the same. */
static void put_blind(struct mesh_self *s, cJSON *line)
{
	const char *peer = "ADDRESS";

	json_str(line, "rules_trouble", s->local.fw.trouble);
	json_str(line, "rules_fix", here_line(s->a, firewall_fix_blind(&s->local.fw, peer, s->a)));
}

void mesh_stops(struct mesh_self *s, cJSON *line)
{
	json_str(line, "as_root", self_as_root(s->a, "portcheck"));
	if (s->local.fw.known)
		put_rules(s, line);
	else
		put_blind(s, line);
}
