/* What of it all was heard: counted, listed, and as data.setup. */
#include "lib/report/json.h"
#include "probes/log/explain.h"

static uint64_t once_of(const uint64_t *by_end)
{
	uint64_t s = by_end[NCCL_END_SEND], t = by_end[NCCL_END_RECEIVE];

	return by_end[NCCL_END_UNSAID] + (s > t ? s : t);
}

uint64_t setup_count(const struct setup_way *y) { return once_of(y->said); }

/* One end without it, and it goes through that host's memory. */
uint64_t setup_direct(const struct setup_way *y)
{
	uint64_t bounced[3];

	for (size_t i = 0; i < ARRAY_LEN(bounced); i++)
		bounced[i] = y->said[i] - y->direct[i];
	return setup_count(y) - once_of(bounced);
}

bool setup_may_direct(const struct setup_way *y)
{
	return y->way == NCCL_WAY_NET && !streq(y->name, "NET/Socket");
}

const char *setup_setting(const struct setup *s, const char *name)
{
	for (size_t i = 0; i < s->nsettings; i++)
		if (streq(s->settings[i].name, name))
			return s->settings[i].value;
	return NULL;
}

const char *setup_example(const struct why *w, const struct setup_example *e, struct arena *a)
{
	const char *host = e->actor ? w->actors.v.v[e->actor - 1].who.host : "";

	return arena_printf(a, "rank %d -> %d%s%s", e->from, e->to, *host ? " on " : "", host);
}

size_t setup_hosts(const struct why *w)
{
	return w->setup.nodes > 0 ? (size_t)w->setup.nodes : w->actors.nhosts;
}

int setup_ranks(const struct why *w)
{
	int n = w->setup.init.nranks;

	for (size_t i = 0; i < w->actors.v.n; i++)
		if (w->actors.v.v[i].nranks > n)
			n = w->actors.v.v[i].nranks;
	return n;
}

/* --- lists of different things ------------------------------------------------------------ */

static void add_new(struct arena *a, str_list *v, const char *s)
{
	for (size_t i = 0; i < v->n; i++)
		if (streq(v->v[i], s))
			return;
	if (*s)
		*LIST_ADD(a, v) = s;
}

str_list setup_networks(const struct why *w, struct arena *a)
{
	str_list v = {0};

	for (size_t i = 0; i < w->actors.v.n; i++)
		add_new(a, &v, w->actors.v.v[i].network);
	return v;
}

str_list setup_meeting(const struct why *w, struct arena *a)
{
	str_list v = {0};

	for (size_t i = 0; i < w->actors.v.n; i++)
		add_new(a, &v, w->actors.v.v[i].boot);
	return v;
}

/* Interfaces that data may go over, where it goes over sockets. */
str_list setup_sockets(const struct why *w, struct arena *a)
{
	str_list v = {0};

	for (size_t i = 0; i < w->actors.offers.n; i++)
		if (w->actors.offers.v[i].card >= 0)
			add_new(a, &v, w->actors.offers.v[i].iface);
	return v;
}

str_list setup_cards(const struct why *w, struct arena *a)
{
	str_list v = {0};

	for (size_t i = 0; i < w->setup.ncards; i++)
		*LIST_ADD(a, &v) = w->setup.cards[i];
	return v;
}

/* --- data.setup ------------------------------------------------------------------ */

static void list(cJSON *o, const char *key, const str_list *v)
{
	cJSON *array = v->n ? json_array(o, key) : NULL;

	for (size_t i = 0; i < v->n; i++)
		json_push_str(array, v->v[i]);
}

static void ways_data(const struct why *w, cJSON *o)
{
	cJSON *array = json_array(o, "connections");

	for (size_t i = 0; i < w->setup.nways; i++) {
		const struct setup_way *y = &w->setup.ways[i];
		cJSON *one = json_push_object(array), *e;

		json_str(one, "way", y->name);
		json_num(one, "count", (double)setup_count(y));
		if (setup_may_direct(y))
			json_num(one, "gpudirect", (double)setup_direct(y));
		e = json_object(one, "example");
		json_num(e, "from", y->first.from);
		json_num(e, "to", y->first.to);
		if (y->first.actor && *w->actors.v.v[y->first.actor - 1].who.host)
			json_str(e, "host", w->actors.v.v[y->first.actor - 1].who.host);
	}
}

static void init_data(const struct setup_init *t, cJSON *setup)
{
	cJSON *o = t->n ? json_object(setup, "init") : NULL, *parts;

	if (!o)
		return;
	json_num(o, "ranks", t->nranks);
	json_num(o, "mean_s", (double)(long)(t->sum_s / (double)t->n * 1000 + 0.5) / 1000);
	json_num(o, "longest_s", t->longest_s);
	json_num(o, "slowest_rank", t->slowest.rank);
	json_str(o, "slowest_host", *t->slowest.host ? t->slowest.host : NULL);
	parts = json_object(o, "parts");
	for (size_t i = 0; i < INIT_PARTS; i++)
		if (t->parts_s[i] >= 0)
			json_num(parts, init_parts[i], t->parts_s[i]);
}

void setup_data(const struct why *w, cJSON *root, struct arena *a)
{
	const struct setup *s = &w->setup;
	cJSON *o = json_object(root, "setup"), *set;
	str_list nets = setup_networks(w, a), boot = setup_meeting(w, a), of = setup_cards(w, a);

	json_str(o, "version", *w->nccl_said[0] ? w->nccl_said[0] : NULL);
	if (setup_ranks(w))
		json_num(o, "ranks", setup_ranks(w));
	if (setup_hosts(w))
		json_num(o, "hosts", (double)setup_hosts(w));
	list(o, "interfaces", &boot);
	list(o, "networks", &nets);
	list(o, "cards", &of);
	json_str(o, "plugin", *s->plugin ? s->plugin : NULL);
	json_str(o, "tuner", *s->tuner ? s->tuner : NULL);
	json_str(o, "provider", *s->provider ? s->provider : NULL);
	if (s->coll)
		json_num(o, "channels", (double)s->coll);
	if (s->nvls >= 0)
		json_num(o, "nvls_channels", (double)s->nvls);
	if (s->has_nvls || s->lacks_nvls)
		json_bool(o, "nvls_available", s->has_nvls);
	ways_data(w, o);
	init_data(&s->init, o);
	set = s->nsettings ? json_object(o, "settings") : NULL;
	for (size_t i = 0; i < s->nsettings; i++)
		json_str(set, s->settings[i].name, s->settings[i].value);
}
