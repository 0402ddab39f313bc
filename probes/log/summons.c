#include "probes/log/summons.h"

#include "probes/log/said.h"

void summons_hear(struct summons *s, const struct log_line *l)
{
	struct summoned one = {.node = 0}; /* which is not said where it is 0 */
	const char *sglang = said_after(l, "dist_init_addr='");
	bool is_sglang = *sglang != '\0';
	long nodes = 1;

	(void)said_number(l, is_sglang ? "nnodes=" : "'nnodes'", &nodes);
	(void)said_number(l, is_sglang ? "node_rank=" : "'node_rank'", &one.node);
	said_word(one.place, sizeof(one.place),
		  is_sglang ? sglang : said_after(l, "'master_addr': '"), "'");
	if (nodes < 2 || !*one.place)
		return;
	if (!*s->first.place)
		s->first = one;
	else if (one.node != s->first.node && !streq(one.place, s->first.place))
		s->other = one;
}

static const char *port_of(const char *place)
{
	const char *colon = strrchr(place, ':');

	return colon ? colon : "";
}

enum summons_differ summons_judge(const struct summons *s)
{
	if (!*s->other.place)
		return SUMMONS_ONE;
	return streq(port_of(s->first.place), port_of(s->other.place)) ? SUMMONS_ADDRESSES
								       : SUMMONS_PORTS;
}
