/* What the run came to: data, causes, lists of nodes, and the exit code that no stage says alone.
 */
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/quote.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/iface/fleet.h"
#include "probes/node/facts.h"
#include "probes/preflight/diff.h"
#include "probes/preflight/drift.h"

#include <errno.h>

static const char *const tier_names[] = {"quick", "default", "full"};

static void stage_data(const struct preflight *p, enum stage_id id, cJSON *list)
{
	const struct stage_run *run = &p->run[id];
	cJSON *o = json_push_object(list);

	json_str(o, "name", stages[id].name);
	json_str(o, "command", stages[id].command);
	json_str(o, "status", status_name(run->status == ST_INFO ? ST_PASS : run->status));
	json_num(o, "findings", (double)run->n);
	if (run->cut)
		json_bool(o, "cut", true);
	json_num(o, "seconds", run->seconds);
}

/* Hosts on which a tool of ours failed. */
static void find_errors(const struct preflight *p, struct names *ret)
{
	for (size_t i = 0; i < p->t.items.n; i++) {
		const struct item *x = &p->t.items.v[i];

		for (size_t h = 0; x->f->status == ST_ERROR && h < x->hosts.n; h++)
			names_add(ret, p->a, x->hosts.v[h].name);
	}
}

/* The first stage that hangs, or is slow: which of them, it cannot be told. */
static const struct stage *hanging(const struct preflight *p)
{
	for (enum stage_id id = 0; id < S_COUNT; id++)
		if (p->run[id].may_hang)
			return &stages[id];
	return NULL;
}

/* After Ctrl-C, or where nothing is known of what was asked, nobody has passed. */
static bool is_finished(const struct preflight *p)
{
	return p->concluded && (report_count(p->r, ST_FAIL) || !hanging(p)) &&
	       (!interrupt_pending() || interrupt_by_budget());
}

/* A node is neither where a tool failed on it, or where something between hosts named nobody. */
static void sort_nodes(const struct preflight *p, host_list *passing, host_list *failing)
{
	bool finished = is_finished(p); /* a signal may come between two of them */
	struct names errors = {0}, usable = {0};

	find_errors(p, &errors);
	for (size_t i = 0; finished && i < p->usable.n; i++)
		names_add(&usable, p->a, p->usable.v[i]);
	for (size_t i = 0; i < p->hosts.n; i++) {
		const char *name = p->hosts.v[i].name;

		if (names_has(&p->blamed, name))
			*LIST_ADD(p->a, failing) = p->hosts.v[i];
		else if (names_has(&usable, name) && !p->unattributed && !names_has(&errors, name))
			*LIST_ADD(p->a, passing) = p->hosts.v[i];
	}
}

static void names_data(const struct preflight *p, const char *key, const host_list *hosts)
{
	cJSON *list = json_array(report_data(p->r), key);

	for (size_t i = 0; i < hosts->n; i++)
		json_push_str(list, hosts->v[i].name);
}

static int write_names(const struct preflight *p, const char *file, const host_list *hosts,
		       struct err *e)
{
	static const struct file_replace_opts opts = {.make_parents = true};
	struct text t;

	text_init(&t, p->a);
	for (size_t i = 0; i < hosts->n; i++)
		text_addf(&t, "%s\n", hosts->v[i].name);
	return file_replace(arena_printf(p->a, "%s/%s", p->nodes_dir, file), t.s, t.n, &opts, e);
}

/* Of a run that came to nothing there is none, nor one of an earlier run. */
static int write_passing(const struct preflight *p, const host_list *passing, struct err *e)
{
	const char *name = "passing_nodes.txt", *path;

	if (is_finished(p))
		return write_names(p, name, passing, e);
	path = arena_printf(p->a, "%s/%s", p->nodes_dir, name);
	return unlink(path) && errno != ENOENT ? err_sys(e, "cannot remove %s", path) : 0;
}

/* The folder is made where it is missing, in the nearest one that is there. */
int preflight_check_nodes(struct arena *a, const char *nodes, struct err *e)
{
	char *path = arena_strdup(a, nodes), *slash;
	const char *first = NULL;

	if (!*nodes) {
		err_set(e, ERR_USAGE, "--nodes: '' is no name of a folder");
		return err_hint(e, "an unset variable? leave the option out, or name one");
	}
	for (; access(path, F_OK) && (slash = strrchr(path, '/')) && slash > path; *slash = '\0')
		first = arena_strdup(a, path);
	/* what would be made there: the folder, or the first one of several */
	return report_check_folder(a,
				   access(path, F_OK) ? path
				   : first	      ? first
					   : arena_printf(a, "%s/passing_nodes.txt", path),
				   e);
}

