#include "probes/iface/modes.h"

#include "lib/core/file.h"
#include "lib/core/quote.h"
#include "lib/core/self.h"
#include "lib/core/units.h"
#include "probes/check/check.h"
#include "probes/iface/fleet.h"
#include "probes/iface/lint.h"
#include "probes/iface/peers.h"
#include "probes/iface/predict.h"
#include "probes/iface/view.h"
#include "probes/iface/which.h"

enum { TO_CHOOSE = FACTS_NET | FACTS_RDMA | FACTS_SETTINGS };
#define NAME_PATIENCE_NS (2 * NS_PER_S) /* a name server in the same network needs a thousandth */

static int read_facts(const struct request *q, unsigned parts, struct facts *f, struct err *e)
{
	f->nccl_version = q->nccl_version;
	f->names.deadline_ns =
		q->deadline_ns < NAME_PATIENCE_NS ? q->deadline_ns : NAME_PATIENCE_NS;
	return facts_read(f, parts, q->a, e);
}

/* The choice falls on another interface, or on none: the name, or its addresses' labels, is what
 * to mend. */
static void say_unnamed(const struct request *q, const struct iface *i)
{
	struct finding *f = report_find(q->r, "suggest.name", i->name);
	const char *name = shell_quote(q->a, i->name);
	bool cut = i->name[strcspn(i->name, ",:")];

	finding_set(f, ST_WARN,
		    "would come first, but no value of NCCL_SOCKET_IFNAME means it alone: %s",
		    cut ? "NCCL cuts its lists at commas"
			: "its addresses have labels of their own, and other names begin with its");
	finding_expect(f, "%s",
		       cut ? "a name of letters, digits, '.', '_' and '-'"
			   : "an address without a label");
	if (cut)
		finding_fix(f, "sudo ip link set dev %s name NEW   # it has to be down for that",
			    name);
	else
		finding_fix(f, "sudo ip addr add ADDRESS/PREFIX dev %s   # again, without label",
			    name);
	report_add(q->r, f);
}

static int choose_by_rank(struct facts *f, struct suggestion *s, struct err *e)
{
	if (f->leader_only && suggest_leader(&f->in, &f->ranked, s))
		return 0;
	if (facts_widen(f, e))
		return -1;
	suggest_by_rank(&f->in, s);
	return 0;
}

/* By proof where peers were named and one of them is another host, else by rank. */
static int choose(const struct request *q, struct facts *f, struct suggestion *s, struct err *e)
{
	size_t failed = report_count(q->r, ST_FAIL);
	peer_list peers = {0};

	if (q->peers->n && peers_resolve(f, q->peers, q->deadline_ns, q->r, &peers, e))
		return -1;
	if (!peers.n) {
		if (choose_by_rank(f, s, e))
			return -1;
	} else {
		if (suggest_by_peers(f, &peers, q->deadline_ns, q->r, s, e))
			return -1;
		s->proven = s->proven && report_count(q->r, ST_FAIL) == failed;
	}
	if (s->unnamed)
		say_unnamed(q, s->unnamed);
	if (report_wants_data(q->r))
		suggest_data(s, report_data(q->r));
	return 0;
}

/* The reason, and how sure it is. */
static void say_choice(const struct request *q, const struct facts *f, const struct suggestion *s)
{
	struct finding *x = report_find(q->r, "suggest.interface", s->iface->name);

	if (s->proven)
		finding_set(x, ST_PASS, "%s", s->why);
	else if (q->peers->n)
		finding_set(x, ST_INFO, "%s; not proven: not every peer could be asked, or reached",
			    s->why);
	else
		finding_set(x, ST_INFO, "%s; chosen by rank, no peer tested: add --peer HOST",
			    s->why);
	report_add(q->r, x);
	if (!s->proven)
		suggest_remark_linklocal(&f->in, s, q->r);
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
	if (s->cut_short || report_count(q->r, ST_FAIL))
		return; /* no verdict; or a peer's own finding has said it */
	f = report_find(q->r, "suggest.interface", "this host");
	finding_set(f, ST_FAIL, "no interface is suitable");
	finding_expect(f, "an interface that is up and has an address other hosts can reach");
	finding_fix(f, "ifprobe   # what each interface lacks");
	report_add(q->r, f);
}

