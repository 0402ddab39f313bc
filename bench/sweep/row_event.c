#include "bench/sweep/row_event.h"

#include "bench/ranks/relay.h"
#include "lib/report/json.h"

#include <math.h>

/* --- there ----------------------------------------------------------------------------- */

static void put_numbers(cJSON *o, const char *key, const double *v, size_t n)
{
	cJSON *list = v ? json_array(o, key) : NULL;

	for (size_t i = 0; v && i < n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(v[i]));
}

/* At most @most, spread evenly. */
static void put_times(cJSON *o, const struct measurement *m, size_t most)
{
	size_t every = most ? (m->ntimes + most - 1) / most : 0;
	cJSON *list = every ? json_array(o, "times") : NULL;

	for (size_t i = 0; every && i < m->ntimes; i += every)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(m->times[i]));
}

static void put_half(cJSON *event, const char *key, const struct measurement *m, size_t ranks,
		     enum row_event_times times)
{
	cJSON *o = json_object(event, key);

	json_num(o, "s", m->seconds);
	json_num(o, "shown", m->shown);
	json_num(o, "alg", m->algbw);
	json_num(o, "bus", m->busbw);
	json_num(o, "min", m->min);
	json_num(o, "max", m->max);
	json_num(o, "p50", m->p50);
	json_num(o, "p99", m->p99);
	json_num(o, "mean", m->mean);
	json_num(o, "dev", m->deviation);
	json_num(o, "wrong", (double)m->wrong);
	json_num(o, "wire", m->wire);
	json_num(o, "robbed", m->robbed);
	json_num(o, "took", m->took);
	put_numbers(o, "ranks", m->rank_s, ranks);
	put_numbers(o, "waited", m->waited, ranks);
	put_times(o, m, (size_t)times);
	put_numbers(o, "each", times == ROW_ALL_TIMES ? m->each : NULL, m->ntimes * ranks);
}

cJSON *row_event_pack(const struct sweep_row *row, enum row_event_times times)
{
	size_t ranks = (size_t)(row->all ? row->all : row->c->ranks);
	cJSON *event = relay_event("row");

	json_num(event, "type", row->c->type);
	json_num(event, "op", row->c->op);
	json_num(event, "root", row->c->root);
	json_num(event, "count", (double)row->c->sizes.count);
	json_num(event, "robbed", row->robbed);
	if (row->all && row->all != row->c->ranks)
		json_num(event, "among", row->c->ranks);
	put_half(event, "out", &row->out, ranks, times);
	put_half(event, "in", &row->in, ranks, times);
	return event;
}

/* --- and back -------------------------------------------------------------------------- */

/* NULL where there are none. */
static const double *get_numbers(struct arena *a, const cJSON *o, const char *key, size_t *ret_n)
{
	const cJSON *list = json_get(o, key), *v;
	double *copy;

	*ret_n = 0;
	if (!cJSON_IsArray(list))
		return NULL;
	copy = arena_alloc(a, ((size_t)cJSON_GetArraySize(list) + 1) * sizeof(*copy));
	cJSON_ArrayForEach (v, list)
		copy[(*ret_n)++] = v->valuedouble;
	return copy;
}

/* -1: not checked. */
static int64_t wrong_of(const cJSON *half)
{
	uint64_t n = json_get_count(half, "wrong", UINT64_MAX);

	return n <= INT64_MAX ? (int64_t)n : -1;
}

static void get_half(struct arena *a, const cJSON *event, const char *key, size_t ranks,
		     struct measurement *m)
{
	const cJSON *o = json_get(event, key);
	size_t n;

	m->seconds = json_get_num(o, "s", 0);
	m->shown = json_get_num(o, "shown", m->seconds);
	m->algbw = json_get_num(o, "alg", 0);
	m->busbw = json_get_num(o, "bus", 0);
	m->min = json_get_num(o, "min", 0);
	m->max = json_get_num(o, "max", 0);
	m->p50 = json_get_num(o, "p50", 0);
	m->p99 = json_get_num(o, "p99", 0);
	m->mean = json_get_num(o, "mean", 0);
	m->deviation = json_get_num(o, "dev", 0);
	m->wrong = wrong_of(o);
	m->wire = json_get_num(o, "wire", NAN);
	m->robbed = json_get_num(o, "robbed", 0);
	m->took = json_get_num(o, "took", 0);
	m->times = get_numbers(a, o, "times", &m->ntimes);
	m->each = get_numbers(a, o, "each", &n);
	if (n != m->ntimes * ranks)
		m->each = NULL;
	m->rank_s = get_numbers(a, o, "ranks", &n);
	if (n != ranks)
		m->rank_s = NULL;
	m->waited = get_numbers(a, o, "waited", &n);
	if (n != ranks)
		m->waited = NULL;
}

int row_event_unpack(const cJSON *event, const struct coll *coll, int ranks, struct arena *a,
		     struct coll_case *ret_case, struct sweep_row *ret)
{
	int type = json_get_int(event, "type", -1), op = json_get_int(event, "op", -1);
	int among = json_get_int(event, "among", ranks);

	if (type < 0 || type >= DT_COUNT || op < 0 || op >= OP_COUNT || among < 1 || among > ranks)
		return -1;
	*ret_case = (struct coll_case){.coll = coll,
				       .ranks = among,
				       .type = (enum dtype)type,
				       .op = (enum redop)op,
				       .root = json_get_int(event, "root", 0)};
	coll->sizes(among, json_get_count(event, "count", 0), &ret_case->sizes);
	ret->all = ranks;
	ret->robbed = json_get_num(event, "robbed", 0);
	get_half(a, event, "out", (size_t)ranks, &ret->out);
	get_half(a, event, "in", (size_t)ranks, &ret->in);
	return 0;
}
