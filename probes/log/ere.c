#include "probes/log/ere.h"

#include "probes/log/ere_tree.h"

enum {
	STEPS_MOST = 4000,
	MEMOS_MOST = 80, /* steps from which a place is not tried twice */
	MEMO_WORDS = ERE_TEXT / 64 + 1,
	NO_MEMO = MEMOS_MOST,
};

/* What is to match from a place on, and what behind it. */
struct step {
	enum { STEP_TEXT, STEP_RUN, STEP_BEGIN, STEP_END, STEP_EITHER, STEP_FOUND } kind;
	unsigned memo;
	const struct step *next;
	const char *s; /* STEP_TEXT */
	size_t n;
	const struct bytes *set; /* STEP_RUN; NULL: any */
	struct bytes *begins;	 /* what may come behind it */
	size_t least, most;
	const struct step **ways; /* STEP_EITHER: all go on to @next by themselves */
	size_t nways;
	bool is_loop; /* the last way leads out */
};

struct ere {
	const struct step *first;
	unsigned memos;
};

/* --- from parts to steps, the last ones first ---------------------------------------------- */

struct maker {
	struct arena *a;
	LIST(struct step *) runs;
	size_t steps;
	unsigned memos;
	bool is_too_hard;
};

static struct step *step(struct maker *m, int kind, const struct step *next)
{
	struct step *s = ARENA_NEW(m->a, struct step);

	s->kind = (unsigned)kind;
	s->next = next;
	s->memo = NO_MEMO;
	m->is_too_hard |= ++m->steps > STEPS_MOST;
	return s;
}

static unsigned memo(struct maker *m)
{
	m->is_too_hard |= m->memos == MEMOS_MOST;
	return m->is_too_hard ? 0 : m->memos++;
}

static const struct step *either(struct maker *m, size_t nways, bool is_loop, struct step **ret)
{
	struct step *s = *ret = step(m, STEP_EITHER, NULL);

	s->ways = arena_alloc(m->a, nways * sizeof(struct step *));
	s->nways = nways;
	s->is_loop = is_loop;
	s->memo = is_loop ? memo(m) : NO_MEMO;
	return s;
}

static bool is_any(const struct bytes *set)
{
	return !~(set->has[0] | 1) && !~set->has[1] && !~set->has[2] && !~set->has[3];
}

/* Before each of several ways: each of them can be looked for then. */
static const struct step *run(struct maker *m, const struct bytes *set, size_t least, size_t most,
			      const struct step *next)
{
	struct step *s;

	if (!set && most == ERE_ENDLESS && next->kind == STEP_EITHER && !next->is_loop) {
		const struct step *ret = either(m, next->nways, false, &s);

		for (size_t i = 0; i < next->nways; i++)
			s->ways[i] = run(m, set, least, most, next->ways[i]);
		return ret;
	}
	s = step(m, STEP_RUN, next);
	s->set = set;
	s->least = least;
	s->most = most;
	s->memo = least == most ? NO_MEMO : memo(m);
	s->begins = ARENA_NEW(m->a, struct bytes);
	*LIST_ADD(m->a, &m->runs) = s;
	return s;
}

static bool may_be_empty(const struct ere_node *n)
{
	bool any = n->kind == NODE_BEGIN || n->kind == NODE_END || n->kind == NODE_ALL;

	if (n->kind == NODE_RUN)
		return !n->least;
	if (n->kind == NODE_AGAIN)
		return !n->least || may_be_empty(n->first);
	for (const struct ere_node *part = n->first; part; part = part->next)
		if (n->kind == NODE_ALL && !may_be_empty(part))
			return false;
		else if (n->kind == NODE_EITHER)
			any |= may_be_empty(part);
	return any;
}

static const struct step *steps_of(struct maker *m, const struct ere_node *n,
				   const struct step *next);

/* From the last part to the first. */
static const struct step *steps_of_all(struct maker *m, const struct ere_node *part,
				       const struct step *next)
{
	return part ? steps_of(m, part, steps_of_all(m, part->next, next)) : next;
}

