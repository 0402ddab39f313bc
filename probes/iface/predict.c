#include "probes/iface/predict.h"

#include "lib/core/quote.h"
#include "lib/host/nat.h"
#include "lib/report/json.h"

#include <math.h>

static const struct column columns[] = {
	{.name = "stack", .is_text = true},   {.name = "interface", .is_text = true},
	{.name = "address", .is_text = true}, {.name = "data goes over", .is_text = true},
	{.name = "because", .is_text = true},
};
static const struct series view = {"predict", columns, ARRAY_LEN(columns), true};

static const char *join(struct arena *a, const str_list *l)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < l->n; i++)
		text_addf(&t, "%s%s", i ? "," : "", l->v[i]);
	return t.n ? t.s : NULL;
}

static void prediction_row(struct arena *a, const struct rules *rules, const struct prediction *p,
			   struct report *r)
{
	const struct cell cells[] = {
		{rules->title, NAN}, {p->interface, NAN},
		{p->address, NAN},   {join(a, &p->interfaces), NAN},
		{p->rule, NAN},
	};

	report_row(r, cells);
}

static void prediction_data(const struct rules *rules, const struct prediction *p, cJSON *all)
{
	cJSON *o = json_object(all, rules->name), *names;

	json_str(o, "outcome", outcome_name(p->outcome));
	json_str(o, "interface", p->interface);
	json_str(o, "address", p->address);
	names = json_array(o, "interfaces");
	for (size_t i = 0; i < p->interfaces.n; i++)
		json_push_str(names, p->interfaces.v[i]);
	names = json_array(o, "addresses");
	for (size_t i = 0; i < p->addresses.n; i++)
		json_push_str(names, p->addresses.v[i]);
	json_str(o, "rule", p->rule);
	json_str(o, "why", p->why);
	if (p->outcome == OUTCOME_OK) {
		json_bool(o, "reachable", p->reachable);
		json_str(o, "unreachable_why", p->unreachable_why);
	}
}

/* What makes it right: for torchrun's store a setting decides that --suggest does not print. */
static void prediction_fix(const struct facts *f, const struct rules *rules, struct finding *x)
{
	candidate_list all;
	struct addr_text at;

	rank_ifaces(f->in.inv, 0, &all);
	if (!all.n || !all.v[0].usable)
		finding_fix(x, "ifprobe   # what each interface lacks");
	else if (nat_is_own(&f->inv, all.v[0].iface))
		finding_fix(x, "ifprobe   # what leads out of its NAT");
	else if (streq(rules->name, "torch"))
		finding_fix(x,
			    "export MASTER_ADDR=%s   # on every node: this one's, if it is node 0",
			    addr_print(&all.v[0].addr->addr, &at));
	else
		finding_fix(x, "eval \"$(ifprobe --suggest)\"");
}

static void prediction_finding(const struct facts *f, const struct rules *rules,
			       const struct prediction *p, struct report *r)
{
	struct finding *x =
		report_find(r, arena_printf(f->a, "predict.%s", rules->name), rules->title);

	if (p->outcome != OUTCOME_OK)
		finding_set(x, ST_WARN, "%s", p->why);
	else if (!p->reachable)
		finding_set(x, ST_WARN, "%s: %s", p->interface ? p->interface : "would start",
			    p->unreachable_why);
	else
		finding_set(x, ST_PASS, "%s", p->why);
	if (x->status != ST_PASS)
		prediction_fix(f, rules, x);
	report_add(r, x);
}

static struct prediction *ask_all(const struct facts *f)
{
	struct prediction *got = arena_alloc(f->a, rules_count * sizeof(*got));

	for (size_t i = 0; i < rules_count; i++)
		if (rules_all[i]->predict)
			rules_all[i]->predict(&f->in, &got[i]);
	return got;
}

static void all_data(const struct prediction *got, struct report *r)
{
	cJSON *all = json_object(report_data(r), "predict");

	for (size_t i = 0; i < rules_count; i++)
		if (rules_all[i]->predict)
			prediction_data(rules_all[i], &got[i], all);
}

/* The line for /etc/hosts where the name is this host's, else how to see it fail. */
static void fix_name(const struct facts *f, const char *name, struct finding *x)
{
	candidate_list all;
	struct addr_text at;

	rank_ifaces(f->in.inv, 0, &all);
	if (streq(name, f->inv.hostname) && name_is_plain(name) && all.n && all.v[0].usable)
		finding_fix(x, "echo '%s %s' | sudo tee -a /etc/hosts",
			    addr_print(&all.v[0].addr->addr, &at), name);
	else
		finding_fix(x,
			    "getent ahosts %s   # do the name servers of /etc/resolv.conf answer?",
			    shell_quote(f->a, name));
}

