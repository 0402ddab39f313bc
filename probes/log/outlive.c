/* What the job outlived, and what was only noise of its end, explains no failure. */
#include "probes/log/explain.h"

enum {
	WENT_ON = 3,	/* lines of progress after the last time */
	OVER = 45,	/* the most that such a cause may have */
	OVER_ROOT = 47, /* ... where it says what is wrong */
	DOUBT = 6,	/* what it loses where something else failed later */
	NEAR_END = 60,	/* lines */
	UNPROVEN = 44,	/* an error that nothing shows to have ended anything */
	TOO_MANY = 1000 /* the last of these was not noted any more */
};

static bool went_on(const struct why *w, const struct cause *c)
{
	const struct record *r = c->record;

	/* a kernel tells of what hurts even where one job does not notice; a network file system
	 * tries again by itself */
	if (!c->first || r->count >= TOO_MANY || starts_with(c->sig->id, "XID-") ||
	    (starts_with(c->sig->id, "KRN-") && !streq(c->sig->id, "KRN-014") &&
	     !streq(c->sig->id, "KRN-035") && !streq(c->sig->id, "KRN-049")))
		return false;
	return r->is_up_again || w->progress.v[r->last_file].steps - r->last_progress >= WENT_ON;
}

static bool is_met(const struct why *w, const char *id)
{
	return w->records[signature_find(id)].events.n > 0;
}

/* A step that was ended by itself: a job that hangs at its end is cancelled, or meets its limit. */
static bool is_dismissed(const struct why *w, const struct cause *c)
{
	return streq(c->sig->id, "SLM-038") && !is_met(w, "SLM-006") && !is_met(w, "SLM-001") &&
	       !why_was_interrupted(w);
}

/* The same node says it again and again: it goes on, and cannot. */
static bool is_repeated(const struct cause *c)
{
	static const char before[] = "The node '";
	enum { OFTEN = 3 };
	const char *node = c->first ? strstr(c->first->text, before) : NULL;
	size_t n = 0, start = strlen(before);

	for (size_t i = 0; node && i < c->record->events.n; i++) {
		const char *text = c->record->events.v[i].text, *p = strstr(text, before);

		n += p && strstr(p, "keep-alive heartbeat") &&
		     !strncmp(p, node, start + strcspn(node + start, "'") + 1);
	}
	return n >= OFTEN;
}

/* Who hosts torchrun's rendezvous has left: the others can tell it no more that they live. */
static bool is_left_alone(const struct cause *c)
{
	for (size_t i = 0; i < c->record->events.n; i++)
		if (!strstr(c->record->events.v[i].text, "keep-alive heartbeat") &&
		    !strstr(c->record->events.v[i].text, "to shutdown the rendezvous"))
			return false;
	return streq(c->sig->id, "PT-022") && !is_repeated(c);
}

/* Whoever may know says afterwards that all ended well. */
static bool ended_well_behind(const struct why *w, const struct cause *c)
{
	const struct log_progress *p = &w->progress.v[c->record->last_file];

	return p->ending.well > c->record->last_line && !p->ending.is_failed;
}

/* The host of torch's store went, without a word, before others had left. */
static bool is_store_gone(const struct cause *c)
{
	for (size_t i = 0; i < c->record->events.n; i++)
		if (!strstr(c->record->events.v[i].text, " failed on SocketImpl("))
			return false;
	return streq(c->sig->id, "CON-043");
}

/* Connections break and processes grumble when everybody leaves. */
static bool is_farewell(const struct why *w, const struct cause *c)
{
	const struct log_progress *p = c->first ? &w->progress.v[c->first->file] : NULL;

	if (!p || !((p->finish && c->first->line > p->finish) ||
		    (p->ending.well && !p->ending.is_of_tests && c->first->line > p->ending.well)))
		return false;
	return is_dismissed(w, c) || is_left_alone(c) || is_store_gone(c) ||
	       c->sig->tier == TIER_WRAPPER ||
	       (c->sig->tier == TIER_GENERIC && !c->first->after_traceback);
}

static bool is_own_network(const struct actor *y)
{
	return streq(y->network, "Socket") || streq(y->network, "IB");
}

/* A plug-in of EFA that failed on one host, and works on another: they do not meet. */
static bool is_lonely(const struct why *w, const struct cause *c)
{
	bool is_without = false, is_with = false;

	for (size_t i = 0; i < w->actors.v.n; i++) {
		const struct actor *y = &w->actors.v.v[i];

		if (streq(y->who.host, c->first->who.host))
			is_without |= is_own_network(y);
		else
			is_with |= *y->network && !is_own_network(y);
	}
	return is_without && is_with && !w->healthy && starts_with(c->sig->id, "EFA-") &&
	       c->sig->tier == TIER_ROOT;
}

/* A plug-in that failed on a host where NCCL then chose a network of its own. */
static bool fell_back(const struct why *w, const struct cause *c)
{
	static const char *const ids[] = {"EFA-001", "EFA-003", "EFA-006", "EFA-008", "EFA-009",
					  "NET-004", "NET-006", "NET-007", NULL};
	bool is_one = explain_is_one_of(c, ids);

	for (size_t i = 0; is_one && i < w->actors.v.n; i++) {
		const struct actor *y = &w->actors.v.v[i];

		if (streq(y->who.host, c->first->who.host) && is_own_network(y))
			return true;
	}
	return false;
}

