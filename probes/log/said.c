#include "probes/log/said.h"

#include <ctype.h>

const char *said_after(const struct log_line *l, const char *key)
{
	const char *p = strstr(l->text, key);

	return p ? p + strlen(key) : "";
}

const char *said_version(const struct log_line *l)
{
	const char *p = said_after(l, "CCL version");

	p += strspn(p, " :=");
	return isdigit((unsigned char)*p) ? p : "";
}

bool said_number(const struct log_line *l, const char *key, long *ret)
{
	const char *p = said_after(l, key);

	p += strspn(p, " :=");
	if (!isdigit((unsigned char)*p))
		return false;
	*ret = strtol(p, NULL, 10);
	return true;
}

uint64_t said_hex(const struct log_line *l, const char *key)
{
	const char *p = said_after(l, key);

	return *p ? strtoull(p, NULL, 16) : 0;
}

long said_in(const char *text, const char *key, long otherwise)
{
	const char *p = strstr(text, key);

	return p ? strtol(p + strlen(key), NULL, 10) : otherwise;
}

void said_word(char *out, size_t size, const char *from, const char *ends)
{
	size_t n = strcspn(from, ends);

	if (n >= size)
		n = size - 1;
	memcpy(out, from, n);
	out[n] = '\0';
}

const char *said_spaces(const char *p) { return p + strspn(p, " \t"); }

const char *said_next(const char *p) { return said_spaces(p + strcspn(p, " \t")); }

bool said_any(const char *p, size_t n, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		if (memmem(p, n, words[i], strlen(words[i])))
			return true;
	return false;
}

const char *said_anyhow(const char *text, const char *words)
{
	enum { SMALL = 0x20 }; /* what a capital lacks; what else it makes equal is compared then */
	const size_t n = strlen(words);
	const int first = words[0] | SMALL, second = words[1] | SMALL;

	for (const char *p = text; *p; p++)
		if ((p[0] | SMALL) == first && (p[1] | SMALL) == second &&
		    !strncasecmp(p, words, n))
			return p;
	return NULL;
}

bool said_any_anyhow(const char *text, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		if (said_anyhow(text, words[i]))
			return true;
	return false;
}
