/* AWS's two INI files, as its own tools read them. */
#include "lib/cloud/credentials.h"

struct line {
	const char *s;
	size_t n;
};

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static struct line trimmed(const char *s, size_t n)
{
	for (; n && is_blank(*s); s++)
		n--;
	while (n && is_blank(s[n - 1]))
		n--;
	return (struct line){s, n};
}

static bool line_is(struct line l, const char *text)
{
	return l.n == strlen(text) && !memcmp(l.s, text, l.n);
}

/* "[profile dev]", "[ default ]"; in the credentials file "[dev]". */
static bool is_section(struct line l, const char *name, bool is_config)
{
	const char *end = memchr(l.s, ']', l.n);
	static const char word[] = "profile";

	if (!end)
		return false;
	l = trimmed(l.s + 1, (size_t)(end - l.s) - 1);
	if (!is_config || (streq(name, "default") && line_is(l, name)))
		return line_is(l, name);
	if (l.n < sizeof(word) || memcmp(l.s, word, sizeof(word) - 1) ||
	    !is_blank(l.s[sizeof(word) - 1]))
		return false;
	l = trimmed(l.s + sizeof(word), l.n - sizeof(word));
	if (l.n > 1 && (*l.s == '"' || *l.s == '\'') && l.s[l.n - 1] == *l.s)
		l = (struct line){l.s + 1, l.n - 2};
	return line_is(l, name);
}

static bool is_key(struct line l, const char *key)
{
	return l.n == strlen(key) && !strncasecmp(l.s, key, l.n);
}

static void take(struct line key, struct line value, struct arena *a, struct profile *ret)
{
	static const char *const others[] = {"role_arn",	   "sso_session",
					     "sso_start_url",	   "sso_account_id",
					     "credential_process", "web_identity_token_file"};
	const struct {
		const char *key;
		const char **to;
	} keys[] = {{"aws_access_key_id", &ret->key_id},
		    {"aws_secret_access_key", &ret->secret},
		    {"aws_session_token", &ret->token},
		    {"region", &ret->region},
		    {"endpoint_url", &ret->endpoint}};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (is_key(key, keys[i].key) && value.n)
			*keys[i].to = arena_strndup(a, value.s, value.n);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (is_key(key, others[i]) && value.n && !streq(ret->needs ?: "", "role_arn"))
			ret->needs = others[i];
}

/* "=" or ":", whichever comes first; NULL: neither. */
static const char *find_sign(struct line l)
{
	for (size_t i = 0; i < l.n; i++)
		if (l.s[i] == '=' || l.s[i] == ':')
			return l.s + i;
	return NULL;
}

void profile_parse(const char *text, const char *name, bool is_config, struct arena *a,
		   struct profile *ret)
{
	bool inside = false;

	for (size_t n; *text; text += n + (text[n] == '\n')) {
		struct line l;
		const char *sign;

		n = strcspn(text, "\n");
		l = trimmed(text, n);
		if (!l.n || *l.s == '#' || *l.s == ';')
			continue;
		if (*l.s == '[') {
			inside = is_section(l, name, is_config);
			ret->found |= inside;
			continue;
		}
		sign = find_sign(l);
		/* An indented line is a nested section's (s3 = ...): not ours. */
		if (!inside || !sign || is_blank(*text))
			continue;
		take(trimmed(l.s, (size_t)(sign - l.s)),
		     trimmed(sign + 1, (size_t)(l.s + l.n - sign) - 1), a, ret);
	}
}
