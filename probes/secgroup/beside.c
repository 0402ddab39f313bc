#include "probes/secgroup/beside.h"

#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <signal.h>

/* A look at one host does not wait longer than this for EC2 either. */
#define LONGEST (3 * NS_PER_S)

static void *ask(void *arg)
{
	struct cloud_beside *b = arg;
	struct err ignored = {0};

	if (cloud_read_cards(&b->a, b->total_ns, &b->cloud, &ignored))
		b->cloud = (struct cloud){0};
	return NULL;
}

void cloud_beside_start(struct cloud_beside *b, uint64_t deadline_ns)
{
	sigset_t all, before;

	*b = (struct cloud_beside){.total_ns = deadline_ns < LONGEST ? deadline_ns : LONGEST};
	sigfillset(&all); /* signals are for the program's own thread */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	b->is_running = pthread_create(&b->thread, NULL, ask, b) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void wait_for(struct cloud_beside *b)
{
	if (b->is_running)
		(void)pthread_join(b->thread, NULL);
	b->is_running = false;
}

void cloud_beside_done(struct cloud_beside *b)
{
	wait_for(b);
	arena_done(&b->a);
}

static void judge_groups(struct cloud_beside *b, const struct cloud_run *q, const str_list *groups)
{
	struct cloud_run brief = *q;
	struct err why = {0};
	struct finding *f;

	brief.deadline_ns = b->total_ns;
	if (!cloud_audit_brief(&brief, &b->cloud, &why) || interrupt_pending())
		return;
	f = report_find(q->r, "cloud.rules", cloud_join(q->a, groups, ","));
	finding_set(f, ST_INFO, "the rules of these groups were not looked at: %s", why.msg);
	finding_fix(f,
		    "aws ec2 describe-security-groups --output json --group-ids %s | portcheck "
		    "--cloud --audit -   # where the aws command works",
		    cloud_join(f->a, groups, " "));
	report_add(q->r, f);
}

/* Their rules stand nowhere in what the metadata service says, and asking needs a key that it does
 * not lend to most machines. */
static void say_how(const struct cloud_beside *b, const struct cloud_run *q)
{
	struct finding *f = report_find(q->r, "cloud.rules", b->cloud.provider);

	finding_set(f, ST_INFO,
		    "what the cloud's own firewall lets pass between nodes was not looked at");
	finding_fix(f, "%s   # where that command works", cloud_audit_line(b->cloud.provider));
	report_add(q->r, f);
}

void cloud_beside_report(struct cloud_beside *b, const struct cloud_run *q)
{
	str_list groups = {0};

	wait_for(b);
	if (!b->cloud.provider)
		return;
	cloud_identity_brief(q, &b->cloud);
	cloud_groups_of(q->a, &b->cloud, &groups);
	if (groups.n)
		judge_groups(b, q, &groups);
	else if (!streq(b->cloud.provider, "aws"))
		say_how(b, q);
}
