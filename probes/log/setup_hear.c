/* What NCCL's lines say of what it set up. */
#include "probes/log/said.h"
#include "probes/log/why.h"

enum { HEADS = 4096, NOBODY = 0 };

const char *const init_parts[INIT_PARTS] = {"kernels", "alloc",	 "bootstrap",	"allgathers",
					    "topo",    "graphs", "connections", "rest"};

static unsigned index_of(const struct why *w, const struct actor *a)
{
	return a ? (unsigned)(a - w->actors.v.v) + 1 : NOBODY;
}

/* --- channels --------------------------------------------------------------------------- */

static struct setup_way *way_of(struct setup *s, const struct nccl_channel *c)
{
	/* "SHM/direct/direct" or "SHM/CE/direct": how it is copied is of no interest here */
	size_t n = c->way == NCCL_WAY_SHM ? c->kind_n : c->name_n;
	struct setup_way *y;

	if (n >= sizeof(y->name))
		n = sizeof(y->name) - 1;
	for (size_t i = 0; i < s->nways; i++)
		if (!strncmp(s->ways[i].name, c->name, n) && !s->ways[i].name[n])
			return &s->ways[i];
	if (s->nways == SETUP_WAYS)
		return NULL;
	y = &s->ways[s->nways++];
	memcpy(y->name, c->name, n);
	y->way = c->way;
	return y;
}

static struct setup_pair *pair_of(struct why *w, const struct nccl_channel *c)
{
	struct setup *s = &w->setup;
	uint32_t h =
		((uint32_t)c->from * 2654435761u ^ (uint32_t)c->to * 40503u) >> 8 & (HEADS - 1);
	struct setup_pair *p;

	if (!s->heads)
		s->heads = arena_alloc(&w->a, HEADS * sizeof(*s->heads));
	for (uint16_t i = s->heads[h]; i; i = p->next) {
		p = &s->pairs.v[i - 1];
		if (p->from == c->from && p->to == c->to)
			return p;
	}
	if (s->pairs.n == SETUP_PAIRS)
		return NULL;
	p = LIST_ADD(&w->a, &s->pairs);
	*p = (struct setup_pair){.from = c->from, .to = c->to, .next = s->heads[h]};
	s->heads[h] = (uint16_t)s->pairs.n;
	return p;
}

static void note_pair(struct why *w, const struct nccl_channel *c, unsigned actor)
{
	struct setup_pair *p = actor ? pair_of(w, c) : NULL;

	if (!p)
		return;
	p->is_many |= p->actor[c->end] && p->actor[c->end] != actor;
	p->actor[c->end] = (uint16_t)actor;
	if (c->is_direct)
		p->direct |= (uint8_t)(1u << c->end);
	else
		p->bounced |= (uint8_t)(1u << c->end);
}

void setup_hear_channel(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct actor *a = actors_get(&w->actors, &l->who);
	struct nccl_channel c;
	struct setup_example e;
	struct setup_way *y;

	w->setup.channels++;
	w->setup.has_collnet |= strstr(l->text, "via COLLNET/") != NULL;
	if (!nccl_channel_read(l->text, &c) || !(y = way_of(&w->setup, &c)))
		return;
	e = (struct setup_example){c.from, c.to, index_of(w, a)};
	y->first = setup_count(y) ? y->first : e;
	y->said[c.end]++;
	y->direct[c.end] += c.is_direct;
	if (!c.is_direct && y->bounced.from == y->bounced.to)
		y->bounced = e;
	if (a && c.way == NCCL_WAY_P2P)
		a->p2p++;
	if (a && c.way == NCCL_WAY_SHM)
		a->shm++;
	if (c.end != NCCL_END_UNSAID && setup_may_direct(y))
		note_pair(w, &c, e.actor);
}

/* --- what a communicator has ------------------------------------------------------------- */

