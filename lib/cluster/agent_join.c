/* The agent of a machine that joins a run, and what it says to the person who sits there. */
#include "lib/cluster/agent_ranks.h"

#include "lib/cluster/launch.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"

#include <errno.h>

enum { JOIN_S = 20 };

static void on_open(struct channel *c)
{
	struct agent *g = CONTAINER_OF(CONTAINER_OF(c, struct link, channel), struct agent, link);
	struct addr_text t;

	g->opened = true;
	log_say("joined %s; waiting for the run to begin", addr_print_port(&g->peer, &t));
	agent_say_hello(g);
}

/* What the person at this machine can do about it. */
static void advise(const struct agent *g)
{
	struct addr_text t;

	(void)addr_print_port(&g->peer, &t);
	switch (g->why ? g->link.channel.error : 0) {
	case ECONNREFUSED:
		log_hint("- nobody waits there: that run has begun with as many machines as it "
			 "was told to wait for (--wait N), or is over");
		break;
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EACCES:
	case EPERM:
		log_hint("portcheck %s   # from here: what is in the way to that one port", t.s);
		break;
	default:
		log_hint("- paste the line of this run: each one has a code of its own");
	}
}

/* Why it was at none of them; the advice is about the last one. */
static void say_not_joined(const struct agent *g, const str_list *failed)
{
	for (size_t i = 0; i < failed->n; i++)
		log_error("%s", failed->v[i]);
	if (!g->refused)
		advise(g);
}

static const char *came_to(int run_code)
{
	switch (run_code) {
	case 0:
		return "nothing failed";
	case 2:
		return "its command line is wrong";
	case 3:
		return "it was interrupted, or could not go on";
	case 4:
		return "something that it needs is not there";
	default:
		return "it failed";
	}
}

/* Whoever pasted the line sees no report: what the whole run came to, and where the rest stands. */
static void say_over(const struct agent *g)
{
	struct addr_text t;

	if (!g->is_over)
		log_say("the launcher is gone; the ranks here are ended (exit code 3)");
	else
		log_say("the run is over: %s (exit code %d); its report stands where it was "
			"begun, at %s",
			came_to(g->run_code), g->run_code, addr_print(&g->peer, &t));
}

/* Waiting for the others may take people minutes: the launcher's pings count as life. -1: it was
 * not at that one of the addresses, and there is another. */
static int join_at(const struct job_of_agent *job, size_t i, struct arena *a, str_list *failed)
{
	struct agent g = {.joined = true, .peer = job->to->v[i], .link.closed = true};
	struct addr_text t;
	struct err e = {0};
	bool more = false;
	int rc = 3;

	link_over_channel(&g.link, &g.loop);
	g.link.channel.on_open = on_open;
	if (!agent_init(&g, &e) && !channel_connect(&g.link.channel, &g.loop, &g.peer, job->token,
						    JOIN_S * NS_PER_S / job->to->n, &e))
		rc = loop_run(&g.loop, &e) < 0 ? 3 : 0;
	if (interrupt_pending())
		log_error("interrupted; the ranks here are ended");
	else if (!g.opened) {
		*LIST_ADD(a, failed) =
			arena_printf(a, "cannot join %s: %s", addr_print_port(&g.peer, &t),
				     e.kind != ERR_NONE ? e.msg
				     : g.why		? g.why
							: "it closed the connection");
		more = !g.refused && i + 1 < job->to->n;
		if (!more)
			say_not_joined(&g, failed);
	} else if (e.kind != ERR_NONE)
		log_error("%s", e.msg);
	else
		say_over(&g);
	if (interrupt_pending() || !g.opened || g.failed || !g.is_over)
		rc = 3;
	agent_done(&g);
	return more ? -1 : rc ?: g.run_code;
}

int agent_join(const struct job_of_agent *job)
{
	AUTO(arena_done) struct arena a = {0};
	str_list failed = {0};
	int rc = -1;

	for (size_t i = 0; rc < 0 && i < job->to->n; i++)
		rc = join_at(job, i, &a, &failed);
	return rc < 0 ? 3 : rc;
}
