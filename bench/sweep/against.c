#include "bench/sweep/against.h"

#include "lib/core/units.h"

#include <math.h>

void lasting_take(struct lasting *b, const struct expect *x, uint64_t largest, uint64_t bytes,
		  double busbw)
{
	enum { LARGE = 16 }; /* this part of the largest size */
	double scale = expect_share(x, bytes);

	if (busbw > b->most) {
		b->most = busbw;
		b->most_bytes = bytes;
	}
	if (bytes < largest / LARGE || (b->scale > 0 && !(scale > 0)))
		return;
	if (!b->bytes || busbw > b->busbw || (scale > 0 && !(b->scale > 0))) {
		b->busbw = busbw;
		b->scale = scale;
		b->bytes = bytes;
	}
}

const char *lasting_burst(const struct lasting *b, struct arena *a)
{
	const double MUCH = 1.5;
	struct unit_buf size, rate;

	if (b->most_bytes >= b->bytes || !(b->most > MUCH * b->busbw))
		return "";
	return arena_printf(a,
			    "; %s GB/s at %s does not last: a burst that a shaper lets pass, or "
			    "a cache",
			    format_rate(&rate, b->most), format_size(&size, b->most_bytes));
}

double share_or(const struct share *s, double usual) { return s->given ? s->of_all : usual; }

static void say_share(struct finding *f, const struct expect *x, const struct against *m,
		      double reached)
{
	double share = m->busbw / (x->asked * reached);
	double fail = share_or(&m->fail, x->fail);
	double warn = fmax(share_or(&m->warn, x->warn), fail); /* one may be given alone */
	struct unit_buf rate;

	finding_set(f,
		    share < fail   ? ST_FAIL
		    : share < warn ? ST_WARN
				   : ST_PASS,
		    "%s, %.0f %% of %s%s (%s)%s", m->what, share * 100, expect_word(x),
		    reached < 1 ? " at that size" : "", x->why, m->but);
	finding_expect(f, ">= %s GB/s", format_rate(&rate, x->asked * reached * warn));
}

enum against_is against_say(struct finding *f, const struct expect *x, const struct against *m)
{
	const char *doubt = expect_doubt(x, m->busbw, f->a);
	double reached = expect_share(x, m->bytes);
	struct unit_buf rate;

	if (doubt) {
		finding_set(f, m->doubted, "%s, %s (%s)", m->what, doubt, x->why);
		finding_expect(f, "<= %s GB/s", format_rate(&rate, x->busbw));
		return AGAINST_DOUBTED;
	}
	if (!(reached > 0)) {
		finding_set(f, ST_INFO, "%s: too small to judge by (%s)", m->what, x->why);
		return AGAINST_TOO_SMALL;
	}
	say_share(f, x, m, reached);
	return AGAINST_JUDGED;
}

void against_unjudged(struct finding *f, const struct expect *x, const struct against *m)
{
	finding_set(f, ST_INFO, "%s; not judged: %s%s", m->what, x->why, m->but);
}

void against_no_share(struct finding *f, const struct expect *x)
{
	finding_set(f, ST_ERROR, "there is nothing to take --expect PERCENT of: %s", x->why);
	finding_expect(f, "a bus bandwidth that can be derived");
}

void against_asked(struct finding *f, double gbps, const struct against *m)
{
	finding_set(f, m->busbw < gbps ? ST_FAIL : ST_PASS, "%s, expected %g%s", m->what, gbps,
		    m->but);
	finding_expect(f, ">= %g GB/s", gbps);
}
