/* Lines that mean another thing beside what else the log shows: a link that went down as RDMA
 * failed, an RDMA port's address that changed, a port that had an error while the program failed by
 * itself, a launcher that waits to the end. Of GPUs: beside_gpu.c. */
#include "probes/log/explain.h"

#include "lib/core/text.h"
#include "probes/log/heal.h"
#include "probes/log/stamp.h"

#include <time.h>

enum {
	MORE = 6,     /* than what it explains */
	ALONE = 56,   /* nothing else says why */
	FAINT = 46,   /* seen, and not what ended the job */
	CHATTER = 64, /* so many times, it has nothing to do with one failure */
};

static bool shares_clock(const struct log_event *a, const struct log_event *b)
{
	return a->clock && a->clock == b->clock;
}

/* So far apart at most; in lines of one file, where no clock tells. */
static bool is_near(const struct log_event *a, const struct log_event *b, int64_t most_s,
		    uint64_t most_lines)
{
	int64_t ms = event_later_ms(a, b);
	uint64_t lines = a->line > b->line ? a->line - b->line : b->line - a->line;

	if (shares_clock(a, b))
		return ms > -most_s * 1000 && ms < most_s * 1000;
	return a->file == b->file && lines < most_lines;
}

/* A kernel's log is mostly a file of its own. */
static bool goes_with(const struct log_event *down, const struct log_event *failed)
{
	return is_near(down, failed, 600, 500) ||
	       (down->file != failed->file && !shares_clock(down, failed));
}

/* In which second of a year, whichever it is, by whichever clock that has a day; -1: that is not
 * said. */
static int64_t second_of_year(const struct log_event *e)
{
	time_t s = (time_t)((e->time_ms - stamp_of_epoch(0)) / 1000);
	struct tm tm;

	if (e->clock == CLOCK_KIND_NONE || e->clock == CLOCK_KIND_UPTIME || !gmtime_r(&s, &tm))
		return -1;
	return (((tm.tm_mon * 31 + tm.tm_mday) * 24 + tm.tm_hour) * 60 + tm.tm_min) * 60 +
	       tm.tm_sec;
}

/* It is said of both when, and that was shortly before. */
static bool is_of_then(const struct log_event *down, const struct log_event *failed)
{
	enum { SHORTLY_S = 600, SLACK_S = 5 };
	int64_t a = second_of_year(down), b = second_of_year(failed);

	return a >= 0 && b >= 0 && b - a < SHORTLY_S && a - b < SLACK_S &&
	       log_hosts_fit(down->who.host, failed->who.host);
}

static const struct log_event *down_then(const struct cause *down, const struct cause *c)
{
	for (size_t i = 0; i < down->record->events.n; i++)
		if (is_of_then(&down->record->events.v[i], c->first))
			return &down->record->events.v[i];
	return NULL;
}

/* A link that the kernel saw going down explains what RDMA missed. */
static void link_down(struct explanation *x)
{
	static const char *const rdma[] = {"IB-001", "IB-014", "IB-005", NULL};
	struct cause *down = explain_find(x, "KRN-003");

	if (!down)
		return;
	/* alone it may be somebody who pulled a cable last week, and a link that came back was
	 * seldom missed */
	if (x->in_trouble && !heal_is_whole(down->record))
		explain_raise(down, 66, NULL);
	for (size_t i = 0; rdma[i]; i++) {
		const struct cause *c = explain_find(x, rdma[i]);

		if (c && c->first && !c->is_over && down->first && goes_with(down->first, c->first))
			explain_reason(down, c, c->weight + 2,
				       "RDMA failed over a link at the same time");
		if (c && c->first && !c->is_over && down_then(down, c)) {
			down->first = down_then(down, c);
			down->is_over = down->is_settled = false; /* it came back too late */
			explain_reason(down, c, c->weight + MORE + 1,
				       "RDMA failed over a link just then");
		}
	}
}

