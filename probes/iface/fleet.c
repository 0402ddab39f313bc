#include "probes/iface/fleet.h"

#include "lib/cluster/rsh.h"
#include "lib/cluster/trouble.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/quote.h"
#include "lib/core/self.h"
#include "lib/core/units.h"
#include "lib/report/envelope.h"
#include "lib/report/json.h"
#include "probes/iface/write.h"

void answers_done(struct answers *a)
{
	for (size_t i = 0; i < a->n; i++)
		cJSON_Delete(a->v[i].doc);
	a->n = 0;
}

size_t answers_count(const struct answers *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		n += a->v[i].doc != NULL;
	return n;
}

/* Our own file first: on a shared file system that is the same version. */
static const char run_there[] =
	"if [ -x \"$0\" ]; then exec \"$0\" \"$@\"; fi; exec \"${0##*/}\" \"$@\"";

static const char *command(const struct fleet *f) { return f->command ?: "ifprobe"; }

static const char *own_path(struct fleet *f) { return self_path(f->a) ?: command(f); }

static const char *const *remote_argv(struct fleet *f, const str_list *args)
{
	struct arena *a = f->a;
	str_list argv = {0};

	*LIST_ADD(a, &argv) = "sh";
	*LIST_ADD(a, &argv) = "-c";
	*LIST_ADD(a, &argv) = arena_printf(
		a, "%s%s%s%s", f->set ? "export " : "", f->set ?: "", f->set ? "; " : "",
		arena_printf(a, "%s%s", carry_look(a, "\"${0##*/}\"", "\"$@\""), run_there));
	*LIST_ADD(a, &argv) = own_path(f);
	for (size_t i = 0; i < args->n; i++)
		*LIST_ADD(a, &argv) = args->v[i];
	*LIST_ADD(a, &argv) = "--json";
	*LIST_ADD(a, &argv) = NULL;
	return argv.v;
}

static struct tally *told(struct fleet *f)
{
	f->way = (struct host_way){.rsh = f->rsh, .given = f->given, .n = f->hosts.n};
	f->told.a = f->a;
	f->told.r = f->report;
	f->told.way = &f->way;
	f->told.fold = f->fold;
	return &f->told;
}

void fleet_say(struct fleet *f) { tally_emit(told(f)); }

void fleet_merge(struct fleet *f, const char *host, const cJSON *doc)
{
	const cJSON *finding, *data = json_get(doc, "data");

	host = arena_strdup(f->a, host);
	cJSON_ArrayForEach (finding, json_get(doc, "findings"))
		tally_take(told(f), 0, "hosts", host, finding);
	report_node(f->report, host, cJSON_IsObject(data) ? cJSON_Duplicate(data, true) : NULL);
}

static bool was_carried(const struct fleet *f) { return f->carry && f->carry->n; }

/* The same once more, as it works; what is written for other shells there wants us to stay. */
static void advise_copy(const struct fleet *f, struct finding *x)
{
	const char *line = arena_printf(f->a, "%s%s", command(f), f->mode ?: "");

	if (f->mode && f->given)
		finding_fix(x, "%s", carry_advice(f->a, line, f->rsh, f->given));
	else
		finding_fix(x, "- install windsock there (its package or archive): the lines that "
			       "are written there run it");
}