static bool has_run(const struct preflight *p, enum stage_id id)
{
	return p->run[id].done && p->run[id].status <= ST_FAIL && !p->run[id].came_to_nothing;
}

static bool has_ended(const struct preflight *p, enum stage_id id)
{
	return has_run(p, id) && !p->run[id].cut;
}

static void covers_but(struct preflight *p)
{
	const char *unfinished = preflight_unfinished(p);

	if (unfinished)
		preflight_covers(p, "%s; the budget was too short for %s", p->covers, unfinished);
}

static void covers(struct preflight *p)
{
	bool between = has_run(p, S_REACH) || has_run(p, S_PATHS);
	bool moved = has_run(p, S_COLLECTIVES), trained = has_run(p, S_TRAINING);
	bool full = has_ended(p, S_SLOW) && has_ended(p, S_SWEEP) && has_ended(p, S_EXPECT);

	const char *with = full		      ? ", with pairs, long sweeps and training"
			   : moved && trained ? ", with collectives and training"
			   : moved	      ? ", with collectives"
			   : trained	      ? ", with training"
					      : "";

	if (between)
		preflight_covers(p, "%zu of %zu hosts and the ways between them%s%s", p->usable.n,
				 p->hosts.n, p->grouped ? ", in groups" : "",
				 *with ? with : "; no data was moved");
	else if (*with)
		preflight_covers(p, "%zu of %zu hosts%s; who reaches whom was not tested",
				 p->usable.n, p->hosts.n, with);
	else
		preflight_covers(p,
				 "%zu of %zu hosts, each alone; nothing between hosts was tested",
				 p->usable.n, p->hosts.n);
}

/* srun takes what has a slash for a file of names. */
static const char *excluded(const struct preflight *p, const char *folded)
{
	const char *slash = p->nodes_dir && strchr(p->nodes_dir, '/') ? "" : "./";

	if (!p->nodes_dir || strlen(folded) <= PREFLIGHT_NAMES)
		return folded;
	return arena_printf(p->a, "%s%s/failing_nodes.txt", slash, p->nodes_dir);
}

static bool slurm_knows(const struct preflight *p, const host_list *hosts)
{
	for (size_t i = 0; i < hosts->n && !p->is_slurms; i++)
		if (!host_is_node(hosts->v[i].name))
			return false;
	return file_on_path(p->a, "srun") != NULL;
}

/* What is typed to leave the failing ones out; NULL: there is no such line. */
static const char *without(const struct preflight *p, const host_list *passing,
			   const host_list *failing)
{
	const char *rest = hostlist_fold(p->a, passing);

	if (!failing->n || !passing->n)
		return NULL;
	if (slurm_knows(p, failing))
		return arena_printf(
			p->a, "srun --exclude=%s ...",
			shell_quote(p->a, excluded(p, hostlist_fold_slurm(p->a, failing))));
	return p->crew || strlen(rest) > PREFLIGHT_NAMES
		       ? NULL
		       : arena_printf(p->a, "windsock%s %s", preflight_tier_word(p),
				      preflight_to(p, rest));
}

static void nodes_data(const struct preflight *p)
{
	host_list passing = {0}, failing = {0};

	sort_nodes(p, &passing, &failing);
	names_data(p, "passing_nodes", &passing);
	names_data(p, "failing_nodes", &failing);
	if (failing.n)
		json_str(report_data(p->r), "exclude", hostlist_fold_slurm(p->a, &failing));
	json_str(report_data(p->r), "without", without(p, &passing, &failing));
}

/* Nothing is wrong with any of them, nor with what is between them, which was tested. */
static bool all_passed(const struct preflight *p, const host_list *passing)
{
	return passing->n == p->hosts.n && !p->absent && !report_count(p->r, ST_FAIL) &&
	       !report_count(p->r, ST_ERROR) && (has_ended(p, S_REACH) || has_ended(p, S_PATHS));
}

static int tell_nodes(struct preflight *p, struct err *e)
{
	host_list passing = {0}, failing = {0};
	const char *line;

	sort_nodes(p, &passing, &failing);
	line = without(p, &passing, &failing);
	if (line)
		report_remark(p->r, "Without them:  %s", line);
	else if (all_passed(p, &passing))
		preflight_tell_next(p);
	if (!p->nodes_dir)
		return 0;
	return write_passing(p, &passing, e) || write_names(p, "failing_nodes.txt", &failing, e)
		       ? -1
		       : 0;
}

static void tell_peer(const struct preflight *p)
{
	if (p->peer_line)
		report_remark(p->r, "On every other node type:  %s", p->peer_line);
	report_remark(p->r, "All nodes from here:  windsock --hosts NODE1,NODE2,...");
}

