#include "probes/log/ere.h"

#include "probes/log/ere_steps.h"

enum { MEMO_WORDS = ERE_TEXT / 64 + 1 };

struct span {
	const char *from, *end;
};

struct walk {
	const char *text, *end;
	bool has_gram[ANY_GRAM + 1];
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

/* Those of the text; where some share a hash, as if it had them all. */
static void read_grams(struct walk *w)
{
	memset(w->has_gram, 0, sizeof(w->has_gram));
	w->has_gram[ANY_GRAM] = true;
	for (const char *p = w->text; w->end - p >= GRAM; p++)
		w->has_gram[gram_at(p)] = true;
}

static bool is_possible(const struct walk *w, const struct way *by)
{
	for (size_t i = 0; i < GRAMS_OF_WORD; i++)
		if (!w->has_gram[by->grams[i]])
			return false;
	return true;
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
		if (is_possible(w, &s->ways[i]) && go(w, s->ways[i].first, p))
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
	read_grams(&w);
	if (!is_possible(&w, &e->all))
		return false;
	w.words = n / 64 + 1;
	memset(w.tried, 0, e->memos * sizeof(*w.tried));
	memset(w.failed, 0, e->memos * w.words * sizeof(*w.failed));
	return go(&w, e->all.first, text);
}
