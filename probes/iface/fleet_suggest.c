/* One choice for many hosts: every host proves its interfaces against every
 * other host's addresses, and the choices must reach each other. */
#include "probes/iface/fleet.h"

#include "lib/core/interrupt.h"
#include "lib/net/addr.h"
#include "lib/report/envelope.h"
#include "lib/report/json.h"
#include "probes/iface/fleet_emit.h"
#include "probes/iface/fleet_pairs.h"

enum { MOST_PEERS = 256 };

size_t fleet_step(size_t hosts) { return hosts ? (hosts + MOST_PEERS - 1) / MOST_PEERS : 1; }

/* Hosts with one family of addresses among hosts with the other: then those with both are asked
 * at both, else what each would publish is enough. */
static bool is_mixed(const struct answers *all)
{
	bool v4 = false, v6 = false;
	const cJSON *c;

	for (size_t i = 0; i < all->n; i++)
		cJSON_ArrayForEach (c,
				    json_get(json_get(all->v[i].data, "suggest"), "candidates")) {
			const char *addr = json_get_str(c, "address");

			if (addr && cJSON_IsTrue(json_get(c, "usable")))
				*(strchr(addr, ':') ? &v6 : &v4) = true;
		}
	return v4 && v6;
}

static void put(struct text *t, const char *addr)
{
	text_addf(t, strchr(addr, ':') ? "%s[%s]" : "%s%s", t->n ? "," : "", addr);
}

/* @x: a candidate, or its other address; with @subnet only what is in it. */
static void add_address(const cJSON *x, const char *subnet, struct text *t)
{
	const char *addr = json_get_str(x, "address");

	if (addr && (!subnet || streq(subnet, json_text(x, "network"))))
		put(t, addr);
}

/* --peer NAME=ADDR,ADDR for every host; with @subnet only addresses in it. */
static void peer_args(struct fleet *f, const struct answers *all, const char *subnet,
		      str_list *args)
{
	bool mixed = is_mixed(all);

	for (size_t i = 0; i < all->n; i += fleet_step(all->n)) {
		const cJSON *s = json_get(all->v[i].data, "suggest"), *c;
		struct text t;

		text_init(&t, f->a);
		cJSON_ArrayForEach (c, json_get(s, "candidates")) {
			if (!cJSON_IsTrue(json_get(c, "usable")))
				continue;
			add_address(c, subnet, &t);
			if (mixed)
				add_address(json_get(c, "other"), subnet, &t);
		}
		if (!t.n)
			continue;
		*LIST_ADD(f->a, args) = "--peer";
		*LIST_ADD(f->a, args) = arena_printf(f->a, "%s=%s", all->v[i].host, t.s);
	}
}

/* What each would choose, before it knows where the others are. */
static int ask_first(struct fleet *f, struct answers *ret, struct err *e)
{
	str_list args = {0};

	*LIST_ADD(f->a, &args) = "--suggest";
	return fleet_ask(f, &args, false, ret, e) || interrupt_err(e) ? -1 : 0;
}

int fleet_peer_args(struct fleet *f, str_list *args, struct err *e)
{
	AUTO(answers_done) struct answers first = {0};

	if (ask_first(f, &first, e))
		return -1;
	peer_args(f, &first, NULL, args);
	return 0;
}

static int prove(struct fleet *f, const struct answers *first, const char *subnet, bool merge,
		 struct answers *ret, struct err *e)
{
	str_list args = {0};

	*LIST_ADD(f->a, &args) = "--suggest";
	fleet_deadline_args(f, &args);
	peer_args(f, first, subnet, &args);
	return fleet_ask(f, &args, merge, ret, e);
}

static bool has_network(const struct answer *a, const char *network)
{
	const cJSON *c;

	cJSON_ArrayForEach (c, json_get(json_get(a->data, "suggest"), "candidates")) {
		if (cJSON_IsTrue(json_get(c, "usable")) &&
		    (streq(json_text(c, "network"), network) ||
		     streq(json_text(json_get(c, "other"), "network"), network)))
			return true;
	}
	return false;
}

static bool is_everywhere(const struct answers *all, const char *network)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].doc && !has_network(&all->v[i], network))
			return false;
	return true;
}

/* The individually best interfaces need not meet (one host's is InfiniBand,
 * the other's Ethernet). Then each network that all have is tried, in the
 * first host's order of preference. */
