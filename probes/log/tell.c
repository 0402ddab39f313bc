#include "probes/log/tell.h"

#include "lib/core/fix.h"
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "lib/report/typed.h"
#include "probes/log/dumps.h"
#include "probes/log/measured.h"

enum { SHOWN = 6 /* causes that people are shown; the JSON has all */ };

static bool is_confident(const struct cause *c) { return c->weight >= CONFIDENT; }

static const char *times(struct arena *a, const struct cause *c)
{
	struct text t;

	text_init(&t, a);
	if (c->record->count > 1)
		text_addf(&t, ", %llu times", (unsigned long long)c->record->count);
	if (c->record->nranks > 1)
		text_addf(&t, ", of %zu%s ranks", c->record->nranks,
			  c->record->nranks == RANKS_KEPT ? " or more" : "");
	return t.s;
}

static bool is_elsewhere(const struct log_event *e, const struct log_event *than)
{
	return e && (!than || e->line != than->line || e->file != than->file);
}

static const char *line_of(const struct why *w, const struct log_event *e, struct arena *a)
{
	bool past;
	uint64_t line = why_line_of(w, e, &past);

	return arena_printf(a, "line %llu of %s%s%s", (unsigned long long)line,
			    w->progress.v[e->file].is_reply ? "the py_callstack in " : "",
			    w->files.v[e->file], past ? ", before it began anew" : "");
}

/* Where its line is. */
static const char *place(const struct why *w, const struct cause *c, struct arena *a)
{
	if (!c->first)
		return c->seen ? c->seen : "seen by comparing the ranks";
	return arena_printf(a, "%s%s", line_of(w, c->first, a), times(a, c));
}

/* Of a line that does not say it itself. */
static const char *whose(const struct log_event *e, struct arena *a)
{
	bool is_rank = e->who.rank >= 0 || e->who.attempts;

	return e->who.by_path && is_rank ? arena_printf(a, "%s: ", who_text(a, &e->who)) : "";
}

/* ... and which entries of its family saw what, where it is more than the one whose id it has. */
static const char *places(const struct why *w, const struct cause *c, struct arena *a)
{
	struct text t;

	text_init(&t, a);
	text_addf(&t, "%s%s%s", c->head != c->sig ? c->sig->id : "", c->head != c->sig ? ": " : "",
		  place(w, c, a));
	for (size_t i = 0; i < c->kin.n; i++)
		if (is_elsewhere(c->kin.v[i].first, c->first))
			text_addf(&t, ", and %s: %s", c->kin.v[i].sig->id,
				  line_of(w, c->kin.v[i].first, a));
	return t.s;
}

static enum status status_of(const struct explanation *x, size_t i)
{
	const struct cause *c = &x->causes.v[i];

	if (i == 0 && is_confident(c))
		return ST_FAIL;
	if (c->is_settled)
		return ST_INFO;
	if (c->sig->tier == TIER_HINT || c->sig->tier == TIER_WRAPPER || c->is_echo)
		return i == 0 ? ST_WARN : ST_INFO;
	return ST_WARN;
}

static void list(cJSON *o, const char *key, const str_list *v)
{
	cJSON *array = json_array(o, key);

	for (size_t i = 0; i < v->n; i++)
		json_push_str(array, v->v[i]);
}

static void where_data(const struct why *w, const struct log_event *e, cJSON *o)
{
	bool past;

	if (!e)
		return;
	json_num(o, "line", (double)why_line_of(w, e, &past));
	json_str(o, "file", w->files.v[e->file]);
	if (e->who.rank >= 0)
		json_num(o, "rank", e->who.rank);
	if (e->who.attempts) {
		json_num(o, "local_rank", e->who.local);
		json_num(o, "attempt", e->who.attempts - 1);
	}
	json_str(o, "host", *e->who.host ? e->who.host : NULL);
	json_str(o, "matched", e->text);
}

static void ranks_data(const struct record *r, cJSON *o)
{
	cJSON *ranks = r->nranks ? json_array(o, "ranks") : NULL;

	for (size_t i = 0; i < r->nranks; i++)
		cJSON_AddItemToArray(ranks, cJSON_CreateNumber(r->ranks[i]));
}

