/* What makes hosts be mistaken for each other: their names, and their clocks. */
#include "lib/cluster/rsh.h"
#include "lib/cluster/typed_way.h"
#include "lib/net/addr.h"
#include "lib/report/json.h"
#include "probes/preflight/drift.h"

#include <math.h>

#define CLOCK_SLACK_S 2.0

/* ---- names ---- */

struct kernel {
	const struct answer *a;
	const char *boot; /* of its kernel; NULL: not said */
};

static int by_name(const void *px, const void *py)
{
	const struct kernel *x = px, *y = py;
	int d = strcmp(x->a->hostname, y->a->hostname);

	return d ? d : (x->a > y->a) - (x->a < y->a);
}

/* All but those that are a machine we have already. */
static const char *without_twins(struct preflight *p, const struct answers *all,
				 const struct kernel *twins, size_t n)
{
	host_list kept = {0};

	for (size_t i = 0; i < all->n; i++) {
		bool again = false;

		for (size_t k = 1; k < n; k++)
			again |= twins[k].a == &all->v[i];
		if (!again)
			LIST_ADD(p->a, &kept)->name = all->v[i].host;
	}
	return hostlist_fold(p->a, &kept);
}

/* What it was asked for by, where that is a name, and not the very one that another has. */
static const char *own_name(const struct answer *x)
{
	const char *name = host_bare(x->host);
	union addr ignored;

	return !addr_parse(name, &ignored) || streq(name, x->hostname) ? NULL : name;
}

bool drift_is_twin(const struct answers *all, size_t at)
{
	const struct answer *x = &all->v[at];
	const char *boot = json_get_str(x->data, "boot"), *addr = answer_address(x);

	for (size_t i = 0; x->doc && boot && addr && i < at; i++) {
		const struct answer *y = &all->v[i];
		const char *theirs = answer_address(y);

		if (y->doc && streq(x->hostname, y->hostname) && theirs && streq(addr, theirs) &&
		    streq(boot, json_text(y->data, "boot")))
			return true;
	}
	return false;
}

/* The line was pasted where it was printed, or twice on another: whoever else was meant to join
 * was not asked. */
static void tell_pasted(struct preflight *p, const struct answers *all)
{
	for (size_t i = 1; i < all->n; i++) {
		struct finding *f;

		if (!drift_is_twin(all, i))
			continue;
		f = tally_add(&p->t, S_HOSTS, stages[S_HOSTS].name, "drift.hostname",
			      all->v[i].hostname);
		tally_of_host(&p->t, all->v[i].host);
		finding_set(f, ST_ERROR,
			    "is the same machine as another one here: nothing is between them, and "
			    "whatever else was meant by it was not asked");
		finding_expect(f, "another machine");
		finding_fix(f, "- paste the line of --serve on each other machine, once");
	}
}

static void tell_twins(struct preflight *p, const struct answers *all, const struct kernel *v,
		       size_t n)
{
	/* before what else such hosts say of their names */
	struct finding *f =
		tally_add(&p->t, S_HOSTS, stages[S_HOSTS].name, "drift.hostname", v->a->hostname);
	host_list who = {0};
	bool one = true;

	tally_of_host(&p->t, v[1].a->host);
	for (size_t i = 0; i < n; i++) {
		LIST_ADD(p->a, &who)->name = v[i].a->host;
		one = one && v[i].boot && v->boot && streq(v[i].boot, v->boot);
	}
	finding_set(f, ST_WARN,
		    one ? "is the name of %s: one machine, named more than once"
			: "is what %s call themselves: launchers and logs take them "
			  "for one host",
		    hostlist_fold(p->a, &who));
	finding_expect(f, "a name for each machine");
	if (one)
		finding_fix(f, "windsock %s   # each machine once",
			    preflight_to(p, without_twins(p, all, v, n)));
	else
		finding_fix(f, "sudo hostnamectl set-hostname %s",
			    own_name(v[1].a) ?: "NAME   # one that no other has");
}

