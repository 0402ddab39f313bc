#include "probes/log/explain.h"

#include "probes/log/dumps.h"
#include "probes/log/extract.h"
#include "probes/log/kin.h"

enum {
	GUESS = 42,	  /* words without an exception: a suspicion */
	ECHO = 48,	  /* the most that an effect of an earlier failure may have */
	ONLY_ECHOES = 50, /* nothing but wrappers: something failed, that much is sure */
};

struct cause *explain_find(struct explanation *x, const char *id)
{
	for (size_t i = 0; i < x->causes.n; i++)
		if (streq(x->causes.v[i].sig->id, id))
			return &x->causes.v[i];
	return NULL;
}

bool explain_is_one_of(const struct cause *c, const char *const *ids)
{
	for (size_t i = 0; ids[i]; i++)
		if (streq(c->sig->id, ids[i]))
			return true;
	return false;
}

const struct log_event *explain_event(const struct cause *c, const char *words)
{
	for (size_t i = 0; c && !c->is_over && i < c->record->events.n; i++)
		if (strstr(c->record->events.v[i].text, words))
			return &c->record->events.v[i];
	return NULL;
}

static struct cause *add(struct why *w, struct arena *a, struct explanation *x, size_t sig)
{
	struct cause *c = LIST_ADD(a, &x->causes);

	c->sig = &signatures[sig];
	c->head = signature_head(c->sig);
	c->record = &w->records[sig];
	return c;
}

struct cause *explain_add(struct why *w, struct arena *a, struct explanation *x, const char *id)
{
	struct cause *c = explain_find(x, id);
	int sig = signature_find(id);

	return c || sig < 0 ? c : add(w, a, x, (size_t)sig);
}

void explain_suspect(struct cause *c, int weight, const char *because)
{
	if (c && c->weight < weight) {
		c->weight = weight;
		c->because = because;
	}
}

void explain_raise(struct cause *c, int weight, const char *because)
{
	explain_suspect(c, weight, because);
	if (c && because)
		c->because = because;
}

void explain_reason(struct cause *c, const struct cause *effect, int weight, const char *because)
{
	if (c && c->weight <= weight)
		kin_adopt(c, effect);
	explain_raise(c, weight, because);
}

void explain_instead(struct cause *c, struct cause *of, const struct log_event *e, int weight,
		     const char *because)
{
	enum { SAID_BETTER = 40 };

	c->first = e;
	explain_reason(c, of, weight, because);
	of->weight = SAID_BETTER;
}

bool explain_says(const struct cause *c, const char *words)
{
	for (size_t i = 0; c && !c->is_over && i < c->record->events.n; i++)
		if (strcasestr(c->record->events.v[i].text, words))
			return true;
	return false;
}

bool explain_has_reason(const struct explanation *x)
{
	for (size_t i = 0; i < x->causes.n; i++)
		if (x->causes.v[i].sig->tier == TIER_ROOT && !x->causes.v[i].is_over &&
		    x->causes.v[i].weight >= CONFIDENT && !streq(x->causes.v[i].sig->id, "SLM-001"))
			return true;
	return false;
}

static bool somebody_lacks(const struct why *w)
{
	for (size_t k = 0; k < MUSTER_KINDS; k++)
		if (muster_lacks(&w->muster[k]))
			return true;
	return false;
}

static void collect(struct why *w, struct arena *a, struct explanation *x)
{
	for (size_t i = 0; i < signature_count; i++) {
		const struct record *r = &w->records[i];
		const struct signature *g = &signatures[i];
		struct cause *c;

		/* one rank 0 is how every log of nccl-tests begins; several are N worlds of one.
		 * And what began, ended. */
		if (!r->events.n || (streq(g->id, "MPI-001") && r->count < 2) ||
		    (streq(g->id, "HNG-001") && w->healthy) ||
		    (streq(g->id, "HNG-003") && !somebody_lacks(w)))
			continue;
		c = add(w, a, x, i);
		c->first = &r->events.v[0];
		c->weight = r->is_guess && g->weight > GUESS ? GUESS : g->weight;
	}
}

/* An effect of something that broke before it explains nothing. */
static void mark_echoes(struct explanation *x)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];

		for (size_t j = 0; j < x->causes.n && c->first; j++) {
			const struct cause *o = &x->causes.v[j];
			bool same_line = o->first && event_shares_line(o->first, c->first);

			if (o == c || !o->first || !explain_is_real(o))
				continue;
			if (same_line && c->record->count <= o->record->count &&
			    (o->weight > c->weight || (o->weight == c->weight && o < c)))
				c->is_echo = true;
			if (c->sig->tier == TIER_EFFECT && !same_line && o->weight >= CONFIDENT &&
			    (o->sig->tier == TIER_ROOT || event_before(o->first, c->first)) &&
			    o->sig->tier != TIER_EFFECT)
				c->is_echo = true;
		}
	}
	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];

		if (c->is_echo && c->weight > ECHO && c->sig->tier == TIER_EFFECT)
			c->weight = ECHO;
	}
}

