#include "probes/log/catalogue.h"

#include "probes/log/settings.h"

const struct signature signatures[] = {
#define SIG(id, tier, weight, ...) {id, TIER_##tier, weight, __VA_ARGS__},
#include "probes/log/catalogue.def"
#undef SIG
};

const size_t signature_count = ARRAY_LEN(signatures);

int signature_find(const char *id)
{
	for (size_t i = 0; i < signature_count; i++)
		if (streq(signatures[i].id, id))
			return (int)i;
	return -1;
}

int signature_compile(struct arena *a, const struct signature *g, struct signature_re *ret)
{
	const char *but = strstr(g->ere, SIGNATURE_BUT),
		   *no = but ? but + strlen(SIGNATURE_BUT) : "";

	ret->is_either = *g->ere != '^' && (strstr(g->ere, "|^") || strstr(g->ere, "(^"));
	ret->yes = ere_of(a, g->ere, but ? (size_t)(but - g->ere) : strlen(g->ere));
	ret->no = but ? ere_of(a, no, strlen(no)) : NULL;
	return ret->yes && (!but || ret->no) ? 0 : -1;
}

bool signature_refuses(const struct signature_re *re, const char *text, const char *body)
{
	return re->no && (ere_is_in(re->no, text) || ere_is_in(re->no, body));
}

const char *signature_where(const struct signature *g, const struct signature_re *re,
			    const char *text, const char *body)
{
	const char *where = *g->ere == '^' ? body : text;

	if (!ere_is_in(re->yes, where)) {
		if (!re->is_either || body == text || !ere_is_in(re->yes, body))
			return NULL;
		where = body;
	}
	return signature_refuses(re, text, body) ? NULL : where;
}

bool signature_match(const struct signature *g, const struct signature_re *re, const char *text,
		     const char *body)
{
	return signature_where(g, re, text, body) != NULL;
}
