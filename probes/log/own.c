#include "probes/log/own.h"

#include "lib/host/nccl_words.h"
#include "probes/log/explain.h"

enum { SURE = 70 /* percent: below, a connection that broke is all that is known */ };

/* Nothing better is advised than to read NCCL's log. */
static bool is_helpless(const struct finding *f)
{
	return f->fix.n == 1 && strstr(f->fix.v[0], NCCL_ASK);
}

static void say(struct finding *f, const struct cause *c)
{
	str_list before = f->fix;

	f->fix = (str_list){0};
	finding_set(f, f->status, "%s; that is, %s (%s)", f->message, c->meaning, c->head->id);
	for (size_t i = 0; i < c->fix.n; i++)
		finding_fix(f, "%s", c->fix.v[i]);
	if (!f->fix.n)
		f->fix = before;
}

static void look(struct finding *f, const char *words)
{
	struct why *w = ARENA_NEW(f->a, struct why);
	struct why_stream s;
	struct explanation x = {0};
	const char *line = arena_printf(f->a, "NCCL WARN %s\n", words);

	why_init(w);
	why_open(&s, w, "NCCL");
	why_feed(&s, line, strlen(line));
	why_close(&s);
	explain(w, f->a, &x);
	if (x.causes.n && x.causes.v[0].weight >= SURE)
		say(f, &x.causes.v[0]);
	why_done(w);
}

void own_review(struct finding *f)
{
	const char *quoted = f->status == ST_FAIL ? strstr(f->message, NCCL_SAYS) : NULL;

	if (quoted && is_helpless(f))
		look(f, quoted + strlen(NCCL_SAYS));
}
