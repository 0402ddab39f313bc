/* What iptables-save prints, as chains and rules among nftables' own. */
#include "lib/report/json.h"
#include "probes/port/nft.h"

/* The chains that packets to and from this host itself pass; others are reached by jumps. */
static const struct {
	const char *table, *name, *hook;
	int prio;
} bases[] = {
	{"raw", "PREROUTING", "prerouting", -300},
	{"raw", "OUTPUT", "output", -300},
	{"mangle", "PREROUTING", "prerouting", -150},
	{"mangle", "INPUT", "input", -150},
	{"mangle", "OUTPUT", "output", -150},
	{"mangle", "POSTROUTING", "postrouting", -150},
	{"nat", "PREROUTING", "prerouting", -100},
	{"nat", "OUTPUT", "output", -100},
	{"nat", "POSTROUTING", "postrouting", 100},
	{"filter", "INPUT", "input", 0},
	{"filter", "OUTPUT", "output", 0},
	{"security", "INPUT", "input", 50},
	{"security", "OUTPUT", "output", 50},
};

struct save {
	struct nft *n;
	const char *family, *tool;
	size_t first; /* of its chains */
};

struct line {
	size_t chain; /* in nft.chains */
	const char *text;
};
typedef LIST(struct line) line_list;

/* The next line of @text in the arena, or NULL at the end. */
static const char *next_line(const char **at, const char *end, struct arena *a)
{
	const char *line = *at, *eol;

	if (line >= end)
		return NULL;
	eol = memchr(line, '\n', (size_t)(end - line));
	*at = eol ? eol + 1 : end;
	return arena_strndup(a, line, (size_t)((eol ? eol : end) - line));
}

/* ":INPUT DROP [0:0]" */
static void add_chain(struct save *s, const char *table, const char *line)
{
	struct nft_chain c = {.family = s->family, .table = table, .tool = s->tool};
	size_t n = strcspn(++line, " ");
	const char *policy = line + n + strspn(line + n, " ");

	if (!n)
		return;
	c.name = arena_strndup(s->n->a, line, n);
	c.type = streq(table, "nat") ? "nat" : "filter";
	for (size_t i = 0; i < ARRAY_LEN(bases); i++)
		if (streq(bases[i].table, table) && streq(bases[i].name, c.name)) {
			c.hook = bases[i].hook;
			c.prio = bases[i].prio;
		}
	if (c.hook)
		c.policy = starts_with(policy, "DROP") ? "drop" : "accept";
	nft_add_chain(s->n, &c);
}

/* nft lists the tables of iptables-nft too, with holes where it has no words. */
static void hide(struct save *s, const char *table)
{
	for (size_t i = 0; i < s->first; i++) {
		struct nft_chain *c = &s->n->chains.v[i];

		if (!c->tool && streq(c->family, s->family) && streq(c->table, table))
			c->hook = NULL;
	}
}

static void take_line(struct save *s, const char *table, const char *line, line_list *rules)
{
	const char *chain;
	size_t at;

	if (!table)
		return;
	if (streq(table, "nat"))
		s->n->translates |= strstr(line, "-j DNAT") || strstr(line, "-j REDIRECT");
	if (*line == ':')
		add_chain(s, table, line);
	if (!starts_with(line, "-A "))
		return;
	chain = arena_strndup(s->n->a, line + 3, strcspn(line + 3, " "));
	at = nft_chain_at(s->n, s->tool, s->family, table, chain);
	if (at != SIZE_MAX)
		*LIST_ADD(s->n->a, rules) = (struct line){at, line};
}

/* A list that has grown may stand elsewhere: rules follow their chains. */
static void follow(struct nft *n, const struct nft_chain *before)
{
	for (size_t i = 0; i < n->rules.n; i++)
		n->rules.v[i].chain = n->chains.v + (n->rules.v[i].chain - before);
}

/* What they say can be told when all chains are known: a target may be one. */
static void add_rules(struct save *s, const line_list *lines)
{
	struct nft *n = s->n;
	nft_loose_list rules = {0};

	if (!n->more)
		n->more = cJSON_CreateArray();
	for (size_t i = 0; i < lines->n; i++) {
		const struct line *l = &lines->v[i];
		const struct nft_chain *c = &n->chains.v[l->chain];
		cJSON *expr = iptables_rule(n, c, l->text + strlen("-A ") + strlen(c->name));

		cJSON_AddItemToArray(n->more, expr);
		*LIST_ADD(n->a, &rules) =
			(struct nft_loose){l->chain, {.expr = expr, .text = l->text}};
	}
	nft_group(n, s->first, &rules);
}

void nft_add_iptables(struct nft *n, const char *family, const char *tool, bool legacy,
		      const char *text, size_t len)
{
	struct save s = {.n = n, .family = family, .tool = tool, .first = n->chains.n};
	const struct nft_chain *before = n->chains.v;
	const char *at = text, *line, *table = NULL;
	line_list rules = {0};

	while ((line = next_line(&at, text + len, n->a))) {
		if (*line == '*') {
			table = line + 1;
			if (!legacy)
				hide(&s, table);
		} else {
			take_line(&s, table, line, &rules);
		}
	}
	if (n->chains.v != before)
		follow(n, before);
	add_rules(&s, &rules);
}
