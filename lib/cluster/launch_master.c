/* Where rank 0 is, under a foreign launcher: by the name that all ranks were given. */
#include "lib/cluster/launch_world.h"

#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/host/hostname.h"
#include "lib/host/listen.h"

enum { AGAIN_MS = 250 };

/*
 * A pod may be there before the record of rank 0's service is: who is retried when it does not
 * listen yet is looked up again when it has no name yet. What is no name at all never gets one.
 */
static void look_up_master(struct meeting *m, struct name_answer *ret)
{
	const char *name = m->run->world.master_addr;
	const uint64_t until = now_ns() + m->o->deadline_ns / 2;
	uint64_t now = now_ns();

	do {
		struct name_answer got;

		name_resolve(name, until - now, m->a, &got);
		if (!got.timed_out || !ret->trouble) /* the last try may have had no time */
			*ret = got;
		if (got.addrs.n || got.unasked || !name_is_plain(name))
			return;
		(void)interrupt_poll(-1, 0, AGAIN_MS);
		now = now_ns();
	} while (now < until && !interrupt_pending());
}

static int no_master(struct meeting *m, const struct name_answer *got, struct err *e)
{
	if (interrupt_err(e) < 0)
		return -1;
	m->run->missing = !got->unasked;
	err_set(e, ERR_SYS, "cannot find rank 0: %s %s", m->run->world.master_addr, got->trouble);
	return err_hint(e, "give MASTER_ADDR as an address");
}

int meeting_master(struct meeting *m, struct err *e)
{
	const struct world *w = &m->run->world;
	struct name_answer got = {0};

	if (!w->master_addr) {
		err_set(e, ERR_USAGE, "%s started us, but nothing says where rank 0 is",
			launcher_name(w->launcher));
		return err_hint(e, "%s",
				w->note ? w->note
					: "set MASTER_ADDR to rank 0's host for every rank");
	}
	look_up_master(m, &got);
	if (!got.addrs.n)
		return no_master(m, &got, e);
	m->join.server = got.addrs.v[0];
	m->nothers = got.addrs.n - 1;
	m->others = arena_alloc(m->a, got.addrs.n * sizeof(*m->others));
	for (size_t i = 0; i < m->nothers; i++)
		m->others[i] = (struct rdzv_way){.server = got.addrs.v[i + 1]};
	return 0;
}

static const char *holder_of(uint16_t port, struct arena *a)
{
	holder_list l = {0};

	holders_read(port, a, &l);
	if (!l.n)
		return "somebody";
	return l.v->command ? arena_printf(a, "%s (pid %d)", l.v->command, l.v->pid)
			    : arena_printf(a, "a process of user %u", l.v->uid);
}

/* We go round a port that is taken, and rank 0 goes at once to where it is; a job cannot. */
void meeting_look_at_port(struct meeting *m)
{
	uint16_t asked = addr_port(&m->join.server), got = m->run->server.port;

	m->join.first = got - asked;
	if (got == asked || asked != m->run->world.master_port)
		return;
	log_warn("port %u is taken here by %s: these ranks meet at port %u, and a job would not "
		 "begin",
		 asked, holder_of(asked, m->a), got);
	log_hint("export MASTER_PORT=$(portcheck --free)   # the same for all ranks");
}