static int settle(struct fleet *f, const struct answers *first, struct answers *ret, struct err *e)
{
	const struct answer *lead = NULL;
	const cJSON *c;

	if (prove(f, first, NULL, false, ret, e) || interrupt_err(e))
		return -1;
	if (!fleet_bad_pairs(f, ret))
		return 0;
	for (size_t i = 0; !lead && i < first->n; i++)
		if (first->v[i].doc)
			lead = &first->v[i];
	cJSON_ArrayForEach (c,
			    json_get(json_get(lead ? lead->data : NULL, "suggest"), "candidates")) {
		const char *network = json_get_str(c, "network");
		struct answers tried;

		if (interrupt_err(e))
			return -1;
		if (!network || !cJSON_IsTrue(json_get(c, "usable")) ||
		    !is_everywhere(first, network))
			continue;
		if (prove(f, first, network, false, &tried, e))
			return -1;
		if (!fleet_bad_pairs(f, &tried)) {
			answers_done(ret);
			*ret = tried;
			return 0;
		}
		answers_done(&tried);
	}
	return 0;
}

/* Where @all[@k] was answered: by all others, else by any of them. */
static const char *answered_at(const struct answers *all, size_t k)
{
	const char *addr =
		answer_chose(&all->v[k], "interface") ? answer_chose(&all->v[k], "address") : NULL;

	for (size_t i = 0; !addr && i < all->n; i++)
		addr = i == k ? NULL : fleet_answered_at(&all->v[i], all->v[k].host);
	return addr;
}

int fleet_witness_args(struct fleet *f, str_list *args, struct err *e)
{
	enum { WITNESSES = 3 }; /* one of them asks itself, and one may be gone */
	AUTO(answers_done) struct answers first = {0};
	AUTO(answers_done) struct answers proven = {0};
	host_list who = {0};
	struct text at;

	if (ask_first(f, &first, e) || settle(f, &first, &proven, e))
		return -1;
	text_init(&at, f->a);
	for (size_t k = 0; k < proven.n && who.n < WITNESSES; k++) {
		const char *addr = answered_at(&proven, k);

		if (!addr)
			continue;
		put(&at, addr);
		*LIST_ADD(f->a, &who) = (struct host){.name = proven.v[k].host};
	}
	if (who.n < 2) { /* nobody was answered: each says so itself, and writes nothing */
		if (answers_count(&first) > 1)
			peer_args(f, &first, NULL, args);
		return 0;
	}
	*LIST_ADD(f->a, args) = "--peer";
	*LIST_ADD(f->a, args) = arena_printf(f->a, "%s=%s", hostlist_fold(f->a, &who), at.s);
	return 0;
}

static void merge_all(struct fleet *f, const struct answers *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].doc)
			fleet_merge(f, all->v[i].host, all->v[i].doc);
	fleet_say(f);
}

/* The proof in one line where it holds. */
static void say_proven(struct fleet *f, const struct answers *all, bool unproven)
{
	struct finding *g;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += answer_chose(&all->v[i], "interface") != NULL;
	if (!fleet_say_pairs(f, all, unproven) || n < 2)
		return;
	g = report_find(f->report, "suggest.pair", "all hosts");
	finding_set(g, ST_PASS, "%zu hosts reach each other through the chosen interfaces", n);
	finding_value(g, (double)n, "hosts");
	report_add(f->report, g);
}

/* Who gave no answer was not tested. */
static void covers(struct fleet *f, const struct answers *all)
{
	size_t n = answers_count(all), step = fleet_step(all->n);

	if (f->hosts.n < 2)
		report_covers(f->report, "one host only; nothing between hosts was tested");
	else if (n < 2)
		report_covers(f->report, "%zu of %zu hosts; nothing between hosts was tested", n,
			      f->hosts.n);
	else if (step > 1)
		report_covers(f->report, "the way between %zu hosts, to each %zuth of them", n,
			      step);
	else
		report_covers(f->report, "the way between %zu hosts, each to each", n);
}

static int after_first(struct fleet *f, const struct answers *first, bool unproven,
		       struct answers *proven, struct err *e)
{
	if (interrupt_err(e) || settle(f, first, proven, e) || interrupt_err(e))
		return -1;
	if (answers_count(proven))
		fleet_view_choices(f, proven);
	say_proven(f, proven, unproven);
	fleet_compare_mtu(f, proven);
	covers(f, proven);
	return 0;
}

int fleet_suggest(struct fleet *f, const char *form, bool name_only, struct err *e)
{
	AUTO(answers_done) struct answers first = {0};
	AUTO(answers_done) struct answers proven = {0};

	if (ask_first(f, &first, e) || after_first(f, &first, false, &proven, e))
		return -1;
	merge_all(f, &proven);
	if (!report_count(f->report, ST_FAIL) && answers_count(&proven) > 1)
		report_remark(f->report, "%zu hosts reach each other through the chosen interfaces",
			      answers_count(&proven));
	fleet_emit(f, &proven, form, name_only);
	return 0;
}

int fleet_bare(struct fleet *f, struct err *e)
{
	AUTO(answers_done) struct answers first = {0};
	AUTO(answers_done) struct answers proven = {0};
	str_list args = {0};

	if (fleet_ask(f, &args, true, &first, e) || after_first(f, &first, true, &proven, e))
		return -1;
	fleet_emit(f, &proven, NULL, false);
	return 0;
}
