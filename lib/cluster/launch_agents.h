#ifndef LIB_CLUSTER_LAUNCH_AGENTS_H
#define LIB_CLUSTER_LAUNCH_AGENTS_H
/* Between launch_*.c: the launcher's view of its hosts and of what they say. */
#include "lib/cluster/agent.h"
#include "lib/cluster/child.h"
#include "lib/cluster/launch.h"
#include "lib/cluster/parcel.h"
#include "lib/cluster/trouble.h"

enum { EXIT_UNABLE = 3, EXIT_ABSENT = 4 }; /* of a rank: its host lacks something */
enum { TAIL_MAX = 4096, LINE_MAX_BYTES = 64 << 10, PENDING_LOW = 256 << 10 };

/* Bytes for a descriptor of the caller's, which stays as it is (blocking, shared). */
struct outlet {
	int fd;
	struct loop *loop;
	struct io io;
	void (*drained)(struct outlet *q); /* less than PENDING_LOW is waiting */
	bool watched, broken, dropped;	   /* dropped: there was no memory for some of it */
	bool terminal;
	struct bytes waiting;
};
struct outlet outlet_to(int fd, struct loop *loop);
void outlet_add(struct outlet *q, const void *data, size_t n);
void outlet_done(struct outlet *q); /* what comes after it is dropped */
/* Once, at the end: to @err, that some of what these two were given is lost, where it is. */
void outlets_confess(const struct outlet *out, const struct outlet *err);

/* The unfinished line of one stream of one rank. */
struct line {
	struct bytes text;
	char last[160]; /* how the last whole one began that was no advice; "": none was */
};
/* Whole lines go to @q, each behind @prefix; a line without end only when @end says so. */
void line_add(struct line *l, struct outlet *q, const char *prefix, const char *data, size_t n,
	      bool end);

TAILQ_HEAD(visitors, agent_host);

enum agent_state { AGENT_WAITING, AGENT_STARTING, AGENT_UP, AGENT_GONE };

struct agent_host {
	struct launch *of;
	struct launch_host *h;
	enum agent_state state;
	bool local;
	struct child child; /* no pid: it joined */
	int status, sig;    /* how it ended, as child_ended() says it; 0 and 0: not known */
	struct link link;
	struct streams streams;
	struct io err_io, exit_io;
	struct timer patience;
	char tail[TAIL_MAX + 1]; /* of stderr, which is ssh's */
	size_t tail_n;
	bool timed_out, asks; /* way_asks() */
	unsigned tried;	      /* so often it was turned away (way.h) */
	uint64_t since_ns;    /* it is being started, all tries together */
	size_t unsent;	      /* of a copy, when we looked last */
	bool visitor, joined; /* on the heap: came in by the door; a visitor until it said hello */
	TAILQ_ENTRY(agent_host) door;
	size_t owed;	    /* bytes of output whose credit is not given back yet */
	struct line *lines; /* two for each rank */
};

struct launch {
	struct launch_opts o; /* with the defaults filled in */
	struct loop loop;
	struct arena *a;
	struct launch_result *r;
	LIST(struct agent_host *) agents;
	size_t next, starting, joined;
	struct err wrong;   /* why this machine can start no agents */
	struct rsh_way rsh; /* once it was used */
	bool running;	    /* what is to be started has been: who is lost now ends no waiting */
	void (*lost)(struct agent_host *h); /* one that was up, meanwhile; may be NULL */
	const void *holds;		    /* what lost() needs to know */
	int alive;			    /* ranks that have not ended */
	struct token token;
	struct parcel parcel; /* --copy-self */
	const char *run_id;   /* of a run that carries (carry.h); "": none */
	struct listener door; /* for those who join */
	struct rdzv_server *server;
	struct outlet out, err;
	struct visitors visitors;
	const char *refused; /* who came last and could not take part, and why; NULL */
	struct timer ping, grace, late, tick;
};

/* launch_run.c: before the first agent, after the last */
int launch_init(struct launch *L, struct err *e) MUST_CHECK;
void launch_done(struct launch *L);
/* launch_agents.c: starting them, and what becomes of them */
struct agent_host *agents_add(struct launch *L, const char *name, bool local);
int agents_gather(struct launch *L, struct err *e) MUST_CHECK; /* all up or gone, or interrupted */
void agents_done(struct launch *L);
int agent_watch_link(struct agent_host *h,
		     struct err *e) MUST_CHECK; /* sets the calls of its link */
void agent_give_up(struct agent_host *h, const char *trouble);
/* launch_why.c: why a host takes no part any more, and that it is of another build than this */
const char *agent_why_gone(struct agent_host *h);
void agent_misspoke(struct agent_host *h, const char *why); /* before it had greeted, or after */
bool agent_is_cut_off(const struct agent_host *h);	    /* by the way to it, or with its host */
const char *agent_why_other(const struct agent_host *h, const char *version, uint32_t protocol);
const char *agent_fix_other(const struct agent_host *h); /* what is typed then; NULL: not known */
void agent_advise_short(struct agent_host *h, const char *lacks); /* its fix, or its way_fix */
/* launch_door.c: those who join */
int door_open(struct launch *L, struct err *e) MUST_CHECK;
void door_left(struct agent_host *h);	 /* a visitor is gone */
void door_entered(struct agent_host *h); /* it said hello */
void door_lost(struct agent_host *h);	 /* and is gone, before the run began */
void door_refuse(struct agent_host *h, const char *why);
int door_leaves(struct agent_host *h, struct wire_in *in); /* a person there ends the run */
void door_say_over(struct launch *L);
void door_close(struct launch *L);
const char *door_name(const struct agent_host *h); /* whence it came */
/* The words that start an agent there; stdin is descriptor @in. */
int agent_argv(struct launch *L, struct agent_host *h, int in, char *const **ret,
	       struct err *e) MUST_CHECK; /* launch_argv.c */
/* launch_hold.c: a process that has an agent without ranks on each host until @until is closed, and
 * says there once what came of each: texts, each with its NUL: why none could be, what mends that,
 * then for each host its trouble and its fix; later one for each that is lost:
 * its number and why where the way to it broke, else an empty one */
_Noreturn void launch_hold(struct launch *L, int until);
/* launch_copy.c: --copy-self */
int copy_prepare(struct launch *L, struct err *e) MUST_CHECK;
const char *copy_script(const struct launch *L, const char *own, const char *name); /* for sh */
void copy_offer(struct agent_host *h); /* before its link is opened */
/* launch_begin.c */
int ranks_place(struct launch *L, struct err *e) MUST_CHECK; /* on the hosts that are up */
int ranks_begin(struct launch *L, struct err *e) MUST_CHECK;
/* launch_ranks.c */
void ranks_watch(struct launch *L); /* from now on they run */
void ranks_changed(struct rdzv_server *s, void *arg);
void ranks_tell(struct launch *L, uint16_t order, uint32_t sig);
int ranks_message(struct agent_host *h, uint16_t type, struct wire_in *in);
void ranks_lost(struct agent_host *h); /* @h is gone; its trouble says why */

#endif
