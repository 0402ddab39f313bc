/*
 * NCCL_ALGO and NCCL_PROTO: "ring,tree", "^tree", and since 2.24.3 "ring;allreduce:tree". What is
 * none of the words was passed over before that release, and ends NCCL since.
 */
#include "lib/core/near.h"
#include "probes/rules/nccl_lint.h"

enum { VERSION_STRICT = 22403, VERSION_PAT = 22304 };

#define COLLECTIVES "Broadcast Reduce AllGather ReduceScatter AllReduce"
#define ALGORITHMS "Tree Ring CollNetDirect CollNetChain NVLS NVLSTree"
#define ENDS "ends with \"invalid usage\""

/* The first word of "a,b" that is none; *ret_taken: there is one that is. */
static const char *strange(struct arena *a, const char *list, const char *words, bool *ret_taken)
{
	char *rest = arena_strdup(a, list), *word;
	const char *first = NULL;

	*ret_taken = false;
	while ((word = strsep(&rest, ","))) {
		bool taken = is_word_of(word, words);

		*ret_taken |= taken;
		if (*word && !taken && !first)
			first = word;
	}
	return first;
}

static void passes_over(const struct lint *l, const struct setting *s, const char *words)
{
	bool negate = *s->value == '^', taken;
	const char *word = strange(report_arena(l->r), s->value + negate, words, &taken);

	if (!taken && !negate)
		lint_not_a_word(l, s, ST_FAIL, words, word ?: "",
				"is left with none: \"no algorithm/protocol available\"");
	else if (word)
		lint_not_a_word(l, s, ST_WARN, words, word, "passes over it without a word");
}

/* One "allreduce:tree", or the first, which may be without a colon. True: something was said. */
static bool is_refused(const struct lint *l, const struct setting *s, const char *words, char *part,
		       bool is_first)
{
	char *list = part + strspn(part, ":"), *colon = strchr(list, ':');
	const char *word;
	bool taken;

	if (colon) {
		*colon = '\0';
		if (!is_word_of(list, COLLECTIVES)) {
			lint_not_a_word(l, s, ST_FAIL, COLLECTIVES, list, ENDS);
			return true;
		}
		list = colon + 1;
		list[strcspn(list, ":")] = '\0';
	} else if (!is_first) {
		lint_not_a_word(l, s, ST_FAIL, COLLECTIVES, list,
				ENDS ": each part but the first is for one collective, as "
				     "allreduce:tree is");
		return true;
	}
	word = strange(report_arena(l->r), list + (*list == '^'), words, &taken);
	if (word)
		lint_not_a_word(l, s, ST_FAIL, words, word, ENDS);
	return word != NULL;
}

static void judge(const struct lint *l, const struct setting *s, const char *words)
{
	char *rest = arena_strdup(report_arena(l->r), s->value), *part;
	bool is_first = true;

	if (nccl_version(l->in->nccl_version) < VERSION_STRICT) {
		passes_over(l, s, words);
		return;
	}
	while ((part = strsep(&rest, ";"))) {
		if (*part && is_refused(l, s, words, part, is_first))
			return;
		is_first &= !*part;
	}
}

void lint_algo(const struct lint *l, const struct setting *s)
{
	bool pat = nccl_version(l->in->nccl_version) >= VERSION_PAT;

	judge(l, s, pat ? ALGORITHMS " PAT" : ALGORITHMS);
}

void lint_proto(const struct lint *l, const struct setting *s) { judge(l, s, "LL LL128 Simple"); }
