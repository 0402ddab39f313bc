#include "bench/train/verdict.h"

#include "lib/core/interrupt.h"
#include "lib/core/log.h"

static const char key[] = "ddpsmoke.verdict";
enum { PATIENCE = 60 }; /* times the deadline: rank 0 may have much to do once more */

struct verdict { /* travels as it is */
	uint32_t failed;
};

static int tell(struct world_run *w, const struct report *r, struct err *e)
{
	struct verdict v = {.failed = (uint32_t)report_count(r, ST_FAIL)};

	return rdzv_set(w->rdzv, key, &v, sizeof(v), e);
}

static int hear(struct world_run *w, struct report *r, struct err *e)
{
	const struct rdzv_member *m;
	struct verdict v = {0};
	struct finding *f;
	const void *p;
	size_t n;
	int result = -1;

	for (int i = 0; i < PATIENCE && result; i++) {
		result = rdzv_get(w->rdzv, key, report_arena(r), &p, &n, e);
		if (result && (rdzv_failure(w->rdzv) || interrupt_pending()))
			return -1;
	}
	if (result)
		return -1;
	memcpy(&v, p, n < sizeof(v) ? n : sizeof(v));
	if (rdzv_members(w->rdzv, &m, &n, e))
		return -1;
	*e = (struct err){0};
	if (!v.failed)
		return 0;
	f = report_find(r, "rank.verdict", NULL);
	finding_set(f, ST_FAIL, "rank 0 (%s) has the report: %u check%s failed", m[0].host,
		    v.failed, v.failed == 1 ? "" : "s");
	finding_fix(f, "- look at rank 0's output, on %s", m[0].host);
	report_add(r, f);
	log_say("%s", f->message);
	return 0;
}

int verdict_missing(struct report *r, bool silent, struct err *e)
{
	struct finding *f = report_find(r, "rank.joined", "ranks");

	finding_set(f, ST_FAIL, "%s", e->msg);
	finding_expect(f, "every rank joins");
	if (*e->hint)
		finding_fix(f, "%s", err_fix(e, f->a));
	else
		finding_fix(f, "- start it there, with the same command line as here");
	report_add(r, f);
	if (silent) {
		log_say("%s", e->msg);
		log_hint("%s", f->fix.v[0]);
	}
	*e = (struct err){0};
	return 0;
}

int verdict_share(struct world_run *w, struct report *r, struct err *e)
{
	enum launcher l = w->world.launcher;

	if (l != LAUNCHER_INIT && l != LAUNCHER_ENV)
		return 0;
	return rdzv_rank(w->rdzv) ? hear(w, r, e) : tell(w, r, e);
}
