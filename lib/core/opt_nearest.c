#include "lib/core/opt.h"

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

bool is_slip_of(const char *got, const char *name)
{
	enum { ERRORS = 2 };
	size_t n = strlen(got), m = strlen(name);

	return n <= LONGEST && m <= LONGEST && distance(got, n, name, m) <= ERRORS;
}

const char *nearest_name(const char *got, const char *const *names, size_t n)
{
	size_t ngot = strlen(got), best = SIZE_MAX;
	size_t limit = ngot / 3 > 2 ? ngot / 3 : 2;
	const char *ret = NULL;

	if (!ngot || ngot > LONGEST)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(names[i]);
		size_t d = len > LONGEST ? SIZE_MAX : distance(got, ngot, names[i], len);
		bool prefix = ngot > 1 && starts_with(names[i], got);

		/* With every second letter wrong nothing is near. */
		if (!prefix && (d > limit || 2 * d >= (ngot > len ? ngot : len)))
			continue;
		/* Somebody who typed the beginning knew what follows. */
		d = prefix ? 0 : d + 1;
		if (d < best) {
			best = d;
			ret = names[i];
		}
	}
	return ret;
}
