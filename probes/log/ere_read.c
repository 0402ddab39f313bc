#include "probes/log/ere_tree.h"

#include <ctype.h>

enum { TEXT_MAX = 256, TIMES_MOST = 255 };

struct reader {
	struct arena *a;
	const char *p, *end;
	unsigned depth;	  /* of groups */
	bool is_too_hard; /* or ill formed */
};

/* What was read of a branch. */
struct branch {
	struct ere_node *all, **last;
	char text[TEXT_MAX]; /* the characters that follow each other */
	size_t n;
};

static struct ere_node *node(struct reader *r, int kind)
{
	struct ere_node *n = ARENA_NEW(r->a, struct ere_node);

	n->kind = (unsigned)kind;
	return n;
}

static void append(struct branch *b, struct ere_node *n)
{
	*b->last = n;
	b->last = &n->next;
}

static void end_text(struct reader *r, struct branch *b)
{
	struct ere_node *text;

	if (!b->n)
		return;
	text = node(r, NODE_TEXT);
	text->s = arena_strndup(r->a, b->text, b->n);
	text->n = b->n;
	append(b, text);
	b->n = 0;
}

/* --- sets -------------------------------------------------------------------------------- */

static void add_range(struct bytes *b, unsigned from, unsigned to)
{
	for (unsigned c = from; c <= to; c++)
		bytes_add(b, (unsigned char)c);
}

/* "[:alpha:]" within a set; from behind its "[" to behind its "]". */
static void add_class(struct reader *r, struct bytes *b)
{
	static const struct {
		const char *name;
		int (*has)(int c);
	} classes[] = {{"alpha", isalpha}, {"digit", isdigit}, {"alnum", isalnum},
		       {"upper", isupper}, {"lower", islower}, {"space", isspace},
		       {"blank", isblank}, {"punct", ispunct}, {"print", isprint},
		       {"graph", isgraph}, {"cntrl", iscntrl}, {"xdigit", isxdigit}};
	const char *name = r->p + 1, *close = memmem(name, (size_t)(r->end - name), ":]", 2);
	size_t n = close ? (size_t)(close - name) : 0;

	for (size_t i = 0; n && i < ARRAY_LEN(classes); i++) {
		if (strlen(classes[i].name) != n || memcmp(classes[i].name, name, n) != 0)
			continue;
		for (int c = 1; c <= UINT8_MAX; c++)
			if (classes[i].has(c))
				bytes_add(b, (unsigned char)c);
		r->p = close + 2;
		return;
	}
	r->is_too_hard = true;
}

/* From behind the "[" to behind the "]": a "]" that comes first is a member, and so is a "-" at
 * either end. */
static struct bytes read_set(struct reader *r)
{
	struct bytes b = {{0}};
	bool is_not = r->p < r->end && *r->p == '^';
	const char *first = r->p += is_not;

	while (!r->is_too_hard && r->p < r->end && (*r->p != ']' || r->p == first)) {
		unsigned from = (unsigned char)*r->p++, to = from;

		if (from == '[' && r->p < r->end && strchr(":.=", *r->p)) {
			r->is_too_hard |= *r->p != ':';
			if (!r->is_too_hard)
				add_class(r, &b);
			continue;
		}
		if (r->end - r->p >= 2 && *r->p == '-' && r->p[1] != ']') {
			to = (unsigned char)r->p[1];
			r->is_too_hard |= to == '[' || to < from;
			r->p += 2;
		}
		add_range(&b, from, to);
	}
	r->is_too_hard |= r->p >= r->end;
	r->p++;
	for (size_t i = 0; is_not && i < ARRAY_LEN(b.has); i++)
		b.has[i] = ~b.has[i];
	b.has[0] &= ~UINT64_C(1); /* a text has no NUL */
	return b;
}

/* Its only member, or -1. */
static int only_of(const struct bytes *b)
{
	int only = -1;

	for (int c = 1; c <= UINT8_MAX; c++)
		if (bytes_have(b, (char)c)) {
			if (only >= 0)
				return -1;
			only = c;
		}
	return only;
}

/* --- pieces ------------------------------------------------------------------------------ */

static size_t read_times(struct reader *r, size_t otherwise)
{
	size_t v = 0;

	if (r->p >= r->end || !isdigit((unsigned char)*r->p))
		return otherwise;
	for (; r->p < r->end && isdigit((unsigned char)*r->p) && v <= TIMES_MOST; r->p++)
		v = v * 10 + (size_t)(*r->p - '0');
	return v;
}

