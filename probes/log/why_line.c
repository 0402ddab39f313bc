/* A line in which something was found: who says it, which signatures match, and what is kept. */
#include "probes/log/bare.h"
#include "probes/log/path.h"
#include "probes/log/reply.h"
#include "probes/log/scan.h"
#include "probes/log/shell.h"
#include "probes/log/tested.h"
#include "probes/log/why.h"

enum {
	WINDOW = 1200,	     /* of a long line, before what was found in it */
	HINT_ENOUGH = 4000,  /* lines looked at for a hint */
	MATCH_ENOUGH = 1000, /* matches; the rest is counted by its anchor */
	MISS_ENOUGH = 50000, /* lines with the anchor alone; then every 16th is looked at */
	PROGRESS_ENOUGH = 8, /* lines of it, after each failure */
	BARE_ENOUGH = 20000, /* lines of errors that nothing knows as they stand */
	REARM_ENOUGH = 500,  /* failures after which it is counted */
};

void why_place(const struct why_stream *s, struct log_line *l)
{
	if (l->body)
		return;
	line_place(l);
	shell_fill(s, l);
	path_fill(l, &s->owner);
	if (s->reply)
		reply_date(s->reply, l);
}

/* The expression is made when a line first may match it. */
bool why_matches(struct why_stream *s, size_t sig, struct log_line *l)
{
	struct why *w = s->w;
	const struct signature *g = &signatures[sig];

	if (!w->compiled[sig].yes && signature_compile(&w->a, g, &w->compiled[sig]))
		return false;
	if (!l->body && !signature_may(g, &w->compiled[sig], l->text))
		return false;
	why_place(s, l);
	return signature_match(g, &w->compiled[sig], l->text, l->body);
}

static void note_rank(struct arena *a, struct record *r, int rank)
{
	if (rank < 0 || r->nranks == RANKS_KEPT)
		return;
	for (size_t i = 0; i < r->nranks; i++)
		if (r->ranks[i] == rank)
			return;
	if (!r->ranks)
		r->ranks = arena_alloc(a, RANKS_KEPT * sizeof(*r->ranks));
	r->ranks[r->nranks++] = rank;
}

/* Without its year, January comes after December. */
int64_t event_later_ms(const struct log_event *a, const struct log_event *b)
{
	const int64_t year = INT64_C(366) * 86400000; /* as stamp.c counts them */
	int64_t ms = a->time_ms - b->time_ms;

	if (a->clock == CLOCK_KIND_DAY && (ms > year / 2 || ms < -year / 2))
		ms += ms > 0 ? -year : year;
	return ms;
}

bool event_before(const struct log_event *a, const struct log_event *b)
{
	if (a->clock && a->clock == b->clock && a->time_ms != b->time_ms)
		return event_later_ms(a, b) < 0;
	return a->order < b->order;
}

/* The first ones stay; of those that come later, one that happened earlier becomes the first. */
static void remember(struct why_stream *s, struct record *r, const struct log_line *l, int rank,
		     bool is_ignored)
{
	struct why *w = s->w;
	struct log_event e = {.line = s->line,
			      .order = ++w->order,
			      .file = s->file,
			      .who = l->who,
			      .clock = l->clock,
			      .time_ms = l->time_ms,
			      .is_ignored = is_ignored,
			      .after_traceback = s->traceback && s->line - s->traceback < 200};

	e.who.rank = rank;
	if (r->events.n == EVENTS_KEPT && !event_before(&e, &r->events.v[0]))
		return;
	e.text = arena_strndup(&w->a, l->text, EVENT_TEXT);
	e.innermost = e.after_traceback ? s->innermost : FRAME_NONE;
	e.in_module = e.after_traceback && s->in_module;
	e.frame = e.after_traceback && *s->frame ? arena_strdup(&w->a, s->frame) : NULL;
	e.body = l->body - l->text < EVENT_TEXT ? e.text + (l->body - l->text) : e.text;
	if (r->events.n < EVENTS_KEPT)
		*LIST_ADD(&w->a, &r->events) = e;
	else
		r->events.v[EVENTS_KEPT - 1] = e;
	for (size_t i = r->events.n;
	     i-- > 1 && event_before(&r->events.v[i], &r->events.v[i - 1]);) {
		struct log_event swap = r->events.v[i];

		r->events.v[i] = r->events.v[i - 1];
		r->events.v[i - 1] = swap;
	}
}

