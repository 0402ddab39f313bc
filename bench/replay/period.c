#include "bench/replay/period.h"

/* Of the symbols so much have to come again; and a longer period has to fit clearly better. */
static const double ALIKE = 0.85, BETTER = 0.98;

static double share(const uint32_t *s, size_t n, size_t period)
{
	size_t same = 0;

	for (size_t i = period; i < n; i++)
		same += s[i] == s[i - period];
	return (double)same / (double)(n - period);
}

size_t period_find(const uint32_t *s, size_t n)
{
	size_t skip = n > PERIOD_LOOKS_AT ? n - PERIOD_LOOKS_AT : 0;
	double best = 0;

	s += skip;
	n -= skip;
	for (size_t p = 1; p <= n / 2; p++) {
		double v = share(s, n, p);

		best = v > best ? v : best;
	}
	if (best < ALIKE)
		return 0;
	for (size_t p = 1; p <= n / 2; p++)
		if (share(s, n, p) >= best * BETTER)
			return p;
	return 0;
}

size_t period_last(const uint32_t *s, size_t n, size_t period)
{
	size_t alike = 0;

	for (size_t i = n; i-- > period;) {
		alike = s[i] == s[i - period] ? alike + 1 : 0;
		if (alike == period)
			return i;
	}
	return n - period;
}
