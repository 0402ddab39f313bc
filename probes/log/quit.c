/* Ranks that ended, as torchrun saw it: without a word; by torchrun's own hand; in an attempt
 * before the one whose failures fill the log. */
#include "probes/log/explain.h"

#include "lib/core/compat.h"

#include <signal.h>

enum {
	SILENT = 60,   /* all that is known is how a rank ended */
	SWEPT = 45,    /* the launcher's own doing, or not */
	LEFT = 40,     /* a rank ended well, too early: it may be */
	AFTERMATH = 47 /* the most that a later attempt's failure to meet may have */
};

static struct log_event mark(const struct exit_said *e)
{
	return (struct log_event){
		.line = e->line,
		.order = e->order, /* all that was seen before it has at most that */
		.file = e->file,
		.who = e->who,
		.clock = e->clock,
		.time_ms = e->time_ms,
		.text = e->text,
		.body = e->text};
}

static bool is_before(const struct exit_said *p, const struct exit_said *q)
{
	const struct log_event a = mark(p), b = mark(q);

	return event_before(&a, &b) || (!event_before(&b, &a) && p->line < q->line);
}

/* One torchrun tells of two exits only if it started its ranks again. Those that do not say who
 * they are may be several. */
static bool is_one_agent(const struct exit_said *p, const struct exit_said *q)
{
	return p->file == q->file && p->agent && p->agent == q->agent &&
	       streq(p->who.host, q->who.host);
}

/* Does an agent tell of one before @e? */
static bool is_again(const struct exits *t, const struct exit_said *e)
{
	for (unsigned i = 0; i < t->n; i++)
		if (&t->v[i] != e && is_one_agent(&t->v[i], e) && is_before(&t->v[i], e))
			return true;
	return false;
}

/* The exit that ended the first attempt on the last host of those that told of it, or where
 * torchrun says that it starts again; NULL: there was one attempt. */
static const struct exit_said *end_of_first(const struct exits *t)
{
	const struct exit_said *again = NULL, *last = NULL;

	for (unsigned i = 0; i < t->n; i++)
		if (is_again(t, &t->v[i]) && (!again || is_before(&t->v[i], again)))
			again = &t->v[i];
	for (unsigned i = 0; again && i < t->n; i++)
		if (is_before(&t->v[i], again) && (!last || is_before(last, &t->v[i])))
			last = &t->v[i];
	return last ? last : t->is_restarted ? &t->restart : NULL;
}

static const struct exit_said *earliest(const struct exits *t)
{
	const struct exit_said *first = NULL;

	for (unsigned i = 0; i < t->n; i++)
		if (!first || is_before(&t->v[i], first))
			first = &t->v[i];
	return first;
}

static bool is_reason(const struct cause *c)
{
	return c->first && !c->is_over && c->weight >= CONFIDENT && c->sig->tier != TIER_HINT &&
	       c->sig->tier != TIER_WRAPPER;
}

static bool is_after(const struct log_event *e, const struct log_event *end)
{
	return !(e->file == end->file && e->line == end->line) && event_before(end, e);
}

/* Not finding each other, which the remains of an attempt before may cause. */
static bool is_meeting(const char *id)
{
	static const char *const all[] = {"CON-",   "IF-",    "PT-001", "PT-004", "PT-012",
					  "PT-013", "PT-023", "PT-030", "PT-099", NULL};

	for (size_t i = 0; all[i]; i++)
		if (starts_with(id, all[i]))
			return true;
	return false;
}

/* The first attempt failed for a reason; that the next ones did not find each other is what it left
 * behind. */
static void attempts(struct why *w, struct explanation *x)
{
	const struct exit_said *last = end_of_first(&w->exits);
	struct log_event end;
	bool has_reason = false;

	if (!last)
		return;
	end = mark(last);
	for (size_t i = 0; i < x->causes.n; i++)
		has_reason |= is_reason(&x->causes.v[i]) && !is_after(x->causes.v[i].first, &end);
	for (size_t i = 0; has_reason && i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];

		if (!is_reason(c) || !is_meeting(c->sig->id) || !is_after(c->first, &end))
			continue;
		c->weight = c->weight < AFTERMATH ? c->weight : AFTERMATH;
		c->because = "a later attempt met it: look at what ended the first one";
	}
}

