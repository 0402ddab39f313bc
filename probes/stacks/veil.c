#include "probes/stacks/veil.h"

#include "lib/core/text.h"

#include <ctype.h>

enum { SHORTEST = 16 };

/* Of a word that is looked for; it may be a part of a longer one. */
static bool ends_in_secret(const char *at, const char *end)
{
	static const char *const words[] = {"key",    "token",	"password", "passwd",
					    "secret", "bearer", "auth",	    "authorization"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(end - at) >= n && strncasecmp(end - n, words[i], n) == 0)
			return true;
	}
	return false;
}

static bool is_between(char c) { return strchr(" \t=:\"'", c) != NULL; }

/* Does a name stand before @p that says so: token=, "api_key": b", "Bearer ? */
static bool is_named(const char *line, const char *p)
{
	if (p - line > 2 && strchr("\"'", p[-1]) && strchr("bfru", p[-2]) && is_between(p[-3]))
		p -= 2;
	while (p > line && is_between(p[-1]))
		p--;
	return ends_in_secret(line, p);
}

static bool is_of_word(char c) { return isalnum((unsigned char)c) || strchr("_-+", c); }

/* Letters and digits, many. */
static bool is_random(const char *word, size_t n)
{
	bool letter = false, digit = false;

	for (size_t i = 0; i < n; i++) {
		letter |= isalpha((unsigned char)word[i]) != 0;
		digit |= isdigit((unsigned char)word[i]) != 0;
	}
	return n >= SHORTEST && letter && digit;
}

/* What is between quotes, from @p on; behind a name as "token" all of it is one word. */
static void add_string(struct text *t, const char *line, const char *p, const char *end)
{
	while (p < end) {
		bool named = !is_between(*p) && is_named(line, p);
		size_t n = named ? strcspn(p, " &") : 0;

		while (!named && p + n < end && is_of_word(p[n]))
			n++;
		n = p + n > end ? (size_t)(end - p) : n;
		if (n && (named || is_random(p, n)))
			text_add(t, "...");
		else
			text_addn(t, p, n = n ? n : 1);
		p += n;
	}
}

const char *veil(struct arena *a, const char *line)
{
	struct text t;

	text_init(&t, a);
	for (const char *p = line; *p;) {
		char quote[2] = {*p, '\0'};
		const char *end;

		text_addn(&t, p++, 1);
		if (*quote == '#') {
			text_add(&t, p);
			break;
		}
		if (*quote != '"' && *quote != '\'')
			continue;
		end = p + strcspn(p, quote);
		add_string(&t, line, p, end);
		p = end;
		if (*p)
			text_addn(&t, p++, 1);
	}
	return t.s;
}
