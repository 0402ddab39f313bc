#include "probes/log/preparing.h"

#include "probes/log/bar.h"
#include "probes/log/said.h"
#include "probes/log/why.h"

void preparing_hear(struct why *w, struct why_stream *s, const struct log_line *l UNUSED)
{
	enum { LOOK_BACK = 4096 };
	size_t n = (size_t)(s->at - s->buf) < LOOK_BACK ? (size_t)(s->at - s->buf) : LOOK_BACK;
	struct bar b;

	if (!bar_last(s->at - n, n, &b) || !bar_is_preparation(&b) || b.percent >= 100 ||
	    b.elapsed_s <= w->preparation_s)
		return;
	said_word(w->preparation, sizeof(w->preparation),
		  b.what_n && b.what_n < sizeof(w->preparation) ? b.what : "data", "%:\r\n");
	w->preparation_percent = b.percent;
	w->preparation_s = b.elapsed_s;
}
