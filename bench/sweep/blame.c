#include "bench/sweep/blame.h"

#include "lib/core/log.h"

static size_t accusers(const struct blame *b, int rank)
{
	size_t n = 0;

	for (size_t i = 0; i < b->accusations.n; i++) {
		const struct accusation *x = &b->accusations.v[i];

		n += x->by != rank && (x->rank == rank || x->other == rank);
	}
	return n;
}

int blame_other(const char *message)
{
	const char *and = strstr(message, ") and rank ");

	return starts_with(message, "nothing passes") && and? (int)strtol(and+strlen(") and rank "),
									  NULL, 10)
							    : -1;
}

/* A library that loses its peer in the middle of a copy may abort, as MPICH's UCX does. */
static bool is_echo(const struct blame *b, int rank)
{
	const char *cause = (size_t)rank < b->causes.n ? b->causes.v[rank] : NULL;

	return cause && strstr(cause, "SIGABRT");
}

/* Of one who aborted and one who did not, the other came first, whichever is heard first. */
static bool is_first(const struct blame *b, int rank)
{
	return b->rank < 0 || (is_echo(b, b->rank) && !is_echo(b, rank));
}

/*
 * Whom most accuse: a rank that is cut off hears nobody's words, and holds
 * whomever it was waiting for to be at fault. Of two who are accused alike, it is
 * what lies between them.
 */
static void settle(struct blame *b)
{
	size_t most = 0;

	for (size_t i = 0; i < b->accusations.n; i++) {
		const struct accusation *x = &b->accusations.v[i];
		size_t n = accusers(b, x->rank) * 2;

		n += x->other >= 0 && accusers(b, x->other) == accusers(b, x->rank);
		if (n <= most || (is_echo(b, x->rank) && !is_first(b, x->rank)))
			continue;
		most = n;
		b->rank = x->rank;
		b->message = x->message;
	}
}

void blame_accuse(struct blame *b, struct arena *a, int by, int rank, const char *message)
{
	log_debug("rank %d says of rank %d: %s", by, rank, message);
	*LIST_ADD(a, &b->accusations) = (struct accusation){
		.by = by, .rank = rank, .other = blame_other(message), .message = message};
	settle(b);
}

void blame_end(struct blame *b, struct arena *a, const char *cause)
{
	*LIST_ADD(a, &b->causes) = cause;
}

/* Others that die of it come later, but for echoes. */
void blame_death(struct blame *b, struct arena *a, size_t rank, const char *name, const char *cause)
{
	while (b->causes.n <= rank)
		blame_end(b, a, NULL);
	if (!b->causes.v[rank])
		b->causes.v[rank] = cause;
	if (!is_first(b, (int)rank))
		return;
	b->rank = (int)rank;
	b->message = arena_printf(a, "%s died: %s", name, b->causes.v[rank]);
}
