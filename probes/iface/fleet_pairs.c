#include "probes/iface/fleet_pairs.h"

#include "lib/cluster/typed_way.h"
#include "lib/core/quote.h"
#include "lib/report/json.h"

struct pairs {
	struct fleet *f;
	const struct answers *all;
	bool *bad;			   /* [n * asked], by who asked */
	size_t *from, *to, n, step, asked; /* only each step-th was asked */
	size_t total;
};

const char *answer_chose(const struct answer *a, const char *key)
{
	return json_get_str(json_get(a->data, "suggest"), key);
}

bool fleet_is_answer(const cJSON *row)
{
	const char *state = json_text(row, "state");

	return streq(state, "open") || streq(state, "refused");
}

static const cJSON *proof_of(const struct answer *a)
{
	return json_get(json_get(a->data, "suggest"), "proof");
}

/* True when @i, sending through its choice, was answered at @j's choice. */
static bool reaches(const struct answer *i, const struct answer *j)
{
	const char *iface = answer_chose(i, "interface"), *addr = answer_chose(j, "address");
	const cJSON *row;

	if (!iface || !addr)
		return false;
	cJSON_ArrayForEach (row, proof_of(i))
		if (streq(json_text(row, "interface"), iface) &&
		    streq(json_text(row, "address"), addr))
			return fleet_is_answer(row);
	return false;
}

/* Where an end has no choice that all reach: @i asked @j, and was not answered by any way. */
static bool is_silent(const struct answer *i, const struct answer *j)
{
	bool asked = false;
	const cJSON *row;

	cJSON_ArrayForEach (row, proof_of(i)) {
		if (!streq(json_text(row, "peer"), j->host))
			continue;
		asked = true;
		if (fleet_is_answer(row))
			return false;
	}
	return asked;
}

const char *fleet_answered_at(const struct answer *by, const char *host)
{
	const cJSON *row;

	cJSON_ArrayForEach (row, proof_of(by))
		if (streq(json_text(row, "peer"), host) && fleet_is_answer(row))
			return json_get_str(row, "address");
	return NULL;
}

static bool is_bad(const struct answer *x, const struct answer *y, bool unproven)
{
	if (answer_chose(x, "interface") && answer_chose(y, "interface"))
		return !reaches(x, y);
	return unproven && is_silent(x, y);
}

/* Link-local ones may be alike. */
static bool is_same_address(const struct answer *x, const struct answer *y)
{
	const char *one = answer_chose(x, "address"), *two = answer_chose(y, "address");

	return one && two && streq(one, two) && !starts_with(one, "fe80:");
}

static bool *cell(struct pairs *p, size_t from, size_t to)
{
	return &p->bad[from * p->asked + to / p->step];
}

static void find(struct pairs *p, struct fleet *f, const struct answers *all, bool unproven)
{
	size_t step = fleet_step(all->n);

	*p = (struct pairs){.f = f, .all = all, .n = all->n, .step = step};
	p->asked = (p->n + step - 1) / step;
	p->bad = arena_alloc(f->a, p->n * p->asked * sizeof(*p->bad));
	p->from = arena_alloc(f->a, p->n * sizeof(*p->from));
	p->to = arena_alloc(f->a, p->n * sizeof(*p->to));
	for (size_t i = 0; i < p->n; i++)
		for (size_t j = 0; j < p->n; j += step) {
			const struct answer *x = &all->v[i], *y = &all->v[j];

			if (i == j || is_same_address(x, y) || !is_bad(x, y, unproven))
				continue;
			*cell(p, i, j) = true;
			p->from[i]++;
			p->to[j]++;
			p->total++;
		}
}

size_t fleet_bad_pairs(struct fleet *f, const struct answers *all)
{
	struct pairs p;

	find(&p, f, all, false);
	return p.total;
}