/* A transfer has no other way: what completes after that is another communicator of its process. */
static bool is_transfer(const struct log_event *e)
{
	return strstr(e->text, "Got completion") || strstr(e->text, "completed with error");
}

/* Whose process chose its network or had its communicator complete after that. Connections come
 * behind that choice: the one after them is a next communicator's. */
static bool went_past(const struct why *w, const struct cause *c, const struct log_event *e)
{
	bool is_store = strstr(e->text, "[c10d]") && strstr(e->text, "[W"); /* says no process */
	bool connects = starts_with(c->sig->id, "CON-");

	if (!is_store && (!strstr(e->text, " NCCL WARN ") || is_transfer(e)))
		return false;
	for (size_t i = 0; i < w->actors.v.n; i++) {
		const struct actor *y = &w->actors.v.v[i];
		bool chose = !connects && y->network_at >= e->order;

		if (is_store ? y->ready_at >= e->order
			     : actor_is(y, &e->who) && (y->ready_at >= e->order || chose))
			return true;
	}
	return false;
}

/* Only warned of: who says it goes on in another way. */
static bool is_fallback(const struct why *w, const struct cause *c)
{
	const struct record *r = c->record;
	size_t n = 0;

	if (!c->first || c->sig->tier == TIER_WRAPPER || is_lonely(w, c))
		return false;
	for (size_t i = 0; i < r->events.n; i++)
		n += went_past(w, c, &r->events.v[i]);
	return n == r->events.n || fell_back(w, c);
}

/* Of that barrier (of torch's store) some rank said that all had reached it. */
static bool is_reached(const struct why *w, const char *waiting)
{
	static const char before[] = "store_based_barrier_key:";
	const char *key = strstr(waiting, before);

	for (size_t i = 0; key && i < w->barriers.n; i++) {
		size_t n = strlen(w->barriers.v[i]);
		const char *at = key + sizeof(before) - 1;

		if (!strncmp(at, w->barriers.v[i], n) && (at[n] == ' ' || at[n] == ','))
			return true;
	}
	return false;
}

/* Who waits at a barrier says so every ten seconds: no failure, where all came in the end. */
static bool all_came(const struct why *w, const struct cause *c)
{
	const struct record *r = c->record;
	size_t n = 0;

	if (!streq(c->sig->id, "PT-012") || r->count >= TOO_MANY)
		return false;
	for (size_t i = 0; i < r->events.n; i++)
		n += strstr(r->events.v[i].text, "Waiting in store based barrier") &&
		     is_reached(w, r->events.v[i].text);
	return n == r->events.n;
}

/* The job's folder was not there, and what was started elsewhere ended with an error. */
static bool failed_elsewhere(const struct why *w, const struct cause *c)
{
	return streq(c->sig->id, "SLM-009") && w->progress.v[c->record->last_file].ending.is_failed;
}

/* A library's warning, or a platform's that it looked for, that says how it goes on: the reason
 * where something fails, else none. */
static bool is_warning(const struct why *w, const struct cause *c)
{
	static const struct {
		const char *id, *words;
	} all[] = {{"IF-015", "as fallback"},
		   {"IB-017", "UCX  WARN"},
		   {"IB-070", "UCX"},
		   {"MPI-002", "will be used"},
		   {"SLM-009", "going to /tmp instead"},
		   {"GPU-093", "not available because"},
		   {"GPU-093", "skipped"},
		   {"GPU-093", "not using"},
		   {"GPU-035", "not available because"},
		   {"GPU-021", "not available because"},
		   {"GPU-021", "INFO:jax._src.xla_bridge"},
		   {"LIB-014", "quantization are unavailable"}};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		for (size_t j = 0; streq(c->sig->id, all[i].id) && j < c->record->events.n; j++)
			n += strstr(c->record->events.v[j].text, all[i].words) != NULL;
	return n && n == c->record->events.n && !failed_elsewhere(w, c);
}

/* An exception counts below a traceback, or where the log ends with it. */
static bool is_proven(const struct why *w, const struct cause *c)
{
	const struct log_progress *p = &w->progress.v[c->first->file];

	if (p->finish > c->first->line)
		return false;
	return c->first->after_traceback ||
	       (p->lines && !p->finish && p->lines - c->record->last_line <= NEAR_END);
}

/* wandb's service complains of a call and makes it again; it ends a program where a traceback or
 * nothing follows. */
static bool is_complaint(const struct why *w, const struct cause *c)
{
	enum { LAST = 3 /* lines */ };
	const struct record *r = c->record;

	if (!streq(c->sig->id, "HUB-005"))
		return false;
	for (size_t i = 0; i < r->events.n; i++)
		if (r->events.v[i].after_traceback ||
		    !strstr(r->events.v[i].text, "Error while calling"))
			return false;
	return w->progress.v[r->last_file].lines > r->last_line + LAST;
}