static const struct step *steps_of_either(struct maker *m, const struct ere_node *n,
					  const struct step *next)
{
	const struct step *ret;
	struct step *s;
	size_t nways = 0;

	for (const struct ere_node *way = n->first; way; way = way->next)
		nways++;
	ret = either(m, nways, false, &s);
	nways = 0;
	for (const struct ere_node *way = n->first; way; way = way->next)
		s->ways[nways++] = steps_of(m, way, next);
	return ret;
}

/* What must come, then what may come: "a{1,3}" is a(a(a|)|), "a*" is a way that comes back. */
static const struct step *steps_of_again(struct maker *m, const struct ere_node *n,
					 const struct step *next)
{
	const struct step *ret = next;
	bool is_endless = n->most == ERE_ENDLESS;
	struct step *s;

	m->is_too_hard |= is_endless && may_be_empty(n->first);
	if (m->is_too_hard)
		return next;
	for (size_t i = is_endless ? n->least + 1 : n->most; i > n->least && !m->is_too_hard; i--) {
		const struct step *may = either(m, 2, is_endless, &s);

		s->ways[0] = steps_of(m, n->first, is_endless ? may : ret);
		s->ways[1] = next;
		ret = may;
	}
	for (size_t i = 0; i < n->least && !m->is_too_hard; i++)
		ret = steps_of(m, n->first, ret);
	return ret;
}

static const struct step *steps_of(struct maker *m, const struct ere_node *n,
				   const struct step *next)
{
	struct step *s;

	switch (n->kind) {
	case NODE_RUN:
		return run(m, is_any(&n->set) ? NULL : &n->set, n->least, n->most, next);
	case NODE_ALL:
		return steps_of_all(m, n->first, next);
	case NODE_EITHER:
		return steps_of_either(m, n, next);
	case NODE_AGAIN:
		return steps_of_again(m, n, next);
	case NODE_BEGIN:
		return step(m, STEP_BEGIN, next);
	case NODE_END:
		return step(m, STEP_END, next);
	case NODE_TEXT:
		break;
	}
	s = step(m, STEP_TEXT, next);
	s->s = n->s;
	s->n = n->n;
	return s;
}

/* What the text at a place has where the step matches there; a place at its begin is always tried.
 */
static void add_begins(const struct step *s, struct bytes *ret)
{
	for (; s->kind == STEP_RUN && !s->least; s = s->next)
		for (size_t i = 0; i < ARRAY_LEN(ret->has); i++)
			ret->has[i] |= s->set ? s->set->has[i] : UINT64_MAX;
	switch (s->kind) {
	case STEP_TEXT:
		bytes_add(ret, (unsigned char)*s->s);
		break;
	case STEP_RUN:
	case STEP_FOUND:
		for (size_t i = 0; i < ARRAY_LEN(ret->has); i++)
			ret->has[i] |= s->set ? s->set->has[i] : UINT64_MAX;
		break;
	case STEP_END:
		bytes_add(ret, '\0');
		break;
	case STEP_EITHER:
		for (size_t i = 0; i < s->nways; i++)
			add_begins(s->ways[i], ret);
		break;
	case STEP_BEGIN:
		break;
	}
}

const struct ere *ere_of(struct arena *a, const char *pattern, size_t n)
{
	const struct ere_node *all = ere_read(a, pattern, n);
	struct maker m = {.a = a};
	struct ere *e;

	if (!all)
		return NULL;
	e = ARENA_NEW(a, struct ere);
	e->first = run(&m, NULL, 0, ERE_ENDLESS, steps_of(&m, all, step(&m, STEP_FOUND, NULL)));
	e->memos = m.memos;
	for (size_t i = 0; !m.is_too_hard && i < m.runs.n; i++)
		add_begins(m.runs.v[i]->next, m.runs.v[i]->begins);
	return m.is_too_hard ? NULL : e;
}

/* --- through a text ------------------------------------------------------------------------ */

struct span {
	const char *from, *end;
};

struct walk {
	const char *text, *end;
	struct span tried[MEMOS_MOST]; /* of each run: the latest row of places that failed */
	size_t words;		       /* of each memo */
	uint64_t failed[MEMOS_MOST * MEMO_WORDS];
};

static bool has_failed(const struct walk *w, unsigned memo, const char *p)
{
	size_t at = (size_t)(p - w->text);

	return memo != NO_MEMO && w->failed[memo * w->words + at / 64] >> (at % 64) & 1;
}

