#include "probes/log/busy.h"

#include "probes/log/loner.h"
#include "probes/log/said.h"

#include <ctype.h>

enum {
	MORE = 8,    /* than the timeout that it explains */
	NEAR = 40,   /* lines from its last word to the timeout, where no clock tells */
	STINT = 200, /* lines, in which other ranks do the same */
	MS_PER_S = 1000,
};

/* "[rank0]", "rank 0: ...", "(rank=0)". */
static int rank_of(const struct log_line *l)
{
	const struct log_who who = line_speaker(l);
	const char *p = l->body;

	if (who.rank >= 0 || strncasecmp(p, "rank", 4) != 0)
		return who.rank;
	p += 4 + strspn(p + 4, " =_-");
	return isdigit((unsigned char)*p) ? (int)strtol(p, NULL, 10) : -1;
}

/* "finished evaluation on 1000 samples in 41 s": nothing of what goes on. */
static bool is_done(const char *text)
{
	static const char *const words[] = {
		"finished", "completed", "complete:", " done", " took ", NULL};

	return said_any_anyhow(text, words);
}

void busy_hear(struct why *w, struct why_stream *s, const struct log_line *l)
{
	const struct busy last = w->busy;
	bool is_same = last.line && last.file == s->file && s->line - last.line <= STINT;
	int rank = rank_of(l);

	if (strstr(l->text, "ProcessGroup") || strstr(l->text, "Error") || is_done(l->text))
		return;
	w->busy = (struct busy){
		.line = s->line,
		.file = s->file,
		.rank = rank,
		.is_shared = is_same && (last.is_shared || last.rank != rank ||
					 (rank < 0 && starts_with(l->body, last.text))),
		.steps = w->progress.v[s->file].steps,
		.clock = l->clock,
		.time_ms = l->time_ms,
	};
	(void)snprintf(w->busy.text, sizeof(w->busy.text), "%s", l->body);
}

/* It was said while the others waited, or as they began to. */
static bool is_of_then(const struct busy *b, const struct cause *timeout)
{
	const struct log_event *e = timeout->first;
	int64_t limit = (int64_t)loner_limit_s(timeout) * MS_PER_S;
	int64_t ms = e->time_ms - b->time_ms;

	if (!b->line || b->file != e->file || b->line >= e->line)
		return false;
	if (limit && b->clock && b->clock == e->clock)
		return ms >= 0 && ms < limit + limit / 2;
	return e->line - b->line <= NEAR;
}

static bool has_given_up(const struct actors *t, int rank)
{
	for (size_t i = 0; i < t->v.n; i++)
		if (t->v.v[i].seq >= 0 && t->v.v[i].who.rank == rank)
			return true;
	return false;
}

/* Somebody waited who is not the one that was busy: of a single rank's log that is not known. */
static bool is_another(const struct why *w, const struct busy *b)
{
	return actors_waiting(&w->actors).n > (b->rank < 0);
}

void busy_judge(struct why *w, struct arena *a, struct explanation *x)
{
	const struct busy *b = &w->busy;
	struct cause *c = explain_find(x, "PT-223");
	const struct cause *timeout = explain_find(x, "PT-006");
	const struct log_event *first;
	int weight, rank = b->rank < 0 ? 0 : b->rank; /* who speaks for all is the first */

	if (c)
		c->weight = 0;
	if (!timeout || timeout->is_over || !timeout->first || b->is_shared ||
	    !is_of_then(b, timeout) || !is_another(w, b) || has_given_up(&w->actors, rank) ||
	    loner_is_echo(x, timeout) || w->progress.v[b->file].steps > b->steps)
		return;
	first = timeout->first; /* the list may grow */
	weight = timeout->weight + MORE;
	c = explain_add(w, a, x, "PT-223");
	explain_raise(c, weight,
		      arena_printf(a,
				   "rank %d is not among those that gave up; '%.80s' was said "
				   "before that, in line %llu",
				   rank, b->text, (unsigned long long)b->line));
	c->first = first;
	kin_adopt(c, explain_find(x, "PT-006"));
}
