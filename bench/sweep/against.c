#include "bench/sweep/against.h"

static void say_share(struct finding *f, const struct expect *x, const struct against *m,
		      double reached)
{
	double share = m->busbw / (x->asked * reached);
	double warn = m->warn > 0 ? m->warn : x->warn, fail = m->fail > 0 ? m->fail : x->fail;

	finding_set(f,
		    share < fail   ? ST_FAIL
		    : share < warn ? ST_WARN
				   : ST_PASS,
		    "%s, %.0f %% of %s%s (%s)%s", m->what, share * 100, expect_word(x),
		    reached < 1 ? " at that size" : "", x->why, m->but);
	finding_expect(f, ">= %.1f GB/s", x->asked * reached * warn);
}

enum against_is against_say(struct finding *f, const struct expect *x, const struct against *m)
{
	const char *doubt = expect_doubt(x, m->busbw, f->a);
	double reached = expect_share(x, m->bytes);

	if (doubt) {
		finding_set(f, m->doubted, "%s, %s (%s)", m->what, doubt, x->why);
		finding_expect(f, "<= %.1f GB/s", x->busbw);
		return AGAINST_DOUBTED;
	}
	if (!(reached > 0)) {
		finding_set(f, ST_INFO, "%s: too small to judge by (%s)", m->what, x->why);
		return AGAINST_TOO_SMALL;
	}
	say_share(f, x, m, reached);
	return AGAINST_JUDGED;
}
