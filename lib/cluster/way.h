#ifndef LIB_CLUSTER_WAY_H
#define LIB_CLUSTER_WAY_H
/* What ways to a host say when they fail: ssh; kubectl, docker, srun, a company's own. */
#include "lib/cluster/mend.h"
#include "lib/core/arena.h"

struct ssh_cause {
	const char *said, *means, *todo;
	enum mend mend;
};
#define PROXY_ENDED "UNKNOWN port 65535" /* ssh, of a connection that another program made */

/* What ssh's own words mean, the more telling one first; NULL: none of them is known. */
const struct ssh_cause *way_ssh_cause(const char *err);

/* sshd there, or a jump host's, heard no more logins just then: nothing was run. */
bool way_turned_away(const char *err);
/* So it is tried again, a few times, later each time; those that were turned away together not
 * together (@who: their numbers), and none later than @deadline_ns after @since_ns. */
bool way_may_try_again(unsigned tried, size_t who, uint64_t since_ns, uint64_t deadline_ns,
		       uint64_t *ret_pause_ns);

/* What @said, its last line, means, and what is typed then (NULL: not known). NULL: it may as well
 * be of what was to run there. */
const char *way_meaning(const char *said, const char *host, struct arena *a, const char **ret_fix);
/* What it said last is a question, and it waits for a person. */
bool way_asks(const char *said);
/* How long it may be silent of those @deadline_ns: a question that nobody sees is not answered. */
uint64_t way_patience(const char *said, uint64_t deadline_ns);
/* It was to ask a person, and found no terminal. @typed: its words; sudo's complaint may be of what
 * it ran there. */
bool way_lacks_terminal(const char *err, const char *typed);
/* It waits for somebody who logs in elsewhere: in a browser, on a telephone. */
bool way_waits_for_login(const char *err);
/* A wrapper's ssh has said why, whatever the wrapper's code; @err: all that was said. */
bool way_is_of_ssh(const char *said, const char *err);

#endif