/* Takes the pairs of one end away; who is at the others. */
static host_list take(struct pairs *p, size_t end, bool asked)
{
	host_list others = {0};

	for (size_t k = 0; k < p->n; k++) {
		size_t i = asked ? k : end, j = asked ? end : k;

		if (j % p->step || !*cell(p, i, j))
			continue;
		*cell(p, i, j) = false;
		p->from[i]--;
		p->to[j]--;
		p->total--;
		*LIST_ADD(p->f->a, &others) = (struct host){.name = p->all->v[k].host};
	}
	return others;
}

static const struct answer *by_name(const struct pairs *p, const char *host)
{
	for (size_t i = 0; i < p->n; i++)
		if (streq(p->all->v[i].host, host))
			return &p->all->v[i];
	return NULL;
}

/* "eth0 (10.0.0.1)": its choice, else the first that it has. */
static const char *place(struct arena *a, const struct answer *x, const char **ret_addr)
{
	const char *iface = answer_chose(x, "interface");
	const cJSON *c;

	*ret_addr = answer_chose(x, "address");
	cJSON_ArrayForEach (c, json_get(json_get(x->data, "suggest"), "candidates")) {
		if (*ret_addr || !json_get_str(c, "address"))
			continue;
		iface = json_get_str(c, "interface");
		*ret_addr = json_get_str(c, "address");
	}
	*ret_addr = *ret_addr ?: "ADDRESS";
	return arena_printf(a, "%s (%s)", iface ?: "it", *ret_addr);
}

/* What @y says of its own route to @x, by which no answer of it can come; NULL: nothing. */
static const cJSON *no_way_back(const struct answer *y, const struct answer *x)
{
	const cJSON *said;

	cJSON_ArrayForEach (said, json_get(y->doc, "findings"))
		if (streq(json_text(said, "check"), "route.peer") &&
		    streq(json_text(said, "status"), "fail") &&
		    streq(json_text(said, "subject"), x->host))
			return said;
	return NULL;
}

/* Silence that the other end's routes explain is no firewall's. */
static void blame_route(struct finding *g, const struct answer *x, const struct answer *y,
			struct arena *a)
{
	const cJSON *said = no_way_back(y, x);
	const char *fix = cJSON_GetStringValue(cJSON_GetArrayItem(json_get(said, "fix"), 0));

	if (!said)
		return;
	g->host = y->host;
	g->message =
		arena_printf(a, "%s: %s has no route back to %s", g->message, y->host, x->host);
	if (fix)
		finding_fix(g, "%s   # on %s", fix, y->host);
}

/* All pairs that @end is one of: it asked, or was @asked. */
static void say_end(struct pairs *p, size_t end, bool asked)
{
	struct arena *a = p->f->a;
	host_list others = take(p, end, asked);
	const struct answer *one = &p->all->v[end], *first = by_name(p, others.v[0].name);
	const struct answer *x = asked ? first : one, *y = asked ? one : first;
	const char *fold = hostlist_fold(a, &others), *x_addr, *y_addr;
	const char *at_x = place(a, x, &x_addr), *at_y = place(a, y, &y_addr);
	struct finding *g = report_find(p->f->report, "suggest.pair",
					asked ? arena_printf(a, "%s -> %s", fold, one->host)
					      : arena_printf(a, "%s -> %s", one->host, fold));

	g->host = one->host;
	if (others.n == 1)
		finding_set(g, ST_FAIL, "%s does not reach %s", at_x, at_y);
	else if (asked)
		finding_set(g, ST_FAIL, "%s is not reached by %zu hosts, such as %s, %s", at_y,
			    others.n, x->host, at_x);
	else
		finding_set(g, ST_FAIL, "%s does not reach %zu hosts, such as %s, %s", at_x,
			    others.n, y->host, at_y);
	blame_route(g, x, y, a);
	finding_expect(g, "choices that reach each other");
	finding_fix(g, "ifprobe --peer %s   # on %s: what answers, and through what", y_addr,
		    x->host);
	if (others.n > 1)
		finding_fix(g, "%s   # names the rule or the route",
			    typed_for(a, "portcheck", p->f->rsh, p->f->given));
	report_add(p->f->report, g);
}