/* What else of its family was met. */
static void kin_data(const struct why *w, const struct cause *c, cJSON *o)
{
	cJSON *array = c->kin.n ? json_array(o, "kin") : NULL;

	for (size_t i = 0; i < c->kin.n; i++) {
		cJSON *one = json_push_object(array);

		json_str(one, "entry", c->kin.v[i].sig->id);
		where_data(w, c->kin.v[i].first, one);
		json_num(one, "count", (double)c->kin.v[i].record->count);
		ranks_data(c->kin.v[i].record, one);
	}
}

static void one_data(const struct why *w, const struct cause *c, cJSON *array)
{
	cJSON *o = json_push_object(array);

	json_str(o, "id", c->head->id);
	json_str(o, "entry", c->sig->id);
	where_data(w, c->first, o);
	json_str(o, "component", c->sig->component);
	json_str(o, "meaning", c->meaning);
	json_str(o, "because", c->because);
	json_num(o, "confidence", c->weight / 100.0);
	json_bool(o, "confident", is_confident(c) && !c->is_echo);
	json_str(o, "seen_here", c->seen_here);
	json_num(o, "count", (double)c->record->count);
	list(o, "causes", &c->causes);
	list(o, "confirm", &c->confirm);
	fix_json(o, &c->fix);
	kin_data(w, c, o);
	ranks_data(c->record, o);
}

static void data(const struct why *w, const struct explanation *x, cJSON *o)
{
	cJSON *causes = json_array(o, "causes"), *log = json_object(o, "log"), *first;

	for (size_t i = 0; i < x->causes.n; i++)
		one_data(w, &x->causes.v[i], causes);
	list(log, "files", &w->files);
	json_num(log, "lines", (double)w->lines);
	json_num(log, "bytes", (double)w->bytes);
	json_num(log, "processes", (double)w->actors.v.n);
	list(log, "compared", &x->notes);
	dumps_data(w, x, o);
	if (!x->has_first)
		return;
	first = json_object(o, "first");
	if (x->first.rank >= 0)
		json_num(first, "rank", x->first.rank);
	json_str(first, "host", *x->first.host ? x->first.host : NULL);
	json_str(first, "how", x->first_how);
}

/* The whole story, for the first cause; the findings of the others are one line each. */
static void story(const struct why *w, const struct explanation *x, struct report *r)
{
	const struct cause *c = &x->causes.v[0];
	struct arena *a = report_arena(r);

	if (c->first)
		report_remark(r, "The line (%s): %s%s", place(w, c, a), whose(c->first, a),
			      c->first->text);
	if (x->has_first)
		report_remark(r, "First to fail: %s (%s).", who_text(a, &x->first), x->first_how);
	for (size_t i = 0; i < x->notes.n; i++)
		report_remark(r, "Compared: %s.", x->notes.v[i]);
	for (size_t i = 0; i < c->causes.n; i++)
		report_remark(r, "%s %s", i ? "  or    " : "Why:    ", c->causes.v[i]);
	for (size_t i = 0; i < c->confirm.n; i++)
		report_remark(r, "%s %s", i ? "        " : "Confirm:", c->confirm.v[i]);
	if (x->causes.n > 1)
		report_heading(r, "Also in the log");
}

static void one(const struct why *w, const struct explanation *x, size_t i, struct report *r)
{
	const struct cause *c = &x->causes.v[i];
	struct finding *f = report_find(r, "log.cause", c->head->id);
	struct arena *a = report_arena(r);

	if (c->first) {
		f->rank = c->first->who.rank;
		f->host = *c->first->who.host ? arena_strdup(a, c->first->who.host) : NULL;
	}
	finding_set(f, status_of(x, i), "%s%s%s; %s", c->meaning, c->because ? ": " : "",
		    c->because ? c->because : "", places(w, c, a));
	finding_value(f, c->weight, "% sure");
	if (f->status == ST_FAIL)
		finding_expect(f, "none");
	for (size_t k = 0; k < c->fix.n && (i == 0 || k < 1); k++)
		if (i == 0 || is_confident(c))
			finding_fix(f, "%s", c->fix.v[k]);
	report_add(r, f);
}

