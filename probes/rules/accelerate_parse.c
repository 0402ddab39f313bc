/*
 * accelerate's file as text: a mapping of plain values, one a line, and mappings of such below
 * some, as yaml.safe_dump() writes it and people change it; for that little a YAML library would
 * be one more thing to install. What one would refuse is said where a line shows it.
 */
#include "lib/core/utf8.h"
#include "lib/report/json.h"
#include "probes/rules/accelerate.h"

#include <math.h>

enum { KEYS_MAX = 512, JSON_DEPTH = 8 };

struct reader {
	struct accelerate *c;
	struct arena *a;
	unsigned number;	    /* of the line */
	const char *section;	    /* the last key at the margin */
	enum accelerate_kind below; /* what that one's value is */
	size_t indent;		    /* of the keys below it; 0: none came yet */
};

static void add(struct reader *r, const char *name, const char *value, enum accelerate_kind kind)
{
	if (r->c->keys.n < KEYS_MAX)
		*LIST_ADD(r->a, &r->c->keys) = (struct accelerate_key){
			.name = name,
			.value = value,
			.origin = arena_printf(r->a, "%s:%u", r->c->path ?: "-", r->number),
			.kind = kind};
}

static void broken(struct reader *r, const char *why)
{
	if (!r->c->broken)
		r->c->broken = arena_printf(r->a, "line %u: %s", r->number, why);
}

/* --- a value ------------------------------------------------------------------------------ */
static bool is_comment(const char *s, size_t i)
{
	return s[i] == '#' && (i == 0 || s[i - 1] == ' ' || s[i - 1] == '\t');
}

/* The bytes up to a comment, without blanks at their end. */
static size_t plain_length(const char *s)
{
	size_t end = 0;

	for (size_t i = 0; s[i] && !is_comment(s, i); i++)
		if (!strchr(" \t\r", s[i]))
			end = i + 1;
	return end;
}

static void add_character(struct text *t, uint32_t c)
{
	char s[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		s[i] = (char)(0x80 | (c & 0x3f));
	s[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xf0) | c);
	text_addn(t, s, n);
}

/* What a \ in "" stands for; how many bytes come behind it. */
static size_t escaped(struct text *t, const char *s)
{
	size_t n = s[1] == 'x' ? 2 : s[1] == 'u' ? 4 : s[1] == 'U' ? 8 : 0;
	char digits[9] = "", *end = digits;
	unsigned long c = 0;

	for (size_t i = 0; i < n && s[2 + i]; i++)
		digits[i] = s[2 + i];
	if (n)
		c = strtoul(digits, &end, 16);
	if (!n || end != digits + n || !c || c > 0x10ffff || (c >> 11) == 0x1b) {
		text_addn(t, s + 1, 1); /* \" and \\; no others are in an address or a number */
		return 1;
	}
	add_character(t, (uint32_t)c);
	return 1 + n;
}

/* Between quotes; '' is one of them within ''. NULL: it goes on in the next line. */
static const char *quoted(struct reader *r, const char *s, const char **ret_end)
{
	struct text t;

	text_init(&t, r->a);
	for (size_t i = 1; s[i]; i++) {
		if (s[i] == *s && (*s != '\'' || s[i + 1] != '\'')) {
			*ret_end = s + i + 1;
			return t.s;
		}
		if (*s == '"' && s[i] == '\\' && s[i + 1]) {
			i += escaped(&t, s + i);
			continue;
		}
		i += s[i] == *s;
		text_addn(&t, s + i, 1);
	}
	return NULL;
}

static bool ends_pair(const char *colon)
{
	return *colon == ':' && (!colon[1] || strchr(" \t\r", colon[1]));
}

static const char *plain(struct reader *r, const char *s, enum accelerate_kind *ret)
{
	const char *v = arena_strndup(r->a, s, plain_length(s));

	if (*v && strchr("%@`,]}", *v))
		broken(r, "a value cannot begin like that");
	if (*v == '-' && (!v[1] || v[1] == ' '))
		broken(r, "a list begins on a line of its own");
	for (const char *p = v; *p; p++)
		if (ends_pair(p))
			broken(r, "a second ': ' in one line");
	*ret = accelerate_word(r->a, &v);
	return v;
}

static const char *value_of(struct reader *r, const char *s, enum accelerate_kind *ret)
{
	const char *v, *end = NULL;

	s += strspn(s, " \t");
	*ret = ACCELERATE_OTHER;
	if (*s != '\'' && *s != '"')
		return *s && strchr("{[|>&*!", *s) ? NULL : plain(r, s, ret);
	v = quoted(r, s, &end);
	if (!v)
		return NULL;
	if (plain_length(end) && !is_comment(end, strspn(end, " \t")))
		broken(r, "something stands behind the closing quote");
	*ret = ACCELERATE_TEXT;
	return v;
}

/* --- a line ------------------------------------------------------------------------------- */
/* The key that @s begins with, and its colon; NULL: none. */
static const char *key_of(struct reader *r, const char *s, const char **ret_colon)
{
	const char *end = s, *name = NULL;
	size_t n;

	if (*s == '\'' || *s == '"') {
		name = quoted(r, s, &end);
		end = name ? end + strspn(end, " \t") : s + strlen(s);
		*ret_colon = end;
		return ends_pair(end) ? name : NULL;
	}
	for (n = 0; s[n] && !ends_pair(s + n); n++)
		if (is_comment(s, n))
			return NULL;
	if (!s[n] || !n)
		return NULL;
	*ret_colon = s + n;
	return arena_strndup(r->a, s, plain_length(arena_strndup(r->a, s, n)));
}