/* The number in front of @key; @none where there is no such key. */
static long number_before(const char *text, const char *key, long none)
{
	const char *at = strstr(text, key);

	while (at && at > text && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at ? strtol(at, NULL, 10) : none;
}

/* "24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, ..." */
void setup_hear_counts(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	long coll = number_before(l->text, " coll channels", 0);
	long nvls = number_before(l->text, " nvls channels", -1);

	if (coll > w->setup.coll)
		w->setup.coll = coll;
	if (nvls > w->setup.nvls)
		w->setup.nvls = nvls;
}

/* "comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0" */
void setup_hear_nodes(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	long n;

	if (strstr(l->text, " nRanks ") && said_number(l, " nNodes ", &n) && n > w->setup.nodes)
		w->setup.nodes = n;
}

void setup_hear_nvls(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	bool lacks = starts_with(said_after(l, "multicast support is "), "not ");

	if (lacks && !w->setup.lacks_nvls)
		w->setup.nvls_off = index_of(w, actors_get(&w->actors, &l->who));
	if (!lacks && !w->setup.has_nvls)
		w->setup.nvls_on = index_of(w, actors_get(&w->actors, &l->who));
	w->setup.lacks_nvls |= lacks;
	w->setup.has_nvls |= !lacks;
}

void setup_hear_connected(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	w->setup.rings |= strstr(l->text, "Connected all rings") != NULL;
	w->setup.trees |= strstr(l->text, "Connected all trees") != NULL;
}

/* --- networks, their plug-ins and cards -------------------------------------------------- */

/* Copies what follows @key up to @ends, once. */
static void once(char *out, size_t size, const struct log_line *l, const char *key,
		 const char *ends)
{
	const char *p = said_after(l, key);

	if (!*out && *p)
		said_word(out, size, p, ends);
}

/* Of what a line says behind its header. */
static void quote(char *out, size_t size, const struct log_line *l, const char *from)
{
	const char *p = strstr(l->text, from);

	if (!*out && p)
		said_word(out, size, p, "");
}

void setup_hear_plugin(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct setup *t = &w->setup;

	once(t->plugin, sizeof(t->plugin), l, "Loaded net plugin ", "(\r\n");
	for (size_t n = strlen(t->plugin); n && t->plugin[n - 1] == ' ';)
		t->plugin[--n] = '\0';
	if (!strcasestr(l->text, "tuner"))
		t->no_plugin |= strstr(l->text, "internal network") ||
				strstr(l->text, "internal implementation") ||
				strstr(l->text, "internal net plugin") ||
				strstr(l->text, "NET/Plugin: Could not find:");
	once(t->tuner, sizeof(t->tuner), l, "TUNER/Plugin: Using tuner plugin ", " \r\n");
	if (!strstr(l->text, "Using tuner plugin") && !strstr(l->text, "Using internal"))
		once(t->tuner, sizeof(t->tuner), l, "TUNER/Plugin: Using ", " (\r\n");
	once(t->provider, sizeof(t->provider), l, "elected Provider is ", " ,(\r\n");
	once(t->provider, sizeof(t->provider), l, "elected provider is ", " ,(\r\n");
	quote(t->plugin_failed, sizeof(t->plugin_failed), l, "Failed to initialize NET plugin ");
	quote(t->plugin_failed, sizeof(t->plugin_failed), l, "External network plugin ");
	if (strstr(l->text, "NET/Plugin"))
		quote(t->plugin_failed, sizeof(t->plugin_failed), l, "Could not find: ");
	quote(t->plugin_failed, sizeof(t->plugin_failed), l, "Plugin load");
}

/* "[0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB ..."; several that are one: "[0]={[0] mlx5_2:1/RoCE, ".
 */
void setup_hear_cards(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct setup *t = &w->setup;
	const char *p = said_after(l, "Using ");

	t->no_ib |= strstr(l->text, "No device found") != NULL;
	if (t->ncards || !*p || !strchr(p, '/'))
		return;
	while (*p && *p != ';' && !starts_with(p, "[RO]") && !starts_with(p, "OOB ")) {
		size_t n = strcspn(p, " ;"), skip = 0;

		for (size_t i = 0; i < n; i++)
			if (strchr("]{=", p[i]))
				skip = i + 1;
		if (memchr(p + skip, '/', n - skip) && t->ncards < SETUP_CARDS)
			t->cards[t->ncards++] =
				arena_strndup(&w->a, p + skip, strcspn(p + skip, " ;,}"));
		else if (memchr(p + skip, '/', n - skip))
			t->more_cards++;
		p += n;
		p += strspn(p, " ");
	}
}

void setup_hear_gdr(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	bool is_off = strstr(l->text, " Disabled for ") != NULL;

	w->setup.gdr_off += is_off;
	w->setup.gdr_on += !is_off && strstr(l->text, "nabled for ");
	if (is_off)
		quote(w->setup.gdr_why, sizeof(w->setup.gdr_why), l, "GPU Direct RDMA Disabled");
}

void setup_hear_p2p(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	once(w->setup.p2p_off, sizeof(w->setup.p2p_off), l, "P2P is disabled between ", ".\r\n");
}

/* --- how long it took -------------------------------------------------------------------- */

static double seconds_after(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p && p[strlen(key)] >= '0' && p[strlen(key)] <= '9' ? strtod(p + strlen(key), NULL)
								   : -1;
}

/* Ranks that all wait for one have waited long, and that one not at all. */
static void note_bootstrap(struct setup_init *t, const struct log_who *who, double s)
{
	if (s < 0)
		return;
	if (t->boot_most_s < 0 || s > t->boot_most_s)
		t->boot_most_s = s;
	if (t->boot_least_s < 0 || s < t->boot_least_s) {
		t->boot_least_s = s;
		t->last = *who;
	}
}

/* "Init timings - ncclCommInitRank: rank 0 nranks 8 total 0.96 (kernels 0.15, alloc 0.36, ..." */
void setup_hear_times(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct setup_init *t = &w->setup.init;
	const char *at = said_after(l, "Init timings");
	double total = seconds_after(at, " total ");
	struct log_who who = l->who;
	long rank = said_in(at, " rank ", -1), nranks = said_in(at, " nranks ", -1);

	if (total < 0 || total > 1e6 || rank < 0 || nranks <= rank || nranks < t->nranks ||
	    nranks > INT32_MAX)
		return;
	if (nranks > t->nranks)
		*t = (struct setup_init){.nranks = (int)nranks,
					 .longest_s = -1,
					 .boot_least_s = -1,
					 .boot_most_s = -1};
	who.rank = (int)rank;
	t->n++;
	t->sum_s += total;
	note_bootstrap(t, &who, seconds_after(at, "bootstrap "));
	if (total <= t->longest_s)
		return;
	t->longest_s = total;
	t->slowest = who;
	for (size_t i = 0; i < INIT_PARTS; i++) {
		char key[24];

		(void)snprintf(key, sizeof(key), "%s ", init_parts[i]);
		t->parts_s[i] = seconds_after(at, key);
	}
}

/* --- settings ---------------------------------------------------------------------------- */

static bool is_name(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != '_' && !(p[i] >= 'A' && p[i] <= 'Z') && !(p[i] >= '0' && p[i] <= '9'))
			return false;
	return n > strlen("NCCL_");
}