/* "NET/IB : rocep1s0:1 Got async event", "... localGid fe80::1 hca mlx5_0": the card; 0: not said.
 */
static size_t card_of(const char *text, const char **ret)
{
	static const char *const keys[] = {" hca ", "NET/IB : ", "Async event on "};
	size_t n = 0;

	*ret = "";
	for (size_t i = 0; i < ARRAY_LEN(keys) && !**ret; i++) {
		const char *p = strstr(text, keys[i]);

		n = p ? strcspn(p += strlen(keys[i]), " :,") : 0;
		if (n && (i == 0 || p[n] == ':')) /* "NET/IB : Got completion" names none */
			*ret = p;
	}
	return **ret ? n : 0;
}

/* On one host, one port's address is nothing to another port. */
static bool is_of_one_card(const struct log_event *a, const struct log_event *b)
{
	const char *p, *q;
	size_t n = card_of(a->text, &p), m = card_of(b->text, &q);

	return !n || !m || !log_hosts_fit(a->who.host, b->who.host) ||
	       (n == m && !strncmp(p, q, n));
}

static const struct log_event *change_near(const struct cause *c, const struct log_event *e)
{
	for (size_t i = 0; i < c->record->events.n; i++)
		if (is_near(&c->record->events.v[i], e, 60, 200) &&
		    is_of_one_card(&c->record->events.v[i], e))
			return &c->record->events.v[i];
	return NULL;
}

/* Addresses come and go with every pod and lease. It matters where what used one fails then. */
static void address_changed(struct explanation *x)
{
	static const char *const failed[] = {"IB-006", "IB-019", "IB-011", "IB-005",
					     "IB-001", "IB-015", "IB-020"};
	struct cause *c = explain_find(x, "IB-051");

	for (size_t i = 0; c && c->record->count <= CHATTER && i < ARRAY_LEN(failed); i++) {
		const struct cause *e = explain_find(x, failed[i]);
		const struct log_event *near =
			e && e->first && !e->is_over ? change_near(c, e->first) : NULL;

		if (!near)
			continue;
		c->first = near;
		explain_reason(c, e, e->weight + MORE, "RDMA failed at the same time");
	}
}

static bool is_of_network(const struct cause *c)
{
	static const char *const all[] = {"IB-",    "CON-",   "EFA-",	"NET-",	 "PT-006",
					  "PT-008", "PT-011", "PT-039", "LOG-00"};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (starts_with(c->sig->id, all[i]))
			return !streq(c->sig->id, "IB-014") && explain_is_real(c) && !c->is_over;
	return false;
}

/* An error of the program or its files, with the call that had it. */
static bool is_of_program(const struct cause *c)
{
	static const char *const all[] = {"APP-001", "DAT-", "LIB-003", "PT-054"};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (starts_with(c->sig->id, all[i]))
			return c->first && c->first->after_traceback && !c->is_over &&
			       c->weight >= CONFIDENT;
	return false;
}

/* A port that had an error, and came back before anything noticed. */
static void port_came_back(struct explanation *x)
{
	struct cause *c = explain_find(x, "IB-014");
	bool is_own = false;

	if (!c || c->is_over || explain_says(c, "async fatal") || explain_says(c, "catastrophic"))
		return;
	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *o = &x->causes.v[i];

		if (is_of_network(o))
			return;
		is_own |= is_of_program(o) && event_before(c->first, o->first);
	}
	if (is_own && c->weight > FAINT) {
		c->weight = FAINT;
		c->because = "the program failed by itself, and nothing failed over that port";
	}
}

