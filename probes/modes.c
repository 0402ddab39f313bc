#include "probes/modes.h"

#include "lib/core/units.h"
#include "probes/check/check.h"
#include "probes/lint.h"
#include "probes/peers.h"
#include "probes/predict.h"
#include "probes/view.h"
#include "probes/which.h"

enum { TO_CHOOSE = FACTS_NET | FACTS_RDMA | FACTS_SETTINGS };

static int read_facts(const struct request *q, unsigned parts, struct facts *f, struct err *e)
{
	f->nccl_version = q->nccl_version;
	return facts_read(f, parts, q->a, e);
}

/* By proof where peers were named and one of them is another host, else by rank. */
static int choose(const struct request *q, struct facts *f, struct suggestion *s, struct err *e)
{
	size_t failed = report_count(q->r, ST_FAIL);
	peer_list peers = {0};
	bool all;

	if (q->peers->n && peers_resolve(f, q->peers, q->deadline_ns, q->r, &peers, e))
		return -1;
	all = report_count(q->r, ST_FAIL) == failed;
	if (!peers.n) {
		suggest_by_rank(&f->in, s);
	} else {
		if (suggest_by_peers(&f->in, &f->nl, peers.v, peers.n, q->deadline_ns, q->r, s, e))
			return -1;
		s->proven = s->proven && all;
	}
	if (report_wants_data(q->r))
		suggest_data(s, report_data(q->r));
	return 0;
}

/* The reason, and how sure it is. */
static void say_choice(const struct request *q, const struct suggestion *s)
{
	struct finding *f = report_find(q->r, "suggest.interface", s->iface->name);

	if (s->proven)
		finding_set(f, ST_PASS, "%s", s->why);
	else if (q->peers->n)
		finding_set(f, ST_INFO, "%s; not proven: not every peer could be asked", s->why);
	else
		finding_set(f, ST_INFO, "%s; chosen by rank, no peer tested: add --peer HOST",
			    s->why);
	report_add(q->r, f);
}

/* Nothing suitable: why each interface is not. */
static void say_nothing(const struct request *q, const struct suggestion *s)
{
	struct finding *f;

	for (size_t i = 0; i < s->candidates.n; i++) {
		const struct candidate *c = &s->candidates.v[i];

		f = report_find(q->r, "suggest.candidate", c->iface->name);
		finding_set(f, ST_INFO, "%s", c->why);
		report_add(q->r, f);
	}
	if (report_count(q->r, ST_FAIL))
		return; /* a peer's own finding has said it */
	f = report_find(q->r, "suggest.interface", "this host");
	finding_set(f, ST_FAIL, "no interface is suitable");
	finding_expect(f, "an interface that is up and has an address other hosts can reach");
	finding_fix(f, "ifprobe   # what each interface lacks");
	report_add(q->r, f);
}

int mode_suggest(const struct request *q, const char *form, bool name_only, struct err *e)
{
	AUTO(facts_done) struct facts f = {0};
	struct suggestion s;
	struct text out;

	if (read_facts(q, TO_CHOOSE, &f, e) || choose(q, &f, &s, e))
		return -1;
	if (!s.iface) {
		say_nothing(q, &s);
		return 0;
	}
	say_choice(q, &s);
	if (s.proven) /* a pass is not said on stderr, but the reason is part of the answer */
		report_remark(q->r, "%s: %s", s.iface->name, s.why);
	text_init(&out, q->a);
	if (name_only)
		text_addf(&out, "%s\n", s.iface->name);
	else
		emit_find(form)->render(&s, &out);
	report_answer(q->r, out.s, out.n);
	return 0;
}

/* The line in the file asks again without a peer, so it may choose otherwise. */
static void compare_with_rank(const struct request *q, const struct write_request *w,
			      const struct facts *f, const struct suggestion *s)
{
	struct suggestion by_rank;
	struct finding *x;

	suggest_by_rank(&f->in, &by_rank);
	if (!s->proven || by_rank.iface == s->iface)
		return;
	x = report_find(q->r, "write.computed", s->iface->name);
	finding_set(x, ST_WARN, "is what the peers answer through, but a computed line chooses %s",
		    by_rank.iface->name);
	finding_fix(x, "ifprobe %s%s --fixed --peer %s",
		    streq(w->form->name, "bashrc") ? "--" : "--write ", w->form->name,
		    q->peers->v[0]);
	report_add(q->r, x);
}

