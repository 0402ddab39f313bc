/* Which options were given, as the structs that they fill show it, and which go with which. */
#include "lib/core/opt.h"

#include "lib/core/quote.h"
#include "lib/core/text.h"
#include "lib/core/units.h"

static bool is_named(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (streq(*names, name))
			return true;
	return false;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && streq(a, b)); }

static bool is_usual(const struct opt *o, const char *at, const char *usual)
{
	switch (o->type) {
	case OPT_BOOL:
		return *(const bool *)(const void *)at == *(const bool *)(const void *)usual;
	case OPT_UINT:
	case OPT_SIZE:
	case OPT_DURATION:
		return !memcmp(at, usual, sizeof(uint64_t));
	case OPT_DOUBLE:
		return !memcmp(at, usual, sizeof(double));
	case OPT_STR:
	case OPT_CHOICE:
		return same_text(*(const char *const *)(const void *)at,
				 *(const char *const *)(const void *)usual);
	case OPT_LIST:
		break;
	}
	return ((const str_list *)(const void *)at)->n ==
	       ((const str_list *)(const void *)usual)->n;
}

int opt_check_needs(const struct opt_need *v, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].given && !v[i].fits)
			return err_set(e, ERR_USAGE, "%s goes with %s", v[i].name, v[i].with);
	return 0;
}

const char *opt_given(const struct opt_table *t, const void *usual, const char *const *names,
		      bool among, struct arena *a)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct opt *o = &t->rows[i];

		if (!o->name || is_named(o->name, names) != among || (o->env && getenv(o->env)) ||
		    is_usual(o, (const char *)t->cfg + o->off, (const char *)usual + o->off))
			continue;
		return o->shortname ? arena_printf(a, "-%c", o->shortname)
				    : arena_printf(a, "--%s", o->name);
	}
	return NULL;
}

/* --- typed once more ------------------------------------------------------------------------- */

static const char *size_typed(struct arena *a, uint64_t n)
{
	static const char units[] = "KMGT";
	size_t k = 0;

	while (n && !(n % 1024) && k < sizeof(units) - 1) {
		n /= 1024;
		k++;
	}
	return k ? arena_printf(a, "%zu%c", (size_t)n, units[k - 1])
		 : arena_printf(a, "%zu", (size_t)n);
}

static const char *duration_typed(struct arena *a, uint64_t ns)
{
	if (ns % NS_PER_S)
		return arena_printf(a, "%.9gms", (double)ns / NS_PER_MS);
	return arena_printf(a, "%zus", (size_t)(ns / NS_PER_S));
}

static const char *value_typed(struct arena *a, const struct opt *o, const void *at)
{
	const uint64_t *n = at;

	switch (o->type) {
	case OPT_UINT:
		return arena_printf(a, "%zu", (size_t)*n);
	case OPT_SIZE:
		return size_typed(a, *n);
	case OPT_DURATION:
		return duration_typed(a, *n);
	case OPT_DOUBLE:
		return arena_printf(a, "%.9g", *(const double *)at);
	case OPT_STR:
	case OPT_CHOICE:
		return *(const char *const *)at ?: "";
	case OPT_BOOL:
	case OPT_LIST:
		break;
	}
	return "";
}

static void add_typed(struct text *t, const struct opt *o, const void *at)
{
	const char *off = o->type == OPT_BOOL && !*(const bool *)at ? "no-" : "";
	const char *name = o->shortname ? arena_printf(t->a, " -%c", o->shortname)
					: arena_printf(t->a, " --%s%s", off, o->name);
	const str_list one = {.v = (const char *[]){value_typed(t->a, o, at)}, .n = 1};
	const str_list *values = o->type == OPT_LIST ? at : &one;

	if (o->type == OPT_BOOL)
		return text_add(t, name);
	for (size_t i = 0; i < values->n; i++)
		text_addf(t, "%s %s", name, shell_quote(t->a, values->v[i]));
}

const char *opt_typed(const struct opt_table *t, const void *usual, const char *const *names,
		      struct arena *a)
{
	struct text typed;

	text_init(&typed, a);
	for (size_t i = 0; i < t->n; i++) {
		const struct opt *o = &t->rows[i];
		const char *at = (const char *)t->cfg + o->off;

		if (o->name && is_named(o->name, names) &&
		    !is_usual(o, at, (const char *)usual + o->off))
			add_typed(&typed, o, at);
	}
	return typed.s;
}
