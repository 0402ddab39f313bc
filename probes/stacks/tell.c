/* What was found about a job, in a report. */
#include "lib/report/json.h"
#include "lib/report/typed.h"
#include "probes/stacks/judge.h"
#include "probes/stacks/words.h"

enum { SHOWN_FRAMES = 12 };

static void cause(const struct stack_verdict *v, const struct finding *f, cJSON *data)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(data, "causes"), *o;

	o = json_push_object(list ? list : json_array(data, "causes"));
	json_str(o, "id", v->id); /* of no line: none is in the catalogue */
	json_str(o, "entry", v->id);
	json_str(o, "meaning", v->message);
	json_num(o, "confidence", 0.9);
	json_bool(o, "confident", true);
	fix_json(o, &f->fix);
}

static void one(const struct stack_verdict *v, struct report *r)
{
	struct finding *f = report_find(r, v->check, v->subject);

	finding_set(f, v->status, "%s", v->message);
	for (size_t i = 0; i < v->fix.n; i++)
		finding_fix(f, "%s", v->fix.v[i]);
	report_add(r, f);
	if (v->id && v->status == ST_FAIL && report_wants_data(r))
		cause(v, f, report_data(r));
}

/* --- the table -------------------------------------------------------------------- */

/* What the kernel says of its main thread. */
static const char *state(struct arena *a, const struct stand *s)
{
	if (s->state == 'D' && !s->moved)
		return *s->wchan ? arena_printf(a, "stuck in the kernel: %s", s->wchan)
				 : "stuck in the kernel";
	if (s->state == 'T' || s->state == 't')
		return "stopped";
	return stand_works(s) ? "works" : "waits";
}

static const char *moving(const struct spot *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->in.n; i++)
		n += p->in.v[i]->moved;
	return p->of->unread ? NULL : n == p->in.n ? "yes" : n ? "some" : "no";
}

static const struct column columns[] = {
	{.name = "ranks", .is_text = true},	  {.name = "doing", .is_text = true},
	{.name = "at", .is_text = true},	  {.name = "source", .is_text = true},
	{.name = "main thread", .is_text = true}, {.name = "moves", .is_text = true},
};

static void table(const struct inquest *q, struct report *r)
{
	report_series(r, &(struct series){.name = "where the ranks stand",
					  .columns = columns,
					  .ncolumns = ARRAY_LEN(columns),
					  .view = true});
	for (size_t i = 0; i < q->spots.n; i++) {
		const struct spot *p = &q->spots.v[i];
		const struct stand *s = p->of;
		bool has_own = s->own < s->n;

		report_row(r, (struct cell[]){
				      {.text = strchr(stacks_who(q->a, &p->in), ' ') + 1},
				      {.text = stacks_doing(q->a, s)},
				      {.text = has_own ? stacks_place(q->a, &s->frames[s->own])
						       : NULL},
				      {.text = s->line},
				      {.text = s->unread ? NULL : state(q->a, s)},
				      {.text = moving(p)},
			      });
	}
}

/* The whole path, to be opened. */
static const char *at(struct arena *a, const struct py_frame *f)
{
	return f->line ? arena_printf(a, "%s:%d", f->file, f->line) : f->file;
}

static void worker(const struct stand_worker *w, struct report *r)
{
	struct arena *a = report_arena(r);

	if (w->own.function)
		report_remark(r, "its worker %d: %s  %s%s", (int)w->pid, w->own.function,
			      at(a, &w->own), stacks_stuck(a, w));
}

static void stack(const struct inquest *q, struct report *r)
{
	const struct stand *s = q->odd;
	stand_set alone = {.v = &s, .n = 1};

	report_heading(r, "The stack of %s, the innermost call first", stacks_who(q->a, &alone));
	for (size_t i = 0; i < s->n && i < SHOWN_FRAMES; i++)
		report_remark(r, "%s  %s", s->frames[i].function, at(q->a, &s->frames[i]));
	if (s->n > SHOWN_FRAMES)
		report_remark(r, "and %zu more (--json has all)", s->n - SHOWN_FRAMES);
	for (size_t i = 0; i < s->n_workers; i++)
		worker(&s->workers[i], r);
}

void stacks_tell(const struct inquest *q, struct report *r)
{
	for (size_t i = 0; i < q->found.n; i++)
		one(&q->found.v[i], r);
	table(q, r);
	if (q->odd && q->odd->n)
		stack(q, r);
}