/* What a program may have caught: nothing, where it came to its end after all. */
static bool was_caught(const struct why *w, const struct cause *c)
{
	static const char *const ids[] = {"DAT-001", "DAT-002", "DAT-006", "HUB-003", "LIB-003",
					  "LIB-011", "LIB-042", "PT-058",  "PT-141",  NULL};

	if (explain_is_one_of(c, ids))
		return w->progress.v[c->first->file].finish > c->first->line;
	return is_complaint(w, c) || (streq(c->sig->id, "APP-001") && !is_proven(w, c));
}

/* A connection to torch's store that was lost once, and only warned of: it is made anew. Where rank
 * 0 ended, it is said again and again, or something fails. */
static bool is_store_blip(const struct cause *c)
{
	const char *text = c->first ? c->first->text : "";

	return streq(c->sig->id, "PT-008") && c->record->count == 1 && strstr(text, "[W") &&
	       strstr(text, "recvValue failed on SocketImpl(");
}

/* ... said by many while all leave, run after run: only warned of, and processes end well behind
 * it. */
static bool is_store_left(const struct why *w, const struct cause *c)
{
	const struct record *r = c->record;
	const struct log_progress *p = &w->progress.v[r->last_file];

	if (!streq(c->sig->id, "PT-008") || !c->first || p->ending.is_failed ||
	    p->finish <= r->last_line)
		return false;
	for (size_t i = 0; i < r->events.n; i++)
		if (!strstr(r->events.v[i].text, "[W") || r->events.v[i].file != r->last_file)
			return false;
	return true;
}

/* The parts of a server lose each other when it is told to end. */
static bool was_told(const struct why *w, const struct cause *c)
{
	const struct record *r = c->record;

	if (!streq(c->sig->id, "PT-019") || !c->first || r->count >= TOO_MANY)
		return false;
	for (size_t i = 0; i < r->events.n; i++) {
		uint64_t told = w->progress.v[r->events.v[i].file].told;

		if (!told || r->events.v[i].line < told)
			return false;
	}
	return true;
}

/* A server that is up has what it wanted to fetch. */
static bool leaves_nothing(const struct cause *c) { return starts_with(c->sig->id, "HUB-"); }

/* All of its lines are of exceptions that Python itself goes on after. */
static bool is_ignored(const struct cause *c)
{
	return c->first && c->record->ignored && c->record->ignored == c->record->count;
}

static void outlived(struct cause *c, bool is_it, const char *because)
{
	if (c->is_over || !is_it)
		return;
	c->is_over = true;
	c->because = because;
}

/* What is over, or was caught. */
static void mark(struct why *w, struct explanation *x)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];

		c->is_over = went_on(w, c) || is_farewell(w, c);
		if (!c->is_over && is_fallback(w, c)) {
			c->is_over = true;
			c->because = "NCCL went on without it";
			if (fell_back(w, c) && actors_alone(&w->actors))
				c->weight = 0; /* what is lost: nothing */
		}
		if (is_refuted(w, c)) {
			c->is_over = true;
			c->weight = 0;
		}
		if (!c->is_over && is_ignored(c)) {
			c->is_over = true;
			c->because = "said while tidying up: Python ignores it and goes on";
			c->weight = UNPROVEN;
		}
		outlived(c, is_store_blip(c), "said once, as a warning: a connection is made anew");
		outlived(c, is_store_left(w, c),
			 "said as a warning, and processes ended well behind it");
		outlived(c, is_left_alone(c) && ended_well_behind(w, c),
			 "who serves the rendezvous had ended well before");
		outlived(c, was_told(w, c), "somebody had told the server to end");
		outlived(c, all_came(w, c), "all ranks came in the end");
		if (c->first && (was_caught(w, c) || is_left_alone(c)))
			c->weight = UNPROVEN;
	}
}

void outlive(struct why *w, struct arena *a, struct explanation *x)
{
	bool trouble = false, of_stack = false; /* not an error of the program itself */

	x->in_trouble = false;
	mark(w, x);
	lived(w, x);
	settle(w, a, x);
	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *c = &x->causes.v[i];

		if (c->is_over || c->sig->tier == TIER_HINT || is_warning(w, c))
			continue;
		trouble |= c->weight >= CONFIDENT || c->sig->tier == TIER_WRAPPER;
		of_stack |= c->weight >= CONFIDENT && !streq(c->sig->id, "APP-001");
		/* a link goes down in every kernel's log, when the host starts */
		x->in_trouble |= c->sig->tier != TIER_GENERIC && !streq(c->sig->id, "KRN-003");
	}
	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];

		if (!of_stack && !c->is_over && is_warning(w, c))
			c->weight = OVER; /* and what the earliest gets */
		if (!c->is_over || c->sig->tier == TIER_HINT)
			continue;
		if (trouble && !is_farewell(w, c) && c->sig->tier != TIER_EFFECT &&
		    !leaves_nothing(c))
			c->weight -= DOUBT;
		else if (c->weight > OVER)
			c->weight = c->sig->tier == TIER_ROOT ? OVER_ROOT : OVER;
		if (!trouble && !c->because)
			c->because = "the job went on after it";
	}
}
