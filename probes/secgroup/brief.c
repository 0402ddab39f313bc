/* All of the judgement in one finding, a degree milder than the audit's own. */
#include "probes/secgroup/say.h"

static size_t stopped_by_acls(const struct sg_training *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->pairs.n; i++)
		for (enum sg_stage s = 0; s < SG_STAGES; s++)
			if (s != SG_EGRESS && s != SG_INGRESS && t->pairs.v[i].closed[s].n) {
				n++;
				break;
			}
	return n;
}

static size_t stopped_by_groups(const struct sg_training *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->fixes.n; i++)
		n += t->fixes.v[i].stops;
	return n;
}

bool sg_train_is_known(const struct sg_training *t)
{
	for (size_t i = 0; i < t->sides.n; i++)
		if (sg_side_is_unknown(&t->sides.v[i]))
			return false;
	return true;
}

bool sg_train_stops(const struct sg_training *t)
{
	return stopped_by_groups(t) || stopped_by_acls(t);
}

static void say_stopped(const struct sg_training *t, size_t rules, size_t acls, struct finding *f)
{
	finding_set(f, ST_WARN,
		    "between nodes with these groups %zu rule%s missing%s: training would hang "
		    "after the rendezvous; portcheck --cloud --audit has the details",
		    rules, rules == 1 ? " is" : "s are",
		    acls ? ", and network ACLs stop packets" : "");
	finding_expect(f, "all traffic (-1) in and out, naming the group itself");
	for (size_t i = 0; i < t->fixes.n; i++)
		if (t->fixes.v[i].stops)
			sg_fix_print(f, t->fixes.v[i]);
	if (acls)
		finding_fix(f, "portcheck --cloud --audit");
}

void sg_train_brief(const struct sg_training *t, struct finding *f)
{
	size_t acls = stopped_by_acls(t), rules = stopped_by_groups(t);

	if (rules || acls) {
		say_stopped(t, rules, acls, f);
	} else if (!sg_train_is_known(t) || t->fixes.n || t->wishes.n) {
		finding_set(f, ST_INFO,
			    !sg_train_is_known(t)
				    ? "what these groups let pass between nodes is not all known"
				    : "training's TCP passes between nodes with these groups; EFA, "
				      "UDP and ICMP may lack a rule");
		finding_fix(f, "portcheck --cloud --audit");
	} else {
		finding_set(f, ST_PASS, "nodes with these groups let each other's traffic pass");
	}
}
