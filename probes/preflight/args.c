/* What the commands of the stages are asked. */
#include "lib/core/units.h"
#include "probes/preflight/preflight.h"

static void sweep_args(const struct preflight *p, enum stage_id id, str_list *args)
{
	*LIST_ADD(p->a, args) = "--minbytes=8";
	/* how far it goes says the time */
	*LIST_ADD(p->a, args) = id == S_SWEEP && p->within_ns ? "--maxbytes=1G" : "--maxbytes=4M";
	if (p->within_ns)
		*LIST_ADD(p->a, args) = arena_printf(
			p->a, "--within=%llums", (unsigned long long)(p->within_ns / NS_PER_MS));
}

enum { TOGETHER_HOSTS = 4 }; /* of fewer ncclbench skips it */

/* Enough steps of 32 samples to learn and to be timed, however many ranks share them. */
static void expect_args(const struct preflight *p, str_list *args)
{
	enum { SAMPLES = 640, SAMPLES_MAX = 1 << 18 };
	size_t samples = SAMPLES * (p->width ?: 2);

	*LIST_ADD(p->a, args) = "--epochs=8";
	*LIST_ADD(p->a, args) = "--expect=90";
	*LIST_ADD(p->a, args) =
		arena_printf(p->a, "--samples=%zu", samples < SAMPLES_MAX ? samples : SAMPLES_MAX);
}

bool preflight_at_once(const struct preflight *p) { return p->width >= TOGETHER_HOSTS; }

const char *const *preflight_args(const struct preflight *p, enum stage_id id, const char *hosts)
{
	str_list args = {0};

	if (id == S_SETTINGS)
		*LIST_ADD(p->a, &args) = "--check";
	if (id == S_PATHS)
		*LIST_ADD(p->a, &args) = "--suggest";
	if (id == S_COLLECTIVES || id == S_SWEEP)
		sweep_args(p, id, &args);
	if ((id == S_COLLECTIVES || id == S_SWEEP) && !hosts && !p->crew)
		*LIST_ADD(p->a, &args) = "--np=2";
	if (id == S_PAIRS)
		*LIST_ADD(p->a, &args) = "--pairs";
	if (id == S_PAIRS && preflight_at_once(p))
		*LIST_ADD(p->a, &args) = "--together";
	if (id == S_SLOW)
		*LIST_ADD(p->a, &args) = "--find-slow";
	if (id == S_EXPECT)
		expect_args(p, &args);
	if (id == S_TRAINING && p->checkpoint)
		*LIST_ADD(p->a, &args) = arena_printf(p->a, "--checkpoint=%s", p->checkpoint);
	if (hosts)
		*LIST_ADD(p->a, &args) = arena_printf(p->a, "--hosts=%s", hosts);
	*LIST_ADD(p->a, &args) = NULL;
	return args.v;
}