/* Nothing was waited for twice, but the programs themselves will wait, and longer. */
static void say_unanswered(const struct facts *f, struct report *r)
{
	for (size_t i = 0; i < f->names.asked.n; i++) {
		const struct name_page *p = f->names.asked.v[i];
		struct finding *x;

		if (!p->got.timed_out)
			continue;
		x = report_find(r, "host.name", p->name);
		finding_set(x, ST_WARN,
			    "%s: what is predicted from it is a guess, and programs "
			    "that ask for it wait at every start",
			    p->got.trouble);
		fix_name(f, p->name, x);
		report_add(r, x);
	}
}

void predict_data(const struct facts *f, struct report *r) { all_data(ask_all(f), r); }

void predict_all(const struct facts *f, struct report *r)
{
	const struct prediction *got = ask_all(f);

	if (report_wants_data(r))
		all_data(got, r);
	report_series(r, &view);
	for (size_t i = 0; i < rules_count; i++)
		if (rules_all[i]->predict)
			prediction_row(f->a, rules_all[i], &got[i], r);
	for (size_t i = 0; i < rules_count; i++)
		if (rules_all[i]->predict)
			prediction_finding(f, rules_all[i], &got[i], r);
	say_unanswered(f, r);
}

static bool is_answer(const char *state)
{
	return state && (streq(state, "open") || streq(state, "refused"));
}

/* The best state through @iface (NULL: any). NULL: nothing was sent through @iface at all. */
static const char *best_state(const struct suggestion *s, const char *peer,
			      const struct iface *iface)
{
	const char *best = NULL;

	for (size_t i = 0; i < s->proof.n; i++) {
		const struct proof_row *p = &s->proof.v[i];

		if ((iface && p->iface != iface) || !streq(p->peer, peer))
			continue;
		if (is_answer(p->state))
			return p->state;
		best = p->state;
	}
	return best;
}

static void judge_peer(const struct suggestion *s, const char *peer, const struct iface *iface,
		       struct report *r)
{
	const char *state = best_state(s, peer, iface);
	struct finding *x = report_find(r, "predict.peer", peer);

	if (is_answer(state)) {
		finding_set(x, ST_PASS, "answers through %s, which NCCL would use", iface->name);
	} else {
		finding_set(x, ST_FAIL, "NCCL would use %s, through which it does not answer (%s)",
			    iface->name, state ? state : "no route");
		finding_expect(x, "an answer through the interface that NCCL takes");
		finding_fix(x, "eval \"$(ifprobe --suggest --peer %s)\"",
			    shell_quote(report_arena(r), peer));
	}
	report_add(r, x);
}

/* Peers that answer are of no use to an NCCL that will not start. */
static void no_start(const struct facts *f, const struct prediction *nccl, const char *peer,
		     struct report *r)
{
	struct finding *x = report_find(r, "predict.peer", peer);

	finding_set(x, ST_FAIL, "answers, but NCCL would not get that far: %s", nccl->why);
	finding_expect(x, "an NCCL that starts, and an answer through its interface");
	prediction_fix(f, rules_find("nccl"), x);
	report_add(r, x);
}

void predict_peers(const struct facts *f, const struct suggestion *s, struct report *r)
{
	const struct iface_addr *at = NULL;
	struct prediction nccl = {0};
	str_list done = {0};

	rules_find("nccl")->predict(&f->in, &nccl);
	for (size_t i = 0; nccl.interface && !at && i < f->inv.addrs.n; i++)
		if (streq(f->inv.addrs.v[i].label, nccl.interface))
			at = &f->inv.addrs.v[i];
	for (size_t i = 0; i < s->proof.n; i++) {
		bool known = false;

		for (size_t k = 0; k < done.n; k++)
			known = known || streq(done.v[k], s->proof.v[i].peer);
		/* One that answers through nothing has a finding of its own. */
		if (known || !is_answer(best_state(s, s->proof.v[i].peer, NULL)))
			continue;
		*LIST_ADD(f->a, &done) = s->proof.v[i].peer;
		if (at)
			judge_peer(s, s->proof.v[i].peer, at->iface, r);
		else
			no_start(f, &nccl, s->proof.v[i].peer, r);
	}
}
