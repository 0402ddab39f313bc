/* Adds the rules that are missing. Nothing is changed unless a dry run of each one would do. */
#include "probes/secgroup/live.h"

static const char *action_of(const struct sg_fix *f)
{
	return f->is_egress ? "AuthorizeSecurityGroupEgress" : "AuthorizeSecurityGroupIngress";
}

static const char *query_of(struct live *l, const struct sg_fix *f, bool is_dry)
{
	struct text q;

	ec2_query(&q, l->q->a, action_of(f));
	if (is_dry)
		ec2_query_add(&q, "DryRun", "true");
	ec2_query_add(&q, "GroupId", f->group);
	ec2_query_add(&q, "IpPermissions.1.IpProtocol", "-1");
	ec2_query_add(&q, "IpPermissions.1.Groups.1.GroupId", f->peer);
	return q.s;
}

static struct finding *about(struct live *l, const struct sg_fix *f)
{
	const char *subject = arena_printf(l->q->a, "%s %s", f->group, f->is_egress ? "out" : "in");

	return report_find(l->q->r, "cloud.apply", subject);
}

static bool is_there_already(const char *code)
{
	return code && streq(code, "InvalidPermission.Duplicate");
}

/* @ret_why: a sentence, "" when EC2 agrees. */
static int try_one(struct live *l, const struct sg_fix *f, bool is_dry, bool *ret_old,
		   struct err *ret_why, struct err *e)
{
	struct ec2_reply r;
	bool good;

	if (ec2_call(&l->ec2, query_of(l, f, is_dry), &r, e))
		return -1;
	cJSON_Delete(r.doc);
	*ret_old = is_there_already(r.code);
	good = *ret_old || (is_dry ? r.code && streq(r.code, "DryRunOperation") : !r.code);
	*ret_why = (struct err){0};
	if (!good && r.code)
		ec2_explain(action_of(f), r.code, r.message, ret_why);
	else if (!good)
		err_set(ret_why, ERR_SYS, "EC2 did more than a dry run");
	return 0;
}

static void say_refused(struct live *l, const struct sg_fix *f, const struct err *why,
			const char *so)
{
	struct finding *x = about(l, f);

	finding_set(x, ST_ERROR, "%s: %s%s%s", so, why->msg, *why->hint ? "; " : "", why->hint);
	finding_fix(x, "%s", sg_fix_line(x->a, f));
	report_add(l->q->r, x);
}

/* 1: all of them would do. */
static int rehearse(struct live *l, const sg_fix_list *fixes, struct err *e)
{
	struct err why;
	int would = 1;
	bool old;

	for (size_t i = 0; i < fixes->n; i++) {
		if (try_one(l, &fixes->v[i], true, &old, &why, e))
			return -1;
		if (why.kind == ERR_NONE)
			continue;
		say_refused(l, &fixes->v[i], &why, "nothing was changed");
		would = 0;
	}
	return would;
}

static int add_one(struct live *l, const struct sg_fix *f, bool *ret_changed, struct err *e)
{
	struct finding *x;
	struct err why;
	bool old;

	if (try_one(l, f, false, &old, &why, e))
		return -1;
	if (why.kind != ERR_NONE) {
		say_refused(l, f, &why, "not added");
		return 0;
	}
	x = about(l, f);
	finding_set(x, ST_PASS, "%s: all traffic %s %s", old ? "was there already" : "added",
		    f->is_egress ? "to" : "from", f->peer);
	report_add(l->q->r, x);
	*ret_changed = true;
	return 0;
}

int live_apply(struct live *l, const sg_fix_list *fixes, bool *ret_changed, struct err *e)
{
	int would = rehearse(l, fixes, e);

	for (size_t i = 0; would > 0 && i < fixes->n; i++)
		if (add_one(l, &fixes->v[i], ret_changed, e))
			return -1;
	return would < 0 ? -1 : 0;
}
