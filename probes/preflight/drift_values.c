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
	case ROOM:
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

	if (k->type == COUNT && number == 0)
		return DRIFT_NONE;
	if (k->type == SIZE || k->type == ROOM)
		return arena_strdup(a, format_size(&b, (uint64_t)number));
	return arena_printf(a, k->type == RATE ? "%.4g" : "%.0f", number);
}

static bool read_limit(const char *text, double *ret)
{
	const double unlimited = 0x1p64; /* farther from every limit than these are alike */
	uint64_t limit;

	if (!text || (!streq(text, "unlimited") && parse_uint(text, &limit)))
		return false;
	*ret = streq(text, "unlimited") ? unlimited : (double)limit;
	return true;
}

const struct drift_kind *drift_kind_of(const char *key)
{
	for (size_t i = 0; i < drift_kinds_n; i++)
		if (streq(drift_kinds[i].key, key))
			return &drift_kinds[i];
	return NULL;
}

bool drift_read(struct arena *a, const struct drift_kind *k, const cJSON *said,
		struct drift_value *v)
{
	v->text = cJSON_GetStringValue(said);
	if (k->type == TEXT)
		return v->text;
	if (k->type == LIMIT)
		return read_limit(v->text, &v->number);
	v->number = cJSON_GetNumberValue(said); /* of no number: NaN */
	if (!(v->number >= 0 && v->number < 0x1p64))
		return false;
	v->text = worded(a, k, v->number);
	return true;
}

const cJSON *drift_fact(const struct answer *from, const char *key)
{
	const cJSON *facts = json_get(from->data, "facts"), *own = json_get(facts, key);

	/* else what its GPUs stage found */
	return own ?: json_get(json_get(json_get(from->data, "host"), "facts"), key);
}

static bool value_of(struct arena *a, const struct drift_kind *k, const struct answer *from,
		     struct drift_value *ret)
{
	*ret = (struct drift_value){.host = from->host, .from = from};
	if (k->more)
		ret->more = cJSON_GetStringValue(drift_fact(from, k->more));
	return drift_read(a, k, drift_fact(from, k->key), ret);
}

static bool has_gpus(const struct answer *a)
{
	return json_get_num(json_get(a->data, "facts"), "gpus", 0) > 0;
}

/* It has looked for everything. */
static bool is_whole(const struct answer *a)
{
	return json_get(a->data, "facts") && json_get(json_get(a->data, "host"), "facts");
}

/* A host without a GPU among hosts with GPUs needs not what serves them: that it has none is said
 * once. */
static void add_none(struct arena *a, const struct answers *all, const struct drift_kind *k,
		     drift_values *ret)
{
	bool with_gpus = false;
	struct drift_value v;

	for (size_t i = 0; i < all->n; i++)
		with_gpus |= has_gpus(&all->v[i]);
	for (size_t i = 0; i < all->n; i++) {
		if (value_of(a, k, &all->v[i], &v) || !is_whole(&all->v[i]) ||
		    (with_gpus && !has_gpus(&all->v[i])))
			continue;
		v.text = DRIFT_NONE;
		v.number = 0;
		*LIST_ADD(a, ret) = v;
	}
}

void drift_collect(struct arena *a, const struct answers *all, const struct drift_kind *k,
		   drift_values *ret)
{
	struct drift_value v;

	for (size_t i = 0; i < all->n; i++)
		if (value_of(a, k, &all->v[i], &v))
			*LIST_ADD(a, ret) = v;
	if (k->none && 2 * ret->n >= all->n)
		add_none(a, all, k, ret);
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

static bool is_worse(const struct drift_kind *k, const struct drift_value *v)
{
	return k->worse && starts_with(v->text, k->worse);
}

static bool is_better(const struct drift_kind *k, const struct drift_value *x,
		      const struct drift_value *y)
{
	if (k->more_is_better)
		return x->number > y->number && !drift_alike(k, x, y);
	return k->worse && !is_worse(k, x) && (is_worse(k, y) || x->alike > y->alike);
}

const struct drift_value *drift_measure(const struct drift_kind *k, const drift_values *l,
					const struct drift_value *usual)
{
	const struct drift_value *best = usual;

	for (size_t i = 0; i < l->n; i++)
		if (is_better(k, &l->v[i], best))
			best = &l->v[i];
	return best;
}