static struct setup_setting *setting_of(struct setup *t, const char *name, size_t n)
{
	for (size_t i = 0; i < t->nsettings; i++)
		if (!strncmp(t->settings[i].name, name, n) && !t->settings[i].name[n])
			return &t->settings[i];
	return NULL;
}

static uint64_t host_bit(const struct why *w, const char *host)
{
	for (size_t i = 0; i < w->actors.nhosts; i++)
		if (streq(w->actors.hosts[i], host))
			return UINT64_C(1) << i;
	return 0;
}

/* "NCCL_IB_DISABLE set by environment to 1." How it logs is not what it set up. */
void setup_hear_setting(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	static const char set[] = " set by environment to ";
	struct setup *t = &w->setup;
	const char *at = strstr(l->text, set), *name = at;
	struct setup_setting *v;
	const struct actor *who;
	char value[128];
	size_t n;

	while (name && name > l->text && name[-1] != ' ')
		name--;
	if (!at || !starts_with(name, "NCCL_") || !is_name(name, (size_t)(at - name)) ||
	    starts_with(name, "NCCL_DEBUG"))
		return;
	who = actors_get(&w->actors, &l->who);
	said_word(value, sizeof(value), at + strlen(set), " \t\r\n");
	for (n = strlen(value); n && value[n - 1] == '.';)
		value[--n] = '\0';
	v = setting_of(t, name, (size_t)(at - name));
	t->hosts |= who ? host_bit(w, who->who.host) : 0;
	if (v && who)
		v->hosts |= host_bit(w, who->who.host);
	if (v && !v->other && !streq(v->value, value)) {
		v->other = arena_strdup(&w->a, value);
		v->other_actor = index_of(w, who);
	}
	if (v || !n)
		return;
	if (t->nsettings == SETUP_SETTINGS) {
		t->more_settings++;
		return;
	}
	t->settings[t->nsettings++] =
		(struct setup_setting){.name = arena_strndup(&w->a, name, (size_t)(at - name)),
				       .value = arena_strdup(&w->a, value),
				       .actor = index_of(w, who),
				       .hosts = who ? host_bit(w, who->who.host) : 0};
}
