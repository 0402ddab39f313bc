#include "probes/port/nft.h"

#include "lib/report/json.h"

enum { MAX_DEPTH = 64 };

void nft_done(struct nft *n)
{
	cJSON_Delete(n->doc);
	cJSON_Delete(n->more);
	n->doc = n->more = NULL;
}

static bool same_table(const char *family, const char *table, const struct nft_chain *c)
{
	return streq(family, c->family) && streq(table, c->table);
}

const struct nft_set *nft_find_set(const struct nft *n, const struct nft_chain *where,
				   const char *name)
{
	for (size_t i = 0; i < n->sets.n; i++)
		if (same_table(n->sets.v[i].family, n->sets.v[i].table, where) &&
		    streq(n->sets.v[i].name, name))
			return &n->sets.v[i];
	return NULL;
}

/* The three parts of a name; false when one is missing. */
static bool names(const cJSON *o, const char *last, const char **ret_family, const char **ret_table,
		  const char **ret_name)
{
	*ret_family = json_get_str(o, "family");
	*ret_table = json_get_str(o, "table");
	*ret_name = json_get_str(o, last);
	return *ret_family && *ret_table && *ret_name;
}

static void add_chain(struct nft *n, const cJSON *o)
{
	struct nft_chain c = {.hook = json_get_str(o, "hook"),
			      .type = json_get_str(o, "type"),
			      .policy = json_get_str(o, "policy"),
			      .devs = json_get(o, "dev")};
	double prio = json_get_num(o, "prio", 0);

	if (!names(o, "name", &c.family, &c.table, &c.name))
		return;
	c.prio = prio > -1e9 && prio < 1e9 ? (int)prio : 0;
	nft_add_chain(n, &c);
}

static void add_set(struct nft *n, const cJSON *o)
{
	struct nft_set s = {.elem = json_get(o, "elem")};

	if (names(o, "name", &s.family, &s.table, &s.name))
		*LIST_ADD(n->a, &n->sets) = s;
}

static void add_rule(const struct nft *n, const cJSON *o, nft_loose_list *ret)
{
	const char *family, *table, *chain;
	double handle = json_get_num(o, "handle", 0);
	size_t at;

	if (!names(o, "chain", &family, &table, &chain))
		return;
	at = nft_chain_at(n, NULL, family, table, chain);
	if (at == SIZE_MAX)
		return;
	*LIST_ADD(n->a, ret) =
		(struct nft_loose){at,
				   {.expr = json_get(o, "expr"),
				    .handle = handle > 0 && handle < 1e9 ? (int)handle : 0}};
}

static bool is_translation(const struct nft_rule *r)
{
	for (const cJSON *s = r->expr ? r->expr->child : NULL; s; s = s->next)
		if (json_get(s, "dnat") || json_get(s, "redirect"))
			return true;
	return false;
}

int nft_parse(const char *json, size_t len, struct arena *a, struct nft *ret, struct err *e)
{
	nft_loose_list rules = {0};
	const cJSON *list;

	*ret = (struct nft){.a = a};
	ret->doc = json_parse(json, len, MAX_DEPTH, e);
	if (!ret->doc)
		return -1;
	list = json_get(ret->doc, "nftables");
	if (!cJSON_IsArray(list)) {
		nft_done(ret);
		return err_set(e, ERR_SYS, "nft's answer has no list of rules");
	}
	for (const cJSON *i = list->child; i; i = i->next) {
		if (json_get(i, "chain"))
			add_chain(ret, json_get(i, "chain"));
		else if (json_get(i, "set"))
			add_set(ret, json_get(i, "set"));
		else if (json_get(i, "map"))
			add_set(ret, json_get(i, "map"));
	}
	for (const cJSON *i = list->child; i; i = i->next)
		if (json_get(i, "rule"))
			add_rule(ret, json_get(i, "rule"), &rules);
	nft_group(ret, 0, &rules);
	for (size_t i = 0; i < ret->rules.n && !ret->translates; i++)
		ret->translates = is_translation(&ret->rules.v[i]);
	return 0;
}

bool nft_is_foreign(const struct nft *n)
{
	for (size_t i = 0; i < n->rules.n; i++) {
		const struct nft_rule *r = &n->rules.v[i];

		for (const cJSON *s = r->expr ? r->expr->child : NULL; s; s = s->next)
			if (json_get(s, "xt"))
				return true;
	}
	return false;
}
