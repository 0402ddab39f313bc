/* One value: checked against its row and put where the row says. */
#include "lib/core/opt_table.h"

#include "lib/core/near.h"
#include "lib/core/units.h"

/* A value, and what its option or variable is called in a message. */
struct value {
	const struct opt_row *row;
	const char *as, *s;
	struct arena *a;
	struct err *e;
};

static size_t count_names(const char *const *names)
{
	size_t n = 0;

	while (names[n])
		n++;
	return n;
}

static int bad_value(const struct value *v)
{
	const struct opt *o = v->row->o;
	size_t first = strcspn(v->s, ",");
	const char *near = o->choices ? nearest_name(arena_strndup(v->a, v->s, first), o->choices,
						     count_names(o->choices))
				      : NULL;

	err_set(v->e, ERR_USAGE, "%s: '%s' is not %s", v->as, v->s, opt_accepts(o, v->a));
	if (near)
		return err_hint(v->e, "did you mean %s?%s", near,
				v->s[first] ? " It takes one; ask for the next one after it" : "");
	return -1;
}

static bool in_range(const struct opt *o, uint64_t v)
{
	return v >= o->min && (!o->max || v <= o->max);
}

static int set_number(const struct value *v)
{
	const struct opt *o = v->row->o;
	uint64_t n = 0;
	int rc = o->type == OPT_UINT   ? parse_uint(v->s, &n)
		 : o->type == OPT_SIZE ? parse_size(v->s, &n)
				       : parse_duration(v->s, &n);

	if (rc || !in_range(o, n))
		return bad_value(v);
	*(uint64_t *)v->row->at = n;
	return 0;
}

static int set_double(const struct value *v)
{
	const struct opt *o = v->row->o;
	double x;

	if (parse_double(v->s, &x) || x < (double)o->min || (o->max && x > (double)o->max))
		return bad_value(v);
	*(double *)v->row->at = x;
	return 0;
}

static int set_bool(const struct value *v, bool off)
{
	static const char *const words[] = {"0", "1", "no", "yes", "off", "on", "false", "true"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (streq(v->s, words[i])) {
			*(bool *)v->row->at = (i & 1) != off;
			return 0;
		}
	return bad_value(v);
}

static int set_text(const struct value *v)
{
	const struct opt *o = v->row->o;

	for (size_t i = 0; o->choices; i++) {
		if (!o->choices[i])
			return bad_value(v);
		if (streq(v->s, o->choices[i]))
			break;
	}
	if (o->type == OPT_LIST)
		*LIST_ADD(v->a, (str_list *)v->row->at) = v->s;
	else
		*(const char **)v->row->at = v->s;
	return 0;
}

int opt_store(const struct opt_row *row, const char *as, const char *value, bool off,
	      struct arena *a, struct err *e)
{
	struct value v = {row, as, value, a, e};

	switch (row->o->type) {
	case OPT_BOOL:
		return set_bool(&v, off);
	case OPT_UINT:
	case OPT_SIZE:
	case OPT_DURATION:
		return set_number(&v);
	case OPT_DOUBLE:
		return set_double(&v);
	case OPT_STR:
	case OPT_CHOICE:
	case OPT_LIST:
		break;
	}
	return set_text(&v);
}