bool preflight_wants_data(const struct preflight *p)
{
	return report_wants_data(p->r) || p->baseline;
}

void preflight_covers(struct preflight *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	p->covers = arena_vprintf(p->a, fmt, ap);
	va_end(ap);
	report_covers(p->r, "%s", p->covers);
}

void preflight_done(struct preflight *p)
{
	cJSON_Delete(p->baseline);
	p->baseline = NULL;
	carry_done(&p->carry);
}

/* The stages that the budget had no room for, or not enough. */
static void left_out_data(const struct preflight *p)
{
	cJSON *list = json_array(report_data(p->r), "left_out");

	for (enum stage_id id = 0; id < S_COUNT; id++)
		if (p->run[id].cut || p->run[id].left_out)
			json_push_str(list, stages[id].name);
}

static void run_data(struct preflight *p)
{
	cJSON *data = report_data(p->r), *list;

	if (!preflight_wants_data(p))
		return;
	json_str(data, "tier", tier_names[p->tier]);
	list = json_array(data, "stages");
	for (enum stage_id id = 0; id < S_COUNT; id++)
		if (p->run[id].done)
			stage_data(p, id, list);
	left_out_data(p);
	if (p->hosts.n)
		nodes_data(p);
	json_bool(data, "absent", p->absent != NULL);
}

/* What the run was and came to must be there before it is compared, and the comparison before the
 * causes are told. */
static void compare(struct preflight *p)
{
	cJSON *now;

	if (!p->baseline)
		return;
	now = report_envelope(p->r);
	p->run[S_BASELINE] = (struct stage_run){.begun = true, .from = p->t.items.n};
	runs_diff(&p->t, S_BASELINE, p->baseline, now);
	preflight_finish(p, S_BASELINE);
	cJSON_Delete(now);
	stage_data(p, S_BASELINE, cJSON_GetObjectItemCaseSensitive(report_data(p->r), "stages"));
}

static int write_files(struct preflight *p, struct err *e)
{
	if (!p->hosts.n)
		tell_peer(p);
	else if (tell_nodes(p, e)) {
		report_file_lost(p->r, "a file was not written");
		return -1;
	}
	return 0;
}

/* What hangs has not passed, and may as well be slow: nothing is said about the cluster. */
static int judge_hang(const struct preflight *p, struct err *e)
{
	const struct stage *s = hanging(p);

	if (!s)
		return 0;
	err_set(e, ERR_SYS, "not conclusive: %s %s: it hangs, or is slow", s->title,
		p->run[s - stages].came_to_nothing
			? "came to nothing in the time that it takes"
			: "did not end in many times the time that it takes");
	return err_hint(e, "run it without --budget: then who is silent is named");
}

static int judge(struct preflight *p, struct err *e)
{
	if (p->absent)
		return err_set(e, ERR_ABSENT, "%s", p->absent);
	if (report_count(p->r, ST_FAIL))
		return 0;
	if (judge_hang(p, e))
		return -1;
	if (p->concluded)
		return 0;
	if (p->left_out) {
		err_set(e, ERR_SYS, "nothing conclusive: the budget was too short for any command");
		return err_command(e, "%s", preflight_with_time(p));
	}
	if (p->usable.n && report_count(p->r, ST_ERROR))
		return 0; /* each has said why */
	if (p->run[S_HOSTS].status == ST_ERROR && p->hosts.n)
		return err_set(e, ERR_SYS, "nothing conclusive: no host was asked");
	if (part_find(p->a, stages[S_INTERFACE].command))
		return err_set(e, ERR_SYS,
			       "nothing conclusive: no command of the suite came to a result; why "
			       "is said above");
	err_set(e, ERR_SYS, "nothing conclusive: no command of the suite came to a result");
	return err_command(e, "make && make install   # they are looked for beside windsock and on "
			      "the PATH");
}

int preflight_conclude(struct preflight *p, struct err *e)
{
	item_list causes;

	tally_emit(&p->t);
	if (!p->hosts.n && preflight_wants_data(p)) {
		cJSON *facts = json_object(report_data(p->r), "facts");

		facts_gather(p->a, &p->same, p->until_ns, p->master, facts);
		drift_note_rank(facts);
		json_str(report_data(p->r), "boot",
			 sysroot_line(p->a, "/proc/sys/kernel/random/boot_id"));
	}
	if (p->hosts.n)
		covers(p);
	covers_but(p);
	run_data(p);
	compare(p);
	causes = tally_causes(&p->t);
	tally_tell_causes(&p->t, &causes);
	return write_files(p, e) ? -1 : judge(p, e);
}