/* A computed line does nothing where shells do not find us. */
static void look_for_us(const struct request *q)
{
	const char *path = getenv("PATH");
	struct finding *f;

	for (size_t n; path && *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		if (!access(arena_printf(q->a, "%.*s/ifprobe", (int)n, path), X_OK))
			return;
	}
	f = report_find(q->r, "write.path", "ifprobe");
	finding_set(f, ST_WARN, "is not on the PATH: until it is, the line does nothing");
	finding_fix(f, "make install   # or write fixed values: --fixed");
	report_add(q->r, f);
}

int mode_write(const struct request *q, const struct write_request *given, struct err *e)
{
	AUTO(facts_done) struct facts f = {0};
	struct write_request w = *given;
	struct suggestion s = {0};

	if (!w.form->render_computed)
		w.how = EMIT_FIXED;
	if (!w.undo && w.how == EMIT_COMPUTED)
		look_for_us(q);
	if (w.undo || (w.how == EMIT_COMPUTED && !q->peers->n))
		return write_apply(&w, &s, q->r, e);
	if (read_facts(q, TO_CHOOSE, &f, e) || choose(q, &f, &s, e))
		return -1;
	if (!s.iface) {
		say_nothing(q, &s);
		return 0;
	}
	say_choice(q, &s);
	if (w.how == EMIT_COMPUTED)
		compare_with_rank(q, &w, &f, &s);
	return write_apply(&w, &s, q->r, e);
}

int mode_predict(const struct request *q, struct err *e)
{
	AUTO(facts_done) struct facts f = {0};
	struct suggestion s;

	if (read_facts(q, TO_CHOOSE, &f, e) || (q->peers->n && choose(q, &f, &s, e)))
		return -1;
	predict_all(&f, q->r);
	if (!q->peers->n) {
		report_covers(q->r, "this host only; no peer was asked");
		return 0;
	}
	predict_peers(&f, &s, q->r);
	report_covers(q->r, "this host, and the way from it to %zu peer%s", q->peers->n,
		      q->peers->n == 1 ? "" : "s");
	return 0;
}

int mode_check(const struct request *q, struct err *e)
{
	AUTO(facts_done) struct facts f = {0};

	if (read_facts(q, TO_CHOOSE, &f, e))
		return -1;
	lint_all(&f, q->r);
	report_covers(q->r, "the settings of this host and this environment");
	return 0;
}

int mode_ip(const struct request *q, const char *addr, bool name_only, struct err *e)
{
	const struct which_opts o = {.given = addr, .name_only = name_only, .cloud_ns = NS_PER_S};
	AUTO(facts_done) struct facts f = {0};

	return read_facts(q, FACTS_NET, &f, e) ? -1 : which_interface(&f, &o, q->r, e);
}

int mode_bare(const struct request *q, struct err *e)
{
	AUTO(facts_done) struct facts f = {0};
	struct prediction nccl = {0};
	struct suggestion s;

	if (read_facts(q, FACTS_ALL, &f, e))
		return -1;
	if (choose(q, &f, &s, e))
		return -1;
	view_interfaces(&f, &s.candidates, q->verbose || !s.iface, q->r);
	view_rdma(&f, q->r);
	view_gpus(&f, q->r);
	rules_find("nccl")->predict(&f.in, &nccl);
	check_all(&(struct check_input){.f = &f, .s = &s, .nccl = &nccl}, q->r);
	if (report_wants_data(q->r))
		predict_data(&f, q->r);
	if (s.proven || s.tried)
		report_covers(q->r, "this host, and the way from it to %zu peer%s", q->peers->n,
			      q->peers->n == 1 ? "" : "s");
	else
		report_covers(q->r, "this host only; nothing between hosts was tested");
	return 0;
}