/* It came up, and nothing that it did since was seen: healthy, or it hangs. */
static bool is_silent(const struct why *w)
{
	for (size_t i = 0; i < w->progress.n; i++)
		if (w->progress.v[i].steps || w->progress.v[i].finish)
			return false;
	return true;
}

static bool may_hang(const struct cause *c)
{
	static const char *const ids[] = {"GPU-015", "GPU-039", "GPU-043", "GPU-129",
					  "KRN-010", "IF-004",	"IF-005",  "IF-006",
					  "IF-007",  "IF-008",	"IF-020",  "PT-026",
					  "HNG-001", "HNG-002", "HNG-007", NULL};

	return explain_is_one_of(c, ids);
}

/* Steps are counted, and are worth nothing until the end. */
static bool is_in_vain(const struct cause *c) { return streq(c->sig->id, "PT-119") && !c->is_over; }

/* What the job outlived, where nothing else is wrong: there is nothing to mend. A line that only
 * passes on that something failed has nothing to pass on. */
static bool is_moot(const struct why *w, const struct explanation *x, const struct cause *c)
{
	const struct record *r = c->record;
	const struct log_progress *p;
	bool is_finished;

	if (!c->first || !c->is_over || x->in_trouble || (c->is_settled && !c->is_healed))
		return false;
	p = &w->progress.v[r->last_file];
	is_finished = p->finish > r->last_line || p->ending.well > r->last_line;
	if (c->is_healed || c->sig->tier == TIER_WRAPPER)
		return is_finished || p->steps > r->last_progress;
	return is_finished && (c->sig->tier == TIER_EFFECT || c->sig->tier == TIER_GENERIC);
}

/* Hints about a job that runs are noise; so is one that explains nothing here. */
static void drop_hints(struct why *w, struct explanation *x)
{
	size_t k = 0;
	bool lasting = x->in_trouble || (!w->healthy && !why_has_worked(w));
	bool silent = is_silent(w);

	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];

		if (c->sig->tier == TIER_HINT && c->weight < ECHO && !lasting &&
		    !(silent && may_hang(c)) && !is_in_vain(c))
			continue;
		if (c->weight <= 0 || is_moot(w, x, c)) /* a comparison ruled it out */
			continue;
		x->causes.v[k++] = *c;
	}
	x->causes.n = k;
}

static int compare(const void *pa, const void *pb)
{
	const struct cause *a = pa, *b = pb;

	if (a->weight != b->weight)
		return b->weight - a->weight;
	if (a->first && b->first)
		return event_before(a->first, b->first) ? -1 : 1;
	return (b->first != NULL) - (a->first != NULL);
}

void explain_sort(struct explanation *x)
{
	if (x->causes.n)
		qsort(x->causes.v, x->causes.n, sizeof(*x->causes.v), compare);
}

/* An interface that worked: the bootstrap's, unless the failing address was on it. */
static const char *good_interface(const struct why *w, const char *bad)
{
	static const char *const doubtful[] = {"lo",	  "docker", "br-", "veth", "virbr", "cni",
					       "flannel", "tun",    "wg",  "tail", NULL};

	for (size_t i = 0; i < w->actors.offers.n; i++) {
		const char *name = w->actors.offers.v[i].iface;
		bool ok = !bad || !streq(name, bad);

		for (size_t j = 0; ok && doubtful[j]; j++)
			ok = !starts_with(name, doubtful[j]);
		if (ok && !starts_with(w->actors.offers.v[i].addr, "fe80"))
			return name;
	}
	return NULL;
}

/* What its expression matched: templates may name its groups. The first line that has the second
 * of them, where a template wants that; else the first. */
static const char *matched(const struct why *w, struct arena *a, const struct cause *c)
{
	size_t sig = (size_t)(c->sig - signatures);
	bool wants = strstr(c->sig->meaning, "{2") != NULL;

	if (!c->first || !w->compiled[sig].yes)
		return NULL;
	for (size_t i = 0; wants && i < c->record->events.n; i++) {
		const struct log_event *e = &c->record->events.v[i];
		const char *s = signature_where(c->sig, &w->compiled[sig], e->text, e->body);

		if (s && extract_group(a, 2, c->sig->ere, s))
			return s;
	}
	return signature_where(c->sig, &w->compiled[sig], c->first->text, c->first->body);
}

/* Fills a list of templates; an element that lacks something is left out. */
static void fill_list(const struct filling *f, const char *list, bool is_shell, str_list *ret)
{
	while (*list) {
		size_t len = strcspn(list, "\n");
		const char *s = fill_template(f, arena_strndup(f->a, list, len), is_shell);

		if (s && !streq(s, "-"))
			*LIST_ADD(f->a, ret) = s;
		list += len + (list[len] == '\n');
	}
}