/* Does torchrun's block tell of that one? Containers have the same pids. */
static bool is_elastic(const struct why *w, const struct exit_said *e)
{
	const struct elastic *t = &w->elastic;

	return e->pid && t->pid == e->pid && t->file == e->file &&
	       log_hosts_fit(t->who.host, e->who.host);
}

/* Its number in the world where torchrun's block says it, else that on its host. */
static const char *rank_text(const struct why *w, struct arena *a, const struct exit_said *e)
{
	if (w->elastic.who.rank >= 0 && is_elastic(w, e))
		return arena_printf(a, "rank %d", w->elastic.who.rank);
	if (e->who.local < 0)
		return "a rank";
	return *e->who.host ? arena_printf(a, "local rank %d of %s", e->who.local, e->who.host)
			    : arena_printf(a, "local rank %d", e->who.local);
}

static const char *how_text(struct arena *a, int code)
{
	const char *name = code < 0 ? sigabbrev_np(-code) : NULL;

	if (name)
		return arena_printf(a, "SIG%s", name);
	return arena_printf(a, "exit %d", code);
}

static const char *ended_text(const struct why *w, struct arena *a, const struct exit_said *e)
{
	return arena_printf(a, "%s ended with %s", rank_text(w, a, e), how_text(a, e->code));
}

/* What is seen in torchrun's line alone: who it was. */
static void name_rank(const struct why *w, struct arena *a, struct explanation *x)
{
	const struct exit_said *e = earliest(&w->exits);

	for (size_t i = 0; e && i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];

		if (is_reason(c) && !c->because && c->first->file == e->file &&
		    c->first->line == e->line)
			c->because = ended_text(w, a, e);
	}
}

/* Under which entry an end without a word goes; NULL: the lines say more than the code. */
static const char *entry_of(int code)
{
	switch (code) {
	case -SIGABRT:
		return "PT-057";
	case -SIGTERM:
	case -SIGINT:
	case -SIGHUP:
	case -SIGUSR1:
	case -SIGUSR2:
		return "PT-038";
	default:
		return code > 1 ? "APP-001" : NULL;
	}
}

/* The earliest, but exit 1 is what the others end with who lost that one. */
static const struct exit_said *telling(const struct exits *t)
{
	const struct exit_said *first = earliest(t), *best = NULL;

	for (unsigned i = 0; first && first->code == 1 && i < t->n; i++) {
		const struct exit_said *e = &t->v[i];

		if ((e->code > 1 || e->code == -SIGABRT) && !is_again(t, e) &&
		    (!best || is_before(e, best)))
			best = e;
	}
	return best ? best : first;
}

/* The ranks were started again behind it, and that ended well. */
static bool is_mended(const struct why *w, const struct exit_said *e)
{
	const struct ending *end = &w->progress.v[e->file].ending;

	return w->exits.is_restarted && end->again > e->line && end->well > end->again &&
	       !end->is_failed;
}

/* Nobody says why a rank ended: then how it did is all there is. */
static void silent_end(struct why *w, struct arena *a, struct explanation *x)
{
	const struct exit_said *e = telling(&w->exits);
	const char *id = e && !is_mended(w, e) ? entry_of(e->code) : NULL;
	struct log_event *first;
	struct cause *c;

	for (size_t i = 0; i < x->causes.n; i++)
		if (is_reason(&x->causes.v[i]))
			return;
	c = id ? explain_add(w, a, x, id) : NULL;
	if (!c)
		return;
	explain_raise(c, SILENT, ended_text(w, a, e));
	if (c->first)
		return;
	first = arena_alloc(a, sizeof(*first));
	*first = mark(e);
	first->body = "without a message";
	first->who.local = -1;
	if (is_elastic(w, e))
		first->who.rank = w->elastic.who.rank;
	c->first = first;
}

