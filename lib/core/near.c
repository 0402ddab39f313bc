#include "lib/core/near.h"

#include <ctype.h>

enum { LONGEST = 64 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/*
 * Typing errors between two names: letters missing, added, wrong, or swapped
 * with their neighbour (optimal string alignment). Three rows of the table
 * are enough.
 */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][LONGEST + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= nb; j++)
		above[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *spare = before;

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] = least(least(above[j], row[j - 1]) + 1,
				       above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = above;
		above = row;
		row = spare;
	}
	return above[nb];
}

bool is_word_of(const char *got, const char *words)
{
	for (size_t n; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (strlen(got) == n && !strncasecmp(got, words, n))
			return true;
	}
	return false;
}

size_t typing_errors(const char *got, const char *name)
{
	size_t n = strlen(got), m = strlen(name);

	return n <= LONGEST && m <= LONGEST ? distance(got, n, name, m) : SIZE_MAX;
}

bool is_slip_of(const char *got, const char *name) { return typing_errors(got, name) <= 2; }

/* Capitals and underscores are no errors. False: too long to be near anything. */
static bool fold(const char *s, char out[LONGEST + 1])
{
	size_t n = strlen(s);

	for (size_t i = 0; n <= LONGEST && i <= n; i++)
		out[i] = (char)(s[i] == '_' ? '-' : tolower((unsigned char)s[i]));
	return n <= LONGEST;
}

/* What other tools call it. The first of ours that is among the names counts. */
static const struct {
	const char *said, *ours;
} other_words[] = {
	{"average", "avg"},
	{"burn-in", "for"},
	{"collective", "coll"},
	{"csv", "output_file"},
	{"dtype", "datatype"},
	{"duration", "for"},
	{"gpu", "cuda"},
	{"host-file", "hosts"},
	{"hostfile", "hosts"},
	{"hostlist", "hosts"},
	{"html", "report"},
	{"identity", "rsh"},
	{"iface", "from"},
	{"interface", "from"},
	{"iterations", "iters"},
	{"learning-rate", "lr"},
	{"listen", "serve"},
	{"login", "rsh"},
	{"machinefile", "hosts"},
	{"mean", "avg"},
	{"nodefile", "hosts"},
	{"nodelist", "hosts"},
	{"npernode", "np-per-host"},
	{"nproc", "np"},
	{"nproc-per-node", "np-per-host"},
	{"nprocs", "np"},
	{"ntasks", "np"},
	{"ntasks-per-node", "np-per-host"},
	{"num-processes", "np"},
	{"ppn", "np-per-host"},
	{"redop", "op"},
	{"server", "serve"},
	{"silent", "quiet"},
	{"size", "minbytes"},
	{"slurm", "srun"},
	{"ssh", "rsh"},
	{"ssh-key", "rsh"},
	{"threshold", "expect"},
	{"timeout", "deadline"},
	{"user", "rsh"},
	{"verify", "check"},
};

static const char *other_word(const char *folded, const char *const *names, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(other_words); i++)
		for (size_t k = 0; streq(folded, other_words[i].said) && k < n; k++)
			if (streq(names[k], other_words[i].ours))
				return names[k];
	return NULL;
}

/* How far @got is from @name, or SIZE_MAX: not near. Both are folded. */
static size_t how_far(const char *got, const char *name, size_t limit)
{
	size_t ngot = strlen(got), n = strlen(name), d;

	/* Somebody who typed the beginning knew what follows. */
	if (ngot > 1 && starts_with(name, got))
		return ngot < n;
	d = distance(got, ngot, name, n);
	/* With every second letter wrong nothing is near. */
	if (d <= limit && 2 * d < (ngot > n ? ngot : n))
		return d + 1;
	/* More than the name: batch-size, alltoall_perf */
	return n > 2 && starts_with(got, name) && got[n] == '-' ? limit + 2 : SIZE_MAX;
}

const char *nearest_name(const char *got, const char *const *names, size_t n)
{
	char word[LONGEST + 1], name[LONGEST + 1];
	size_t limit = strlen(got) / 3 > 2 ? strlen(got) / 3 : 2, best = SIZE_MAX;
	const char *ret = NULL;

	if (!*got || !fold(got, word))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t d = fold(names[i], name) ? how_far(word, name, limit) : SIZE_MAX;

		if (d < best) {
			best = d;
			ret = names[i];
		}
	}
	return best > 1 && other_word(word, names, n) ? other_word(word, names, n) : ret;
}