/* Who speaks: what the line says, else what its process said before, else its label. */
static int rank_of(struct why *w, const struct log_line *l)
{
	const struct log_who who = line_speaker(l);
	const struct actor *a;

	if (who.rank >= 0 && who.rank_by == RANK_BY_ITSELF)
		return who.rank;
	a = who.pid ? actors_get(&w->actors, &l->who) : NULL;
	return a && a->who.rank >= 0 ? a->who.rank : who.rank;
}

static void fire(struct why_stream *s, size_t sig, const struct log_line *l)
{
	struct record *r = &s->w->records[sig];
	int rank = rank_of(s->w, l);
	bool is_ignored = ignored_has(&s->ignored, s->line, l);

	if (s->line < 8 * sizeof(s->known) && signatures[sig].tier != TIER_GENERIC)
		s->known |= 1U << s->line;
	r->count++;
	s->w->news++;
	r->is_guess = false;
	r->ignored += is_ignored;
	r->last_file = s->file;
	r->last_line = s->line;
	r->last_progress = s->w->progress.v[s->file].steps;
	r->is_up_again = false;
	/* after a hint too, once: a job that goes on does not hang */
	if (signatures[sig].tier != TIER_HINT || !s->w->progress_armed)
		why_watch_progress(s->w);
	note_rank(&s->w->a, r, rank);
	if (rank >= 0)
		r->open_ranks |= UINT64_C(1) << (rank % 64);
	else
		r->is_open = true;
	if (*l->who.host || rank >= 0)
		(void)actors_get(&s->w->actors, &l->who);
	remember(s, r, l, rank, is_ignored);
}

void why_fire(struct why_stream *s, const char *id, const struct log_line *l)
{
	fire(s, (size_t)signature_find(id), l);
}

/* The line was taken for an exception of a name that nobody knows, and an entry knows it. */
static void unfire(struct why_stream *s)
{
	struct record *r = &s->w->records[signature_find("APP-001")];

	s->sequel.fired = 0;
	r->count--;
	for (size_t i = 0; i < r->events.n; i++)
		if (r->events.v[i].file == s->file && r->events.v[i].line == s->line) {
			r->events.n--;
			memmove(&r->events.v[i], &r->events.v[i + 1],
				(r->events.n - i) * sizeof(r->events.v[i]));
		}
}

/* Not worth a regular expression: known often enough, or hardly ever what it looks like. */
static bool is_tired(struct record *r, const struct signature *g)
{
	if (g->tier == TIER_HINT)
		return false; /* those are retired instead */
	return r->count >= MATCH_ENOUGH || (r->tried - r->count > MISS_ENOUGH && ++r->fatigue % 16);
}

static bool try_signature(struct why_stream *s, size_t sig, struct log_line *l, bool *retire)
{
	struct record *r = &s->w->records[sig];
	const struct signature *g = &signatures[sig];

	if (s->w->is_retired[sig])
		return r->count > 0;
	if (is_tired(r, g)) {
		r->count += r->count >= MATCH_ENOUGH;
		return r->count > 0;
	}
	r->tried++;
	if (g->tier == TIER_HINT && r->tried >= HINT_ENOUGH)
		s->w->is_retired[sig] = *retire = true;
	if (!why_matches(s, sig, l) || tested_well(l))
		return false;
	fire(s, sig, l);
	return true;
}

static bool try_special(struct why_stream *s, const struct why_hits *p, struct log_line *l,
			bool *retire)
{
	bool any = false;

	for (size_t i = 0; i < p->n; i++)
		if (p->tags[i] < signature_count && signatures[p->tags[i]].tier != TIER_GENERIC)
			any |= try_signature(s, p->tags[i], l, retire);
	return any;
}

/* Nothing knows the line as it stands: what of it a traceback would have ended with is looked at.
 */
static bool try_bare(struct why_stream *s, const struct why_hits *p, struct log_line *l,
		     bool *retire)
{
	const char *body, *said;
	bool any = false;

	if (s->w->bare_tried >= BARE_ENOUGH || !bare_may(l->text))
		return false;
	s->w->bare_tried++;
	why_place(s, l);
	body = l->body;
	said = bare_named(l, false);
	if (said) {
		l->body = said;
		any = try_special(s, p, l, retire);
		l->body = any ? said : body;
		return any;
	}
	said = bare_unnamed(l, false);
	for (size_t i = 0; said && i < p->n; i++)
		if (p->tags[i] < signature_count)
			any |= why_unnamed(s, p->tags[i], l, said);
	return any;
}