/* Who waits for a server's nodes says so again and again: it matters where nothing follows. */
static void waits_to_the_end(const struct why *w, struct arena *a, struct explanation *x)
{
	enum { AGAIN = 3, AFTER = 12 /* lines, with those of each node */ };
	struct cause *c = explain_find(x, "HNG-006");
	const struct record *r = c ? c->record : NULL;

	if (!r)
		return;
	if (r->count < AGAIN || w->progress.v[r->last_file].lines > r->last_line + AFTER)
		c->weight = 0;
	else
		c->because = arena_printf(a, "said %llu times, and at the end of the log as '%s'",
					  (unsigned long long)r->count, w->awaited);
}

/* Old NCCL fails with an "internal error" where libibverbs cannot use a card that the kernel shows.
 */
static void card_without_library(struct explanation *x)
{
	const struct cause *torch = explain_find(x, "PT-011");

	if (explain_says(torch, "internal error") && !explain_has_reason(x))
		explain_raise(explain_find(x, "IB-021"), ALONE,
			      "NCCL failed, and nothing else in the log is doubtful");
}

/* One supply of several may fail, and nothing happens. */
static void without_power(struct explanation *x)
{
	enum { SEVERAL = 2 /* supplies, or a supply and that it went off */ };
	const struct cause *down = explain_find(x, "SLM-003");
	struct cause *c = explain_find(x, "KRN-050");

	if (c && c->record->count >= SEVERAL && down && !down->is_over)
		explain_reason(c, down, down->weight + MORE, "so that node went down");
}

/* A card's own counters. */
static void lost_packets(struct explanation *x)
{
	const struct cause *missed = explain_find(x, "IB-001");

	if (missed && !missed->is_over)
		explain_reason(explain_find(x, "IB-060"), missed, missed->weight + MORE,
			       "RDMA was not acknowledged");
}

/* "Call to recv from 10.0.0.7<33759> failed": whose other end it was. */
static bool is_same_peer(const struct log_event *a, const struct log_event *b)
{
	const char *p = strstr(a->text, " from "), *q = strstr(b->text, " from ");
	size_t n = p ? strcspn(p, "<") : 0;

	return p && q && n == strcspn(q, "<") && !strncmp(p, q, n);
}

/* Of several peers' connections, told by several ranks. */
static bool is_many(const struct cause *c)
{
	const struct log_event *v = c->record->events.v;

	for (size_t i = 1; i < c->record->events.n; i++)
		if (v[i].who.rank != v[0].who.rank && !is_same_peer(&v[i], &v[0]))
			return true;
	return false;
}

static bool failed_before(const struct explanation *x, const struct log_event *e)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *o = &x->causes.v[i];

		if (explain_is_real(o) && !o->is_over && o->weight >= CONFIDENT &&
		    (o->sig->tier == TIER_ROOT || event_before(o->first, e)))
			return true;
	}
	return false;
}

/* Somebody saw a process die: its connections went with it. */
static bool saw_a_death(struct explanation *x)
{
	static const char *const deaths[] = {"SHM-004", "SLM-040", "APP-002", "APP-003",
					     "APP-004", "KRN-006", "PT-057"};

	for (size_t i = 0; i < ARRAY_LEN(deaths); i++)
		if (explain_find(x, deaths[i]))
			return true;
	return false;
}

/* A process that ends resets its own connections. Where those to several peers go at once, and no
 * rank failed by itself, the way between them went. */
static void reset_at_once(struct explanation *x)
{
	struct cause *c = explain_find(x, "CON-045");

	if (!c)
		return;
	c->weight = 0;
	if (!c->is_over && is_many(c) && !failed_before(x, c->first) && !saw_a_death(x))
		explain_raise(c, ALONE + MORE,
			      "connections to several peers went at once, and no rank failed by "
			      "itself");
}

void beside(struct why *w, struct arena *a, struct explanation *x)
{
	link_down(x);
	address_changed(x);
	port_came_back(x);
	card_without_library(x);
	reset_at_once(x);
	lost_packets(x);
	without_power(x);
	beside_gpu(w, a, x);
	beside_held(w, a, x);
	beside_torch(w, a, x);
	waits_to_the_end(w, a, x);
}
