#include "probes/preflight/serve.h"

#include "lib/cluster/allocation.h"
#include "lib/cluster/launch.h"
#include "lib/cluster/world.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "lib/report/typed.h"
#include "probes/preflight/crew.h"

enum { PATIENCE_S = 5 };

/* What portcheck says of this host alone: it is no rank of a job that started us. */
static void ask_portcheck(struct arena *a, struct part *ret)
{
	static const char *const args[] = {"--json", "--deadline=2s", NULL};
	bool set = getenv(WORLD_NO_RANK);

	(void)setenv(WORLD_NO_RANK, "1", 1);
	part_run("portcheck", args, PATIENCE_S * NS_PER_S, NULL, a, ret);
	if (!set)
		(void)unsetenv(WORLD_NO_RANK);
}

/* Who knocks hears nothing of it, and waits; here the rule can be read, before anybody does. */
static void warn_of_firewall(struct arena *a)
{
	AUTO(part_done) struct part got;
	const cJSON *f;

	ask_portcheck(a, &got);
	cJSON_ArrayForEach (f, json_get(got.doc, "findings")) {
		str_list fixes = {0};

		if (!streq(json_text(f, "check"), "local.firewall") ||
		    !streq(json_text(f, "status"), status_name(ST_WARN)))
			continue;
		log_warn("%s", json_text(f, "message"));
		fix_from_json(f, a, &fixes);
		for (size_t i = 0; i < fixes.n; i++)
			log_hint("%s", fixes.v[i]);
	}
}

bool serve_run(const struct serve_opts *s, struct arena *a, int *ret_code,
	       struct serve_missing *ret, struct err *e)
{
	const struct launch_opts o = {.serve = true,
				      .serve_port = (uint16_t)s->port,
				      .serve_ns = s->wait_ns,
				      .wait = (unsigned)s->wait,
				      .np_per_host = 1,
				      .argv = (const char *const *)s->argv,
				      .out_fd = STDOUT_FILENO,
				      .err_fd = STDERR_FILENO,
				      .raw = true};
	struct launch_result r;

	allocation_forget(); /* our commands shall look at this host alone */
	warn_of_firewall(a);
	if (launch_run(&o, a, &r, e) || (!r.failure && !r.nranks && interrupt_err(e)))
		return false;
	*ret_code = r.code;
	*ret = (struct serve_missing){r.failure, r.fix};
	if (r.nranks && r.failure)
		log_error("%s", r.failure);
	return r.nranks;
}

/* @first: or NULL. */
static int tell(struct report *r, const char *what, const char *first, const char *fix)
{
	struct finding *f = report_find(r, "host.answer", "all hosts");

	finding_set(f, ST_FAIL, "%s", what);
	finding_expect(f, "as many machines join as --wait says, and stay");
	if (first)
		finding_fix(f, "%s", first);
	finding_fix(f, "%s", fix);
	report_add(r, f);
	return 0;
}

int serve_tell_missing(struct report *r, const struct serve_missing *m)
{
	return tell(r, m->why, m->fix,
		    "windsock --serve   # prints that line; --wait N: for so many machines, "
		    "--wait-time TIME: for so long");
}

int serve_member(struct preflight *p, struct err *e)
{
	bool leads = false;
	int rc;

	allocation_forget(); /* as where it began */
	rc = preflight_crew(p, &leads, e);

	if (rc && p->lost) {
		*e = (struct err){0}; /* it is the cluster's */
		return tell(p->r, p->lost, NULL, SERVE_AGAIN);
	}
	if (!rc && !leads) { /* nobody reads it, but a report of nothing would be an error */
		struct finding *f = report_find(p->r, "host.answer", NULL);

		finding_set(f, ST_PASS, "took part");
		report_add(p->r, f);
	}
	return rc;
}
