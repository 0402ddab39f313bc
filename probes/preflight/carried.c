/* What --copy-self brought to the hosts of this run, and brings again where it went away. */
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/self.h"
#include "probes/iface/fleet.h"
#include "probes/preflight/preflight.h"

#define GONE "the programs that were brought to the hosts went away from there"

/* All that a stage may start there, and we. */
int preflight_carry(struct preflight *p, uint64_t deadline_ns, struct err *e)
{
	struct carry_opts o = {
		.hosts = &p->hosts, .rsh = p->rsh, .keep = p->keep, .deadline_ns = deadline_ns};
	str_list programs = {0};

	for (enum stage_id id = 0; id < S_COUNT; id++) {
		const char *command = stages[id].command, *path;

		path = command ? self_beside(p->a, command) : NULL;
		if (path && !access(path, X_OK) && !list_has(&programs, command))
			*LIST_ADD(p->a, &programs) = command;
	}
	*LIST_ADD(p->a, &programs) = NULL;
	o.programs = programs.v;
	return carry_begin(&o, p->a, &p->carry, e);
}

/* It answered when the run began: what is between hosts goes on without it. */
static void leave_out(struct preflight *p, const char *host, const struct carry_host *why)
{
	size_t kept = 0;
	struct finding *f;

	for (size_t i = 0; i < p->usable.n; i++)
		if (!streq(p->usable.v[i], host))
			p->usable.v[kept++] = p->usable.v[i];
	if (kept == p->usable.n)
		return;
	p->usable.n = kept;
	f = tally_add(&p->t, S_HOSTS, stages[S_HOSTS].name, "host.answer", NULL);
	tally_of_host(&p->t, host);
	finding_set(f, ST_FAIL, "answered at first, and now not any more: %s", why->trouble);
	if (why->fix)
		finding_fix(f, "%s", why->fix);
}

static void leave_out_all(struct preflight *p)
{
	for (size_t i = 0; i < p->carry.n; i++)
		if (p->carry.hosts[i].trouble)
			leave_out(p, p->hosts.v[i].name, &p->carry.hosts[i]);
}

static void bring_again(struct preflight *p, enum stage_id id)
{
	const uint64_t cap = preflight_cap(p, id);
	struct err e = {0};

	log_warn(GONE ": they are brought there again");
	carry_done(&p->carry);
	p->adrift = true;
	if (preflight_carry(p, cap / 2 ?: 1, &e)) {
		finding_set(preflight_note(p, id), ST_ERROR,
			    GONE ", and cannot be brought again: %s", e.msg);
		return;
	}
	p->adrift = false;
	leave_out_all(p);
}

bool preflight_carried(struct preflight *p, enum stage_id id)
{
	if (p->adrift)
		finding_set(preflight_note(p, id), ST_SKIP, "not reached because " GONE);
	else if (carry_lost(&p->carry) && !interrupt_pending())
		bring_again(p, id);
	return !p->adrift;
}

/* That they failed without our programs is no news of the hosts; @status is what it is then. */
static void forgive(struct preflight *p, size_t from, enum status status, const char *then)
{
	for (size_t i = from; i < p->t.items.n; i++) {
		struct finding *f = p->t.items.v[i].f;

		if (f->status != ST_FAIL && f->status != ST_ERROR)
			continue;
		finding_set(f, status, "%s (meanwhile " GONE "%s)", f->message, then);
		f->fix.n = 0;
	}
}

/* Where there is no second run that would show it: a machine that went is a finding, and whatever
 * else it was that failed. */
static bool name_cut_off(struct preflight *p, size_t from)
{
	if (!carry_cut_off(&p->carry, p->a))
		return false;
	forgive(p, from, ST_INFO, ", with a host");
	leave_out_all(p);
	return true;
}

bool preflight_uncarried(struct preflight *p, enum stage_id id, size_t from, bool once_more)
{
	enum status st = tally_status(&p->t, from, p->t.items.n);
	bool bad = st == ST_FAIL || st == ST_ERROR;
	bool again = bad && once_more && preflight_fits_again(p, id);

	if ((!bad && !p->run[id].cut) || interrupt_pending() || !carry_lost(&p->carry))
		return false;
	if (again)
		forgive(p, from, ST_INFO, ": tested again");
	else if (!name_cut_off(p, from))
		forgive(p, from, ST_ERROR, "");
	return again;
}
