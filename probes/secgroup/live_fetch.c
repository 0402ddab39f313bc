/* Groups, who carries them, and the network ACLs of their subnets. */
#include "probes/secgroup/live.h"

static void take_page(void *arg, const cJSON *page)
{
	bool known;

	sg_model_add(arg, page, &known);
}

/* EC2 refused: what we go on without, and why. @ret_refused as in ec2_describe(). */
static int describe(struct live *l, const char *query, const char *without, bool *ret_refused,
		    struct err *e)
{
	const char *code = NULL;
	struct err why = {0};
	int rc = ec2_describe(&l->ec2, query, take_page, &l->model, &code, &why);
	struct finding *f;

	*ret_refused = rc > 0;
	if (rc < 0)
		*e = why;
	if (rc <= 0 || !without)
		return rc < 0 ? -1 : 0;
	f = report_find(l->q->r, "cloud.api", code);
	finding_set(f, ST_SKIP, "%s, so %s%s%s", why.msg, without, *why.hint ? "; " : "", why.hint);
	report_add(l->q->r, f);
	return 0;
}

static int describe_groups(struct live *l, const str_list *ids, bool *ret_refused, struct err *e)
{
	struct text q;

	ec2_query(&q, l->q->a, "DescribeSecurityGroups");
	ec2_query_filter(&q, 1, "group-id", ids);
	ec2_query_add(&q, "MaxResults", "1000");
	return describe(
		l, q.s,
		"the groups cannot be judged; `portcheck HOST` finds out by asking the ports",
		ret_refused, e);
}

static int describe_nodes(struct live *l, struct err *e)
{
	static const char *const states[] = {"pending", "running", "stopping", "stopped"};
	str_list live_states = {0};
	bool refused;
	struct text q;

	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		*LIST_ADD(l->q->a, &live_states) = states[i];
	ec2_query(&q, l->q->a, "DescribeInstances");
	ec2_query_filter(&q, 1, "network-interface.group-id", &l->groups);
	ec2_query_filter(&q, 2, "instance-state-name", &live_states);
	ec2_query_add(&q, "MaxResults", "1000");
	return describe(l, q.s, "who carries the groups, where, and whether with EFA is not known",
			&refused, e);
}

/* Interfaces carry groups that nobody named: those count as well. */
static int describe_other_groups(struct live *l, struct err *e)
{
	str_list others = {0};
	bool refused;

	for (size_t i = 0; i < l->model.nodes.n; i++)
		for (size_t k = 0; k < l->model.nodes.v[i].groups.n; k++)
			if (!sg_group_find(&l->model, l->model.nodes.v[i].groups.v[k]))
				cloud_add_once(l->q->a, &others, l->model.nodes.v[i].groups.v[k]);
	return others.n ? describe_groups(l, &others, &refused, e) : 0;
}

/* They stand between subnets: with one there is none to ask for. */
static int describe_acls(struct live *l, struct err *e)
{
	str_list subnets = {0};
	bool refused;
	struct text q;

	for (size_t i = 0; i < l->model.nodes.n; i++)
		if (l->model.nodes.v[i].subnet)
			cloud_add_once(l->q->a, &subnets, l->model.nodes.v[i].subnet);
	if (subnets.n < 2)
		return 0;
	ec2_query(&q, l->q->a, "DescribeNetworkAcls");
	ec2_query_filter(&q, 1, "association.subnet-id", &subnets);
	ec2_query_add(&q, "MaxResults", "1000");
	return describe(l, q.s, "network ACLs between the subnets were not looked at", &refused, e);
}

int live_fetch_types(struct live *l, struct err *e)
{
	str_list types = {0};
	bool refused;
	struct text q;

	for (size_t i = 0; i < l->model.nodes.n; i++)
		if (l->model.nodes.v[i].instance_type && !l->model.nodes.v[i].idle_s)
			cloud_add_once(l->q->a, &types, l->model.nodes.v[i].instance_type);
	l->model.types_asked = true;
	if (!types.n)
		return 0;
	ec2_query(&q, l->q->a, "DescribeInstanceTypes");
	for (size_t i = 0; i < types.n; i++)
		ec2_query_add(&q, arena_printf(l->q->a, "InstanceType.%zu", i + 1), types.v[i]);
	return describe(l, q.s, "when silent connections are forgotten is not known", &refused, e);
}

static int all_described(struct live *l, struct err *e)
{
	for (size_t i = 0; i < l->groups.n; i++)
		if (!sg_group_find(&l->model, l->groups.v[i])) {
			err_set(e, ERR_SYS, "there is no security group %s in %s", l->groups.v[i],
				l->ec2.region);
			return err_hint(e, "is the region right? --region");
		}
	return 0;
}

int live_fetch(struct live *l, struct err *e)
{
	l->model = (struct sg_model){.a = l->q->a};
	if (describe_groups(l, &l->groups, &l->blind, e))
		return -1;
	if (l->blind)
		return 0;
	return all_described(l, e) || describe_nodes(l, e) || describe_other_groups(l, e) ||
			       describe_acls(l, e)
		       ? -1
		       : 0;
}