/* The only rank that failed complains of a peer: that one left without an error. */
static void left_well(struct why *w, struct arena *a, struct explanation *x)
{
	const struct exit_said *e = earliest(&w->exits);
	struct cause *c = explain_find(x, "CON-010");
	const char *said;

	if (!e || !c || c->is_over || e->code != 1 || !w->exits.is_only_one ||
	    end_of_first(&w->exits) || !is_elastic(w, e) ||
	    (c->first->who.rank >= 0 && c->first->who.rank != w->elastic.who.rank))
		return;
	said = arena_printf(a,
			    "torchrun saw %s alone fail on that host: its peer left with exit 0, "
			    "or was on another host",
			    rank_text(w, a, e));
	explain_raise(c, 0, said);
	c = explain_add(w, a, x, "PT-067");
	explain_suspect(c, LEFT, said);
	if (c && !c->first)
		c->meaning = "the ranks may have different numbers of batches or steps: the peer "
			     "had done its own and left";
}

/* What torchrun killed because it did not end. */
static bool is_forced(const struct why *w, const struct log_event *e)
{
	static const char *const before[] = {"(pid: ", "by PID ", "pid="};

	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		const char *p = strstr(e->text, before[i]);

		if (p && exits_was_forced(&w->exits, strtol(p + strlen(before[i]), NULL, 10),
					  e->file, e->who.host))
			return true;
	}
	return false;
}

static void forced(struct why *w, struct explanation *x)
{
	struct cause *c = w->exits.forced.n ? explain_find(x, "SHM-004") : NULL;

	for (size_t i = 0; c && i < c->record->events.n; i++)
		if (!is_forced(w, &c->record->events.v[i]))
			return;
	if (c)
		c->weight = 0;
}

/* Intel's mpirun ends the other ranks with SIGKILL and reports each, but not the one that ended
 * with an error code. */
static void swept(struct explanation *x)
{
	static const char *const deaths[] = {"KRN-006", "SHM-003", "APP-004", NULL};
	struct cause *c = explain_find(x, "SHM-004");

	for (size_t i = 0; c && i < c->record->events.n; i++)
		if (!strstr(c->record->events.v[i].text, "KILLED BY SIGNAL: 9"))
			return;
	if (!c)
		return;
	for (unsigned i = 0; deaths[i]; i++) {
		struct cause *d = explain_find(x, deaths[i]);

		if (d && d->first && strstr(d->first->text, "KILLED BY SIGNAL: "))
			c->weight = 0;
	}
	if (c->weight) {
		c->weight = SWEPT;
		c->because = "mpirun ends the other ranks with this signal, too, and does not name "
			     "one that ended with an error code";
	}
}

/* A server that lost a worker kills all of its own, itself at last, of which the shell says
 * "Killed". */
static void put_down(struct explanation *x)
{
	enum { NEAR = 12 /* lines */ };
	const struct cause *server = explain_find(x, "PT-019");
	struct cause *c = explain_find(x, "SHM-004");

	if (!c || !server || !server->first)
		return;
	for (size_t i = 0; i < c->record->events.n; i++) {
		const struct log_event *e = &c->record->events.v[i];

		if (!streq(e->body, "Killed") || e->file != server->record->last_file ||
		    e->line < server->record->last_line ||
		    e->line - server->record->last_line > NEAR)
			return;
	}
	c->weight = SWEPT;
	c->because = "a server that lost a worker ends all of its processes so";
}

/* A process that was killed answers no more. What srun kills, it kills because of that. */
static void heartbeats(struct explanation *x)
{
	static const char *const deaths[] = {"SHM-004", "KRN-006", NULL};
	const struct cause *lost = explain_find(x, "JAX-001");

	for (size_t i = 0; lost && !lost->is_over && deaths[i]; i++) {
		struct cause *c = explain_find(x, deaths[i]);

		if (c && c->first && !c->is_over && !strstr(c->first->text, "srun: error"))
			explain_raise(c, lost->weight + 5,
				      "a process that ended so stops answering the others");
	}
}

void quits(struct why *w, struct arena *a, struct explanation *x)
{
	forced(w, x);
	swept(x);
	put_down(x);
	attempts(w, x);
	silent_end(w, a, x);
	name_rank(w, a, x);
	heartbeats(x);
	left_well(w, a, x);
}

const struct log_event *quits_first(const struct why *w, struct arena *a)
{
	const struct exit_said *e = end_of_first(&w->exits) ? earliest(&w->exits) : NULL;
	struct log_event *ret;

	if (!e)
		return NULL;
	ret = arena_alloc(a, sizeof(*ret));
	*ret = mark(e);
	ret->who.local = -1;
	return ret;
}
