#include "probes/iface/fleet.h"

#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "lib/report/merge.h"

#include <limits.h>

void answers_done(struct answers *a)
{
	for (size_t i = 0; i < a->n; i++)
		cJSON_Delete(a->v[i].doc);
	a->n = 0;
}

bool list_has(const str_list *l, const char *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i], s))
			return true;
	return false;
}

/* Our own file first: on a shared file system that is the same version. */
static const char *const run_there[] = {
	"sh", "-c", "if [ -x \"$0\" ]; then exec \"$0\" \"$@\"; fi; exec \"${0##*/}\" \"$@\""};

static const char *command(const struct fleet *f) { return f->command ?: "ifprobe"; }

static const char *own_path(struct fleet *f)
{
	char buf[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", buf, sizeof(buf));

	return n > 0 ? arena_strndup(f->a, buf, (size_t)n) : command(f);
}

static const char *const *remote_argv(struct fleet *f, const str_list *args)
{
	struct arena *a = f->a;
	str_list argv = {0};

	for (size_t i = 0; i < ARRAY_LEN(run_there); i++)
		*LIST_ADD(a, &argv) = run_there[i];
	*LIST_ADD(a, &argv) = own_path(f);
	for (size_t i = 0; i < args->n; i++)
		*LIST_ADD(a, &argv) = args->v[i];
	*LIST_ADD(a, &argv) = "--json";
	*LIST_ADD(a, &argv) = NULL;
	return argv.v;
}

enum { NOT_FOUND = 127 }; /* what a shell ends with */

static void no_answer(struct fleet *f, const struct fanout_result *got, const struct err *why)
{
	struct finding *x = report_find(f->report, "host.answer", got->host);
	const char *rsh = f->rsh ? f->rsh : "ssh", *host = shell_quote(f->a, got->host);

	finding_expect(x, "a report from %s on %s", command(f), got->host);
	if (!got->out_n && got->exit_status == NOT_FOUND) {
		finding_set(x, ST_FAIL,
			    "%s is not there, or not on the PATH of shells without a terminal",
			    command(f));
		finding_fix(x, "scp \"$(command -v %s)\" %s:/usr/local/bin/", command(f), host);
	} else if (!got->out_n && got->trouble) {
		/* What never started, or was stopped by us, says nothing about the host. */
		finding_set(x,
			    got->interrupted ? ST_SKIP
			    : got->started   ? ST_FAIL
					     : ST_ERROR,
			    "%s", got->trouble);
		finding_fix(x, "%s %s %s   # must work without a password", rsh, host, command(f));
	} else {
		finding_set(x, ST_FAIL, "%s", why->msg);
		if (*why->hint)
			finding_fix(x, "%s", why->hint);
		else
			finding_fix(x, "%s %s %s --version", rsh, host, command(f));
	}
	report_add(f->report, x);
	*LIST_ADD(f->a, &f->lost) = got->host;
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
		envelope_merge(f->report, got->host, ret->doc);
}

static void progress(const struct fanout_result *r, size_t finished, size_t total, void *arg)
{
	(void)r;
	(void)arg;
	log_progress("asking hosts", finished, total);
}

int fleet_ask(struct fleet *f, const str_list *args, bool merge, struct answers *ret, struct err *e)
{
	const struct fanout_opts o = {.rsh = f->rsh,
				      .parallel = f->parallel,
				      .program = command(f),
				      /* its own deadline, and a login before it */
				      .deadline_ns = 3 * f->deadline_ns};
	struct fanout_result *got;
	host_list asked = {0};

	*ret = (struct answers){.n = f->hosts.n};
	ret->v = arena_alloc(f->a, ret->n * sizeof(*ret->v));
	for (size_t i = 0; i < ret->n; i++) {
		ret->v[i].host = ret->v[i].hostname = f->hosts.v[i].name;
		if (!list_has(&f->lost, f->hosts.v[i].name))
			*LIST_ADD(f->a, &asked) = f->hosts.v[i];
	}
	if (fanout_run(&asked, remote_argv(f, args), &o, progress, NULL, f->a, &got, e))
		return -1;
	log_progress_end();
	for (size_t i = 0, k = 0; k < asked.n; i++)
		if (streq(ret->v[i].host, asked.v[k].name))
			take(f, &got[k++], merge, &ret->v[i]);
	return 0;
}

void fleet_deadline_args(struct fleet *f, str_list *args)
{
	*LIST_ADD(f->a, args) = "--deadline";
	*LIST_ADD(f->a, args) =
		arena_printf(f->a, "%llums", (unsigned long long)(f->deadline_ns / 1000000));
}

/* What each host would choose, so that each can be told where the others are. */
static int add_peers(struct fleet *f, str_list *args, struct err *e)
{
	AUTO(answers_done) struct answers first = {0};
	str_list ask = {0};

	*LIST_ADD(f->a, &ask) = "--suggest";
	if (fleet_ask(f, &ask, false, &first, e))
		return -1;
	fleet_peer_args(f, &first, args);
	fleet_deadline_args(f, args);
	return 0;
}

int fleet_write(struct fleet *f, str_list *args, bool prove, struct err *e)
{
	AUTO(answers_done) struct answers all = {0};
	struct text diffs;

	if ((prove && add_peers(f, args, e)) || fleet_ask(f, args, true, &all, e))
		return -1;
	text_init(&diffs, f->a);
	for (size_t i = 0; i < all.n; i++) {
		const char *diff = json_get_str(json_get(all.v[i].data, "write"), "diff");

		if (diff && *diff)
			text_addf(&diffs, "# %s\n%s", all.v[i].host, diff);
	}
	if (diffs.n)
		report_answer(f->report, diffs.s, diffs.n);
	return 0;
}