static bool fail(struct walk *w, unsigned memo, const char *p)
{
	size_t at = (size_t)(p - w->text);

	if (memo != NO_MEMO)
		w->failed[memo * w->words + at / 64] |= UINT64_C(1) << (at % 64);
	return false;
}

static bool go(struct walk *w, const struct step *s, const char *p);

/* How far the run can reach from @p. */
static const char *reach(const struct walk *w, const struct step *s, const char *p)
{
	size_t left = (size_t)(w->end - p), n = s->most < left ? s->most : left, i = 0;

	if (!s->set)
		return p + n;
	while (i < n && bytes_have(s->set, p[i]))
		i++;
	return p + i;
}

/* The next place from @p to @far at which what comes behind the run may begin; NULL: none. */
static const char *candidate(const struct walk *w, const struct step *s, const char *p,
			     const char *far)
{
	const struct step *next = s->next, *word;
	size_t before = next->kind == STEP_RUN && next->least == 1 && next->most == 1;

	word = before ? next->next : next; /* "[Cc]onnection" is looked for by "onnection" */
	if (word->kind == STEP_TEXT) {
		p = p <= far && p + before <= w->end ? strstr(p + before, word->s) : NULL;
		return p && p - before <= far ? p - before : NULL;
	}
	if (p == w->text || next->kind == STEP_BEGIN)
		return p == w->text ? p : NULL;
	while (p <= far && !bytes_have(s->begins, *p))
		p++;
	return p <= far ? p : NULL;
}

static const char *behind(const struct span *tried, const char *p)
{
	return p >= tried->from && p < tried->end ? tried->end : p;
}

static void add_tried(struct span *tried, const char *from, const char *end)
{
	if (!tried->end || from > tried->end || end < tried->from)
		*tried = (struct span){from, end};
	tried->from = from < tried->from ? from : tried->from;
	tried->end = end > tried->end ? end : tried->end;
}

static bool go_run(struct walk *w, const struct step *s, const char *p)
{
	struct span *tried = &w->tried[s->memo];
	const char *far, *from;

	if ((size_t)(w->end - p) < s->least)
		return false;
	from = p + s->least;
	if (s->most == ERE_ENDLESS && behind(tried, from) != from)
		return false; /* it reaches no farther than what was tried */
	far = reach(w, s, p);
	if (far < from)
		return false;
	for (p = from; (p = candidate(w, s, behind(tried, p), far)); p++)
		if (!has_failed(w, s->memo, p)) {
			if (go(w, s->next, p))
				return true;
			(void)fail(w, s->memo, p);
		}
	add_tried(tried, from, far + 1);
	return false;
}

static bool go_either(struct walk *w, const struct step *s, const char *p)
{
	if (has_failed(w, s->memo, p))
		return false;
	for (size_t i = 0; i < s->nways; i++)
		if (go(w, s->ways[i], p))
			return true;
	return fail(w, s->memo, p);
}

static bool go(struct walk *w, const struct step *s, const char *p)
{
	for (;; s = s->next)
		switch (s->kind) {
		case STEP_TEXT:
			if (*p != *s->s || (size_t)(w->end - p) < s->n ||
			    memcmp(p, s->s, s->n) != 0)
				return false;
			p += s->n;
			break;
		case STEP_RUN:
			if (s->least != s->most)
				return go_run(w, s, p);
			if ((size_t)(reach(w, s, p) - p) < s->least)
				return false;
			p += s->least;
			break;
		case STEP_BEGIN:
			if (p != w->text)
				return false;
			break;
		case STEP_END:
			if (p != w->end)
				return false;
			break;
		case STEP_EITHER:
			return go_either(w, s, p);
		case STEP_FOUND:
			return true;
		}
}

bool ere_is_in(const struct ere *e, const char *text)
{
	size_t n = strnlen(text, ERE_TEXT);
	struct walk w; /* as much of it as is used is set: it is large */

	w.text = text;
	w.end = text + n;
	w.words = n / 64 + 1;
	memset(w.tried, 0, e->memos * sizeof(*w.tried));
	memset(w.failed, 0, e->memos * w.words * sizeof(*w.failed));
	return go(&w, e->first, text);
}