/* The key at the margin is none without a value, then. */
static void holds_more(struct reader *r)
{
	for (size_t i = r->c->keys.n; i-- > 0;) {
		struct accelerate_key *k = &r->c->keys.v[i];

		if (strchr(k->name, '.'))
			continue;
		if (k->kind == ACCELERATE_NULL)
			k->kind = ACCELERATE_OTHER;
		return;
	}
}

/* Below another key; what is deeper still is nobody's business here. */
static void add_below(struct reader *r, const char *name, const char *rest, size_t indent)
{
	enum accelerate_kind kind;
	const char *value;

	if (r->below == ACCELERATE_OTHER || !r->section)
		return; /* text of several lines, and the like */
	if (r->below != ACCELERATE_NULL) {
		broken(r, "a key stands below one that has a value");
		return;
	}
	r->indent = r->indent ?: indent;
	if (indent != r->indent)
		return;
	holds_more(r);
	value = value_of(r, rest, &kind);
	add(r, arena_printf(r->a, "%s.%s", r->section, name), value, kind);
}

/* Python reads UTF-8 alone, and YAML none of the characters that only steer a terminal. */
static bool is_readable(const char *line)
{
	for (uint32_t c; *line;) {
		line += utf8_next(line, 4, &c);
		if (c == UTF8_BAD || (c < ' ' && c != '\t' && c != '\r') || c == 0x7f)
			return false;
	}
	return true;
}

static void add_line(struct reader *r, const char *line)
{
	size_t indent = strspn(line, " ");
	const char *s = line + indent, *colon = NULL, *name, *value;

	if (!is_readable(line))
		broken(r, "a character that is no UTF-8, or that YAML does not take");
	if (*s == '-' && (s[1] == ' ' || !s[1])) {
		holds_more(r);
		return;
	}
	if (!plain_length(s) ||
	    (!indent && (starts_with(s, "---") || starts_with(s, "...") || *s == '%')))
		return;
	if (*s == '\t' && r->below != ACCELERATE_OTHER) {
		broken(r, "a tab where YAML wants blanks");
		return;
	}
	name = key_of(r, s, &colon);
	if (!name && !indent && r->below != ACCELERATE_OTHER)
		broken(r, "neither 'KEY: VALUE' nor below one");
	if (!name)
		return;
	if (indent) {
		add_below(r, name, colon + 1, indent);
		return;
	}
	r->section = name;
	r->indent = 0;
	value = value_of(r, colon + 1, &r->below);
	add(r, name, value, r->below);
}

void accelerate_parse(struct accelerate *c, const char *text, size_t n, struct arena *a)
{
	static const char mark[] = "\xef\xbb\xbf"; /* some editors' */
	struct reader r = {.c = c, .a = a};

	if (n >= 3 && !memcmp(text, mark, 3)) {
		text += 3;
		n -= 3;
	}
	for (r.number = 1; n; r.number++) {
		const char *nl = memchr(text, '\n', n);
		size_t len = nl ? (size_t)(nl - text) : n, step = len + (nl != NULL);

		if (memchr(text, 0, len))
			broken(&r, "a NUL, which is no text");
		add_line(&r, arena_strndup(a, text, len)); /* to it */
		text += step;
		n -= step;
	}
}

/* --- the same as JSON, where the file's name says so -------------------------------------- */
static void free_json(cJSON **v) { cJSON_Delete(*v); }

static enum accelerate_kind json_kind(struct arena *a, const cJSON *v, const char **ret)
{
	*ret = NULL;
	if (cJSON_IsNull(v))
		return ACCELERATE_NULL;
	if (cJSON_IsString(v)) {
		*ret = arena_strdup(a, v->valuestring);
		return ACCELERATE_TEXT;
	}
	if (cJSON_IsBool(v)) {
		*ret = cJSON_IsTrue(v) ? "true" : "false";
		return ACCELERATE_BOOL;
	}
	if (!cJSON_IsNumber(v))
		return ACCELERATE_OTHER;
	*ret = arena_printf(a, "%.17g", v->valuedouble);
	return floor(v->valuedouble) < v->valuedouble ? ACCELERATE_FLOAT : ACCELERATE_INT;
}

void accelerate_parse_json(struct accelerate *c, const char *text, size_t n, struct arena *a)
{
	struct err e = {0};
	AUTO(free_json) cJSON *doc = json_parse(text, n, JSON_DEPTH, &e);
	struct reader r = {.c = c, .a = a, .number = 1};
	const cJSON *k, *below;
	const char *value;

	if (!doc)
		c->broken = arena_strdup(a, e.msg);
	cJSON_ArrayForEach (k, doc) {
		enum accelerate_kind kind = json_kind(a, k, &value);

		if (!k->string)
			break; /* a list */
		add(&r, arena_strdup(a, k->string), value, kind);
		for (below = cJSON_IsObject(k) ? k->child : NULL; below; below = below->next) {
			kind = json_kind(a, below, &value);
			add(&r, arena_printf(a, "%s.%s", k->string, below->string), value, kind);
		}
	}
}
