/* From parts to steps, the last ones first. */
#include "probes/log/ere_steps.h"

enum { STEPS_MOST = 4000 };

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
	s->word = next ? next->word : NULL;
	s->memo = NO_MEMO;
	m->is_too_hard |= ++m->steps > STEPS_MOST;
	return s;
}

static unsigned memo(struct maker *m)
{
	m->is_too_hard |= m->memos == MEMOS_MOST;
	return m->is_too_hard ? 0 : m->memos++;
}

static struct way way(const struct step *first)
{
	const struct step *word = first->word;
	struct way ret = {first, {ANY_GRAM, ANY_GRAM, ANY_GRAM, ANY_GRAM}};

	for (size_t i = 0; word && word->n >= GRAM && i < GRAMS_OF_WORD; i++)
		ret.grams[i] = gram_at(word->s + (word->n - GRAM) * i / (GRAMS_OF_WORD - 1));
	return ret;
}

/* All of them come to @next. */
static const struct step *either(struct maker *m, size_t nways, bool is_loop,
				 const struct step *next, struct step **ret)
{
	struct step *s = *ret = step(m, STEP_EITHER, NULL);

	s->word = next->word;
	s->ways = arena_alloc(m->a, nways * sizeof(*s->ways));
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
		const struct step *ret = either(m, next->nways, false, next, &s);

		for (size_t i = 0; i < next->nways; i++)
			s->ways[i] = way(run(m, set, least, most, next->ways[i].first));
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

	for (const struct ere_node *part = n->first; part; part = part->next)
		nways++;
	ret = either(m, nways, false, next, &s);
	nways = 0;
	for (const struct ere_node *part = n->first; part; part = part->next)
		s->ways[nways++] = way(steps_of(m, part, next));
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
		const struct step *may = either(m, 2, is_endless, next, &s);

		s->ways[0] = way(steps_of(m, n->first, is_endless ? may : ret));
		s->ways[1] = way(next);
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
	s->word = next->word && next->word->n >= s->n ? next->word : s;
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
			add_begins(s->ways[i].first, ret);
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
	e->all = way(run(&m, NULL, 0, ERE_ENDLESS, steps_of(&m, all, step(&m, STEP_FOUND, NULL))));
	e->memos = m.memos;
	for (size_t i = 0; !m.is_too_hard && i < m.runs.n; i++)
		add_begins(m.runs.v[i]->next, m.runs.v[i]->begins);
	return m.is_too_hard ? NULL : e;
}
