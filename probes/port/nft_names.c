/* Chains by their names. Of a large Kubernetes cluster each node has tens of thousands. */
#include "probes/port/nft.h"

#include "lib/core/text.h"

enum { FIRST_SLOTS = 64 };

static uint32_t hash(const struct nft_chain *c)
{
	const char *const parts[] = {c->tool, c->family, c->table, c->name};
	uint32_t h = 0;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		h = text_hash(text_hash(h, parts[i]), " ");
	return h;
}

static bool is_one(const struct nft_chain *x, const struct nft_chain *y)
{
	return streq(x->name, y->name) && streq(x->table, y->table) &&
	       streq(x->family, y->family) && streq(x->tool ?: "", y->tool ?: "");
}

/* Where a chain of that name is, or would be. A slot has a chain's place and one more, or 0. */
static size_t *slot(const struct nft *n, const struct nft_chain *named)
{
	size_t i = hash(named) & (n->by_name.cap - 1);

	while (n->by_name.v[i] && !is_one(&n->chains.v[n->by_name.v[i] - 1], named))
		i = (i + 1) & (n->by_name.cap - 1);
	return &n->by_name.v[i];
}

static void grow(struct nft *n)
{
	n->by_name.cap = n->by_name.cap ? n->by_name.cap * 2 : FIRST_SLOTS;
	n->by_name.v = arena_alloc(n->a, n->by_name.cap * sizeof(*n->by_name.v));
	for (size_t i = 0; i < n->chains.n; i++)
		*slot(n, &n->chains.v[i]) = i + 1;
}

void nft_add_chain(struct nft *n, const struct nft_chain *c)
{
	size_t *at;

	if (2 * n->chains.n >= n->by_name.cap)
		grow(n);
	at = slot(n, c);
	if (*at)
		return;
	*LIST_ADD(n->a, &n->chains) = *c;
	*at = n->chains.n;
}

size_t nft_chain_at(const struct nft *n, const char *tool, const char *family, const char *table,
		    const char *name)
{
	const struct nft_chain named = {
		.tool = tool, .family = family, .table = table, .name = name};

	return n->by_name.cap ? *slot(n, &named) - 1 : SIZE_MAX;
}

const struct nft_chain *nft_find_chain(const struct nft *n, const struct nft_chain *where,
				       const char *name)
{
	size_t at = nft_chain_at(n, where->tool, where->family, where->table, name);

	return at < n->chains.n ? &n->chains.v[at] : NULL;
}

void nft_group(struct nft *n, size_t first, const nft_loose_list *rules)
{
	size_t chains = n->chains.n - first;
	size_t *place = arena_alloc(n->a, (chains + 1) * sizeof(*place));
	size_t from = n->rules.n;

	for (size_t i = 0; i < rules->n; i++) {
		(void)LIST_ADD(n->a, &n->rules);
		place[rules->v[i].chain - first + 1]++;
	}
	for (size_t i = 0; i < chains; i++) {
		struct nft_chain *c = &n->chains.v[first + i];

		c->nrules = place[i + 1];
		place[i + 1] += place[i];
		c->first_rule = from + place[i];
	}
	for (size_t i = 0; i < rules->n; i++) {
		const struct nft_loose *r = &rules->v[i];
		struct nft_rule *to = &n->rules.v[from + place[r->chain - first]++];

		*to = r->rule;
		to->chain = &n->chains.v[r->chain];
	}
}
