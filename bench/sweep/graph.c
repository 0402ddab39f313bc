/* -G: operations as a CUDA graph, as long as every rank can. */
#include "bench/sweep/graph.h"

static int take(struct sweep *s, const struct comm_request *q, graph_start *start, uint64_t n,
		struct err *e)
{
	if (!among(s))
		return 0;
	if (comm_capture_begin(among(s), e))
		return -1;
	for (uint64_t i = 0; i < n; i++)
		if (start(s, q, e))
			return -1;
	return comm_capture_end(among(s), e);
}

/* In the words of the first rank that could not. */
static int give_up(struct sweep *s, int who, const struct err *own, struct err *e)
{
	char why[sizeof(own->msg)] = "";
	const struct comm_request q = {.kind = COLL_BROADCAST,
				       .send = why,
				       .recv = why,
				       .count = sizeof(why),
				       .type = DT_UINT8,
				       .root = who};

	if (among(s))
		comm_capture_forget(among(s));
	s->no_graph = true;
	if (who == s->comm->rank)
		memcpy(why, own->msg, sizeof(why));
	if (comm_run(s->comm, &q, e))
		return -1;
	why[sizeof(why) - 1] = '\0';
	if (s->without)
		s->without(s, who, why);
	return 0;
}

int graph_capture(struct sweep *s, const struct comm_request *q, graph_start *start, uint64_t n,
		  struct err *e)
{
	struct err own = {0};
	double who = s->comm->size;
	int first;

	n = n < GRAPH_MOST ? n : GRAPH_MOST;
	s->captured = 0;
	if (!s->o->graph || s->no_graph)
		return 0;
	if (take(s, q, start, n, &own))
		who = s->comm->rank;
	if (own.kind && own.kind != ERR_ABSENT) {
		*e = own;
		return -1;
	}
	if (sweep_agree(s->comm, &who, 1, OP_MIN, e))
		return -1;
	first = sweep_whom(s->comm, who);
	if (first >= 0 || own.kind)
		return give_up(s, first >= 0 ? first : s->comm->rank, &own, e);
	s->captured = n;
	return 0;
}

static int start_alone(struct sweep *s, const struct comm_request *q, struct err *e)
{
	return comm_start(among(s), q, e);
}

int graph_run(struct sweep *s, const struct comm_request *q, struct err *e)
{
	if (graph_capture(s, q, start_alone, 1, e))
		return -1;
	if (!s->captured || !among(s))
		return among_run(s, q, e);
	return comm_replay(among(s), e) ? -1 : comm_wait(among(s), e);
}

void graph_forget(struct sweep *s)
{
	if (s->captured && among(s))
		comm_capture_forget(among(s));
	s->captured = 0;
}
