#include "probes/tally/alike.h"

#include "lib/core/text.h"

#include <ctype.h>

#define HOLE '\1'

static bool in_word(char c) { return isalnum((unsigned char)c) || (c && strchr("_-", c)); }

const char *alike_no_handles(struct arena *a, const char *text)
{
	static const char handle[] = ", handle ";
	struct text t;

	if (!strstr(text, handle))
		return text;
	text_init(&t, a);
	for (const char *at; (at = strstr(text, handle)); text = at) {
		text_addn(&t, text, (size_t)(at - text));
		at += sizeof(handle) - 1;
		at += strspn(at, "0123456789");
	}
	text_add(&t, text);
	return t.s;
}

/* The next @own from @text on that is a word of its own. */
static const char *find(const char *text, const char *begin, const char *own, size_t n)
{
	const char *at = text;

	while ((at = strstr(at, own)) && ((at > begin && in_word(at[-1])) || in_word(at[n])))
		at++;
	return at;
}

const char *alike_gist(struct arena *a, const char *text, const char *own)
{
	size_t n = own ? strlen(own) : 0;
	const char *begin, *at;
	struct text t;

	begin = text = alike_no_handles(a, text);
	if (!n || !find(text, begin, own, n))
		return text;
	text_init(&t, a);
	for (; (at = find(text, begin, own, n)); text = at + n) {
		text_addn(&t, text, (size_t)(at - text));
		text_addn(&t, (const char[]){HOLE}, 1);
	}
	text_add(&t, text);
	return t.s;
}

const char *alike_fill(struct arena *a, const char *gist, const char *name, const char *example)
{
	bool typed = false;
	struct text t;

	text_init(&t, a);
	for (; *gist; gist++) {
		typed ^= *gist == '`';
		if (*gist == HOLE)
			text_add(&t, typed ? example : name);
		else
			text_addn(&t, gist, 1);
	}
	return t.s;
}

/* How long the number is that begins at @at; 0: none does. */
static size_t number(const char *begin, const char *at)
{
	size_t n = strspn(at, "0123456789");
	bool ranged = at > begin + 1 && at[-1] == '-' && isdigit((unsigned char)at[-2]);

	if (!n || (at > begin && !ranged && (in_word(at[-1]) || at[-1] == '.')))
		return 0;
	while (at[n] == '.' && isdigit((unsigned char)at[n + 1]))
		n += 1 + strspn(at + n + 1, "0123456789");
	return n;
}

const char *alike_shape(struct arena *a, const char *gist)
{
	struct text t;

	text_init(&t, a);
	for (const char *at = gist; *at;) {
		size_t n = number(gist, at);

		text_addn(&t, n ? "#" : at, 1);
		at += n ? n : 1;
	}
	return t.s;
}

/* The number that each of them has next: the least and the most. */
static void add_range(struct arena *a, const str_list *gists, const char **at, struct text *t)
{
	const char *least = NULL, *most = NULL;

	for (size_t i = 0; i < gists->n; i++) {
		size_t n = number(gists->v[i], at[i]);
		const char *own = arena_strndup(a, at[i], n);

		at[i] += n;
		least = least && strverscmp(least, own) <= 0 ? least : own;
		most = most && strverscmp(most, own) >= 0 ? most : own;
	}
	text_addf(t, streq(least, most) ? "%s" : "%s to %s", least, most);
}

const char *alike_range(struct arena *a, const str_list *gists)
{
	const char **at = arena_alloc(a, gists->n * sizeof(*at));
	struct text t;

	text_init(&t, a);
	memcpy(at, gists->v, gists->n * sizeof(*at));
	while (*at[0]) {
		if (number(gists->v[0], at[0])) {
			add_range(a, gists, at, &t);
			continue;
		}
		text_addn(&t, at[0], 1);
		for (size_t i = 0; i < gists->n; i++)
			at[i]++;
	}
	return t.s;
}
