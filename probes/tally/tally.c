#include "probes/tally/tally.h"

#include "lib/core/text.h"
#include "lib/report/envelope.h"
#include "lib/report/json.h"
#include "probes/tally/names.h"

struct finding *tally_add(struct tally *t, unsigned stage, const char *stage_name,
			  const char *check, const char *subject)
{
	struct item *i = LIST_ADD(t->a, &t->items);

	*i = (struct item){
		.stage = stage, .stage_name = stage_name, .f = report_find(t->r, check, subject)};
	return i->f;
}

void tally_of_host(struct tally *t, const char *host)
{
	struct item *i = &t->items.v[t->items.n - 1];

	i->f->host = host;
	i->hosts.v = ARENA_NEW(t->a, struct host); /* nearly all have one */
	i->hosts.v->name = host;
	i->hosts.n = i->hosts.cap = 1;
}

static bool same_text(const char *x, const char *y) { return x == y || (x && y && streq(x, y)); }

static size_t said_at(const struct tally *t, const struct finding *f)
{
	uint32_t h = text_hash(text_hash(0, f->check), f->host ?: t->own);

	return text_hash(text_hash(h, f->message), f->subject) & (t->said_size - 1);
}

static void said_put(struct tally *t, size_t item)
{
	size_t at = said_at(t, t->items.v[item].f);

	while (t->said[at])
		at = (at + 1) & (t->said_size - 1);
	t->said[at] = item + 1;
}

static void said_grow(struct tally *t)
{
	size_t *old = t->said, n = t->said_size;

	t->said_size = n ? 2 * n : 1024;
	t->said = arena_alloc(t->a, t->said_size * sizeof(*t->said));
	for (size_t i = 0; i < n; i++)
		if (old[i])
			said_put(t, old[i] - 1);
}

/* Several commands look at the same: what one has said is not said again by the next. */
static bool is_known(const struct tally *t, const struct item *new)
{
	const struct finding *f = new->f;

	for (size_t at = said_at(t, f); t->said[at]; at = (at + 1) & (t->said_size - 1)) {
		const struct item *i = &t->items.v[t->said[at] - 1];
		const struct finding *x = i->f;

		if (x->status == f->status && i->stage != new->stage &&streq(x->check, f->check) &&
		    same_text(x->subject, f->subject) &&
		    same_text(x->host ?: t->own, f->host ?: t->own) &&
		    streq(x->message, f->message))
			return true;
	}
	return false;
}

/* The last item goes again when it is known; what passed or failed decides how its stage ended. */
static void keep_once(struct tally *t)
{
	size_t last = t->items.n - 1;
	enum status st = t->items.v[last].f->status;

	if (st != ST_WARN && st != ST_INFO)
		return;
	if (2 * t->said_n >= t->said_size)
		said_grow(t);
	if (is_known(t, &t->items.v[last])) {
		t->items.n--;
		return;
	}
	said_put(t, last);
	t->said_n++;
}

void tally_take(struct tally *t, unsigned stage, const char *stage_name, const char *host,
		const cJSON *finding)
{
	const char *check = envelope_check(finding), *subject = json_get_str(finding, "subject");
	struct finding *f;

	if (!check)
		return;
	f = tally_add(t, stage, stage_name, check, subject && *subject ? subject : NULL);
	envelope_finding(f, finding);
	if (host)
		tally_of_host(t, arena_strdup(t->a, host));
	keep_once(t);
}

const struct finding *tally_first(const struct tally *t, size_t from, size_t to, enum status st)
{
	for (size_t i = from; i < to; i++)
		if (t->items.v[i].f->status == st)
			return t->items.v[i].f;
	return NULL;
}

enum status tally_status(const struct tally *t, size_t from, size_t to)
{
	static const enum status order[] = {ST_FAIL, ST_ERROR, ST_WARN, ST_PASS, ST_INFO};

	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		if (tally_first(t, from, to, order[i]))
			return order[i];
	return ST_SKIP;
}

const char *tally_sentence(struct arena *a, const struct finding *f)
{
	bool itself = f->subject &&
		      (streq(f->subject, "this host") || (f->host && streq(f->subject, f->host)));

	/* "node2" of "node2 receives ..." is not said twice */
	if (f->subject && starts_with(f->message, f->subject))
		return arena_printf(a, "%s%s%s", f->host && !itself ? f->host : "",
				    f->host && !itself ? ": " : "", f->message);
	if (!f->subject || itself)
		return arena_printf(a, "%s: %s", f->host ? f->host : "this host", f->message);
	return arena_printf(a, "%s%s%s %s", f->host ? f->host : "", f->host ? ": " : "", f->subject,
			    f->message);
}
