/*
 * --idle: connections between this rank and others that stay silent, and what is said of them as
 * each time passes, so that a run that is broken off has told what it knows.
 */
#include "probes/port/quiet.h"

#include "lib/cluster/open_files.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/port/mesh_self.h"

/* ---- with whom ---- */
/* Small clusters: everybody. Else so many of those after us, evenly over all of them, so that
 * neighbours in a rack are among them, and others. */
static bool is_chosen(size_t distance, size_t others)
{
	for (size_t i = 0; i < QUIET_PEERS; i++)
		if (distance == 1 + i * others / QUIET_PEERS)
			return true;
	return others <= QUIET_PEERS;
}

/* How far it is behind us in the circle of those that take part. */
static size_t distance_to(const struct mesh_self *s, size_t to)
{
	size_t n = 0;

	for (size_t i = s->me; i != to; i = (i + 1) % s->n)
		n += !s->cards[i].idle;
	return n;
}

static bool is_called(const struct mesh_self *s, size_t to)
{
	return !s->idle && s->talks[to].state == TALK_DONE && !s->gone[to] &&
	       is_chosen(distance_to(s, to), s->active - 1);
}

static void list_peers(const struct mesh_self *s, const unsigned char *listens,
		       struct quiet_peer *v)
{
	for (size_t to = 0; to < s->n; to++) {
		if (!listens[to] || !is_called(s, to))
			continue;
		v[to].to = s->addrs[to];
		addr_set_port(&v[to].to, s->cards[to].talk_port);
		memcpy(v[to].secret, s->cards[to].secret, sizeof(v[to].secret));
	}
}

/* ---- what is said of it ---- */
static cJSON *line_of(struct mesh_self *s, cJSON **ret_idle)
{
	cJSON *line = cJSON_CreateObject();

	json_num(line, "rank", (double)s->me);
	*ret_idle = json_object(line, "idle");
	return line;
}

/* Whatever else forgets connections: after which time would this host's own table? */
static cJSON *first_line(struct mesh_self *s, const struct quiet *q)
{
	static const char table[] = "/proc/sys/net/netfilter/nf_conntrack";
	const char *vendor = sysroot_line(s->a, "/sys/class/dmi/id/sys_vendor");
	int64_t used = sysroot_int(s->a, 0, "%s_count", table);
	int64_t forgets_s = sysroot_int(s->a, 0, "%s_tcp_timeout_established", table);
	cJSON *idle, *line = line_of(s, &idle);

	json_num(idle, "connections", (double)quiet_number(q));
	if (used > 0 && forgets_s > 0)
		json_num(idle, "forgets_s", (double)forgets_s);
	if (vendor && streq(vendor, "Amazon EC2"))
		json_bool(idle, "ec2", true);
	return line;
}

static cJSON *line_after(struct mesh_self *s, const struct quiet *q, size_t time)
{
	cJSON *idle, *line = line_of(s, &idle), *peers, *o;
	char opened[QUIET_TIMES + 1], called[QUIET_TIMES + 1];

	json_num(idle, "passed", (double)(time + 1));
	peers = json_array(idle, "peers");
	for (size_t i = 0; i < s->n; i++) {
		quiet_said(q, i, true, opened);
		quiet_said(q, i, false, called);
		if (!*opened && !*called)
			continue;
		o = json_push_object(peers);
		json_num(o, "rank", (double)i);
		json_str(o, "opened", opened);
		json_str(o, "called", called);
		json_str(o, "again", (char[]){quiet_again(q, i), '\0'});
	}
	return line;
}

/* ---- the run of it ---- */
/* Of a host one rank speaks. */
static int tell(struct mesh_self *s, size_t number, cJSON *line, struct err *e)
{
	if (!s->idle)
		return mesh_hand_over(s, arena_printf(s->a, "idle%zu", number), line, e);
	cJSON_Delete(line);
	return 0;
}

/* That somebody was lost is what the next call of the rendezvous says. */
static int wait_for(struct mesh_self *s, struct quiet *q, size_t time, struct err *e)
{
	if (quiet_wait(q, time, rdzv_failure_fd(s->rdzv)))
		return 0;
	return interrupt_pending() ? interrupt_err(e) : rdzv_barrier(s->rdzv, e);
}

static int run(struct mesh_self *s, struct quiet *q, size_t ntimes, struct err *e)
{
	if (quiet_start(q, e) || wait_for(s, q, QUIET_BEGUN, e) || rdzv_barrier(s->rdzv, e) ||
	    tell(s, 0, first_line(s, q), e))
		return -1;
	for (size_t i = 0; i < ntimes; i++)
		if (wait_for(s, q, i, e) || tell(s, i + 1, line_after(s, q, i), e))
			return -1;
	return rdzv_barrier(s->rdzv, e); /* until then somebody may be asked once more */
}

/* Where we were reached before, which others know; nobody asks there any more. Else just anywhere:
 * we call others all the same. */
static struct quiet *open_here(struct mesh_self *s, struct quiet_opts *o,
			       unsigned char *ret_listens, struct err *e)
{
	struct quiet *q = NULL;

	o->port = s->door ? talk_port(s->door) : 0;
	talk_close(s->door);
	s->door = NULL;
	if (o->port)
		q = quiet_open(o, e);
	*ret_listens = q != NULL;
	o->port = 0;
	return q ?: quiet_open(o, e);
}

static void quiet_done(struct quiet **q) { quiet_close(*q); }

int mesh_quiet(struct mesh_self *s, struct err *e)
{
	unsigned char listens, *all = arena_alloc(s->a, s->n);
	struct quiet_peer *peers = arena_alloc(s->a, s->n * sizeof(*peers));
	uint64_t times[QUIET_TIMES];
	struct quiet_opts o = {.times_ns = times,
			       .ntimes = quiet_times(s->o->idle_ns, times),
			       .peers = peers,
			       .n = s->n,
			       .me = s->me,
			       .patience_ns = s->o->patience_ns};
	AUTO(quiet_done) struct quiet *q;

	open_files_raise();
	memcpy(o.secret, s->cards[s->me].secret, sizeof(o.secret));
	q = open_here(s, &o, &listens, e);
	if (!q || rdzv_all_gather(s->rdzv, &listens, sizeof(listens), all, e))
		return -1;
	list_peers(s, all, peers);
	return run(s, q, o.ntimes, e);
}
