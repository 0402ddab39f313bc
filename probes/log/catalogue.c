#include "probes/log/catalogue.h"

#include "probes/log/busy.h"

#include "probes/log/denied.h"
#include "probes/log/hidden.h"
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

const char *signature_says(const struct signature *g, const struct signature_re *re,
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

/* What it matches is what the line says that there is not, and the word that says so is no part of
 * it. */
static bool is_denied(const struct ere *yes, const char *where, bool is_said)
{
	struct denial v[DENIALS_MAX];
	const size_t n = denied_find(where, is_said, v);
	AUTO(arena_done) struct arena a = {0};
	char *rest = n ? arena_strdup(&a, where) : NULL;

	for (size_t i = 0; i < n; i++) {
		if (v[i].is_quoted && !ere_is_in(yes, arena_strndup(&a, where + v[i].from, v[i].n)))
			continue;
		memset(rest + v[i].word, where[v[i].word] == '0' ? '1' : ' ', v[i].word_n);
		if (ere_is_in(yes, rest))
			memset(rest + v[i].from, ' ', v[i].n);
		else
			memcpy(rest + v[i].word, where + v[i].word, v[i].word_n);
		if (!ere_is_in(yes, rest))
			return true;
	}
	return false;
}

const char *signature_where(const struct signature *g, const struct signature_re *re,
			    const char *text, const char *body)
{
	const char *where = signature_says(g, re, text, body);

	return where && !is_denied(re->yes, where, body != text) ? where : NULL;
}

bool signature_match(const struct signature *g, const struct signature_re *re, const char *text,
		     const char *body)
{
	return signature_where(g, re, text, body) != NULL;
}

bool signature_may(const struct signature *g, const struct signature_re *re, const char *text)
{
	return *g->ere == '^' || re->is_either || ere_is_in(re->yes, text);
}
