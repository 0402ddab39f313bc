#include "probes/log/need.h"

#include "probes/log/catalogue.h"

#include <ctype.h>

enum { RUN_MAX = 256 };

struct need {
	enum { NEED_LITERAL, NEED_ALL /* in their order */, NEED_ANY } kind;
	const char *s; /* the literal */
	size_t n;
	struct need *first, *next; /* of what it is made */
};

/* --- what an expression needs ------------------------------------------------------------- */

struct reader {
	struct arena *a;
	const char *p, *end;
	unsigned depth;	  /* of groups */
	bool is_too_hard; /* what we do not understand we need nothing of */
};

/* What was read of a branch. */
struct branch {
	struct need *all, **last;
	char run[RUN_MAX]; /* the characters that follow each other */
	size_t n;
};

static void end_run(struct reader *r, struct branch *b)
{
	if (b->n) {
		struct need *lit = ARENA_NEW(r->a, struct need);

		lit->kind = NEED_LITERAL;
		lit->s = arena_strndup(r->a, b->run, b->n);
		lit->n = b->n;
		*b->last = lit;
		b->last = &lit->next;
	}
	b->n = 0;
}

/* Its only member, or -1. From behind the "[" to behind the "]". */
static int read_class(struct reader *r)
{
	const char *p = r->p;
	int only =
		r->end - p >= 2 && p[1] == ']' && *p != '^' && *p != ']' ? (unsigned char)*p : -1;

	p += p < r->end && *p == '^';
	p += p < r->end && *p == ']'; /* the first one is a member */
	while (p < r->end && *p != ']') {
		const char *close = p + 2;

		if (*p++ != '[' || p >= r->end || !strchr(":.=", *p))
			continue;
		while (close + 1 < r->end && !(close[0] == *p && close[1] == ']'))
			close++;
		p = close + 2;
	}
	r->is_too_hard |= p >= r->end;
	r->p = p + 1;
	return only;
}

/* "\." is a dot; of "\w" and the like nothing is known. */
static int read_escaped(struct reader *r)
{
	int c = r->p < r->end ? (unsigned char)*r->p++ : '\0';

	r->is_too_hard |= c == '\0' || isdigit(c);
	return isalnum(c) || strchr("<>'`", c) ? -1 : c;
}

/* Behind an atom. @ret_optional: it may lack; @ret_again: it may come more than once. */
static void read_quantifiers(struct reader *r, bool *ret_optional, bool *ret_again)
{
	*ret_optional = *ret_again = false;
	for (; r->p < r->end && strchr("*+?{", *r->p); r->p++) {
		size_t n = *r->p == '{' ? strspn(r->p + 1, "0123456789,") : 0;

		if (*r->p == '{' && (!n || r->p[1 + n] != '}')) {
			r->is_too_hard = true;
			return;
		}
		*ret_optional |= *r->p == '*' || *r->p == '?' ||
				 (*r->p == '{' && (r->p[1] == '0' || r->p[1] == ','));
		*ret_again |= *r->p != '?';
		r->p += *r->p == '{' ? n + 1 : 0;
	}
}

static struct need *read_either(struct reader *r);

static struct need *read_group(struct reader *r)
{
	struct need *sub;

	r->depth++;
	sub = read_either(r);
	r->depth--;
	r->is_too_hard |= r->p >= r->end;
	r->p++;
	return sub;
}

static void read_piece(struct reader *r, struct branch *b)
{
	bool is_optional, again;
	struct need *group = NULL;
	int c = (unsigned char)*r->p++;

	/* a quantifier of nothing; a ")" of no group */
	r->is_too_hard |=
		strchr("*+?{)", c) || (c == '^' && r->p < r->end && strchr("*+?{", *r->p));
	if (c == '(')
		group = read_group(r);
	if (c == '[')
		c = read_class(r);
	else if (c == '\\')
		c = read_escaped(r);
	else if (strchr("(.^$", c))
		c = -1;
	if (r->is_too_hard)
		return;
	read_quantifiers(r, &is_optional, &again);
	if (c >= 0 && !is_optional && b->n < RUN_MAX)
		b->run[b->n++] = (char)c;
	if (c < 0 || is_optional || again || b->n == RUN_MAX)
		end_run(r, b);
	if (group && !is_optional) {
		*b->last = group;
		b->last = &group->next;
	}
}

static struct need *made_of(struct reader *r, int kind, struct need *parts)
{
	struct need *n;

	if (!parts || !parts->next)
		return parts;
	n = ARENA_NEW(r->a, struct need);
	n->kind = kind == NEED_ALL ? NEED_ALL : NEED_ANY;
	n->first = parts;
	return n;
}

static struct need *read_branch(struct reader *r)
{
	struct branch b = {.all = NULL};

	b.last = &b.all;
	while (!r->is_too_hard && r->p < r->end && *r->p != '|' && (*r->p != ')' || !r->depth))
		read_piece(r, &b);
	end_run(r, &b);
	return made_of(r, NEED_ALL, b.all);
}

/* Branches parted by |: one that needs nothing is enough to need nothing. */
static struct need *read_either(struct reader *r)
{
	struct need *parts = NULL, **last = &parts;
	bool is_free = false, more;

	do {
		struct need *n = read_branch(r);

		is_free |= !n;
		*last = n;
		last = n ? &n->next : last;
		more = !r->is_too_hard && r->p < r->end && *r->p == '|';
		r->p += more;
	} while (more);
	return is_free ? NULL : made_of(r, NEED_ANY, parts);
}

struct need *need_of(struct arena *a, const char *ere)
{
	const char *but = strstr(ere, SIGNATURE_BUT);
	struct reader r = {.a = a, .p = ere, .end = but ? but : ere + strlen(ere)};
	struct need *n = read_either(&r);

	return r.is_too_hard ? NULL : n;
}

/* --- whether a text has it ---------------------------------------------------------------- */

/* Where the first of the ways to have it, from @text on, ends; or NULL. What ends first leaves most
 * room for what follows. */
static const char *end_of(const struct need *n, const char *text)
{
	const char *first = NULL;

	if (n->kind == NEED_LITERAL) {
		const char *at = strstr(text, n->s);

		return at ? at + n->n : NULL;
	}
	for (const struct need *part = n->first; part; part = part->next) {
		const char *end = end_of(part, text);

		if (n->kind == NEED_ALL && !end)
			return NULL;
		if (n->kind == NEED_ALL)
			text = end;
		else if (end && (!first || end < first))
			first = end;
	}
	return n->kind == NEED_ALL ? text : first;
}

bool need_met(const struct need *n, const char *text) { return !n || end_of(n, text); }
