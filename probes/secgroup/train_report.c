/* What the judgement says to a person, and the lines that mend it. */
#include "probes/secgroup/say.h"

/* --- one finding per side ---------------------------------------------------------- */

static const char *self_rule(struct arena *a, const struct sg_fix *fix)
{
	return streq(fix->group, fix->peer)
		       ? arena_printf(a, "all traffic (-1) %s naming %s itself",
				      fix->is_egress ? "out," : "in,", fix->group)
		       : arena_printf(a, "all traffic (-1) %s %s",
				      fix->is_egress ? "out to" : "in from", fix->peer);
}

static void say_closed(const struct sg_training *t, const struct sg_side *s, struct finding *f)
{
	port_spans closed = {0}, open = {0};
	struct port_span all = {1, 65535};
	const char *opened, *why, *verb = s->is_egress ? "leave to" : "enter from";

	sg_closed_ports(t->m, &s->pair->flow, s->is_egress ? SG_EGRESS : SG_INGRESS, all, &closed);
	port_spans_invert(f->a, &closed, all, &open);
	opened = port_spans_text(f->a, &open);
	why = port_spans_hold(&open, t->ask.ports.master) ? "; open: "
	      : open.n					  ? ": the rules only open "
		       : ": no rule matches their private addresses";
	finding_set(f, ST_FAIL, "%s%s%s",
		    port_needs_closed(f->a, &t->ask.ports, &s->closed, &open, verb), why, opened);
}

/* A warning, not a check left out: beside the other direction that passes, this would be a PASS. */
static void say_unread(const struct sg_training *t, const struct sg_side *s, struct finding *f)
{
	str_list lists = {0};

	sg_side_lists(t, s, &lists);
	finding_set(f, ST_WARN,
		    "what training needs can %s the other nodes only if a prefix list holds their "
		    "private addresses, and what is in it was not looked at",
		    s->is_egress ? "leave to" : "enter from");
	for (size_t i = 0; i < lists.n; i++)
		finding_fix(f, "aws ec2 get-managed-prefix-list-entries --prefix-list-id %s",
			    lists.v[i]);
}

static void say_unknown(const struct sg_training *t, const struct sg_side *s, struct finding *f)
{
	if (!s->owner->unknown) {
		say_unread(t, s, f);
		return;
	}
	finding_set(f, ST_SKIP, "cannot be judged: the rules of %s are not there",
		    s->owner->unknown);
	finding_fix(f, "aws ec2 describe-security-groups --group-ids %s", s->owner->unknown);
}

static void judge_side(const struct sg_training *t, const struct sg_side *s, struct report *r)
{
	const char *check = s->is_egress ? "cloud.egress" : "cloud.ingress";
	struct finding *f = report_find(r, check, sg_side_subject(report_arena(r), s));
	struct sg_fix fix = sg_side_fix(t, s);

	finding_expect(f, "%s", self_rule(f->a, &fix));
	if (sg_side_is_unknown(s)) {
		say_unknown(t, s, f);
	} else if (s->closed.n) {
		say_closed(t, s, f);
		sg_fix_print(f, fix);
	} else if (!s->all) {
		finding_set(f, ST_WARN,
			    "the TCP ports of training are open, but that is not all traffic: UDP, "
			    "ICMP and EFA do not pass");
		sg_fix_print(f, fix);
	} else {
		finding_set(f, ST_PASS, "all traffic %s the other nodes passes",
			    s->is_egress ? "to" : "from");
	}
	report_add(r, f);
}

/* --- EFA ---------------------------------------------------------------------------- */

static void say_efa(const struct sg_training *t, const struct sg_side *s, struct finding *f)
{
	const char *what = s->is_egress ? "outbound 0.0.0.0/0 does not count for EFA"
					: "inbound rules for address ranges do not count for EFA";

	if (!s->all)
		what = s->is_egress ? "EFA's traffic cannot leave" : "EFA's traffic cannot enter";
	finding_set(f, s->efa == SG_EFA_YES ? ST_FAIL : ST_WARN,
		    "%s%s: it has neither IPv4 nor IPv6 addresses, so only a rule for all traffic "
		    "that names a security group matches%s",
		    s->efa == SG_EFA_YES ? "" : "should these nodes use EFA: ", what,
		    s->is_egress ? " (the symptom: \"Unresponsive receiver\", error 4126)" : "");
	sg_fix_print(f, sg_side_fix(t, s));
}

static void judge_efa(const struct sg_training *t, const struct sg_side *s, struct report *r)
{
	struct finding *f;

	/* Said already, with the same line? */
	bool said = s->closed.n || (s->efa == SG_EFA_UNKNOWN && !s->all);

	if (s->efa == SG_EFA_NO || (!s->by_group && (s->owner->unknown || said)))
		return;
	f = report_find(r, "cloud.efa", sg_side_subject(report_arena(r), s));
	if (s->by_group)
		finding_set(f, ST_PASS,
			    "EFA's traffic may %s: a rule for all traffic names the group",
			    s->is_egress ? "leave" : "enter");
	else
		say_efa(t, s, f);
	report_add(r, f);
}

void sg_train_report(const struct sg_training *t, struct report *r)
{
	for (size_t i = 0; i < t->sides.n; i++)
		if (t->sides.v[i].is_ip)
			judge_side(t, &t->sides.v[i], r);
	for (size_t i = 0; i < t->sides.n; i++)
		judge_efa(t, &t->sides.v[i], r);
	sg_say_wishes(t, r);
	sg_say_ranges(t, r);
	sg_say_acls(t, r);
	sg_say_places(t, r);
	sg_say_idle(t, r);
}