static void no_answer(struct fleet *f, const struct fanout_result *got, const struct err *why)
{
	struct finding *x = tally_add(told(f), 0, "hosts", "host.answer", got->host);
	const char *way = rsh_typed(f->a, f->rsh);

	tally_of_host(&f->told, got->host);
	/* no host's name: "a" is a word, too, where what hosts say is folded */
	if (!got->interrupted)
		finding_expect(x, "%s's report", command(f));
	if (got->interrupted && got->trouble) {
		finding_set(x, ST_SKIP, "%s", names_after(got->trouble, got->host));
	} else if (got->missing && was_carried(f)) {
		finding_set(
			x, ST_ERROR,
			"%s was brought there and is gone: its folder was removed, or what held "
			"it was ended",
			command(f));
		advise_copy(f, x);
	} else if (got->missing) {
		finding_set(x, ST_FAIL, TROUBLE_NOT_THERE, command(f), got->host);
		advise_copy(f, x);
	} else if (got->trouble) {
		/* What never started says nothing about the host. */
		finding_set(x, got->started ? ST_FAIL : ST_ERROR, "%s", got->trouble);
		if (got->fix)
			finding_fix(x, "%s", got->fix);
		else
			finding_fix(x, "%s   # must work without a password",
				    typed_there(f->a, way, got->host, command(f)));
	} else {
		finding_set(x, ST_FAIL, "%s", why->msg);
		if (*why->hint)
			finding_fix(x, "%s", err_fix(why, f->a));
		else
			finding_fix(x, "%s --version",
				    typed_there(f->a, way, got->host, command(f)));
	}
	*LIST_ADD(f->a, &f->lost) = got->host;
	names_add(&f->lost_set, f->a, got->host);
	*LIST_ADD(f->a, &f->why) = x;
}

static void take(struct fleet *f, const struct fanout_result *got, bool merge, struct answer *ret)
{
	struct err why = {0};

	if (got->out_n || !got->trouble)
		ret->doc = envelope_read(got->host, command(f), got->out, got->out_n, &why);
	if (!ret->doc) {
		no_answer(f, got, &why);
		return;
	}
	ret->hostname = json_get_str(ret->doc, "host") ?: got->host;
	ret->data = cJSON_GetObjectItemCaseSensitive(ret->doc, "data");
	if (merge)
		fleet_merge(f, got->host, ret->doc);
}

static void progress(const struct fanout_result *r, size_t finished, size_t total, void *arg)
{
	(void)r;
	(void)arg;
	log_progress("asking hosts", finished, total);
}

/* Where it could not be brought it is not asked for. */
static void lose_uncarried(struct fleet *f)
{
	for (size_t i = 0; f->carry && i < f->carry->n; i++) {
		const struct fanout_result got = {.host = f->hosts.v[i].name,
						  .started = true,
						  .trouble = f->carry->hosts[i].trouble,
						  .fix = f->carry->hosts[i].fix};

		if (got.trouble && !names_has(&f->lost_set, got.host))
			no_answer(f, &got, NULL);
	}
}

int fleet_ask(struct fleet *f, const str_list *args, bool merge, struct answers *ret, struct err *e)
{
	const struct fanout_opts o = {.rsh = f->rsh,
				      .program = command(f),
				      .answer = "\"windsock\"",
				      /* its own deadline, and a login before it */
				      .deadline_ns = f->patience_ns ?: 3 * f->deadline_ns,
				      .done = progress};
	struct fanout_result *got;
	host_list asked = {0};

	lose_uncarried(f);
	*ret = (struct answers){.n = f->hosts.n};
	ret->v = arena_alloc(f->a, ret->n * sizeof(*ret->v));
	for (size_t i = 0; i < ret->n; i++) {
		ret->v[i].host = ret->v[i].hostname = f->hosts.v[i].name;
		if (!names_has(&f->lost_set, f->hosts.v[i].name))
			*LIST_ADD(f->a, &asked) = f->hosts.v[i];
	}
	if (fanout_run(&asked, remote_argv(f, args), &o, f->a, &got, e))
		return -1;
	log_progress_end();
	for (size_t i = 0, k = 0; k < asked.n; i++)
		if (streq(ret->v[i].host, asked.v[k].name))
			take(f, &got[k++], merge, &ret->v[i]);
	fleet_say(f);
	return 0;
}

void fleet_deadline_args(struct fleet *f, str_list *args)
{
	*LIST_ADD(f->a, args) = "--deadline";
	*LIST_ADD(f->a, args) =
		arena_printf(f->a, "%llums", (unsigned long long)(f->deadline_ns / 1000000));
}

