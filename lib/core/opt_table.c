#include "lib/core/opt_table.h"

#include "lib/core/units.h"

static const char *const generators[] = {"bash", "zsh", "man", "markdown", NULL};

static const struct opt builtin_rows[] = {
	{.help = "Help"},
	{'h', "help", NULL, "show this help", OPT_STR, .if_bare = "help"},
	{'V', "version", NULL, "show the version", OPT_STR, .if_bare = "version"},
	{0, "generate", "KIND", "print the shell completion, man page or table in Markdown",
	 OPT_CHOICE, .choices = generators, .hidden = true},
};

static bool name_taken(const opt_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->n; i++)
		if (streq(rows->v[i].o->name, name))
			return true;
	return false;
}

static bool letter_taken(const opt_rows *rows, char letter)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->v[i].shortname == letter)
			return true;
	return false;
}

static void flatten_table(const struct opt_table *t, struct arena *a, opt_rows *ret)
{
	const char *title = ret->n ? NULL : "Options";

	for (size_t i = 0; i < t->n; i++) {
		const struct opt *o = &t->rows[i];
		struct opt_row row = {.o = o, .shortname = o->shortname};

		if (!o->name) {
			title = o->help;
			continue;
		}
		if (name_taken(ret, o->name))
			continue;
		if (letter_taken(ret, o->shortname))
			row.shortname = 0;
		row.at = t->cfg ? (char *)t->cfg + o->off : NULL;
		if (!o->hidden) {
			row.title = title;
			title = NULL;
		}
		*LIST_ADD(a, ret) = row;
	}
}

void opt_flatten(const struct opt_usage *u, const char **ret_wanted, struct arena *a, opt_rows *ret)
{
	struct opt_table builtin = {builtin_rows, ARRAY_LEN(builtin_rows), ret_wanted};

	*ret = (opt_rows){0};
	for (size_t i = 0; i < u->ntables; i++)
		flatten_table(&u->tables[i], a, ret);
	flatten_table(&builtin, a, ret);
}

const char *opt_metavar(const struct opt *o)
{
	static const char *const fallback[] = {
		[OPT_UINT] = "N",    [OPT_SIZE] = "SIZE", [OPT_DURATION] = "TIME",
		[OPT_DOUBLE] = "X",  [OPT_STR] = "TEXT",  [OPT_CHOICE] = "KIND",
		[OPT_LIST] = "ITEM",
	};

	if (o->type == OPT_BOOL || (o->if_bare && !o->metavar))
		return NULL;
	return o->metavar ? o->metavar : fallback[o->type];
}

const char *opt_spec(const struct opt_row *r, struct arena *a)
{
	const char *value = opt_metavar(r->o);
	struct text t;

	text_init(&t, a);
	if (r->shortname)
		text_addf(&t, "-%c, ", r->shortname);
	/* A switch that is on by default is shown with the way to switch it off. */
	text_addf(&t, "--%s%s", r->o->type == OPT_BOOL && r->o->def ? "[no-]" : "", r->o->name);
	if (value)
		text_addf(&t, r->o->if_bare ? "[=%s]" : " %s", value);
	return t.s;
}

const char *opt_join(struct arena *a, const char *const *names, const char *between)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; names[i]; i++)
		text_addf(&t, "%s%s", i ? between : "", names[i]);
	return t.s;
}

static void add_note(struct text *t, const char *what, const char *value)
{
	if (value)
		text_addf(t, "%s%s%s", t->n ? "; " : "", what, value);
}

const char *opt_sentence(const struct opt *o, struct arena *a)
{
	struct text t;

	text_init(&t, a);
	if (o->choices)
		add_note(&t, "", opt_join(a, o->choices, ", "));
	if (o->type == OPT_LIST)
		add_note(&t, "", "may be repeated");
	if (opt_metavar(o))
		add_note(&t, "alone: ", o->if_bare);
	add_note(&t, "default: ", o->def);
	add_note(&t, "env: ", o->env);
	return t.n ? arena_printf(a, "%s (%s)", o->help, t.s) : o->help;
}

static const char *write_limit(const struct opt *o, struct arena *a, uint64_t v)
{
	struct unit_buf b;

	if (o->type == OPT_SIZE)
		return arena_strdup(a, format_size(&b, v));
	if (o->type == OPT_DURATION)
		return arena_strdup(a, format_duration(&b, v));
	return arena_printf(a, "%llu", (unsigned long long)v);
}

const char *opt_accepts(const struct opt *o, struct arena *a)
{
	static const char *const kinds[] = {
		[OPT_BOOL] = "yes or no",
		[OPT_UINT] = "a whole number",
		[OPT_SIZE] = "a size (8, 64K, 1M, 1G)",
		[OPT_DURATION] = "a time (500ms, 10s, 2m, 1h)",
		[OPT_DOUBLE] = "a number",
		[OPT_CHOICE] = NULL,
	};
	const char *kind = o->type < ARRAY_LEN(kinds) ? kinds[o->type] : NULL;

	if (o->choices)
		return arena_printf(a, "one of %s", opt_join(a, o->choices, ", "));
	if (!kind || (!o->min && !o->max && o->type != OPT_DOUBLE)) /* a double is never below 0 */
		return kind;
	if (!o->max)
		return arena_printf(a, "%s, at least %s", kind, write_limit(o, a, o->min));
	if (!o->min && o->type == OPT_DURATION)
		return arena_printf(a, "%s, at most %s", kind, write_limit(o, a, o->max));
	return arena_printf(a, "%s from %s to %s", kind, write_limit(o, a, o->min),
			    write_limit(o, a, o->max));
}