/* The end that most of them have in common; the one that asks, where both have as many. */
static void say_next(struct pairs *p)
{
	size_t most = 0, end = 0;
	bool asked = false;

	for (size_t i = 0; i < p->n; i++)
		if (p->from[i] > most) {
			most = p->from[i];
			end = i;
		}
	for (size_t i = 0; i < p->n; i++)
		if (p->to[i] > most) {
			most = p->to[i];
			end = i;
			asked = true;
		}
	say_end(p, end, asked);
}

struct choice {
	const char *addr; /* "": none, or one that may be alike */
	size_t at;
};

static int by_address(const void *px, const void *py)
{
	const struct choice *x = px, *y = py;
	int d = strcmp(x->addr, y->addr);

	return d ? d : (x->at > y->at) - (x->at < y->at);
}

/* For each host the next one with its address; 0: there is none. Ten thousand are sorted, not
 * compared each to each. */
static size_t *link_same(struct fleet *f, const struct answers *all)
{
	struct choice *v = arena_alloc(f->a, (all->n + 1) * sizeof(*v));
	size_t *next = arena_alloc(f->a, (all->n + 1) * sizeof(*next));

	for (size_t i = 0; i < all->n; i++)
		v[i] = (struct choice){is_same_address(&all->v[i], &all->v[i])
					       ? answer_chose(&all->v[i], "address")
					       : "",
				       i};
	qsort(v, all->n, sizeof(*v), by_address);
	for (size_t i = 1; i < all->n; i++)
		if (*v[i].addr && streq(v[i].addr, v[i - 1].addr))
			next[v[i - 1].at] = v[i].at;
	return next;
}

/* One finding per address that several hosts have. */
static bool say_same(struct fleet *f, const struct answers *all)
{
	bool *told = arena_alloc(f->a, all->n * sizeof(*told)), any = false;
	const size_t *next = link_same(f, all);

	for (size_t i = 0; i < all->n; i++) {
		host_list others = {0};
		struct finding *g;

		for (size_t j = next[i]; !told[i] && j; j = next[j]) {
			told[j] = true;
			*LIST_ADD(f->a, &others) = (struct host){.name = all->v[j].host};
		}
		if (!others.n)
			continue;
		any = true;
		g = report_find(f->report, "suggest.pair", hostlist_fold(f->a, &others));
		finding_set(g, ST_FAIL,
			    "%s the address of %s (%s): one machine under several names, or "
			    "machines that share an address",
			    others.n == 1 ? "has" : "have", all->v[i].host,
			    answer_chose(&all->v[i], "address"));
		finding_expect(g, "machines with an address of their own");
		finding_fix(g, "- name each machine once in --hosts");
		finding_fix(g, "ip -br addr   # on each, where they are different machines");
		report_add(f->report, g);
	}
	return any;
}

/* Everybody answers it, but no interface of its own is answered by all. */
static bool say_torn(struct fleet *f, const struct answers *all)
{
	bool any = false;

	for (size_t i = 0; i < all->n; i++) {
		const struct answer *x = &all->v[i];
		struct finding *g;
		bool silent = false;

		if (answer_chose(x, "interface") || !cJSON_GetArraySize(proof_of(x)))
			continue;
		for (size_t j = 0; j < all->n; j++)
			silent |= is_silent(x, &all->v[j]);
		if (silent)
			continue;
		any = true;
		g = report_find(f->report, "suggest.interface", x->host);
		finding_set(g, ST_FAIL, "no one interface reaches every other host");
		finding_expect(g, "an interface that all of them answer through");
		finding_fix(g, "ifprobe --suggest --hosts %s   # says which reaches whom",
			    shell_quote(f->a, f->given));
		report_add(f->report, g);
	}
	return any;
}

bool fleet_say_pairs(struct fleet *f, const struct answers *all, bool unproven)
{
	bool same = say_same(f, all), torn = unproven && say_torn(f, all);
	struct pairs p;

	find(&p, f, all, unproven);
	if (!p.total)
		return !same && !torn;
	while (p.total)
		say_next(&p);
	return false;
}