static int add_proof(struct fleet *f, const struct write_request *w, str_list *args, struct err *e)
{
	if (w->undo || f->hosts.n < 2)
		return 0;
	if (w->how == EMIT_FIXED ? fleet_peer_args(f, args, e) : fleet_witness_args(f, args, e))
		return -1;
	fleet_deadline_args(f, args);
	return 0;
}

static const cJSON *settings_of(const struct answer *a)
{
	return json_get(json_get(a->data, "suggest"), "env");
}

/* Those that wrote have all written the same values. */
static bool are_alike(const struct answers *all)
{
	const cJSON *first = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const cJSON *one = settings_of(&all->v[i]);

		if (first && one && !cJSON_Compare(first, one, true))
			return false;
		first = first ?: one;
	}
	return true;
}

static const char *diff_of(const struct answer *a)
{
	return json_get_str(json_get(a->data, "write"), "diff") ?: "";
}

/* The same once more, as a line that is right on all; or one value, where there is one. */
static void fix_shared(struct fleet *f, const struct write_request *w, const char *path,
		       struct finding *x)
{
	const char *kind = w->form->name, *hosts = shell_quote(f->a, f->given);
	const char *to = shell_quote_path(f->a, path);
	const char *mode =
		streq(kind, "bashrc") ? "--bashrc" : arena_printf(f->a, "--write %s", kind);

	if (w->form->render_computed)
		finding_fix(x,
			    "ifprobe %s --to %s --hosts %s   # each host computes its own, with "
			    "the ifprobe that is installed there",
			    mode, to, hosts);
	else
		finding_fix(x,
			    "ifprobe %s --to %s --undo && ifprobe --suggest=%s --hosts %s >>%s   "
			    "# one value for all of them, where there is one",
			    mode, to, kind, hosts, to);
}

/* @who: hosts that find somebody else's values where they wrote their own. */
static void say_shared(struct fleet *f, const struct write_request *w, const host_list *who,
		       const char *path)
{
	struct finding *x = report_find(f->report, "write.shared", path);

	finding_set(x, ST_FAIL,
		    "is one file for several hosts, which need different values: what %s wrote is "
		    "gone, and another host's is there",
		    hostlist_fold(f->a, who));
	finding_expect(x, "a file of its own for each host, or values that are right on all");
	fix_shared(f, w, path, x);
	report_add(f->report, x);
}

/* On a file system that hosts share, as a home often is, the last one to write is right: each looks
 * again, at what it would write now. */
static int look_again(struct fleet *f, const struct write_request *w, str_list *args, struct err *e)
{
	AUTO(answers_done) struct answers now = {0};
	const char *path = NULL;
	host_list who = {0};

	*LIST_ADD(f->a, args) = "--dry-run";
	if (interrupt_err(e) || fleet_ask(f, args, false, &now, e))
		return -1;
	for (size_t i = 0; i < now.n; i++) {
		if (!*diff_of(&now.v[i]))
			continue;
		*LIST_ADD(f->a, &who) = (struct host){.name = now.v[i].host};
		path = json_get_str(json_get(now.v[i].data, "write"), "path") ?: path;
	}
	if (who.n)
		say_shared(f, w, &who, arena_strdup(f->a, path ?: w->form->name));
	return 0;
}

int fleet_write(struct fleet *f, const struct write_request *w, str_list *args, struct err *e)
{
	AUTO(answers_done) struct answers all = {0};
	struct text diffs;

	if (add_proof(f, w, args, e) || fleet_ask(f, args, true, &all, e))
		return -1;
	text_init(&diffs, f->a);
	for (size_t i = 0; i < all.n; i++)
		if (*diff_of(&all.v[i]))
			text_addf(&diffs, "# %s\n%s", all.v[i].host, diff_of(&all.v[i]));
	if (diffs.n)
		report_answer(f->report, diffs.s, diffs.n);
	return w->dry_run || w->undo || w->how == EMIT_COMPUTED || are_alike(&all)
		       ? 0
		       : look_again(f, w, args, e);
}