static void collect_more(const struct why *w, struct finding *f)
{
	if (!setup_is_known(w))
		finding_fix(f, "export NCCL_DEBUG=INFO NCCL_DEBUG_FILE=/tmp/nccl.%%h.%%p   # on "
			       "every host, then run again");
	finding_fix(f, "export TORCH_DISTRIBUTED_DEBUG=INFO TORCH_NCCL_TRACE_BUFFER_SIZE=20000 "
		       "TORCH_NCCL_DUMP_ON_TIMEOUT=1 "
		       "TORCH_NCCL_DEBUG_INFO_TEMP_FILE=/tmp/nccl_trace_rank_");
	finding_fix(f, "sudo dmesg -T | grep -E 'Xid|oom|AER|mlx5'   # on every host");
	finding_fix(f, "ncclwhy /tmp/nccl* train.log dmesg.*   # all of it together");
}

/* Of a command that failed that is known in any case. */
static void failed(const struct why *w, struct finding *f)
{
	finding_set(f, ST_WARN, "the command %s, and %s", w->ended,
		    w->was_silent ? "printed nothing" : "nothing here says why for sure");
	finding_expect(f, "exit code 0");
	if (!w->was_silent)
		collect_more(w, f);
}

static void nothing(const struct why *w, const struct explanation *x, struct report *r)
{
	struct finding *f = report_find(r, "log.cause", "unknown");

	if (w->ended) {
		failed(w, f);
	} else if (!w->bytes && !dumps_covered(x, report_arena(r))) {
		finding_set(f, ST_SKIP, "there was nothing to read");
	} else if (measured_is_cut(w)) { /* whose figures tell nothing of its end */
		finding_set(f, ST_WARN,
			    "a table without its last lines: the run was cut off, or hung; nothing "
			    "here says why");
		finding_expect(f, "\"# Avg bus bandwidth\" at its end");
		collect_more(w, f);
	} else {
		finding_set(f, ST_INFO,
			    x->in_trouble ? "something failed, but nothing here says why for sure"
					  : "no failure that we know in %llu line%s; that is no "
					    "proof of health",
			    (unsigned long long)w->lines, w->lines == 1 ? "" : "s");
		if (!measured_tell(w, f) || x->in_trouble)
			collect_more(w, f);
	}
	report_add(r, f);
}

void tell(const struct why *w, const struct explanation *x, struct report *r)
{
	const char *dumps = dumps_covered(x, report_arena(r));

	if (report_wants_data(r))
		data(w, x, report_data(r));
	for (size_t i = 0; i < x->causes.n && i < SHOWN; i++) {
		one(w, x, i, r);
		if (i == 0)
			story(w, x, r);
	}
	dumps_healthy(x, r);
	if ((!x->causes.n || !is_confident(&x->causes.v[0])) && !(dumps && !w->bytes))
		nothing(w, x, r);
	setup_tell(w, x, r);
	if (dumps && !w->bytes)
		report_covers(r, "%s", dumps);
	else if (w->files.n)
		report_covers(r, "%llu line%s of %zu log%s%s%s", (unsigned long long)w->lines,
			      w->lines == 1 ? "" : "s", w->files.n, w->files.n == 1 ? "" : "s",
			      dumps ? ", and " : "", dumps ? dumps : "");
}

const char *tell_briefly(const struct why *w, const struct explanation *x, struct arena *a,
			 const char **ret_fix)
{
	const struct cause *c = x->causes.n ? &x->causes.v[0] : NULL;

	if (!c || !is_confident(c))
		return NULL;
	if (c->fix.n)
		*ret_fix = arena_printf(a, "%s %s", fix_mark(c->fix.v[0]), fix_text(c->fix.v[0]));
	return arena_printf(a, "%s: %s (%s)", c->head->id, c->meaning, places(w, c, a));
}
