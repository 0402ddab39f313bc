#include "bench/sweep/resent.h"

#include "bench/sweep/rank.h"
#include "bench/sweep/slow_lossy.h"
#include "bench/sweep/verdict.h"
#include "lib/report/json.h"

const char RESENT_LOOK[] = "ip -s link; tc -s qdisc; nstat -az TcpRetransSegs";

static double share_of(const struct resent *x) { return x->sent > 0 ? x->again / x->sent : 0; }

static const char *host_of(const struct rank *r, int rank)
{
	return hosts_key(r->a, comm_peer(r->comm, rank)->host, r->hardware[rank].machine);
}

/* Of what this rank sent to other hosts. */
static struct resent worst_own(const struct rank *r)
{
	const struct comm *c = r->comm;
	const char *here = host_of(r, c->rank);
	struct resent worst = {0};

	for (int p = 0; p < c->size; p++) {
		struct comm_wire now;
		struct resent x = {.from = c->rank, .to = p};

		if (streq(host_of(r, p), here) || !comm_wire(c, p, &now))
			continue;
		x.sent = (double)now.sent;
		x.again = now.again > now.twice ? (double)(now.again - now.twice) : 0;
		if (lossy_is_sure(x.sent, x.again) && x.again > worst.again)
			worst = x;
	}
	return worst;
}

void resent_tell(struct rank *r)
{
	size_t n = (size_t)r->comm->size;
	struct resent own = worst_own(r), *all = arena_alloc(r->a, n * sizeof(*all));
	const struct resent *worst = all;
	struct err ignored = {0};
	cJSON *event;

	if (rdzv_all_gather(r->w->rdzv, &own, sizeof(own), all, &ignored) || r->comm->rank)
		return;
	for (size_t i = 1; i < n; i++)
		if (all[i].again > worst->again)
			worst = &all[i];
	if (!(worst->sent > 0))
		return;
	event = relay_event("resent");
	json_num(event, "from", worst->from);
	json_num(event, "to", worst->to);
	json_num(event, "sent", worst->sent);
	json_num(event, "again", worst->again);
	relay_send(r->relay, event);
}

void resent_event(const cJSON *event, int ranks, struct resent *ret)
{
	const struct resent x = {.from = json_get_int(event, "from", -1),
				 .to = json_get_int(event, "to", -1),
				 .sent = json_get_num(event, "sent", 0),
				 .again = json_get_num(event, "again", 0)};

	if (x.from >= 0 && x.from < ranks && x.to >= 0 && x.to < ranks)
		*ret = x;
}

bool resent_at(const struct story *s, size_t rank)
{
	return s->resent.sent > 0 &&
	       ((size_t)s->resent.from == rank || (size_t)s->resent.to == rank);
}

void verdict_resent(const struct story *s)
{
	const struct resent *x = &s->resent;
	const struct bench_rank *from, *to;
	struct finding *f;

	if (!(x->sent > 0))
		return;
	from = &s->ranks.v[x->from];
	to = &s->ranks.v[x->to];
	f = report_find(s->r, "coll.loss", arena_printf(s->a, "%s -> %s", from->host, to->host));
	finding_set(f, ST_WARN,
		    "%.2f %% of the packets from rank %d (%s, %s) to rank %d (%s, %s) were lost "
		    "and sent again: all ranks wait meanwhile",
		    share_of(x) * 100, x->from, from->host, from->address, x->to, to->host,
		    to->address);
	finding_value(f, share_of(x) * 100, "%");
	finding_expect(f, "<= %g %% sent again", LOSSY_SHARE * 100);
	if (story_hosts(s) > 2)
		again_fix(f, &s->o->again, "--find-slow", "whose they are");
	finding_fix(f, "%s   # on %s and %s", RESENT_LOOK, from->host, to->host);
	verdict_add(s->r, f);
}
