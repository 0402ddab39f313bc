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
	size_t last;  /* whose rules came last */
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
	*LIST_ADD(s->n->a, &s->n->chains) = c;
}

static bool is_chain(const struct save *s, size_t i, const char *table, const char *name, size_t n)
{
	const struct nft_chain *c = &s->n->chains.v[i];

	return c->table == table && strlen(c->name) == n && !strncmp(c->name, name, n);
}

/* Rules of a chain stand together, as a rule. */
static bool find_chain(struct save *s, const char *table, const char *name, size_t n)
{
	if (s->last < s->n->chains.n && is_chain(s, s->last, table, name, n))
		return true;
	for (s->last = s->first; s->last < s->n->chains.n; s->last++)
		if (is_chain(s, s->last, table, name, n))
			return true;
	return false;
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
	size_t n;

	if (!table)
		return;
	if (streq(table, "nat"))
		s->n->translates |= strstr(line, "-j DNAT") || strstr(line, "-j REDIRECT");
	if (*line == ':')
		add_chain(s, table, line);
	if (!starts_with(line, "-A "))
		return;
	n = strcspn(line + 3, " ");
	if (find_chain(s, table, line + 3, n))
		*LIST_ADD(s->n->a, rules) = (struct line){s->last, line};
}

/* A list that has grown may stand elsewhere: rules follow their chains. */
static void follow(struct nft *n, const struct nft_chain *before)
{
	for (size_t i = 0; i < n->rules.n; i++)
		n->rules.v[i].chain = n->chains.v + (n->rules.v[i].chain - before);
}

static void add_rule(struct save *s, struct nft_chain *c, const char *line)
{
	size_t skip = 3 + strlen(c->name);
	cJSON *expr = iptables_rule(s->n, c, line + skip);

	if (!s->n->more)
		s->n->more = cJSON_CreateArray();
	cJSON_AddItemToArray(s->n->more, expr);
	*LIST_ADD(s->n->a, &s->n->rules) =
		(struct nft_rule){.chain = c, .expr = expr, .text = line};
	c->nrules++;
}

/* Grouped by chain, whatever their order in the text; in a chain the order is theirs. */
static void add_rules(struct save *s, const line_list *rules)
{
	size_t n = s->n->chains.n - s->first, at = 0;
	size_t *count = arena_alloc(s->n->a, (n + 1) * sizeof(*count));
	struct line *sorted = arena_alloc(s->n->a, (rules->n + 1) * sizeof(*sorted));

	for (size_t i = 0; i < rules->n; i++)
		count[rules->v[i].chain - s->first + 1]++;
	for (size_t i = 0; i < n; i++)
		count[i + 1] += count[i];
	for (size_t i = 0; i < rules->n; i++)
		sorted[count[rules->v[i].chain - s->first]++] = rules->v[i];
	for (size_t i = 0; i < n; i++) {
		struct nft_chain *c = &s->n->chains.v[s->first + i];

		c->first_rule = s->n->rules.n;
		for (; at < rules->n && sorted[at].chain == s->first + i; at++)
			add_rule(s, c, sorted[at].text);
	}
}

void nft_add_iptables(struct nft *n, const char *family, const char *tool, bool legacy,
		      const char *text, size_t len)
{
	struct save s = {
		.n = n, .family = family, .tool = tool, .first = n->chains.n, .last = SIZE_MAX};
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
