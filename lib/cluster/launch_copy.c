/*
 * --copy-self: a host that has not the same program asks for it, gets our folder
 * as a tar archive over the stdin that the orders come by later, and becomes the
 * agent out of it. What it needs for that is sh, mktemp, head, tar and sha256sum.
 */
#include "lib/cluster/launch_agents.h"

#include "lib/cluster/carry.h"
#include "lib/core/quote.h"
#include "lib/core/version.h"

#define ASKS "windsock-copy " WINDSOCK_VERSION
static const char asks[] = "\n" ASKS "\n";

/* sh reads a script from its argument: no stdin is used up. Everything after the question comes
 * only when it was asked, and orders only when the agent has greeted, so nobody reads what is not
 * theirs.
 */
static const char script[] =
#include "gen/sh/copy.h"
	;

int copy_prepare(struct launch *L, struct err *e)
{
	const char *command = L->o.argv[0], *slash = strrchr(command, '/');
	const char *const with[] = {slash ? slash + 1 : command, NULL};

	return L->parcel.n ? 0 : parcel_pack(with, L->a, &L->parcel, e);
}

const char *copy_script(const struct launch *L, const char *own, const char *name)
{
	struct arena *a = L->a;

	return arena_printf(a,
			    "n=%s own=%s sum=%s all=%s size=%zu keep=%d run=%s asks='" ASKS
			    "' terminal='" TROUBLE_TERMINAL "' unfed='" TROUBLE_UNFED "'; %s%s",
			    shell_quote(a, name), shell_quote(a, own), L->parcel.own_sum,
			    L->parcel.sum, L->parcel.n, L->o.keep, L->run_id, carry_answers(a),
			    script);
}

static void on_asked(struct link *l)
{
	const struct parcel *p = &CONTAINER_OF(l, struct agent_host, link)->of->parcel;

	link_send_raw(l, p->p, p->n);
}

void copy_offer(struct agent_host *h)
{
	if (!h->of->o.copy_self || h->local)
		return;
	h->link.asks = asks;
	h->link.on_asked = on_asked;
}
