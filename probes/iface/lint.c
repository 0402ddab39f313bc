#include "probes/iface/lint.h"

#include "lib/report/json.h"
#include "probes/rules/accelerate.h"

/* Variables that decide which interface, device or transport a stack takes. */
static const char *const prefixes[] = {"GLOO_",	 "TP_SOCKET", "UCX_",	"OMPI_MCA_", "MASTER_",
				       "TORCH_", "FI_",	      "RDMAV_", "PET_"};

static bool concerns_us(const char *line)
{
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (starts_with(line, prefixes[i]))
			return true;
	return false;
}

static void one(cJSON *all, const char *name, const char *value, const char *origin)
{
	cJSON *o = json_push_object(all);

	json_str(o, "name", name);
	json_str(o, "value", value);
	json_str(o, "origin", origin);
}

/* What accelerate's file has for several machines: hosts are compared by it. */
static void accelerate_lint(const struct facts *f, const struct accelerate *c, cJSON *all)
{
	for (size_t k = 0; accelerate_way(c) != ACCELERATE_ALONE && accelerate_keys[k]; k++)
		for (size_t i = c->keys.n; i-- > 0;) {
			const struct accelerate_key *s = &c->keys.v[i];

			if (!streq(s->name, accelerate_keys[k]))
				continue;
			if (s->value)
				one(all, arena_printf(f->a, ACCELERATE_IN_LINT "%s", s->name),
				    s->value, s->origin);
			break; /* the last one of that name counts */
		}
}

static size_t lint_data(const struct facts *f, const struct accelerate *c, cJSON *all)
{
	size_t n = f->settings.nccl.n;

	for (size_t i = 0; all && i < f->settings.nccl.n; i++) {
		const struct setting *s = &f->settings.nccl.v[i];

		one(all, s->name, s->value, s->origin);
	}
	for (char **line = environ; *line; line++) {
		const char *eq = strchr(*line, '=');

		if (!eq || !concerns_us(*line))
			continue;
		n++;
		if (all)
			one(all, arena_strndup(f->a, *line, (size_t)(eq - *line)), eq + 1,
			    "environment");
	}
	if (all)
		accelerate_lint(f, c, all);
	return n;
}

/* What was looked at, so that silence is not taken for approval of something else. */
static void say_what(const struct facts *f, const struct accelerate *c, size_t settings,
		     struct report *r)
{
	struct finding *x = report_find(r, "lint.settings", "this environment");
	struct text files;

	text_init(&files, f->a);
	for (size_t i = 0; i < f->settings.files.n; i++)
		text_addf(&files, "%s%s", files.n ? ", " : "; read: ", f->settings.files.v[i]);
	if (c->path && !c->trouble)
		text_addf(&files, "%s%s", files.n ? ", " : "; read: ", c->path);
	if (settings)
		finding_set(x, ST_PASS, "%zu setting%s of NCCL, Gloo, torch, Open MPI and UCX%s",
			    settings, settings == 1 ? "" : "s", files.s);
	else
		finding_set(x, ST_PASS, "nothing is set: each stack chooses by itself%s", files.s);
	report_add(r, x);
}

void lint_all(const struct facts *f, const char *accelerate, struct report *r)
{
	struct accelerate c;

	for (size_t i = 0; i < rules_count; i++)
		if (rules_all[i]->check)
			rules_all[i]->check(&f->in, r);
	accelerate_read(&c, accelerate, f->a);
	accelerate_check(&c, &f->in, r);
	accelerate_data(&c, r, f->a);
	say_what(f, &c,
		 lint_data(f, &c, report_wants_data(r) ? json_array(report_data(r), "lint") : NULL),
		 r);
}
