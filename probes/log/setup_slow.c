/* A start of NCCL that took long: which rank, in what part, and who kept the others waiting. */
#include "lib/report/report.h"
#include "probes/log/explain.h"

enum {
	SLOW_S = 30, /* with 50 ranks more, a second more */
	APART_S = 10,
	APART = 3 /* one rank from the others' mean: longer, and times as long */
};

/* The part that took most of the slowest rank's time; -1: no parts were said. */
static int largest_part(const struct setup_init *t)
{
	int best = -1;

	for (int i = 0; i < INIT_PARTS; i++)
		if (t->parts_s[i] > 0 && (best < 0 || t->parts_s[i] > t->parts_s[best]))
			best = i;
	return best;
}

static void fix_slow(const struct setup_init *t, const char *part, struct arena *a,
		     struct finding *f)
{
	if (streq(part, "kernels")) {
		finding_fix(f, "- take a PyTorch or NCCL that was built for this GPU: else CUDA "
			       "compiles its kernels at each start");
		finding_fix(f,
			    "export CUDA_CACHE_MAXSIZE=4294967296   # what was compiled stays, in "
			    "~/.nv/ComputeCache");
		finding_fix(f, "sudo nvidia-smi -pm 1   # the driver stays loaded between jobs");
	} else if (streq(part, "bootstrap")) {
		finding_fix(
			f,
			"- see what %s does before it comes to NCCL (imports, data, a checkpoint)",
			who_text(a, &t->last));
		finding_fix(f, "ifprobe --suggest   # the interface on which ranks should meet");
	} else if (streq(part, "allgathers") || streq(part, "connections")) {
		finding_fix(f, "ifprobe --suggest   # the interface on which ranks should meet");
	} else {
		finding_fix(f, "sudo nvidia-smi -pm 1   # the driver stays loaded between jobs");
	}
}

void setup_slow(const struct why *w, struct report *r)
{
	const struct setup_init *t = &w->setup.init;
	double mean = t->n ? t->sum_s / (double)t->n : 0;
	bool is_long = t->longest_s >= SLOW_S + t->nranks / 50.0;
	bool is_apart = t->longest_s >= APART * mean && t->longest_s - mean >= APART_S;
	int part = largest_part(t);
	struct arena *a = report_arena(r);
	const char *whose = who_text(a, &t->slowest), *late = "";
	struct finding *f;

	if (!t->n || (!is_long && !is_apart))
		return;
	if (part >= 0 && streq(init_parts[part], "bootstrap") && t->n > 1 &&
	    t->boot_most_s - t->boot_least_s >= APART_S)
		late = arena_printf(a,
				    "; %s waited %.1f s there: it came last, and the others waited "
				    "for it",
				    who_text(a, &t->last), t->boot_least_s);
	f = report_find(r, "log.setup.slow", whose);
	finding_set(f, ST_WARN, "NCCL's start took %.1f s of %d ranks%s%s%s", t->longest_s,
		    t->nranks, is_apart ? arena_printf(a, ", %.1f s in the mean", mean) : "",
		    part >= 0 ? arena_printf(a, ": %.1f s of it for %s", t->parts_s[part],
					     init_parts[part])
			      : "",
		    late);
	finding_value(f, t->longest_s, "s");
	if (part >= 0)
		fix_slow(t, init_parts[part], a, f);
	report_add(r, f);
}
