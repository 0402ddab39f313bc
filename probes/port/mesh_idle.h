#ifndef PROBES_PORT_MESH_IDLE_H
#define PROBES_PORT_MESH_IDLE_H
/*
 * What was found of silent connections, where it is judged: mesh_idle.c takes it from the ranks'
 * lines and makes something of each pair; mesh_idle_say.c tells people and programs, and
 * mesh_idle_who.c knows what several pairs are called. A pair is @from * n + @to.
 */
#include "probes/port/mesh_judge.h"
#include "probes/port/quiet.h"

/* Of a cell: its @from opened them, one for each time and for each end as the first to speak. */
struct mesh_idle {
	char opener[QUIET_TIMES + 1], called[QUIET_TIMES + 1]; /* letters, "" while none is known */
	char again; /* of a new one; '\0': there was none */
};

enum idle_first { IDLE_OPENER = 1, IDLE_CALLED = 2, IDLE_EITHER = 3 };
/* What comes of it. Times are their numbers and one more; 0: there is none. */
struct idle_verdict {
	size_t alive, dead;    /* alive: the longest that is, below @dead where something died */
	char how;	       /* the letter of @dead */
	enum idle_first first; /* who must be the first to speak for it to be dead */
	bool cut;	       /* a new one does not come through either */
	bool odd;	       /* longer ones are alive */
};
/* False: nothing is known of that pair. */
bool mesh_idle_of(const struct mesh *m, size_t from, size_t to, struct idle_verdict *ret);
/* Is it the host's own table of connections that forgets them after such a time? */
bool mesh_idle_is_own(const struct mesh *m, size_t at, const struct idle_verdict *v);
/* Of a time in a verdict; 0: of none. And as text: "6 min". */
uint64_t mesh_idle_ns(const struct mesh *m, size_t time);
const char *mesh_idle_text(const struct mesh *m, size_t time);

/* "node0 to node1"; "node[0-1] and node[2-3]" where all of @pairs are between the two; else the
 * hosts of them. */
const char *mesh_idle_who(const struct mesh *m, const index_list *pairs);
index_list mesh_idle_ends(const struct mesh *m, const index_list *pairs); /* each host once */
void mesh_idle_add(const struct mesh *m, index_list *l, size_t at);	  /* unless it is there */

#endif