int mode_suggest(const struct request *q, const char *form, bool name_only, struct err *e)
{
	bool leader = !q->peers->n && !report_wants_data(q->r); /* the others are not asked for */
	AUTO(facts_done) struct facts f = {0};
	struct suggestion s;
	struct text out;

	if (read_facts(q, TO_CHOOSE | (leader ? FACTS_LEADER : 0), &f, e) || choose(q, &f, &s, e))
		return -1;
	if (!s.iface) {
		say_nothing(q, &s);
		return 0;
	}
	if (!name_only && !emit_can_say(emit_find(form), &s, q->r))
		return 0;
	say_choice(q, &f, &s);
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

/* While the peers do not answer, the line in the file may choose otherwise. */
static void compare_with_rank(const struct request *q, const struct write_request *w,
			      const struct facts *f, const struct suggestion *s)
{
	struct suggestion by_rank;
	struct finding *x;
	struct text peers;

	suggest_by_rank(&f->in, &by_rank);
	if (!s->proven || by_rank.iface == s->iface)
		return;
	x = report_find(q->r, "write.computed", s->iface->name);
	finding_set(x, ST_INFO,
		    "is what the peers answer through and what the line chooses; while they do "
		    "not answer it falls back to %s, the best by rank",
		    by_rank.iface->name);
	text_init(&peers, q->a);
	emit_peer_args(q->peers, &peers);
	finding_fix(x, "ifprobe %s%s --fixed%s", streq(w->form->name, "bashrc") ? "--" : "--write ",
		    w->form->name, peers.s);
	report_add(q->r, x);
}

/* "eth0: node1 and 3 more answered through it", for a comment beside fixed values. */
static const char *where_from(const struct request *q, const struct suggestion *s)
{
	const char *name = s->iface->name;
	str_list peers = {0};

	if (!s->proven)
		return arena_printf(q->a, "%s: chosen by rank, no peer was tested", name);
	for (size_t i = 0; i < s->proof.n; i++)
		if (s->proof.v[i].iface == s->iface && !list_has(&peers, s->proof.v[i].peer))
			*LIST_ADD(q->a, &peers) = s->proof.v[i].peer;
	if (!peers.n)
		return arena_printf(q->a, "%s: all peers answered", name);
	if (peers.n == 1)
		return arena_printf(q->a, "%s: %s answered through it", name, peers.v[0]);
	return arena_printf(q->a, "%s: %s and %zu more answered through it", name, peers.v[0],
			    peers.n - 1);
}

/* What was to be proven and was not is not written down. */
static int refuse(const struct request *q, const struct write_request *w, struct err *e)
{
	struct finding *f;
	const char *path;

	if (write_path(w, q->a, &path, e))
		return -1;
	f = report_find(q->r, arena_printf(q->a, "write.%s", w->form->name), path);
	finding_set(f, ST_SKIP, "was left as it is");
	report_add(q->r, f);
	return 0;
}

/* A computed line does nothing where shells do not find us; ~/.bashrc is told where we are. */
static void look_for_us(const struct request *q, const struct write_request *w)
{
	const bool own = streq(w->form->name, "bashrc"); /* others run where our PATH is not */
	const char *here = file_on_path(q->a, "ifprobe");
	struct finding *f;

	if (own ? here || *emit_own_folder(q->a)
		: file_in_path(q->a, EMIT_USUAL_PATH, "ifprobe") != NULL)
		return;
	f = report_find(q->r, "write.path", "ifprobe");
	if (own || !here) {
		finding_set(f, ST_WARN, "is not on the PATH: until it is, the line does nothing");
		finding_fix(f, "make install   # or write fixed values: --fixed");
	} else {
		finding_set(f, ST_WARN,
			    "is %s, which is on the PATH of this shell: where %s has another one, "
			    "what is written does nothing",
			    here, streq(w->form->name, "profile.d") ? "a login" : "a Slurm task");
		finding_fix(f,
			    "sudo ln -s %s /usr/local/bin/   # on every host that has it; or write "
			    "fixed values: --fixed",
			    shell_quote(q->a, self_path(q->a) ?: here));
	}
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
		look_for_us(q, &w);
	if (w.undo || (w.how == EMIT_COMPUTED && !q->peers->n))
		return write_apply(&w, &s, q->r, e);
	if (read_facts(q, TO_CHOOSE, &f, e) || choose(q, &f, &s, e))
		return -1;
	if (!s.iface) {
		say_nothing(q, &s);
		return 0;
	}
	say_choice(q, &f, &s);
	if (report_count(q->r, ST_FAIL) || !emit_can_say(w.form, &s, q->r))
		return refuse(q, &w, e);
	if (w.how == EMIT_COMPUTED)
		compare_with_rank(q, &w, &f, &s);
	w.note = where_from(q, &s);
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
	lint_all(&f, q->accelerate, q->r);
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
