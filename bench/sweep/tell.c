#include "bench/sweep/tell.h"

#include "bench/sweep/row_event.h"
#include "lib/report/json.h"

enum { SMALL_BYTES = 64 << 10 };

static bool is_exchange(const struct rank *r)
{
	enum coll_kind kind = r->sweep.coll->kind;

	return kind == COLL_ALLTOALL || kind == COLL_GATHER || kind == COLL_SCATTER;
}

static void tell_world(struct rank *r)
{
	cJSON *event = relay_event("world"), *ranks = json_array(event, "ranks"), *notes;
	const char *small = comm_caps(r->comm)->small_sizes;

	json_str(event, "backend", comm_caps(r->comm)->backend);
	json_str(event, "transport", comm_transport(r->comm));
	json_str(event, "device", r->dev->kind);
	json_num(event, "version", comm_caps(r->comm)->version);
	if (r->w->world.launcher != LAUNCHER_WINDSOCK) {
		json_str(event, "launcher", launcher_name(r->w->world.launcher));
		json_str(event, "launcher_from", r->w->world.from);
	}
	json_num(event, "max", (double)r->sweep.max);
	json_num(event, "graph", (double)r->sweep.graph);
	json_num(event, "table", r->o->mode == RANK_SWEEP);
	notes = json_array(event, "notes");
	for (size_t i = 0; r->w->notes[i]; i++)
		json_push_str(notes, r->w->notes[i]);
	for (size_t i = 0; i < r->notes.n; i++)
		json_push_str(notes, r->notes.v[i]);
	if (comm_caps(r->comm)->exchanges && r->o->mode == RANK_SWEEP && is_exchange(r))
		json_push_str(notes, comm_caps(r->comm)->exchanges);
	if (small && !r->sweep.graph && r->o->mode == RANK_SWEEP && r->sweep.min < SMALL_BYTES)
		json_push_str(notes, small);
	for (int i = 0; i < r->comm->size; i++) {
		const struct comm_peer *p = comm_peer(r->comm, i);
		cJSON *o = json_push_object(ranks);

		json_str(o, "host", p->host);
		json_str(o, "machine", r->hardware[i].machine);
		json_str(o, "address", p->address);
		json_str(o, "device", p->device ? p->device : r->dev->kind);
		json_str(o, "bus", p->bus);
		json_num(o, "gpu", p->gpu);
		json_num(o, "pid", p->pid);
		if (r->groups && r->groups->of[i] >= 0)
			json_num(o, "group", r->groups->v[r->groups->of[i]].id);
		json_num(o, "nic_gbps", r->hardware[i].nic_gbps);
		json_num(o, "gpus", r->hardware[i].gpus);
		if (*r->hardware[i].instance)
			json_str(o, "instance", r->hardware[i].instance);
	}
	relay_send(r->relay, event);
}

static void tell_finding(struct rank *r, const struct comm_finding *f)
{
	cJSON *event = relay_event("finding");

	json_str(event, "check", f->check);
	json_str(event, "subject", f->subject);
	json_str(event, "message", f->message);
	json_str(event, "fix", f->fix);
	json_num(event, "warns", f->warns);
	relay_send(r->relay, event);
}

static void tell_judgement(struct rank *r)
{
	struct comm_finding f;

	if (!r->backend->judge || !r->backend->judge(r->comm, &f) ||
	    (r->told.check && streq(r->told.check, f.check) && streq(r->told.subject, f.subject)))
		return;
	tell_finding(r, &f);
	r->told = f;
}

void tell_begin(struct rank *r)
{
	if (r->comm->rank)
		return;
	tell_world(r);
	r->told_ways = arena_strdup(r->a, comm_transport(r->comm));
	if (r->unused.check)
		tell_finding(r, &r->unused);
	tell_judgement(r);
}

void tell_ways(struct rank *r)
{
	struct err ignored = {0}; /* what was measured stands without it */
	cJSON *event;

	if (!r->backend->look || r->backend->look(r->comm, &ignored) || r->comm->rank ||
	    streq(comm_transport(r->comm), r->told_ways))
		return;
	event = relay_event("ways");
	json_str(event, "transport", comm_transport(r->comm));
	relay_send(r->relay, event);
	tell_judgement(r);
}

void tell_next(struct rank *r, const char *what, double done, double of)
{
	cJSON *event = relay_event("next");

	json_str(event, "what", what);
	json_num(event, "done", done);
	json_num(event, "of", of);
	relay_send(r->relay, event);
}

void tell_row(struct rank *r, const struct sweep_row *row)
{
	bool is_long = r->sweep.for_ns;

	relay_send(r->relay, row_event_pack(row, r->o->with_times ? ROW_ALL_TIMES
						 : is_long	  ? ROW_SOME_TIMES
								  : ROW_NO_TIMES));
}

void tell_without_graph(struct rank *r, int who, const char *why)
{
	const char *host = comm_peer(r->comm, who)->host;

	tell_finding(r, &(struct comm_finding){
				.check = "coll.graph",
				.subject = r->sweep.coll->name,
				.message = arena_printf(r->a,
							"-G: operations are launched one by one "
							"from here on, for rank %d (%s) cannot "
							"make a CUDA graph of them: %s",
							who, host, why),
				.fix = "- install a newer driver on that host, or leave -G out",
				.warns = true});
}

void tell_fitted(struct rank *r, const struct sweep *s)
{
	cJSON *event = relay_event("fitted");

	json_num(event, "fewer_from", (double)s->fewer);
	json_bool(event, "timed_out", s->timed_out);
	relay_send(r->relay, event);
}

void tell_heard(struct rank *r, const char *check, const struct err *e)
{
	cJSON *event = relay_error("broke", e);

	json_str(event, "check", check);
	relay_send(r->relay, event);
}

void tell_broke(struct rank *r, const char *check, const struct err *e)
{
	cJSON *event = relay_error("broke", e);
	char host[256] = "";

	(void)gethostname(host, sizeof(host) - 1);
	json_str(event, "check", check);
	json_num(event, "rank", r->w->world.rank);
	if (!r->relay->direct) /* else whoever hears this hears no other rank: is it alone? */
		json_num(event, "of", r->w->world.size);
	json_str(event, "host", host);
	relay_send(r->relay, event);
}

void tell_lost(struct rank *r, int culprit, const char *message)
{
	cJSON *event = relay_event("lost");

	json_num(event, "by", r->w->world.rank);
	json_num(event, "rank", culprit);
	json_str(event, "message", message);
	relay_send(r->relay, event);
}
