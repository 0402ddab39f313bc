/*
 * Who stands for a host among pairs: its first rank, since ranks of one host go over the same
 * cards. Not where each has a GPU: then it has a card beside it, too, and the others of its
 * number are on the same switch. Such ranks are a rail.
 */
#include "bench/sweep/pairs.h"

#include "lib/report/json.h"

#include <math.h>

/* Of each direction of a pair. */
static const double SECONDS = 0.12, SECONDS_SERIAL = 0.05;

void units_spread(struct pairs *p)
{
	int size = p->c->size;
	const char **keys = arena_alloc(p->r->a, (size_t)size * sizeof(*keys));

	for (int i = 0; i < size; i++)
		keys[i] = hosts_key(p->r->a, comm_peer(p->c, i)->host, p->r->hardware[i].machine);
	hosts_of(keys, (size_t)size, p->r->a, &p->spread);
}

/* The @nth rank of every host; -1: that one has not so many. */
static int find_nth(const struct pairs *p, int nth, int *ret)
{
	const struct hosts *spread = &p->spread;
	int *seen = arena_alloc(p->r->a, spread->n * sizeof(*seen));

	for (size_t h = 0; h < spread->n; h++) {
		seen[h] = 0;
		ret[h] = -1;
	}
	for (int i = 0; i < p->c->size; i++)
		if (seen[spread->of[i]]++ == nth)
			ret[spread->of[i]] = i;
	return (int)spread->n;
}

void units_find(struct pairs *p, int nth)
{
	int size = p->c->size;

	p->units = arena_alloc(p->r->a, (size_t)size * sizeof(*p->units));
	p->n = find_nth(p, nth, p->units);
	p->one_host = p->n == 1;
	if (p->one_host)
		for (p->n = 0; p->n < size; p->n++)
			p->units[p->n] = p->n;
	p->me = -1;
	for (int i = 0; i < p->n; i++)
		if (p->units[i] == p->c->rank)
			p->me = i;
}

int units_see_machines(struct pairs *p, struct err *e)
{
	double shared = 0;

	for (int i = 0; i < p->n && p->me >= 0; i++)
		shared = fmax(shared, i != p->me && comm_peer(p->c, p->units[i])->same_machine);
	if (sweep_agree(p->c, &shared, 1, OP_MAX, e))
		return -1;
	p->serial = shared > 0;
	p->seconds = p->serial ? SECONDS_SERIAL : SECONDS;
	return 0;
}

/* A pair, at least, is there. */
static bool is_rail(const struct pairs *p, int nth)
{
	int *units = arena_alloc(p->r->a, (size_t)p->c->size * sizeof(*units)), with = 0;
	int n = find_nth(p, nth, units);

	for (int i = 0; i < n; i++)
		with += units[i] >= 0;
	return with > 1;
}

void units_rails(const struct pairs *p, rail_list *ret)
{
	const char *rails = p->r->o->rails;

	if (!(comm_caps(p->c)->memory & COMM_CUDA) || (rails && streq(rails, "none")))
		return;
	*ret = (rail_list){.of_ranks = true};
	for (int k = 0; k < RAILS_MAX && is_rail(p, k); k++) {
		ret->v[k].gbps = NAN;
		(void)snprintf(ret->v[k].name, sizeof(ret->v[k].name), "local rank %d", k);
		ret->n++;
	}
	if (ret->n == 1)
		*ret = (rail_list){0};
}

void units_tell(const struct pairs *p, int nth, cJSON *ret)
{
	int *units = arena_alloc(p->r->a, (size_t)p->c->size * sizeof(*units));
	int n = find_nth(p, nth, units);

	for (int i = 0; i < n; i++)
		if (units[i] >= 0)
			cJSON_AddItemToArray(ret, cJSON_CreateNumber(units[i]));
}
