#include "probes/preflight/drift_values.h"

#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

/* Two numbers are alike that differ by less than this part of the larger; 0: texts must be equal.
 */
static double nearness(const struct drift_kind *k)
{
	switch (k->type) {
	case SIZE: /* of memory: never quite the same, nor is what somebody makes a part of it */
	case LIMIT:
		return 0.05;
	case RATE: /* and measurements even less */
		return 0.1;
	default:
		return 0;
	}
}

bool drift_alike(const struct drift_kind *k, const struct drift_value *x,
		 const struct drift_value *y)
{
	double near = nearness(k);

	return near > 0 ? fabs(x->number - y->number) <= near * fmax(x->number, y->number)
			: streq(x->text, y->text);
}

static const char *worded(struct arena *a, const struct drift_kind *k, double number)
{
	struct unit_buf b;

	return k->type == SIZE	 ? arena_strdup(a, format_size(&b, (uint64_t)number))
	       : k->type == RATE ? arena_printf(a, "%.4g", number)
				 : arena_printf(a, "%.0f", number);
}

/* What cannot be one of these is no answer: the next host's is compared with the others'. */
static bool read_value(struct arena *a, const struct drift_kind *k, const cJSON *facts,
		       struct drift_value *v)
{
	const double most = 0x1p64; /* farther from every limit than these are from each other */
	uint64_t limit;

	v->text = json_get_str(facts, k->key);
	if (k->type == TEXT)
		return v->text;
	if (k->type == LIMIT) {
		if (!v->text || (!streq(v->text, "unlimited") && parse_uint(v->text, &limit)))
			return false;
		v->number = streq(v->text, "unlimited") ? most : (double)limit;
		return true;
	}
	v->number = json_get_num(facts, k->key, NAN);
	if (!(v->number >= 0 && v->number < most))
		return false;
	v->text = worded(a, k, v->number);
	return true;
}

void drift_collect(struct preflight *p, const struct answers *all, const struct drift_kind *k,
		   drift_values *ret)
{
	for (size_t i = 0; i < all->n; i++) {
		const cJSON *facts = json_get(all->v[i].data, "facts");
		struct drift_value v = {.host = all->v[i].host};

		if (!json_get(facts, k->key)) /* what its GPUs stage found */
			facts = json_get(json_get(all->v[i].data, "host"), "facts");
		if (read_value(p->a, k, facts, &v))
			*LIST_ADD(p->a, ret) = v;
	}
}

static int by_text(const void *x, const void *y)
{
	return strcmp((*(const struct drift_value *const *)x)->text,
		      (*(const struct drift_value *const *)y)->text);
}

static int by_number(const void *x, const void *y)
{
	double a = (*(const struct drift_value *const *)x)->number;
	double b = (*(const struct drift_value *const *)y)->number;

	return (a > b) - (a < b);
}

/* In order, what is alike stands together: how many there are around each. */
static void count_alike(struct arena *a, const struct drift_kind *k, drift_values *l)
{
	struct drift_value **v = arena_alloc(a, (l->n + 1) * sizeof(struct drift_value *));
	size_t from = 0, to = 0;

	for (size_t i = 0; i < l->n; i++)
		v[i] = &l->v[i];
	qsort(v, l->n, sizeof(struct drift_value *), nearness(k) > 0 ? by_number : by_text);
	for (size_t i = 0; i < l->n; i++) {
		while (from < i && !drift_alike(k, v[from], v[i]))
			from++;
		to = to > i ? to : i;
		while (to < l->n && drift_alike(k, v[i], v[to]))
			to++;
		v[i]->alike = to - from;
	}
}

const struct drift_value *drift_usual(struct arena *a, const struct drift_kind *k, drift_values *l)
{
	const struct drift_value *best = NULL;

	count_alike(a, k, l);
	for (size_t i = 0; i < l->n; i++)
		if (!best || l->v[i].alike > best->alike)
			best = &l->v[i];
	return best && best->alike < l->n ? best : NULL;
}
