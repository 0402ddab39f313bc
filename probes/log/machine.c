#include "probes/log/machine.h"

#include "probes/log/said.h"
#include "probes/log/shell.h"
#include "probes/log/why.h"

#include <ctype.h>

enum { RULE = 3 /* of a row of signs around a heading */, MOST = 60 /* bytes of one */ };

static const char signs[] = "=-#*~ ";

/* "node B", "Machine 1": a kind of machine and a short name. */
static bool is_numbered(const char *p, size_t n)
{
	static const char *const kinds[] = {"node ", "machine ", "host ", "server "};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t k = strlen(kinds[i]);

		if (n > k && n <= k + 2 && strncasecmp(p, kinds[i], k) == 0)
			return isalnum((unsigned char)p[k]) && isalnum((unsigned char)p[n - 1]);
	}
	return false;
}

/* One word between two rows of signs. */
static bool is_framed(const char *text, const char *p, size_t n)
{
	size_t before = strspn(text, signs), after = strspn(p + n, signs);

	return before > RULE && after > RULE && !p[n + after] && isalpha((unsigned char)*p) &&
	       !memchr(p, ' ', n) && text + before == p;
}

/* "# node B (the same image):" is one of "node B"; 0: it is none. */
static size_t heading(const char *text, const char **ret)
{
	const char *p = text + strspn(text, signs);
	size_t n = strcspn(p, ":(,=#*~");

	while (n && strchr(" -", p[n - 1]))
		n--;
	*ret = p;
	if (is_framed(text, p, n))
		return n;
	/* a sentence goes on behind the name: it is a heading where nothing, or a colon, does */
	return is_numbered(p, n) && (!p[n] || strchr(signs, p[n]) || text[strlen(text) - 1] == ':')
		       ? n
		       : 0;
}

void machine_hear(struct why *w UNUSED, struct why_stream *s, const struct log_line *l)
{
	const char *p;
	size_t n = strlen(l->text) <= MOST ? heading(l->text, &p) : 0;

	if (n)
		(void)snprintf(s->heading, sizeof(s->heading), "%.*s", (int)n, p);
}

/* "[n1:0] ...", of its rank 0. */
static void boxed(const struct log_line *l, char *ret, size_t size)
{
	const char *p = *l->text == '[' ? l->text + 1 : "", *colon = p + strcspn(p, " \t:]");

	if (isalpha((unsigned char)*p) && *colon == ':' && isdigit((unsigned char)colon[1]) &&
	    colon[1 + strspn(colon + 1, "0123456789")] == ']')
		said_word(ret, size, p, ":");
}

void machine_of(const struct why_stream *s, const struct log_line *l, char *ret, size_t size)
{
	*ret = '\0';
	if (*l->who.host)
		(void)snprintf(ret, size, "%s", l->who.host);
	else
		shell_host(l->text, l->text + strlen(l->text), ret, size);
	if (!*ret)
		boxed(l, ret, size);
	if (!*ret)
		(void)snprintf(ret, size, "%s", s->heading);
}

void machine_label(const struct log_line *l, char *ret, size_t size)
{
	size_t n = strcspn(l->text, " \t[]()=$#@");

	*ret = '\0';
	if (n > 1 && l->text[n - 1] == ':' && l->text[n] == ' ')
		said_word(ret, size, l->text, ":");
}