/* "{2}", "{2,}", "{,5}", from behind the "{". */
static void read_interval(struct reader *r, struct ere_node *n)
{
	bool has_number = r->p < r->end && *r->p != '}';

	n->least = read_times(r, 0);
	n->most = n->least;
	if (r->p < r->end && *r->p == ',') {
		r->p++;
		n->most = read_times(r, ERE_ENDLESS);
	}
	r->is_too_hard |= !has_number || r->p >= r->end || *r->p != '}' || n->least > TIMES_MOST ||
			  (n->most != ERE_ENDLESS && n->most > TIMES_MOST) || n->most < n->least;
	r->p++;
}

/* Behind an atom: how often it stands there. */
static void read_quantifier(struct reader *r, struct ere_node *n)
{
	char c = r->p < r->end ? *r->p : '\0';

	n->least = n->most = 1;
	if (!c || !strchr("*+?{", c))
		return;
	r->p++;
	if (c == '{') {
		read_interval(r, n);
	} else {
		n->least = c == '+';
		n->most = c == '?' ? 1 : ERE_ENDLESS;
	}
	r->is_too_hard |= r->p < r->end && strchr("*+?{", *r->p);
}

static struct ere_node *read_either(struct reader *r);

static void read_group(struct reader *r, struct branch *b)
{
	struct ere_node *again = node(r, NODE_AGAIN);

	r->depth++;
	again->first = read_either(r);
	r->depth--;
	r->is_too_hard |= r->p >= r->end;
	r->p++;
	read_quantifier(r, again);
	end_text(r, b);
	append(b, again->least == 1 && again->most == 1 ? again->first : again);
}

static void read_bytes(struct reader *r, struct branch *b, const struct bytes *set, int only)
{
	struct ere_node *run = node(r, NODE_RUN);

	run->set = *set;
	read_quantifier(r, run);
	if (only >= 0 && run->least == 1 && run->most == 1 && b->n < TEXT_MAX) {
		b->text[b->n++] = (char)only;
		return;
	}
	end_text(r, b);
	append(b, run);
}

static void read_place(struct reader *r, struct branch *b, int kind)
{
	r->is_too_hard |= r->p < r->end && strchr("*+?{", *r->p);
	end_text(r, b);
	append(b, node(r, kind));
}

/* "\." is a dot; of "\w" and the like nothing is known. */
static int read_escaped(struct reader *r)
{
	int c = r->p < r->end ? (unsigned char)*r->p++ : '\0';

	r->is_too_hard |= !c || isalnum(c) || strchr("<>'`", c);
	return c;
}

static void read_piece(struct reader *r, struct branch *b)
{
	struct bytes set = {{0}};
	int c = (unsigned char)*r->p++;

	if (strchr("*+?{)", c)) { /* a quantifier of nothing; the end of no group */
		r->is_too_hard = true;
	} else if (c == '(') {
		read_group(r, b);
	} else if (c == '^' || c == '$') {
		read_place(r, b, c == '^' ? NODE_BEGIN : NODE_END);
	} else if (c == '[') {
		set = read_set(r);
		read_bytes(r, b, &set, only_of(&set));
	} else if (c == '.') {
		add_range(&set, 1, UINT8_MAX);
		read_bytes(r, b, &set, -1);
	} else {
		if (c == '\\')
			c = read_escaped(r);
		bytes_add(&set, (unsigned char)c);
		read_bytes(r, b, &set, c);
	}
}

/* A branch without a piece is one that matches nothing everywhere. */
static struct ere_node *read_branch(struct reader *r)
{
	struct ere_node *all = node(r, NODE_ALL);
	struct branch b = {.last = &all->first};

	while (!r->is_too_hard && r->p < r->end && *r->p != '|' && (*r->p != ')' || !r->depth))
		read_piece(r, &b);
	end_text(r, &b);
	return all;
}

static struct ere_node *read_either(struct reader *r)
{
	struct ere_node *either = node(r, NODE_EITHER), **last = &either->first;
	bool more;

	do {
		*last = read_branch(r);
		last = &(*last)->next;
		more = !r->is_too_hard && r->p < r->end && *r->p == '|';
		r->p += more;
	} while (more);
	return either->first->next ? either : either->first;
}

struct ere_node *ere_read(struct arena *a, const char *pattern, size_t n)
{
	struct reader r = {.a = a, .p = pattern, .end = pattern + n};
	struct ere_node *all = read_either(&r);

	return r.is_too_hard ? NULL : all;
}