void drift_names(struct preflight *p, const struct answers *all)
{
	struct kernel *v = arena_alloc(p->a, (all->n + 1) * sizeof(*v));
	size_t n = 0;

	if (p->crew)
		tell_pasted(p, all);
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].doc && all->v[i].hostname && !(p->crew && drift_is_twin(all, i)))
			v[n++] = (struct kernel){&all->v[i], json_get_str(all->v[i].data, "boot")};
	qsort(v, n, sizeof(*v), by_name);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n; next++)
			if (!streq(v[next].a->hostname, v[i].a->hostname))
				break;
		if (next - i > 1)
			tell_twins(p, all, v + i, next - i);
	}
}

/* ---- clocks ---- */

struct clock {
	const char *host;
	double off; /* seconds ahead of ours; 0: as far as its answer tells, alike */
};

static int by_off(const void *px, const void *py)
{
	const struct clock *x = px, *y = py;

	return (x->off > y->off) - (x->off < y->off);
}

/* Munge, Kerberos and clouds take nothing that is five minutes old. */
#define CLOCK_REFUSED_S 300.0

/* A daemon that keeps time corrects what is far off in hours, unless it is told to step.
 * @host: may have ours; NULL: it must not. */
static void advise_clock(struct preflight *p, struct finding *f, const char *host)
{
	finding_fix(f, "sudo chronyc makestep || sudo systemctl restart systemd-timesyncd || "
		       "sudo timedatectl set-ntp true");
	if (host && !p->crew)
		finding_fix(f, "%s   # from here, where no time server answers",
			    typed_there(p->a, rsh_typed(p->a, p->rsh), host,
					"sudo date -u -s \"@$(date +%s)\""));
}

/* @host: NULL: this one. */
static void tell_clock(struct preflight *p, const char *host, double off, bool ours_is_odd)
{
	const char *whose = !host	  ? "most other hosts'"
			    : ours_is_odd ? "most hosts'"
					  : "this host's";
	struct finding *f = drift_note(p, "clock", "clock", host);

	finding_set(f, ST_WARN, "is %.0f s %s %s: %s", fabs(off), off < 0 ? "behind" : "ahead of",
		    whose,
		    fabs(off) < CLOCK_REFUSED_S
			    ? "logs of several hosts do not line up"
			    : "Slurm's munge, Kerberos and clouds refuse what it signs");
	finding_value(f, off, "s");
	finding_expect(f, "less than %.0f s apart", CLOCK_SLACK_S);
	advise_clock(p, f, ours_is_odd ? NULL : host);
}

/* Where most hosts agree with each other and not with us, ours is the odd one. */
static double ours(const struct clock *sorted, size_t n)
{
	double middle = n ? sorted[n / 2].off : 0;
	size_t alike = 0;

	for (size_t i = 0; i < n; i++)
		alike += fabs(sorted[i].off - middle) < CLOCK_SLACK_S;
	return n >= 3 && 2 * alike > n && fabs(middle) >= CLOCK_SLACK_S ? middle : 0;
}

/* A host's clock when it answered lies between our question and its answer. */
void drift_clocks(struct preflight *p, const struct answers *all, double asked, double answered)
{
	struct clock *v = arena_alloc(p->a, (all->n + 1) * sizeof(*v));
	double usual;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		double at = json_get_num(json_get(all->v[i].data, "facts"), "clock", NAN);

		if (!isnan(at))
			v[n++] = (struct clock){all->v[i].host, at < asked	? at - asked
								: at > answered ? at - answered
										: 0};
	}
	qsort(v, n, sizeof(*v), by_off);
	usual = ours(v, n);
	if (fabs(usual) > 0)
		tell_clock(p, NULL, -usual, true);
	for (size_t i = 0; i < n; i++)
		if (fabs(v[i].off - usual) >= CLOCK_SLACK_S && !(fabs(usual) > 0 && v[i].off == 0))
			tell_clock(p, v[i].host, v[i].off - usual, fabs(usual) > 0);
}