/* The first line of a cause that names an address: the very first may not. */
static void extract_any(const struct why *w, const struct cause *c, struct extract *ret)
{
	*ret = (struct extract){0};
	if (c->first && !c->record->events.n) /* a comparison shows it: another's line */
		endpoint_of(w, c->first, ret);
	for (size_t i = 0; c->first && i < c->record->events.n; i++) {
		struct extract e;

		endpoint_of(w, &c->record->events.v[i], &e);
		if (!*e.name)
			memcpy(e.name, ret->name, sizeof(e.name));
		else if (!*ret->name)
			memcpy(ret->name, e.name, sizeof(e.name));
		if (*e.addr || !i)
			*ret = e;
		if (*e.addr)
			return;
	}
}

static unsigned port_number(const char *port)
{
	unsigned long n = strtoul(port, NULL, 10);

	return n <= UINT16_MAX ? (unsigned)n : 0;
}

static void word(struct why *w, struct arena *a, struct cause *c)
{
	enum { ADDR, PORT, IFACE, HOST, RANK, WHO, GOOD, TEXT, NAME };
	struct term_value v[] = {{"addr", NULL}, {"port", NULL}, {"iface", NULL},
				 {"host", NULL}, {"rank", NULL}, {"who", NULL},
				 {"good", NULL}, {"text", NULL}, {"name", NULL}};
	const struct filling f = {a, v, ARRAY_LEN(v), c->sig->ere, matched(w, a, c)};
	const char *s;
	const struct offer *o;
	struct extract e;

	extract_any(w, c, &e);
	o = actors_offered(&w->actors, e.addr);
	if (!o && c->first) /* what is in use, and did not help */
		o = actors_near(&w->actors, c->first->who.host, e.addr);
	v[ADDR].value = *e.addr ? e.addr : NULL;
	v[PORT].value = *e.port ? e.port : NULL;
	v[NAME].value = *e.name ? e.name : NULL;
	c->port = port_number(e.port);
	v[IFACE].value = *e.iface ? e.iface : NULL;
	v[GOOD].value = good_interface(w, o && starts_with(c->sig->id, "CON-") ? o->iface : NULL);
	if (c->first) {
		v[HOST].value = *c->first->who.host ? c->first->who.host : NULL;
		v[RANK].value =
			c->first->who.rank < 0 ? NULL : arena_printf(a, "%d", c->first->who.rank);
		v[WHO].value = v[RANK].value ? arena_printf(a, "rank %s", v[RANK].value) : NULL;
		v[TEXT].value = c->first->body;
	}
	s = fill_template(&f, c->sig->meaning, false);
	c->meaning = s ? s : c->sig->meaning;
	fill_list(&f, c->sig->causes, false, &c->causes);
	fill_list(&f, c->sig->confirm, true, &c->confirm);
	fill_list(&f, c->sig->fix, true, &c->fix);
}

/* An exception says what; where the program was says whose line to mend. */
static void say_frame(struct arena *a, struct cause *c)
{
	static const char *const kinds[] = {"APP-001", "DAT-",	"ENV-",	 "PT-018", "PT-021",
					    "PT-033",  "PT-04", "PT-05", "PT-13",  "PT-14",
					    "PT-15",   "PT-16", NULL};

	for (size_t i = 0; kinds[i] && !c->because && c->first && c->first->frame; i++)
		if (starts_with(c->sig->id, kinds[i]))
			c->because = arena_printf(a, "the program was in %s", c->first->frame);
}

void explain(struct why *w, struct arena *a, struct explanation *ret)
{
	*ret = (struct explanation){.in_trouble = false};
	collect(w, a, ret);
	outlive(w, a, ret);
	earlier(w, ret);
	correlate(w, a, ret);
	stuck(w, a, ret);
	absent(w, a, ret);
	quits(w, a, ret);
	kubevents(w, a, ret);
	settle_weights(w, ret);
	mark_echoes(ret);
	first_favour(w, a, ret);
	drop_hints(w, ret);
	explain_sort(ret);
	kin_unite(a, ret);
	for (size_t i = 0; i < ret->causes.n; i++) {
		struct cause *c = &ret->causes.v[i];

		if (i == 0 && c->sig->tier == TIER_WRAPPER && !c->is_over &&
		    c->weight < ONLY_ECHOES)
			c->weight = ONLY_ECHOES;
		if (c->weight > 99)
			c->weight = 99;
		say_frame(a, c);
		word(w, a, c);
		settings_advise(w, a, c);
		ports_advise(a, c);
		shown_advise(w, a, c);
		explain_cure(a, c);
	}
	dumps_explain(w, a, ret);
	first_agree(a, ret);
}
