/* --serve: machines that join with the line that a person pasted there. */
#include "lib/cluster/launch_agents.h"

#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>

/* A machine that went without a word takes no ping any more: it has us believe that for as long as
 * its agent would believe us. */
static void believe_for(int fd, unsigned seconds)
{
	unsigned ms = seconds * 1000;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

/* Nothing of a stranger stays: not even a name, before it has proved itself and said hello. */
static void on_accept(struct listener *s, int fd, const union addr *from UNUSED)
{
	struct launch *L = CONTAINER_OF(s, struct launch, door);
	struct agent_host *h = calloc(1, sizeof(*h));
	struct err ignored;

	if (!h) {
		(void)close(fd);
		return;
	}
	believe_for(fd, AGENT_SILENCE_S);
	h->of = L;
	h->visitor = h->joined = true;
	h->err_io.fd = h->exit_io.fd = -1;
	TAILQ_INSERT_TAIL(&L->visitors, h, door);
	h->link.channel.via = s;
	link_over_channel(&h->link, &L->loop);
	if (agent_watch_link(h, &ignored) < 0)
		(void)close(fd);
	else if (!channel_accept(&h->link.channel, &L->loop, fd, &L->token, L->o.deadline_ns,
				 &ignored))
		return;
	agent_give_up(h, NULL);
}

void door_left(struct agent_host *h)
{
	TAILQ_REMOVE(&h->of->visitors, h, door);
	free(h);
}

const char *door_name(const struct agent_host *h)
{
	struct addr_text t;

	(void)addr_print(&h->link.channel.peer, &t);
	return arena_strdup(h->of->a, t.s + (starts_with(t.s, "::ffff:") ? 7 : 0));
}

/* Who pasted the line there has to know, and who waits here; the others are waited for all the
 * same. */
void door_refuse(struct agent_host *h, const char *why)
{
	unsigned char buf[2048];
	struct wire_out w = {buf, 0, sizeof(buf), false};

	wire_put_str(&w, why);
	link_send(&h->link, ORDER_REFUSED, buf, w.n);
	h->of->refused =
		arena_printf(h->of->a, "%s was sent away, and told: \"%s\"", door_name(h), why);
	log_warn("%s", h->of->refused);
}

void door_entered(struct agent_host *h)
{
	struct launch *L = h->of;

	TAILQ_REMOVE(&L->visitors, h, door);
	h->visitor = false;
	h->h = ARENA_NEW(L->a, struct launch_host);
	h->h->name = door_name(h);
	*LIST_ADD(L->a, &L->agents) = h;
}

/* The door is open still: its place is free for it, or for another. */
void door_lost(struct agent_host *h)
{
	struct launch *L = h->of;
	size_t at = 0;

	while (L->agents.v[at] != h)
		at++;
	L->agents.n--;
	L->next -= at < L->next;
	memmove(&L->agents.v[at], &L->agents.v[at + 1],
		(L->agents.n - at) * sizeof(struct agent_host *));
	L->joined--;
	log_warn("%s; its place is free again: the same line can be pasted there once more",
		 h->h->trouble);
	free(h);
}

/* Before the run has begun only its place is free again. */
int door_leaves(struct agent_host *h, struct wire_in *in)
{
	int sig = (int)wire_u32(in);

	if (in->bad || !h->joined || h->state != AGENT_UP || sig <= 0)
		return -1;
	if (h->of->running)
		interrupt_elsewhere(sig == SIGINT ? SIGINT : SIGTERM, h->h->hostname);
	agent_give_up(h, arena_printf(h->of->a, "%s was interrupted there", h->h->hostname));
	return 0;
}

void door_say_over(struct launch *L)
{
	unsigned char buf[4];
	struct wire_out w = {buf, 0, sizeof(buf), false};

	wire_put_u32(&w, interrupt_pending() ? EXIT_UNABLE : L->r ? (uint32_t)L->r->code : 0);
	for (size_t i = 0; i < L->agents.n; i++)
		if (L->agents.v[i]->joined)
			link_send(&L->agents.v[i]->link, ORDER_OVER, buf, w.n);
}

void door_close(struct launch *L)
{
	struct agent_host *h;

	listener_close(&L->door);
	while ((h = TAILQ_FIRST(&L->visitors)))
		agent_give_up(h, NULL);
}

static int open_at(struct launch *L, uint16_t port, struct err *e)
{
	L->door.on_accept = on_accept;
	return listener_open_any(&L->door, &L->loop, port, e);
}

/* The address to paste is one that the others can reach: private where there is one. */
static int find_address(const struct launch *L, union addr *ret, struct err *e)
{
	const char *own = agent_data_addr(NULL, L->a);

	if (addr_parse(own, ret) < 0)
		return err_set(e, ERR_SYS, "%s is no address at which others could join", own);
	if (addr_class(ret) == ADDR_LOOPBACK)
		log_warn("no interface here has an address that others could use: this line works "
			 "on this machine alone (ifprobe shows what each one lacks)");
	addr_set_port(ret, addr_port(&L->door.at));
	return 0;
}

/* The same by every command: the line (the run is nothing without it, so --quiet has it, too), whom
 * it waits for, and what keeps them out. */
static void tell_people(const struct launch *L)
{
	const char *command = L->o.argv[0], *slash = strrchr(command, '/');
	struct unit_buf b;

	log_ask("paste this on each of the other machines:");
	log_hint("%s", join_line(slash ? slash + 1 : command, &L->r->door, &L->token, L->a));
	log_say("waiting for %u other machine%s, %s at most; port %u of this machine must be open "
		"for %s",
		L->o.wait, L->o.wait == 1 ? "" : "s", format_duration(&b, L->o.serve_ns),
		addr_port(&L->door.at), L->o.wait == 1 ? "it" : "them");
}

int door_open(struct launch *L, struct err *e)
{
	uint16_t port = L->o.serve_port;
	struct err taken;

	if (port && open_at(L, port, e) < 0)
		return -1;
	if (!port && open_at(L, LAUNCH_PORT, &taken) < 0) {
		if (open_at(L, 0, e) < 0)
			return -1;
		log_warn("port %d is taken here, by another run perhaps: the others must reach "
			 "port %u instead",
			 LAUNCH_PORT, addr_port(&L->door.at));
	}
	if (find_address(L, &L->r->door, e))
		return -1;
	tell_people(L);
	return 0;
}
