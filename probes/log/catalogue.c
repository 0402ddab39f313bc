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

int signature_compile(const struct signature *g, struct signature_re *ret)
{
	const char *but = strstr(g->ere, SIGNATURE_BUT);
	char yes[2048];
	size_t n = but ? (size_t)(but - g->ere) : strlen(g->ere);

	if (n >= sizeof(yes))
		return -1;
	memcpy(yes, g->ere, n);
	yes[n] = '\0';
	ret->has_no = but != NULL;
	ret->is_either = *yes != '^' && (strstr(yes, "|^") || strstr(yes, "(^"));
	if (regcomp(&ret->yes, yes, REG_EXTENDED | REG_NOSUB))
		return -1;
	if (but && regcomp(&ret->no, but + strlen(SIGNATURE_BUT), REG_EXTENDED | REG_NOSUB)) {
		regfree(&ret->yes);
		return -1;
	}
	return 0;
}

void signature_re_done(struct signature_re *re)
{
	regfree(&re->yes);
	if (re->has_no)
		regfree(&re->no);
}

static bool is_in(const regex_t *re, const char *s) { return regexec(re, s, 0, NULL, 0) == 0; }

bool signature_refuses(const struct signature_re *re, const char *text, const char *body)
{
	return re->has_no && (is_in(&re->no, text) || is_in(&re->no, body));
}

const char *signature_where(const struct signature *g, const struct signature_re *re,
			    const char *text, const char *body)
{
	const char *where = *g->ere == '^' ? body : text;

	if (!is_in(&re->yes, where)) {
		if (!re->is_either || body == text || !is_in(&re->yes, body))
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
