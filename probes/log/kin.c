#include "probes/log/kin.h"

#include "probes/log/explain.h"

const struct family families[] = {
#define KIN(shared, ...) {shared, {__VA_ARGS__}},
#include "probes/log/kin.def"
#undef KIN
};

const size_t family_count = ARRAY_LEN(families);

bool id_is_shared(const char *id)
{
	/* of each component the first ones */
	static const struct {
		const char *component;
		long last;
	} shared[] = {{"IF-", 18}, {"CON-", 20}, {"GPU-", 15}, {"SHM-", 4}, {"LIM-", 3},
		      {"IB-", 14}, {"EFA-", 4},	 {"NET-", 3},  {"PT-", 12}, {"MPI-", 3}};

	for (size_t i = 0; i < ARRAY_LEN(shared); i++)
		if (starts_with(id, shared[i].component))
			return strtol(id + strlen(shared[i].component), NULL, 10) <= shared[i].last;
	return false;
}

const struct signature *signature_head(const struct signature *g)
{
	for (size_t i = 0; i < family_count; i++)
		for (const char *const *id = families[i].finer; *id; id++)
			if (streq(*id, g->id))
				return &signatures[signature_find(families[i].head)];
	return g;
}

/* --- the causes of an explanation ------------------------------------------------ */

void kin_adopt(struct cause *c, const struct cause *effect)
{
	if (!id_is_shared(c->sig->id) && id_is_shared(effect->head->id))
		c->effect_head = effect->head;
}

/* Who goes by that id already; NULL: nobody yet. */
static struct cause *standing(struct explanation *x, size_t n, const struct signature *head)
{
	for (size_t i = 0; i < n; i++)
		if (x->causes.v[i].head == head)
			return &x->causes.v[i];
	return NULL;
}

static void add_kin(struct arena *a, struct cause *best, const struct cause *c)
{
	*LIST_ADD(a, &best->kin) = (struct kin){c->sig, c->first, c->record};
}

void kin_unite(struct arena *a, struct explanation *x)
{
	size_t k = 0;

	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i], *best;

		if (c->effect_head && !standing(x, k, c->effect_head))
			c->head = c->effect_head;
		best = standing(x, k, c->head);
		if (best)
			add_kin(a, best, c);
		else
			x->causes.v[k++] = *c;
	}
	x->causes.n = k;
}
