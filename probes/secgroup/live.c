/* The audit of what EC2 says now. */
#include "probes/secgroup/live.h"

enum { READ_AGAIN = 5, READ_AGAIN_MS = 500 };

/* Named ones, else those of this instance's interfaces. */
static int choose_groups(struct live *l, const struct cloud *here, struct err *e)
{
	const str_list *named = &l->q->c->groups;

	for (size_t i = 0; i < named->n; i++)
		cloud_add_once(l->q->a, &l->groups, named->v[i]);
	if (!named->n)
		cloud_groups_of(l->q->a, here, &l->groups);
	if (l->groups.n)
		return 0;
	err_set(e, ERR_USAGE, "which security groups? %s",
		here->trouble ? here->trouble
			      : "this is no EC2 instance whose metadata service could tell");
	return err_hint(e, "name those that are on the nodes: --group sg-...");
}

static int judge(struct live *l, struct sg_training *t, struct err *e)
{
	if (live_fetch(l, e))
		return -1;
	return l->blind ? 0 : verdict_train(l->q, &l->model, &l->groups, t, e);
}

/* EC2 shows a new rule after a moment. */
static int judge_again(struct live *l, struct sg_training *t, struct err *e)
{
	for (int i = 0; i < READ_AGAIN; i++) {
		if (judge(l, t, e))
			return -1;
		if (l->blind || !t->fixes.n)
			break;
		if (ec2_wait_ms(READ_AGAIN_MS, e))
			return -1;
	}
	return 0;
}

static int audit(struct live *l, struct err *e)
{
	struct sg_training t = {0};
	bool changed = false;

	if (judge(l, &t, e))
		return -1;
	if (!l->blind && l->q->c->apply && live_apply(l, &t.fixes, &changed, e))
		return -1;
	if (changed && judge_again(l, &t, e))
		return -1;
	if (l->blind)
		return 0;
	if (live_fetch_types(l, e))
		return -1;
	verdict_report(l->q, &t);
	return 0;
}

static void live_done(struct live *l) { ec2_done(&l->ec2); }

static int live_open(struct live *l, const struct cloud_run *q, const struct cloud *here,
		     struct err *e)
{
	*l = (struct live){.q = q};
	return ec2_open(&l->ec2, q->c->profile, q->c->region, here->region, q->deadline_ns, q->a,
			e) || choose_groups(l, here, e)
		       ? -1
		       : 0;
}

int cloud_audit_live(const struct cloud_run *q, const struct cloud *here, struct err *e)
{
	AUTO(live_done) struct live l;

	if (live_open(&l, q, here, e) || audit(&l, e))
		return -1;
	if (l.blind && !q->c->cloud) /* then what this instance may know of itself */
		cloud_identity_report(q, here);
	return 0;
}

int cloud_audit_brief(const struct cloud_run *q, const struct cloud *here, struct err *e)
{
	AUTO(live_done) struct live l;
	struct sg_training t = {0};
	struct finding *f;

	if (live_open(&l, q, here, e) || judge(&l, &t, e))
		return -1;
	if (l.blind)
		return 0;
	f = report_find(q->r, "cloud.rules", cloud_join(q->a, &l.groups, ","));
	sg_train_brief(&t, f);
	report_add(q->r, f);
	return 0;
}
