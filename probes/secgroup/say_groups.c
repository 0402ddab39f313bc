/* Several groups on one interface, and where its EFA does not reach. */
#include "probes/secgroup/say.h"

void sg_say_wishes(const struct sg_training *t, struct report *r)
{
	for (size_t i = 0; i < t->wishes.n; i++) {
		const struct sg_fix *wish = &t->wishes.v[i];
		struct finding *f = report_find(r, "cloud.groups", wish->group);

		finding_set(f, ST_WARN,
			    "has no %s rule for all traffic that names a group, as another group "
			    "of the same interface has: EFA was seen to need it in every one",
			    wish->is_egress ? "outbound" : "inbound");
		sg_fix_print(f, *wish);
		report_add(r, f);
	}
}

static bool differ(const char *x, const char *y) { return x && y && !streq(x, y); }

/* *ret_far: EFA's traffic crosses neither zones nor VPCs, but subnets. */
static const char *place_apart(const struct sg_pair *p, const char **ret_a, const char **ret_b,
			       bool *ret_far)
{
	const struct sg_node *a = p->from->node, *b = p->to->node;
	const struct {
		const char *what, *a, *b;
	} places[] = {{"VPCs", a->vpc, b->vpc},
		      {"availability zones", a->zone, b->zone},
		      {"subnets", a->subnet, b->subnet}};

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (differ(places[i].a, places[i].b)) {
			*ret_a = places[i].a;
			*ret_b = places[i].b;
			*ret_far = i + 1 < ARRAY_LEN(places);
			return places[i].what;
		}
	return NULL;
}

static void fix_place(const struct sg_node *n, struct finding *f)
{
	finding_expect(f, "all nodes with EFA in one availability zone of one VPC");
	finding_fix(f,
		    "aws ec2 run-instances --image-id AMI --count N --instance-type %s --placement "
		    "GroupName=training --network-interfaces "
		    "'DeviceIndex=0,InterfaceType=efa,SubnetId=%s,Groups=%s'   # once: aws ec2 "
		    "create-placement-group --strategy cluster --group-name training",
		    n->instance_type ? n->instance_type : "TYPE", n->subnet ? n->subnet : "SUBNET",
		    n->groups.v[0]);
}

static void say_place(const struct sg_pair *p, const char *what, bool far, struct finding *f)
{
	const char *from = p->from->node->name, *to = p->to->node->name;

	if (!far) {
		finding_set(f, ST_INFO,
			    "%s and %s are in different subnets: as long as these are of one "
			    "zone, EFA passes between them, too",
			    from, to);
	} else if (p->efa == SG_EFA_YES) {
		finding_set(f, ST_FAIL,
			    "%s and %s are in different %s: EFA's traffic crosses neither zones "
			    "nor VPCs; start the nodes in one (and in one placement group)",
			    from, to, what);
		fix_place(p->from->node, f);
	} else {
		finding_set(f, ST_INFO,
			    "%s and %s are in different %s: no EFA between them, and more latency",
			    from, to, what);
	}
}

/* Once per two places, not once per two nodes. */
void sg_say_places(const struct sg_training *t, struct report *r)
{
	str_list said = {0};

	for (size_t i = 0; i < t->pairs.n; i++) {
		const struct sg_pair *p = &t->pairs.v[i];
		const char *a = NULL, *b = NULL, *what, *subject;
		bool again = false, far;
		struct finding *f;

		what = place_apart(p, &a, &b, &far);
		if (!what || strcmp(a, b) > 0)
			continue;
		subject = arena_printf(t->m->a, "%s, %s", a, b);
		for (size_t k = 0; k < said.n; k++)
			again |= streq(said.v[k], subject);
		if (again)
			continue;
		*LIST_ADD(t->m->a, &said) = subject;
		f = report_find(r, "cloud.subnet", subject);
		say_place(p, what, far, f);
		report_add(r, f);
	}
}
