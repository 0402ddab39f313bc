/* --groups, and the variables by which nccl-tests splits its ranks. */
#include "bench/sweep/asked.h"

#include "bench/sweep/groups.h"

#include <ctype.h>
#include <errno.h>

static int bad_variable(const char *name, const char *v, struct err *e)
{
	err_set(e, ERR_USAGE, "%s=%.64s says nothing of groups", name, v);
	return err_hint(
		e,
		"nccl-tests would go on with one group of all: unset %s, or NCCL_TESTS_SPLIT="
		"'MOD 8' ('DIV 8', 'AND 0x7', 'OR 0x7'), NCCL_TESTS_SPLIT_MASK=0x7",
		name);
}

/* As there: hexadecimal, also without 0x. */
static int of_mask(const char *name, const char *v, struct arena *a, const char **ret,
		   struct err *e)
{
	unsigned long mask;
	char *end;

	errno = 0;
	mask = strtoul(v, &end, 16);
	while (isspace((unsigned char)*end))
		end++;
	if (end == v || *end || errno || mask > INT32_MAX)
		return bad_variable(name, v, e);
	*ret = mask ? arena_printf(a, "mask 0x%lx", mask) : NULL; /* of no bits: one group of all */
	return 0;
}

static int of_rule(const char *name, const char *v, struct arena *a, const char **ret,
		   struct err *e)
{
	struct groups_spec s;
	bool all;

	if (groups_parse(v, a, &s, e) || s.how == GROUPS_LIST || s.each != 1)
		return bad_variable(name, v, e);
	all = (s.how == GROUPS_MOD && s.value == 1) || (s.how == GROUPS_AND && !s.value);
	*ret = all ? NULL : v;
	return 0;
}

static const char *variable(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

/* There ranks are processes, which may have several GPUs (-t, -g); the mask goes first. */
static int of_variables(const struct asked *q, struct arena *a, const char **ret_name,
			const char **ret, struct err *e)
{
	static const char *const names[] = {"NCCL_TESTS_SPLIT_MASK", "NCCL_TESTS_SPLIT"};
	uint64_t each = q->threads * q->gpus;
	const char *mask = variable(names[0]), *rule = variable(names[1]);

	*ret = NULL;
	if (where_is_ours() || (!mask && !rule)) /* who started it was asked */
		return 0;
	*ret_name = names[!mask];
	if (mask ? of_mask(*ret_name, mask, a, ret, e) : of_rule(*ret_name, rule, a, ret, e))
		return -1;
	if (*ret && each > 1)
		*ret = arena_printf(a, "%s each %zu", *ret, (size_t)each);
	return 0;
}

/* What has ranks, or rows, of its own. */
static const char *beside(const struct asked *q)
{
	const struct {
		bool given;
		const char *name;
	} others[] = {
		{q->job.verdict.pairs, "--pairs"},
		{q->find_slow, "--find-slow"},
		{q->replay.n, "--replay"},
		{q->job.rank.sweep.for_ns, "--for"},
	};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (others[i].given)
			return others[i].name;
	return NULL;
}

int ask_groups(struct asked *q, const struct asked *usual, struct arena *a, struct err *e)
{
	const char *name = "--groups", *with = beside(q);
	struct groups_spec s;

	if (q->groups == usual->groups) {
		if (of_variables(q, a, &name, &q->groups_given, e))
			return -1;
		q->groups = q->groups_given;
	}
	if (!q->groups)
		return 0;
	if (with) {
		err_set(e, ERR_USAGE,
			"%s does not go with %s, which has no groups of ranks: leave one of them "
			"out",
			name, with);
		return starts_with(name, "NCCL") ? err_hint(e, "unset %s", name) : -1;
	}
	return groups_parse(q->groups, a, &s, e);
}

int ask_groups_of(const struct sweep_opts *o, const char *text, uint64_t ranks, struct arena *a,
		  struct err *e)
{
	struct groups_spec s;
	struct groups g;

	if (groups_parse(text, a, &s, e) || (ranks && groups_of(&s, (int)ranks, a, &g, e)))
		return -1;
	return ranks ? groups_check_root(o, &g, e) : 0;
}
