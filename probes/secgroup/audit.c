#include "probes/secgroup/audit.h"

#include "probes/secgroup/train.h"
#include "probes/secgroup/verdict.h"

#define AT(field) .off = offsetof(struct cloud_config, field)
#define AUDIT_EC2 "EC2"
static const char *const yes_no[] = {"yes", "no", NULL};

const struct opt cloud_rows[CLOUD_NROWS] = {
	{.help = "In a cloud"},
	{.name = "cloud",
	 .type = OPT_BOOL,
	 AT(cloud),
	 .help = "say who the cloud's metadata service says this machine is"},
	{.name = "audit",
	 .metavar = "FILE",
	 .type = OPT_STR,
	 AT(audit),
	 .if_bare = AUDIT_EC2,
	 .complete = OPT_C_FILE,
	 .help = "judge the cloud's rules for training: what EC2 says now, or what aws ec2 "
		 "describe-security-groups, gcloud compute firewall-rules list or az network nsg "
		 "list printed into FILE (- is stdin)"},
	{.name = "group",
	 .metavar = "GROUP",
	 .type = OPT_LIST,
	 AT(groups),
	 .help = "what is on the nodes: AWS's group (sg-...), Google's network tag, Azure's group; "
		 "without it those of this instance, or of the nodes in FILE, or each by itself"},
	{.name = "efa",
	 .metavar = "yes|no",
	 .type = OPT_CHOICE,
	 AT(efa),
	 .choices = yes_no,
	 .if_bare = "yes",
	 .help = "whether the nodes use EFA; without it their interfaces say so, where they are "
		 "known"},
	{.name = "apply",
	 .type = OPT_BOOL,
	 AT(apply),
	 .help = "add the missing rules, after a dry run of all; never takes one away"},
	{.name = "profile",
	 .metavar = "NAME",
	 .type = OPT_STR,
	 AT(profile),
	 .help = "take AWS keys from this profile"},
	{.name = "region",
	 .metavar = "REGION",
	 .type = OPT_STR,
	 AT(region),
	 .help = "the AWS region to ask"},
};

bool cloud_is_wanted(const struct cloud_config *c) { return c->cloud || c->audit || c->apply; }

static bool is_group_id(const char *s)
{
	return starts_with(s, "sg-") && strlen(s) < 64 && s[3] &&
	       !s[3 + strspn(s + 3, "0123456789abcdefghijklmnopqrstuvwxyz")];
}

int verdict_check_groups(const struct cloud_config *c, struct err *e)
{
	for (size_t i = 0; i < c->groups.n; i++)
		if (!is_group_id(c->groups.v[i])) {
			err_set(e, ERR_USAGE, "'%.80s' is not the id of a security group",
				c->groups.v[i]);
			return err_hint(e, "they look like sg-0123456789abcdef0: aws ec2 "
					   "describe-security-groups --output table");
		}
	return 0;
}

static int check_options(const struct cloud_config *c, const str_list *files, struct err *e)
{
	const struct opt_need only[] = {
		{c->groups.n, c->audit, "--group", "--audit"},
		{c->efa, c->audit, "--efa", "--audit"},
		{c->apply, c->audit && !files->n, "--apply", "--audit without a file"},
		{c->profile, c->audit && !files->n, "--profile", "--audit without a file"},
		{c->region, c->audit && !files->n, "--region", "--audit without a file"},
		{files->n, c->audit, files->n ? files->v[0] : "", "--audit: the file to judge"},
	};

	return opt_check_needs(only, ARRAY_LEN(only), e);
}

int cloud_prepare(struct cloud_config *c, str_list *operands, struct arena *a, struct err *e)
{
	if (c->audit && !streq(c->audit, AUDIT_EC2)) /* --audit=FILE */
		*LIST_ADD(a, operands) = c->audit;
	if (check_options(c, operands, e))
		return -1;
	return operands->n ? 0 : verdict_check_groups(c, e);
}

/* --- the judgement, wherever the rules came from -------------------------------------- */

int verdict_train(const struct cloud_run *q, struct sg_model *m, const str_list *groups,
		  struct sg_training *ret, struct err *e)
{
	const char *efa = q->c->efa;
	struct sg_ask ask = {
		.ports = {q->master, {q->first, q->last}},
		.efa = !efa		   ? SG_EFA_UNKNOWN
		       : streq(efa, "yes") ? SG_EFA_YES
					   : SG_EFA_NO,
	};

	return sg_train(m, &ask, groups, ret, e);
}

static size_t nodes_in(const struct sg_training *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->classes.n; i++)
		n += t->classes.v[i].n;
	return n;
}

void verdict_report(const struct cloud_run *q, const struct sg_training *t)
{
	const struct sg_node *n = t->classes.n ? t->classes.v[0].node : NULL;

	if (n && !n->addrs.n && !n->instance && !n->eni)
		report_covers(q->r,
			      "nodes with %s; their addresses, hosts' firewalls and routes were "
			      "not looked at",
			      t->classes.v[0].groups);
	else
		report_covers(q->r,
			      "the rules around %zu interface%s; no packet was sent, and hosts' "
			      "firewalls were not looked at",
			      nodes_in(t), nodes_in(t) == 1 ? "" : "s");
	sg_train_report(t, q->r);
	if (report_wants_data(q->r))
		sg_train_data(t, report_data(q->r));
}

const char *cloud_audit_line(const char *provider)
{
	if (streq(provider, "gcp"))
		return "gcloud compute firewall-rules list --format=json | portcheck --cloud "
		       "--audit -";
	if (streq(provider, "azure"))
		return "az network nsg list --output json | portcheck --cloud --audit -";
	return "aws ec2 describe-security-groups --output json | portcheck --cloud --audit -";
}

/* Somebody on another cloud who names groups means AWS's all the same. */
static int is_auditable(const struct cloud_run *q, const struct cloud *here, struct err *e)
{
	if (!here->provider || streq(here->provider, "aws") || q->c->groups.n)
		return 0;
	err_set(e, ERR_ABSENT,
		"--audit asks EC2 only, and this machine is on %s: of others it reads "
		"what their command printed",
		here->provider);
	return err_hint(e, "%s   # or ask the ports: portcheck HOST",
			cloud_audit_line(here->provider));
}

int cloud_run(const struct cloud_run *q, struct err *e)
{
	struct cloud here = {0};

	if (q->files->n)
		return cloud_audit_files(q, e);
	if (cloud_identity(q, &here, e))
		return -1;
	if (q->c->cloud || !q->c->audit)
		cloud_identity_report(q, &here);
	if (!q->c->audit)
		return 0;
	return is_auditable(q, &here, e) ? -1 : cloud_audit_live(q, &here, e);
}