/* What counts only where nothing else matched: the surest of those, or the first of equals. */
static bool try_generic(struct why_stream *s, const struct why_hits *p, struct log_line *l,
			bool *retire)
{
	bool is_tried[LINE_TAGS] = {false};

	for (;;) {
		size_t best = p->n;

		for (size_t i = 0; i < p->n; i++)
			if (!is_tried[i] && p->tags[i] < signature_count &&
			    signatures[p->tags[i]].tier == TIER_GENERIC &&
			    (best == p->n ||
			     signatures[p->tags[i]].weight > signatures[p->tags[best]].weight))
				best = i;
		if (best == p->n)
			return false;
		is_tried[best] = true;
		if (try_signature(s, p->tags[best], l, retire))
			return true;
	}
}

void why_watch_progress(struct why *w)
{
	bool *retired = &w->is_retired[signature_count + log_fact_progress];

	w->progress_left = PROGRESS_ENOUGH;
	if (*retired && w->progress_armed < REARM_ENOUGH) {
		w->progress_armed++;
		*retired = false;
		scan_leave_out(w->scan, w->is_retired);
	}
}

static void keep_step(struct log_progress *p, const char *start, const char *end)
{
	size_t n = (size_t)(end - start);

	n = n < sizeof(p->step) ? n : sizeof(p->step) - 1;
	memcpy(p->step, start, n);
	p->step[n] = '\0';
	p->steps++;
}

/* The job goes on. True when there is nothing else to learn from the line. */
static bool is_progress(struct why_stream *s, const struct why_hits *p, const char *end)
{
	const unsigned tag = (unsigned)(signature_count + log_fact_progress);
	bool found = false;

	for (size_t i = 0; i < p->n; i++)
		found |= p->tags[i] == tag;
	if (!found)
		return false;
	keep_step(&s->w->progress.v[s->file], p->start, end);
	if (s->w->progress_left && --s->w->progress_left == 0) {
		s->w->is_retired[tag] = true;
		scan_leave_out(s->w->scan, s->w->is_retired);
	}
	return p->n == 1;
}

static void try_fact(struct why_stream *s, size_t i, struct log_line *l, bool *retire)
{
	const struct fact *f = &log_facts[i];
	struct why *w = s->w;

	why_place(s, l);
	if (f->hear)
		f->hear(&w->actors, l);
	else
		f->learn(w, s, l);
	if (++w->fact_tried[i] >= f->enough && !w->is_retired[signature_count + i])
		w->is_retired[signature_count + i] = *retire = true;
}

/* Nothing to learn from the line but that it is one more of a thousand. */
static bool all_tired(struct why *w, const struct why_hits *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->tags[i] >= signature_count ||
		    !is_tired(&w->records[p->tags[i]], &signatures[p->tags[i]]))
			return false;
	for (size_t i = 0; i < p->n; i++)
		if (w->records[p->tags[i]].count >= MATCH_ENOUGH)
			w->records[p->tags[i]].count++;
	return true;
}

void why_line(struct why_stream *s, const struct why_hits *p, const char *end)
{
	const char *start = p->start, *cr = memrchr(start, '\r', (size_t)(p->at[0] - start));
	bool any = false, retire = false;
	struct log_line l;

	if (is_progress(s, p, end) || all_tired(s->w, p))
		return;
	/* a progress bar draws over itself: only the latest state is the line */
	if (cr)
		start = cr + 1;
	if (p->at[0] - start > WINDOW)
		start = p->at[0] - WINDOW;
	s->at = p->at[0];
	line_clean(start, (size_t)(end - start), &l);
	for (size_t i = 0; i < p->n; i++)
		if (p->tags[i] >= signature_count &&
		    p->tags[i] != signature_count + log_fact_progress)
			try_fact(s, p->tags[i] - signature_count, &l, &retire);
	any = try_special(s, p, &l, &retire) || try_bare(s, p, &l, &retire);
	if (!any)
		any = try_generic(s, p, &l, &retire);
	if (any && s->sequel.fired == s->line)
		unfire(s);
	if (retire)
		scan_leave_out(s->w->scan, s->w->is_retired);
}

static bool is_after(const struct why_hits *p, size_t i, const char *at, unsigned tag)
{
	return p->at[i] != at ? p->at[i] > at : p->tags[i] > tag;
}

void why_hit(struct why_hits *p, const char *at, unsigned tag)
{
	size_t i = 0;

	while (i < p->n && p->tags[i] != tag)
		i++;
	if (i < p->n ? p->at[i] <= at : i == LINE_TAGS && !is_after(p, i - 1, at, tag))
		return;
	i -= i == LINE_TAGS;
	p->n += i == p->n;
	for (; i && is_after(p, i - 1, at, tag); i--) {
		p->at[i] = p->at[i - 1];
		p->tags[i] = p->tags[i - 1];
	}
	p->at[i] = at;
	p->tags[i] = tag;
}
