/* Which options were given, as the structs that they fill show it, and which go with which. */
#include "lib/core/opt.h"

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
