#include "probes/log/confirm.h"

#include "lib/core/interrupt.h"
#include "lib/core/quote.h"
#include "lib/core/self.h"
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/log/look.h"

enum { MORE = 8, LESS = 14, ASKED = 5 };

static const char *log_host(const struct cause *c)
{
	return c->first && *c->first->who.host ? c->first->who.host : NULL;
}

static void weigh(struct cause *c, enum look seen)
{
	if (seen == LOOK_YES)
		c->weight = c->weight + MORE > 99 ? 99 : c->weight + MORE;
	if (seen == LOOK_NO)
		c->weight = c->weight > LESS ? c->weight - LESS : 1;
}

/* What another host's log says is neither confirmed nor ruled out here. NCCL writes a host's name
 * up to the first dot. */
static bool is_elsewhere(const struct cause *c)
{
	char own[256] = "";

	return log_host(c) && gethostname(own, sizeof(own) - 1) == 0 &&
	       !log_hosts_fit(own, log_host(c));
}

/* The entry that can be looked for: its own, or the family's. */
static const char *look_id(const struct cause *c)
{
	return look_can(c->sig->id) ? c->sig->id : c->head->id;
}

static void confirm_one(struct cause *c, struct looker *l)
{
	static const char *const words[] = {"not decided: ", "confirmed: ", "not so here: "};
	const char *said;
	enum look seen = look_for(l, look_id(c), c->port, &said);
	bool elsewhere = is_elsewhere(c);

	if (elsewhere)
		seen = LOOK_UNKNOWN;
	weigh(c, seen);
	c->seen_here = arena_printf(
		l->a, "%s%s%s%s", words[seen], said ? said : "this host shows nothing about it",
		elsewhere ? "; the log is of " : "", elsewhere ? log_host(c) : "");
}

void confirm(struct explanation *x, uint64_t deadline_ns, struct arena *a)
{
	struct looker l = {.a = a, .deadline_ns = deadline_ns};

	for (size_t i = 0; i < x->causes.n && i < ASKED && !interrupt_pending(); i++)
		if (look_can(look_id(&x->causes.v[i])))
			confirm_one(&x->causes.v[i], &l);
	explain_sort(x);
}

/* --- on the job's hosts -------------------------------------------------------- */

/* "SHM-001,PT-001:29500"; NULL: nothing of it can be looked at. */
static const char *questions(const struct explanation *x, struct arena *a)
{
	struct text list;

	text_init(&list, a);
	for (size_t i = 0; i < x->causes.n && i < ASKED; i++) {
		const struct cause *c = &x->causes.v[i];
		if (!look_can(look_id(c)))
			continue;
		text_addf(&list, "%s%s", list.n ? "," : "", look_id(c));
		if (c->port)
			text_addf(&list, ":%u", c->port);
	}
	return list.n ? list.s : NULL;
}

/* What one host said of one cause. */
static enum look heard(const struct answer *from, const char *id, const char **ret_said)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, json_get(from->data, "looked")) {
		const char *its = json_get_str(one, "id"), *state = json_get_str(one, "state");

		if (!its || !state || !streq(its, id))
			continue;
		*ret_said = json_get_str(one, "said");
		for (int s = 0; s < LOOK_COUNT; s++)
			if (streq(state, look_words[s]))
				return (enum look)s;
	}
	return LOOK_UNKNOWN;
}

static bool is_of(const struct answer *from, const struct cause *c)
{
	return log_hosts_fit(from->host, log_host(c)) || log_hosts_fit(from->hostname, log_host(c));
}

struct verdict {
	size_t yes, no, hosts;
	const char *where, *said; /* of the first that decides, else of the first that spoke */
};

static struct verdict collect(const struct cause *c, const struct answers *all)
{
	struct verdict v = {0};
	bool known = false;

	for (size_t i = 0; i < all->n && log_host(c); i++)
		known |= is_of(&all->v[i], c);
	for (size_t i = 0; i < all->n; i++) {
		const char *said = NULL;
		enum look seen;

		if (known && !is_of(&all->v[i], c))
			continue;
		seen = heard(&all->v[i], look_id(c), &said);
		if (said && (!v.said || (seen == LOOK_YES && v.yes == 0))) {
			v.said = said;
			v.where = all->v[i].host;
		}
		v.hosts++;
		v.yes += seen == LOOK_YES;
		v.no += seen == LOOK_NO;
	}
	return v;
}

static void conclude(struct cause *c, const struct verdict *v, struct arena *a)
{
	enum look seen = v->yes ? LOOK_YES : v->no && v->no == v->hosts ? LOOK_NO : LOOK_UNKNOWN;

	weigh(c, seen);
	if (!v->said)
		c->seen_here = "not decided: the hosts show nothing about it";
	else if (seen == LOOK_YES)
		c->seen_here = arena_printf(
			a, "confirmed on %s: %s%s", v->where, v->said,
			v->yes > 1 ? arena_printf(a, " (and on %zu more)", v->yes - 1) : "");
	else if (seen == LOOK_NO)
		c->seen_here = arena_printf(
			a, "not so on %s: %s",
			v->hosts == 1 ? v->where : arena_printf(a, "any of %zu hosts", v->hosts),
			v->said);
	else
		c->seen_here = arena_printf(a, "not decided: on %s %s", v->where, v->said);
}

/* For the same line once more. */
static const char *mode(const str_list *files, struct arena *a)
{
	str_list words = {0};

	*LIST_ADD(a, &words) = "--confirm";
	for (size_t i = 0; i < files->n; i++)
		*LIST_ADD(a, &words) = files->v[i];
	*LIST_ADD(a, &words) = NULL;
	return arena_printf(a, " %s", shell_quote_words(a, words.v));
}

/* What looks there for us, beside us: where it is here. */
static const char *const *asked_there(struct arena *a)
{
	static const char *const wanted[] = {"ifprobe", NULL}, *const none[] = {NULL};
	const char *path = self_beside(a, *wanted);

	return path && !access(path, X_OK) ? wanted : none;
}

int confirm_hosts(struct explanation *x, const struct there *q, const str_list *files,
		  struct report *r, struct err *e)
{
	AUTO(answers_done) struct answers all = {0};
	struct arena *a = report_arena(r);
	const char *list = questions(x, a);
	str_list args = {0};

	if (!list)
		return 0;
	*LIST_ADD(a, &args) = "--look";
	*LIST_ADD(a, &args) = list;
	if (there_ask(q, mode(files, a), asked_there(a), &args, r, &all, e))
		return -1;
	for (size_t i = 0; i < x->causes.n && i < ASKED; i++) {
		struct cause *c = &x->causes.v[i];

		if (look_can(look_id(c))) {
			struct verdict v = collect(c, &all);

			/* texts of a document end with it */
			v.said = v.said ? arena_strndup(a, v.said, strlen(v.said)) : NULL;
			conclude(c, &v, a);
		}
	}
	explain_sort(x);
	return 0;
}

void confirm_tell(const struct explanation *x, struct report *r)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *c = &x->causes.v[i];
		struct finding *f;

		if (!c->seen_here)
			continue;
		f = report_find(r, "log.confirm", c->head->id);
		finding_set(f, ST_INFO, "%s", c->seen_here);
		report_add(r, f);
	}
}
