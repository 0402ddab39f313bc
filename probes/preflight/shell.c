/*
 * The shell that a run of several hosts was typed in. What they say of their settings is what a
 * login there has; on the one that we are on ourselves the job may be typed here, too.
 */
#include "lib/report/json.h"
#include "probes/preflight/drift.h"

/* Variables that choose an interface. Where a job meets is compared anyway (drift.master). */
static bool has_settings(void)
{
	static const char *const prefixes[] = {"NCCL_", "GLOO_", "TP_SOCKET_"};

	for (char **line = environ; *line; line++)
		for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
			if (starts_with(*line, prefixes[i]))
				return true;
	return false;
}

/* Which of them we are on; NULL: none. */
static const struct answer *here(const struct preflight *p, const struct answers *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].doc && streq(all->v[i].hostname, p->t.own ?: ""))
			return &all->v[i];
	return NULL;
}

/* A login there has it, too. */
static bool is_said(const struct preflight *p, const char *host, const cJSON *f)
{
	for (size_t i = p->run[S_SETTINGS].from; i < p->t.items.n; i++) {
		const struct finding *x = p->t.items.v[i].f;

		if (streq(x->host ?: "", host) && streq(x->check, json_text(f, "check")) &&
		    streq(x->subject ?: "", json_get_str(f, "subject") ?: "") &&
		    streq(x->message, json_text(f, "message")))
			return true;
	}
	return false;
}

static void take(struct preflight *p, const cJSON *from)
{
	size_t before = p->t.items.n;
	struct item *x;

	tally_take(&p->t, S_SETTINGS, stages[S_SETTINGS].name, NULL, from);
	if (p->t.items.n == before)
		return;
	x = &p->t.items.v[before];
	x->of_shell = true;
	finding_set(x->f, x->f->status, "of this shell: %s", x->f->message);
}

void preflight_own_shell(struct preflight *p, const struct answers *all)
{
	const struct answer *own = p->crew || !has_settings() ? NULL : here(p, all);
	const cJSON *f;
	cJSON *doc;

	if (!own)
		return;
	doc = preflight_run_doc(p, S_SETTINGS, preflight_args(p, S_SETTINGS, NULL), false);
	cJSON_ArrayForEach (f, json_get(doc, "findings")) {
		const char *check = json_text(f, "check"), *st = json_text(f, "status");

		if (starts_with(check, "lint.") && !starts_with(check, "lint.torch.") &&
		    (streq(st, status_name(ST_FAIL)) || streq(st, status_name(ST_WARN))) &&
		    !is_said(p, own->host, f))
			take(p, f);
	}
	cJSON_Delete(doc);
}
