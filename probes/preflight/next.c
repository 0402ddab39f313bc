/* After hosts have passed: what is typed for one's own job on them. */
#include "lib/report/json.h"
#include "probes/preflight/drift.h"

void preflight_count_gpus(struct preflight *p, const struct answers *all)
{
	for (size_t i = 0; i < all->n; i++) {
		double n = json_get_num(json_get(all->v[i].data, "facts"), "gpus", 0);
		unsigned gpus = n > 0 && n <= PREFLIGHT_GPUS ? (unsigned)n : 0;

		p->gpus = i && p->gpus < gpus ? p->gpus : gpus;
	}
}

/* " --np-per-host 8"; "": one, or as many as the hosts were given slots. */
static const char *ranks_each(const struct preflight *p)
{
	for (size_t i = 0; i < p->hosts.n; i++)
		if (p->hosts.v[i].slots)
			return "";
	return p->gpus > 1 ? arena_printf(p->a, " --np-per-host %u", p->gpus) : "";
}

/* They join once more: there is no other way to them. */
static void tell_joined(struct preflight *p, const char *each)
{
	const char *wait =
		p->usable.n > 2 ? arena_printf(p->a, " --wait %zu", p->usable.n - 1) : "";

	report_remark(p->r,
		      "Next, for your own job:  ddpsmoke --serve%s%s --emit torchrun   # says what "
		      "to type on each host, interfaces too",
		      wait, each);
}

void preflight_tell_next(struct preflight *p)
{
	const char *to, *each = ranks_each(p);

	if (p->tells_next && p->crew && p->usable.n > 1)
		tell_joined(p, each);
	if (!p->tells_next || !p->given || p->hosts.n < 2 || strlen(p->given) > PREFLIGHT_NAMES)
		return;
	to = preflight_to(p, p->given);
	report_remark(p->r,
		      "Next, for your own job:  ddpsmoke %s%s --emit %s   # says what to type %s",
		      p->is_slurms ? "--srun" : to, each, p->is_slurms ? "srun" : "torchrun",
		      p->is_slurms ? "here" : "on each host");
	report_remark(
		p->r,
		"Its interface alone:  eval \"$(ifprobe --suggest %s)\"   # in the shell that "
		"starts it",
		to);
}
