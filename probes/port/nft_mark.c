/* Rules that give what this host sends a mark, by which policy rules choose its way. */
#include "lib/report/json.h"
#include "probes/port/nft.h"

/* What is written into the mark, as far as the rule says so: 7, or mark | 7. */
static bool mark_of(const cJSON *value, uint32_t *ret)
{
	const cJSON *both = cJSON_IsObject(value) ? json_get(value, "|") : NULL;

	if (both)
		value = cJSON_GetArrayItem(both, 1);
	if (!cJSON_IsNumber(value) || value->valuedouble < 0 || value->valuedouble > UINT32_MAX)
		return false;
	*ret = (uint32_t)value->valuedouble;
	return true;
}

/* "... -j MARK --set-xmark 0x7/0xffffffff" */
static bool mark_in_text(const char *text, uint32_t *ret)
{
	const char *at = strstr(text, "-j MARK ");

	at = at ? strstr(at, "mark ") : NULL; /* --set-mark, --set-xmark, --or-mark */
	*ret = at ? (uint32_t)strtoul(at + strlen("mark "), NULL, 0) : 0;
	return at;
}

static bool sets(const struct nft_rule *r, uint32_t *ret)
{
	if (r->text)
		return mark_in_text(r->text, ret);
	for (const cJSON *s = r->expr ? r->expr->child : NULL; s; s = s->next) {
		const cJSON *mangle = json_get(s, "mangle");
		const cJSON *meta = mangle ? json_get(json_get(mangle, "key"), "meta") : NULL;

		if (meta && streq(json_text(meta, "key"), "mark"))
			return mark_of(json_get(mangle, "value"), ret);
	}
	return false;
}

static bool fits(const struct nft *n, const struct nft_rule *r, const struct nft_packet *p)
{
	for (const cJSON *s = r->expr ? r->expr->child : NULL; s; s = s->next) {
		const cJSON *match = json_get(s, "match");

		if (match && nft_match(n, r, match, p) == NO)
			return false;
	}
	return true;
}

/* Only what is marked there is sent another way: in a chain of that type, or one it jumps to. */
static bool may_send_elsewhere(const struct nft_chain *c)
{
	return !c->hook || (streq(c->hook, "output") && (c->tool || streq(c->type ?: "", "route")));
}

const struct nft_rule *nft_marks(const struct nft *n, const struct nft_packet *p, uint32_t mark,
				 uint32_t mask)
{
	uint32_t set;

	for (size_t i = 0; i < n->rules.n; i++) {
		const struct nft_rule *r = &n->rules.v[i];

		if (may_send_elsewhere(r->chain) && sets(r, &set) && (set & mask) == mark &&
		    fits(n, r, p))
			return r;
	}
	return NULL;
}
