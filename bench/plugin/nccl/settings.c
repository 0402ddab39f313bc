#include "bench/plugin/nccl/settings.h"

#include "lib/core/hash.h"
#include "lib/core/quote.h"
#include "lib/host/nccl_alike.h"

enum { VALUE = 128, SETTINGS = 64, DOUBTS = 4 /* told by name */ };

/* What a rank has, a digest each; 0: not set. */
struct digests {
	uint32_t of[SETTINGS];
};

struct comparison {
	const struct cards *cards;
	const struct digests *all; /* by rank */
	size_t at;		   /* of nccl_settings[] */
	bool on_host;		   /* among ranks of one host alone */
};

static uint32_t digest(const char *value)
{
	uint64_t h = value ? hash64_add(HASH64, value, strlen(value)) : 0;
	uint32_t folded = (uint32_t)(h ^ h >> 32);

	return value && !folded ? 1 : folded;
}

static void read_all(struct digests *ret)
{
	AUTO(arena_done) struct arena a = {0};

	_Static_assert(SETTINGS * sizeof(uint32_t) == sizeof(*ret), "travels as it is");
	*ret = (struct digests){0};
	for (size_t i = 0; i < nccl_settings_n && i < SETTINGS; i++)
		ret->of[i] = digest(nccl_setting_here(nccl_settings[i].name, &a));
}

uint64_t settings_digest(void)
{
	struct digests d;
	uint64_t h = 0;

	read_all(&d);
	for (size_t i = 0; i < SETTINGS; i++)
		h = hash64_mix(h, d.of[i]);
	return h;
}

/* --- who differs from whom ---------------------------------------------------------------- */

/* Ranks that share a GPU look like several hosts (nccl.c), and so does a container's name. */
static bool one_host(const struct cards *c, int x, int y)
{
	const struct comm_place *a = &c->all[x].place, *b = &c->all[y].place;

	return comm_place_is_beside(a, b) && streq(a->host, b->host) && cards_sharers(c, x) == 1 &&
	       cards_sharers(c, y) == 1;
}

static bool concerns(const struct comparison *m, int x, int y)
{
	return !m->on_host || one_host(m->cards, x, y);
}

/* How many of those that @rank has to be like are. */
static int alike(const struct comparison *m, int rank)
{
	int n = 0;

	for (int r = 0; r < m->cards->size; r++)
		n += concerns(m, rank, r) && m->all[r].of[m->at] == m->all[rank].of[m->at];
	return n;
}

/* *ret_odd differs from *ret_usual, of whose kind there are more, or which comes first. */
static bool find_odd(const struct comparison *m, int *ret_odd, int *ret_usual)
{
	for (int x = 0; x < m->cards->size; x++)
		for (int y = x + 1; y < m->cards->size; y++) {
			if (!concerns(m, x, y) || m->all[x].of[m->at] == m->all[y].of[m->at])
				continue;
			bool x_is_odd = alike(m, x) < alike(m, y);

			*ret_odd = x_is_odd ? x : y;
			*ret_usual = x_is_odd ? y : x;
			return true;
		}
	return false;
}

static bool differs_anywhere(const struct comparison *m)
{
	for (int r = 1; r < m->cards->size; r++)
		if (m->all[r].of[m->at] != m->all[0].of[m->at])
			return true;
	return false;
}

static const char *with_doubt(struct arena *a, const char *doubts, size_t n, const char *name)
{
	return n == 1 ? name : n <= DOUBTS ? arena_printf(a, "%s, %s", doubts, name) : doubts;
}

/* The first that no job works with; those that it may work with are noted. */
static bool find(struct comparison *m, struct arena *a, const char **ret_doubts, int *ret_odd,
		 int *ret_usual)
{
	size_t n = 0;

	for (m->at = 0; m->at < nccl_settings_n; m->at++) {
		const struct nccl_setting *s = &nccl_settings[m->at];

		if (!differs_anywhere(m))
			continue;
		m->on_host = s->where == ALIKE_ON_HOST;
		if (s->where != ALIKE_BETTER && find_odd(m, ret_odd, ret_usual))
			return true;
		*ret_doubts = with_doubt(a, *ret_doubts, ++n, s->name);
	}
	if (n > DOUBTS)
		*ret_doubts = arena_printf(a, "%s and %zu more", *ret_doubts, n - DOUBTS);
	return false;
}

/* --- what is said --------------------------------------------------------------------------- */

struct value {
	char text[VALUE]; /* full: it may be longer */
};

static const char *has(struct arena *a, const char *name, const struct value *v)
{
	return *v->text ? arena_printf(a, "%s=%s", name, v->text) : arena_printf(a, "no %s", name);
}

static int tell(const struct comparison *m, int odd, int usual, const struct value *values,
		struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *name = nccl_settings[m->at].name;
	char who[192], other[192];

	plugin_check = "nccl.settings";
	err_set(e, ERR_SYS, "%s has %s, but %s has %s: %s wait for each other without end",
		cards_name(m->cards, odd, who, sizeof(who)), has(&a, name, &values[odd]),
		cards_name(m->cards, usual, other, sizeof(other)), has(&a, name, &values[usual]),
		m->on_host ? "ranks of one host that differ in it" : "ranks that differ in it");
	if (*values[usual].text && strlen(values[usual].text) < VALUE - 1)
		return err_command(e, "export %s=%s   # for rank %d too, or unset it for all", name,
				   shell_quote(&a, values[usual].text), odd);
	return err_command(
		e, "unset %s   # for rank %d: the environment, nccl.conf; or set it for all", name,
		odd);
}

static int refuse(const struct comparison *m, const struct comm_world *w, int odd, int usual,
		  struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	struct value mine = {0}, *all = arena_alloc(&a, (size_t)w->size * sizeof(*all));
	const char *own = nccl_setting_written(nccl_settings[m->at].name, &a);

	(void)snprintf(mine.text, sizeof(mine.text), "%s", own ? own : "");
	if (w->exchange(w->arg, &mine, sizeof(mine), all, e))
		return -1;
	for (int r = 0; r < w->size; r++)
		all[r].text[VALUE - 1] = '\0';
	return tell(m, odd, usual, all, e);
}

int settings_compare(const struct cards *c, const struct comm_world *w, struct arena *a,
		     const char **ret_doubts, struct err *e)
{
	AUTO(arena_done) struct arena scratch = {0};
	struct comparison m = {.cards = c};
	struct digests mine, *all;
	int odd, usual;
	bool differ = false;

	*ret_doubts = NULL;
	for (int r = 1; r < c->size; r++)
		differ |= c->all[r].settings != c->all[0].settings;
	if (!differ)
		return 0;
	read_all(&mine);
	all = arena_alloc(&scratch, (size_t)c->size * sizeof(*all));
	if (w->exchange(w->arg, &mine, sizeof(mine), all, e))
		return -1;
	m.all = all;
	if (!find(&m, a, ret_doubts, &odd, &usual))
		return 0;
	return refuse(&m, w, odd, usual, e);
}
