#include "probes/tally/alike.h"

#include "lib/core/text.h"

#include <ctype.h>
#include <strings.h>

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

/* ---- numbers ---- */

enum kind { NO_HOLE, MEASURE, ADDRESS };
struct hole {
	enum kind kind;
	size_t n; /* its length */
};

static bool in_token(char c) { return isalnum((unsigned char)c) || (c && strchr("._:/+-", c)); }

static size_t digits(const char *s) { return strspn(s, "0123456789"); }

/* "7", "12.5" */
static size_t decimal(const char *s)
{
	size_t n = digits(s);

	return n && s[n] == '.' && digits(s + n + 1) ? n + 1 + digits(s + n + 1) : n;
}

/* "10.0.0.2"; 0: it is none. */
static size_t address(const char *s)
{
	size_t n = 0, parts = 0;

	for (size_t k; parts < 4 && (k = digits(s + n)) && k <= 3; parts++)
		n += k + (parts < 3 && s[n + k] == '.');
	if (parts < 4 || s[n - 1] == '.' || (s[n] == '.' && digits(s + n + 1)))
		return 0;
	return !in_token(s[n]) || strchr("/:.", s[n]) ? n : 0;
}

/* Where the token ends that begins there, without what ends a sentence. */
static const char *token_end(const char *s)
{
	const char *end = s;

	while (in_token(*end))
		end++;
	while (end > s && strchr(".:/+-", end[-1]))
		end--;
	return end;
}

/* Does the word before it say that it is a name? Port 80 and port 443 are no range, and two exit
 * codes are two causes. */
static bool is_name(const char *begin, const char *token)
{
	static const char *const before[] = {"capability", "code",   "cuda",	"driver", "errno",
					     "error",	   "exit",   "gpu",	"index",  "kernel",
					     "nccl",	   "port",   "ports",	"range",  "rank",
					     "signal",	   "status", "version", "vlan",	  "xid"};
	const char *end = token, *word;

	while (end > begin && strchr(" =(\"'`", end[-1]))
		end--;
	for (word = end; word > begin && isalpha((unsigned char)word[-1]);)
		word--;
	for (size_t i = 0; i < ARRAY_LEN(before); i++)
		if (strlen(before[i]) == (size_t)(end - word) &&
		    !strncasecmp(before[i], word, (size_t)(end - word)))
			return true;
	return false;
}

/* What begins at @at and may differ: a measure, with its unit or without; both of "3-17" and of
 * "3/8"; an address. All else that has digits (versions, devices, dates) is a name. */
static struct hole hole_at(const char *begin, const char *at)
{
	const char *token = at, *end;
	size_t n, first, second;

	if (!isdigit((unsigned char)*at))
		return (struct hole){NO_HOLE, 0};
	while (token > begin && (in_token(token[-1]) || token[-1] == '_'))
		token--;
	end = token_end(token);
	if ((n = address(token)))
		return token == at ? (struct hole){ADDRESS, n} : (struct hole){NO_HOLE, 0};
	first = decimal(token);
	second = token[first] == '/' || (token[first] == '-' && first == digits(token))
			 ? digits(token + first + 1)
			 : 0;
	n = first + (second ? second + 1 : 0);
	while (token + n < end && isalpha((unsigned char)token[n]))
		n++;
	if (!first || token + n != end || *end == '_' || is_name(begin, token))
		return (struct hole){NO_HOLE, 0};
	if (at == token)
		return (struct hole){MEASURE, first};
	return at == token + first + 1 && second ? (struct hole){MEASURE, second}
						 : (struct hole){NO_HOLE, 0};
}

const char *alike_shape(struct arena *a, const char *gist)
{
	struct text t;

	text_init(&t, a);
	for (const char *at = gist; *at;) {
		struct hole h = hole_at(gist, at);

		text_addn(&t, h.n ? "#" : at, 1);
		at += h.n ? h.n : 1;
	}
	return t.s;
}

/* What each of them has next: the least and the most, or of addresses the first. */
static void add_range(struct arena *a, const str_list *gists, const char **at, struct text *t)
{
	enum kind kind = hole_at(gists->v[0], at[0]).kind;
	const char *least = NULL, *most = NULL;

	for (size_t i = 0; i < gists->n; i++) {
		size_t n = hole_at(gists->v[i], at[i]).n;
		const char *own = arena_strndup(a, at[i], n);

		at[i] += n;
		least = least && strverscmp(least, own) <= 0 ? least : own;
		most = most && strverscmp(most, own) >= 0 ? most : own;
	}
	text_add(t, least);
	if (!streq(least, most))
		text_addf(t, kind == ADDRESS ? " etc." : " to %s", most);
}

const char *alike_range(struct arena *a, const str_list *gists)
{
	const char **at = arena_alloc(a, gists->n * sizeof(*at));
	struct text t;

	text_init(&t, a);
	memcpy(at, gists->v, gists->n * sizeof(*at));
	while (*at[0]) {
		if (hole_at(gists->v[0], at[0]).n) {
			add_range(a, gists, at, &t);
			continue;
		}
		text_addn(&t, at[0], 1);
		for (size_t i = 0; i < gists->n; i++)
			at[i]++;
	}
	return t.s;
}
