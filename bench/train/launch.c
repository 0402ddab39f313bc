#include "bench/train/launch.h"

#include "bench/train/hear.h"
#include "bench/train/say.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "lib/report/merge.h"

#include <math.h>

/* --- rank 0's report becomes ours ------------------------------------------------- */

static const char *own(struct report *r, const cJSON *from, const char *key)
{
	const char *s = json_get_str(from, key);

	return s && *s ? arena_strdup(report_arena(r), s) : NULL;
}

static enum status status_of(const char *name)
{
	enum status st = ST_PASS;

	while (name && st < ST_ERROR && !streq(name, status_name(st)))
		st++;
	return st;
}

static void take_finding(struct report *r, const cJSON *from, const char *home)
{
	const char *host = own(r, from, "host");
	struct finding *f = report_find(r, own(r, from, "check") ?: "run", own(r, from, "subject"));
	const cJSON *fix = json_get(from, "fix");

	finding_set(f, status_of(json_get_str(from, "status")), "%s",
		    json_get_str(from, "message") ?: "");
	f->host = host && home && streq(host, home) ? NULL : host;
	f->rank = (int)json_get_num(from, "rank", -1);
	finding_value(f, json_get_num(from, "value", NAN), own(r, from, "unit"));
	f->expected = own(r, from, "expected");
	for (fix = fix ? fix->child : NULL; cJSON_IsString(fix); fix = fix->next)
		finding_fix(f, "%s", fix->valuestring);
	report_add(r, f);
}

/* Rank 0's own failure is ours: its finding "run" is made again from the error. */
static void take_error(const cJSON *from, int code, struct err *e)
{
	const cJSON *fix = json_get(from, "fix");

	err_set(e, code == 4 ? ERR_ABSENT : ERR_SYS, "%s", json_get_str(from, "message") ?: "?");
	if (fix && cJSON_IsString(fix->child))
		err_hint(e, "%s", fix->child->valuestring);
}

static int take_report(struct report *r, cJSON *doc, int code, struct err *e)
{
	const cJSON *list = json_get(doc, "findings"), *from;
	cJSON *data = cJSON_DetachItemFromObject(doc, "data"), *part;
	const char *check;

	for (from = list ? list->child : NULL; from; from = from->next) {
		check = json_get_str(from, "check");
		if (check && streq(check, "run"))
			take_error(from, code, e);
		else
			take_finding(r, from, json_get_str(doc, "host"));
	}
	if (json_get_str(data, "covers"))
		report_covers(r, "%s", json_get_str(data, "covers"));
	cJSON_DeleteItemFromObjectCaseSensitive(data, "covers");
	while (data && (part = cJSON_DetachItemFromArray(data, 0)))
		cJSON_AddItemToObject(report_data(r), part->string, part);
	cJSON_Delete(data);
	return e->kind ? -1 : 0;
}

/* --- what rank 0 did not say ------------------------------------------------------- */

static void say_hosts(struct report *r, const struct launch_result *l)
{
	for (size_t i = 0; i < l->nhosts; i++) {
		struct finding *f;

		if (!l->hosts[i].trouble)
			continue;
		f = report_find(r, "rank.joined", l->hosts[i].name);
		finding_set(f, ST_FAIL, "%s", l->hosts[i].trouble);
		finding_expect(f, "every host starts its ranks");
		finding_fix(f, "portcheck --hosts %s", l->hosts[i].name);
		report_add(r, f);
	}
}

static bool is_known(const struct launch_result *l)
{
	for (size_t i = 0; i < l->nhosts; i++)
		if (l->hosts[i].trouble && streq(l->hosts[i].trouble, l->failure))
			return true;
	return false;
}

/* Of "rank 1 (b): rank 0 (a) did nothing for 1 s": who was seen, not who saw it. */
static const char *essence(const char *sentence)
{
	const char *inner = strstr(sentence, "): rank ");

	return inner ? inner + 3 : sentence;
}

/* A sentence about one rank begins with it. */
static const char *subject(struct arena *a, const char *sentence)
{
	size_t digits;

	if (!starts_with(sentence, "rank "))
		return "ranks";
	digits = strspn(sentence + 5, "0123456789");
	return digits ? arena_strndup(a, sentence, 5 + digits) : "ranks";
}

static const char *host_of(const struct launch_result *l, const char *rank)
{
	uint64_t i;

	return starts_with(rank, "rank ") && !parse_uint(rank + 5, &i) && i < l->nranks
		       ? l->ranks[i].host->name
		       : NULL;
}

static void say_failure(struct report *r, const struct launch_result *l, const char *last)
{
	const char *sentence = essence(l->failure);
	bool began = l->nranks && *last;
	struct finding *f = report_find(r, began ? "rank.alive" : "rank.joined",
					subject(report_arena(r), sentence));

	finding_set(f, ST_FAIL, "%s%s%s", sentence, began ? "; rank 0 last told of " : "",
		    began ? last : "");
	finding_expect(f, began ? "every rank answers until the end" : "every rank joins");
	say_fix_lost(f, sentence,
		     l->nhosts > 1 ? host_of(l, subject(report_arena(r), sentence)) : NULL);
	report_add(r, f);
}

static const struct launch_rank *first_unwell(const struct launch_result *l)
{
	for (size_t i = 0; i < l->nranks; i++)
		if (l->ranks[i].cause)
			return &l->ranks[i];
	return NULL;
}

/* Rank 0's own failure, and not what it was told, or that we ended it. */
static bool is_own(const struct err *e, const struct launch_result *l)
{
	return !starts_with(e->msg, "interrupted") && !(l->failure && streq(e->msg, l->failure));
}

/* Rank 0's report and how all ended, brought together. */
static int conclude(struct report *r, const struct launch_result *l, const char *command,
		    struct hear *h, struct err *e)
{
	int code0 = l->nranks ? l->ranks[0].status : -1;
	struct err unread = {0};
	cJSON *doc = h->n ? envelope_read("rank 0", command, h->text, h->n, &unread) : NULL;
	const struct launch_rank *unwell;
	int result = 0;

	say_hosts(r, l);
	if (doc)
		result = take_report(r, doc, code0, e);
	cJSON_Delete(doc);
	if (interrupt_pending())
		return -1;
	if (result && is_own(e, l))
		return result;
	if (!report_count(r, ST_FAIL) && l->failure && !is_known(l))
		say_failure(r, l, h->last);
	if (report_count(r, ST_FAIL)) { /* how rank 0 was ended then is no error */
		*e = (struct err){0};
		return 0;
	}
	if (result || (doc && !l->code))
		return result;
	unwell = first_unwell(l);
	return err_set(e, code0 == 4 ? ERR_ABSENT : ERR_SYS, "rank %td ended with %s",
		       unwell ? unwell - l->ranks : 0,
		       unwell ? unwell->cause : "no report that can be read");
}

static void serving(const char *line, void *arg UNUSED)
{
	log_say("type this on the other machines:");
	log_hint("%s", line);
}

int train_launch(struct launch_opts *o, char **argv, const char *command, struct report *r,
		 struct err *e)
{
	struct launch_result l;
	struct hear h;
	int result;

	if (hear_start(&h, e))
		return -1;
	o->argv = (const char *const *)(void *)argv;
	o->out_fd = h.out[1];
	o->err_fd = h.err[1];
	o->raw = true;
	o->serving = serving;
	result = launch_run(o, report_arena(r), &l, e);
	hear_stop(&h);
	if (!result)
		result = conclude(r, &l, command, &h, e);
	hear_done(&h);
	return result;
}
