/* Settings whose values are words: another one NCCL passes over, and seldom says so. */
#include "lib/core/near.h"
#include "probes/rules/nccl_known.h"
#include "probes/rules/nccl_lint.h"

#include <ctype.h>

enum {
	EXACT = 1,   /* capitals count */
	BEGINS = 2,  /* what follows a word does not count */
	NUMBERS = 4, /* a digit in front: a number, which has a meaning of its own */
	VERSION_CTA_WORDS = 22902,
};

#define LEVELS "VERSION WARN INFO ABORT TRACE"
#define PATHS "LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS"
#define UNSET "goes on as if it were not set"
static const struct worded {
	const char *name;
	char parted; /* stands between several; '\0': one word alone */
	unsigned how;
	const char *words;
	const char *none; /* taken in silence: "nothing at all", and what 2.32 has beside */
	const char *then; /* what NCCL does with another one */
} worded[] = {
	{"NCCL_DEBUG", '\0', 0, LEVELS, "0 NO NONE OFF ATTN", "prints nothing"},
	{"NCCL_DEBUG_SUBSYS", ',', 0,
	 "INIT COLL P2P SHM NET GRAPH TUNING ENV ALLOC ALLOC_HOST CALL PROXY NVLS BOOTSTRAP REG "
	 "PROFILE RAS DESTROY ALL",
	 "NONE", "does not take it"},
	{"NCCL_DEBUG_TIMESTAMP_LEVELS", ',', 0, LEVELS " ALL", "NONE ATTN", "does not take it"},
	{"NCCL_LAUNCH_MODE", '\0', 0, "PARALLEL GROUP", "", "takes PARALLEL"},
	{"NCCL_CHECK_MODE", '\0', 0, "DEBUG_LOCAL DEBUG_GLOBAL", "0 DEFAULT NONE OFF",
	 "makes no such checks"},
	{"NCCL_NET_MERGE_POLICY", '\0', 0, "ALL RAIL", "", "takes ALL"},
	{"NCCL_NETDEVS_POLICY", '\0', BEGINS, "AUTO ALL MAX:", "", "takes AUTO"},
	{"NCCL_CTA_POLICY", '|', NUMBERS, "DEFAULT EFFICIENCY ZERO", "", "does not take it"},
	{"NCCL_IB_ADDR_FAMILY", '\0', EXACT, "AF_INET AF_INET6", "", "takes AF_INET"},
	{"NCCL_P2P_LEVEL", '\0', EXACT | NUMBERS, PATHS, "", UNSET},
	{"NCCL_NET_GDR_LEVEL", '\0', EXACT | NUMBERS, PATHS, "", UNSET},
	{"NCCL_NET_MERGE_LEVEL", '\0', EXACT | BEGINS, "LOC PORT PIX PXB P2C PXN PHB SYS", "",
	 "takes LOC, which merges none"},
};

static bool is_taken(const struct worded *w, const char *word)
{
	for (const char *p = w->words; *p; p += *p == ' ') {
		size_t n = strcspn(p, " ");

		if ((w->how & EXACT ? !strncmp(word, p, n) : !strncasecmp(word, p, n)) &&
		    (!word[n] || w->how & BEGINS))
			return true;
		p += n;
	}
	return is_word_of(word, w->none);
}

/* The first of the words that is none, or NULL. */
static const char *not_taken(struct arena *a, const struct worded *w, const char *value)
{
	const char parted[] = {w->parted, '\0'};
	char *rest = arena_strdup(a, value + (w->parted && *value == '^')), *word;

	while ((word = strsep(&rest, parted))) {
		word += strspn(word, " ");
		if (*word && !is_taken(w, word))
			return word;
	}
	return NULL;
}

/* Blanks, quotes and the like in a file are lint.conf's to speak of. */
static bool is_of_conf(const struct setting *s)
{
	return strchr(s->origin, ':') && s->value[strcspn(s->value, " \t\r\"'")];
}

static const char *spelt_out(struct arena *a, const char *words, str_list *ret)
{
	char *rest = arena_strdup(a, words), *word;
	struct text t;

	text_init(&t, a);
	while ((word = strsep(&rest, " "))) {
		text_addf(&t, "%s%s", ret->n ? ", " : "", word);
		*LIST_ADD(a, ret) = word;
	}
	return t.s;
}

void lint_not_a_word(const struct lint *l, const struct setting *s, enum status st,
		     const char *words, const char *wrong, const char *then)
{
	struct finding *f;
	const char *meant = NULL;
	str_list list = {0};

	if (is_of_conf(s))
		return;
	f = lint_find(l, "lint.word", s);
	finding_expect(f, "one of: %s", spelt_out(f->a, words, &list));
	if (streq(wrong, s->value)) {
		finding_set(f, st, "is [%s], which NCCL does not know: it %s", wrong, then);
		meant = nccl_word_meant(wrong, list.v, list.n);
	} else {
		finding_set(f, st, "is [%s]: NCCL does not know [%s] and %s", s->value, wrong,
			    then);
	}
	if (meant)
		lint_fix(f, s, s->name, meant);
	else
		lint_unset(f, s);
	report_add(l->r, f);
}

static void judge(const struct lint *l, const struct setting *s, const struct worded *w)
{
	const char *wrong = not_taken(report_arena(l->r), w, s->value);

	if (wrong && !(w->how & NUMBERS && isdigit((unsigned char)*s->value)))
		lint_not_a_word(l, s, ST_WARN, w->words, wrong, w->then);
}

void lint_words(const struct lint *l, const struct setting *s)
{
	if (streq(s->name, "NCCL_CTA_POLICY") &&
	    nccl_version(l->in->nccl_version) < VERSION_CTA_WORDS) {
		lint_number(l, s);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(worded); i++)
		if (streq(worded[i].name, s->name))
			judge(l, s, &worded[i]);
}
