#include "probes/iface/predict.h"

#include "lib/core/quote.h"
#include "lib/host/nat.h"
#include "lib/report/json.h"
#include "probes/rules/names.h"
#include "probes/rules/torch.h"

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
static void prediction_fix(const struct facts *f, const struct rules *rules,
			   const struct prediction *p, struct finding *x)
{
	const struct iface_addr *published = predict_told(&f->inv, p);
	candidate_list all;
	struct addr_text at;

	rank_ifaces(f->in.inv, 0, &all);
	if (!all.n || !all.v[0].usable)
		finding_fix(x, "ifprobe   # what each interface lacks");
	else if (nat_is_own(&f->inv, all.v[0].iface))
		finding_fix(x, "ifprobe   # what leads out of its NAT");
	else if (streq(rules->name, "torch"))
		finding_fix(x, "export MASTER_ADDR=%s" TORCH_MASTER_OURS,
			    addr_print(&all.v[0].addr->addr, &at));
	else if (!published || !names_mend_linklocal(&f->in, published, x))
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
		prediction_fix(f, rules, p, x);
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

/* The best state through @at's interface over its family (NULL: any). NULL: nothing was sent so. */
static const char *best_state(const struct suggestion *s, const char *peer,
			      const struct iface_addr *at)
{
	const char *best = NULL;

	for (size_t i = 0; i < s->proof.n; i++) {
		const struct proof_row *p = &s->proof.v[i];
		bool v6 = strchr(p->address, ':');

		if (!streq(p->peer, peer) ||
		    (at && (p->iface != at->iface || v6 != (at->addr.sa.sa_family == AF_INET6))))
			continue;
		if (is_answer(p->state))
			return p->state;
		best = p->state;
	}
	return best;
}

static bool was_asked_over(const struct suggestion *s, const char *peer, bool v6)
{
	for (size_t i = 0; i < s->proof.n; i++)
		if (streq(s->proof.v[i].peer, peer) && !strchr(s->proof.v[i].address, ':') == !v6)
			return true;
	return false;
}

/* @at is what NCCL would tell it. */
static void judge_peer(const struct suggestion *s, const char *peer, const struct iface_addr *at,
		       struct report *r)
{
	bool v6 = at->addr.sa.sa_family == AF_INET6;
	const char *state = best_state(s, peer, at);
	struct finding *x = report_find(r, "predict.peer", peer);
	struct addr_text t;

	if (v6 && addr_class(&at->addr) == ADDR_LINKLOCAL) {
		finding_set(x, ST_FAIL,
			    "answers, but NCCL would tell it %s of %s, which it cannot use",
			    addr_print(&at->addr, &t), at->iface->name);
	} else if (is_answer(state)) {
		finding_set(x, ST_PASS, "answers through %s, which NCCL would use",
			    at->iface->name);
	} else if (!was_asked_over(s, peer, v6)) {
		finding_set(x, ST_SKIP, "was not asked over IPv%d, which NCCL would use (%s of %s)",
			    v6 ? 6 : 4, addr_print(&at->addr, &t), at->iface->name);
		finding_expect(x, "an IPv%d address in --peer", v6 ? 6 : 4);
	} else {
		finding_set(x, ST_FAIL, "NCCL would use %s, through which it does not answer (%s)",
			    at->iface->name, state ? state : "no route");
	}
	if (x->status == ST_FAIL) {
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
	prediction_fix(f, rules_find("nccl"), nccl, x);
	report_add(r, x);
}

void predict_peers(const struct facts *f, const struct suggestion *s, struct report *r)
{
	const struct iface_addr *at;
	struct prediction nccl = {0};
	str_list done = {0};

	rules_find("nccl")->predict(&f->in, &nccl);
	at = predict_told(&f->inv, &nccl);
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
			judge_peer(s, s->proof.v[i].peer, at, r);
		else
			no_start(f, &nccl, s->proof.v[i].peer, r);
	}
}
