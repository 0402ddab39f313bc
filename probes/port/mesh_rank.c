/* One rank of the mesh: meets the others, asks them all, says what it knows. */
#include "probes/port/mesh_self.h"

#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/port/own.h"

#include <sys/random.h>

/* --- who is who ------------------------------------------------------------------ */
static void put_text(char *to, size_t size, const char *text) { snprintf(to, size, "%s", text); }

static void fill_card(struct mesh_self *s, struct mesh_card *c)
{
	put_text(c->host, sizeof(c->host), s->f->inv.hostname);
	c->idle = s->idle;
	c->master = s->local.env.master;
	c->first = s->local.env.range.first;
	c->last = s->local.env.range.last;
	c->talk_port = s->door ? talk_port(s->door) : 0;
	(void)!getrandom(&c->seed, sizeof(c->seed), 0);
	c->seed |= 1;
	mesh_machine(s, c);
}

static void put_address(const struct mesh_self *s, struct mesh_card *c)
{
	struct addr_text at;

	if (!s->local.s.addr || s->idle)
		return;
	put_text(c->addr, sizeof(c->addr), addr_print(&s->local.s.addr->addr, &at));
	mesh_put_nets(s, c);
	mesh_macs(s, c);
}

static int tell_all(struct mesh_self *s, struct mesh_card *mine, struct err *e)
{
	put_address(s, mine);
	if (rdzv_all_gather(s->rdzv, mine, sizeof(*mine), s->cards, e))
		return -1;
	for (size_t i = 0; i < s->n; i++) {
		struct mesh_card *c = &s->cards[i];

		c->host[sizeof(c->host) - 1] = c->addr[sizeof(c->addr) - 1] = '\0';
		if (addr_parse(c->addr, &s->addrs[i]))
			s->addrs[i] = (union addr){0};
	}
	return 0;
}

/* MASTER_PORT, the port that it listens on for us, and a sample of its range. */
static void draw_ports(const struct mesh_self *s, const struct mesh_card *c, port_list *ret)
{
	struct port_env theirs = {.master = c->master, .range = port_range_of(c->first, c->last)};
	bool talks = c->talk_port && s->o->sample;

	if (s->o->ports) {
		*ret = *s->o->ports;
		return;
	}
	port_env_draw(&theirs, s->o->sample - talks, c->seed, s->a);
	if (talks)
		*LIST_ADD(s->a, &theirs.sample) = c->talk_port;
	ports_default(&theirs, s->a, ret);
}

/* What a name stands for is drawn by lot, in part: where no launcher of ours has done that for all
 * of them, rank 0's are everybody's, whatever they were told themselves. */
static int agree(struct mesh_self *s, struct mesh_opts *own, const struct port_env *env,
		 struct err *e)
{
	static const char key[] = "mesh.ports";
	port_list *ports;
	const void *text;
	size_t n;

	if (s->relay)
		return 0;
	if (!s->me) {
		text = own->ports ? ports_spell(own->ports, s->a) : "";
		return rdzv_set(s->rdzv, key, text, strlen(text), e);
	}
	if (rdzv_get(s->rdzv, key, s->a, &text, &n, e))
		return -1;
	own->ports = NULL;
	if (!n) /* rank 0 was told of none */
		return 0;
	ports = arena_alloc(s->a, sizeof(*ports));
	own->ports = ports;
	return ports_parse(arena_strndup(s->a, text, n), env, s->a, ports, e);
}

static int meet(struct mesh_self *s, struct err *e)
{
	struct mesh_card mine = {0};
	struct err no_door;

	mesh_watch_carriers(s);
	s->rp_before = mesh_counted(MESH_RP_DROPS); /* nobody asks before we have met */
	s->overflows = mesh_counted(MESH_OVERFLOWS);
	(void)!getrandom(mine.secret, sizeof(mine.secret), 0);
	if (!s->o->expect_open &&
	    !s->idle) /* a listener of ours would be taken for the one looked for */
		s->door = talk_open(s->o->ports, mine.secret, &no_door);
	if (mesh_choose_address(s, e))
		return -1;
	fill_card(s, &mine);
	if (tell_all(s, &mine, e))
		return -1;
	if (mesh_is_apart(s)) { /* which all of us see alike */
		mesh_come_together(s);
		if (tell_all(s, &mine, e))
			return -1;
	}
	for (size_t i = 0; i < s->n; i++)
		draw_ports(s, &s->cards[i], &s->ports[i]);
	mesh_same(s);
	for (size_t i = 0; i < s->n; i++)
		s->active += !s->cards[i].idle;
	return 0;
}

/* --- whom do I reach --------------------------------------------------------------- */
static void list_targets(struct mesh_self *s)
{
	/* Not all at the same one first. */
	/* Without an address of one's own the others are not to blame. */
	bool asks = !s->idle && s->same == s->me && s->addrs[s->me].sa.sa_family;

	for (size_t k = 1; k < s->n && asks; k++) {
		size_t i = (s->me + k) % s->n;
		struct port_target *t;

		if (!s->addrs[i].sa.sa_family)
			continue;
		t = LIST_ADD(s->a, &s->targets);
		*t = (struct port_target){
			.given = s->cards[i].host, .host = s->cards[i].addr, .ports = s->ports[i]};
		*LIST_ADD(s->a, &t->addrs) = s->addrs[i];
		s->target_rank[s->targets.n - 1] = i;
	}
}

static bool is_good(const struct mesh_self *s, uint8_t state)
{
	return state == PORT_OPEN || (state == PORT_REFUSED && !s->o->expect_open);
}

/* Nothing listens there, says the answer, and we know better: it is not that host's. */
static void find_resets(struct mesh_self *s)
{
	for (size_t i = 0; i < s->reach.n; i++) {
		struct reach_result *x = &s->reach.v[i];
		const struct mesh_card *c = &s->cards[s->target_rank[x->target - s->targets.v]];

		if (x->state != PORT_REFUSED || !c->talk_port || x->port != c->talk_port)
			continue;
		x->state = PORT_UNREACHABLE;
		x->cause = CAUSE_RESET;
	}
}

int mesh_tell_lost(struct mesh_self *s, struct err *e)
{
	AUTO_FREE unsigned char *mine = calloc(s->lost_n, 1);

	if (!mine)
		return err_set(e, ERR_SYS, "no memory for %zu hosts", s->n);
	for (size_t i = 0; i < s->reach.n; i++) {
		const struct reach_result *x = &s->reach.v[i];
		size_t to = s->target_rank[x->target - s->targets.v];

		if (!is_good(s, x->state))
			mine[to / 8] |= (unsigned char)(1 << to % 8);
	}
	return rdzv_all_gather(s->rdzv, mine, s->lost_n, s->lost, e);
}

static int ask(struct mesh_self *s, struct err *e)
{
	const struct reach_opts o = {.count = s->o->count, .patience_ns = s->o->patience_ns};

	list_targets(s);
	s->resent = mesh_counted(MESH_SYN_RESENDS);
	if (reach_run(&s->targets, s->f, &o, &s->reach, e))
		return -1;
	s->resent = mesh_counted(MESH_SYN_RESENDS) - s->resent;
	own_neighbours(&s->reach, &s->targets);
	own_unfound(&s->reach, &s->targets, s->f);
	own_limits(&s->reach);
	own_paths(&s->reach, &s->targets, &o, s->f);
	own_options(&s->reach, &s->targets);
	find_resets(s);
	/* Only when all have asked does anybody look at what came and went unanswered. */
	if (mesh_tell_lost(s, e))
		return -1;
	s->rp_now = mesh_counted(MESH_RP_DROPS);
	s->overflows = mesh_counted(MESH_OVERFLOWS) - s->overflows;
	return 0;
}

/* --- what was found, to rank 0 ---------------------------------------------------------- */
static void judge_here(struct mesh_self *s, bool cut)
{
	size_t *nodes = arena_alloc(s->a, s->n * sizeof(*nodes)), n = 0;
	struct mesh m;

	mesh_init(&m, s->o, s->active, s->a, s->report);
	for (size_t i = 0; i < s->n; i++) {
		nodes[i] = s->cards[i].idle ? MESH_NO_NODE : n++;
		if (!s->cards[i].idle) /* one that died has told nothing else */
			m.nodes[nodes[i]].name = s->cards[i].host;
	}
	m.rank_node = nodes;
	m.nranks = s->n;
	m.cut = cut;
	for (enum mesh_pass pass = 0; pass < MESH_PASSES; pass++)
		for (size_t i = 0; i < s->lines.n; i++)
			mesh_take(&m, pass, s->lines.v[i]);
	mesh_conclude(&m);
}

static const char *key_of(const struct mesh_self *s, const char *what, size_t rank)
{
	return arena_printf(s->a, "mesh.%s.%zu", what, rank);
}

static int pass_on(struct mesh_self *s, const cJSON *line, struct err *e)
{
	AUTO_FREE char *text = cJSON_PrintUnformatted(line);

	if (!text)
		return err_set(e, ERR_SYS, "no memory for what was found");
	report_answer(s->report, text, strlen(text));
	report_answer(s->report, "\n", 1);
	return 0;
}

/* A line of @rank's, whatever it says of itself; passed on, it is one line. */
static int take_line(struct mesh_self *s, size_t rank, const void *text, size_t n, struct err *e)
{
	cJSON *line = json_parse(text, n, 8, e);
	int rc = 0;

	if (!line)
		return -1;
	cJSON_DeleteItemFromObject(line, "rank");
	json_num(line, "rank", (double)rank);
	if (!s->relay) {
		*LIST_ADD(s->a, &s->lines) = line;
		return 0;
	}
	rc = pass_on(s, line, e);
	cJSON_Delete(line);
	return rc;
}

static int collect(struct mesh_self *s, const char *what, const char *mine, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < s->n && !rc; i++) {
		AUTO(arena_done) struct arena one = {0};
		const void *text = mine;
		size_t n = strlen(mine);

		if (s->cards[i].idle)
			continue;
		if (i != s->me)
			rc = rdzv_get(s->rdzv, key_of(s, what, i), &one, &text, &n, e);
		if (!rc)
			rc = take_line(s, i, text, n, e);
	}
	return rc;
}

/* What comes after it may never end. */
int mesh_hand_over(struct mesh_self *s, const char *what, cJSON *line, struct err *e)
{
	AUTO_FREE char *text = cJSON_PrintUnformatted(line);

	cJSON_Delete(line);
	if (!text)
		return err_set(e, ERR_SYS, "no memory for what was found");
	if (s->me == 0)
		return collect(s, what, text, e);
	return rdzv_set(s->rdzv, key_of(s, what, s->me), text, strlen(text), e);
}

static int find_out(struct mesh_self *s, struct err *e)
{
	if (ask(s, e) || mesh_bulk(s, e))
		return -1;
	if (interrupt_pending())
		return interrupt_err(e);
	if (!s->idle && mesh_hand_over(s, "found", mesh_line(s), e))
		return -1;
	if (s->o->rate_ns &&
	    (mesh_rates(s, e) || (!s->idle && mesh_hand_over(s, "rates", mesh_rate_line(s), e))))
		return -1;
	return s->o->idle_ns ? mesh_quiet(s, e) : 0;
}

/* All ranks are on one host. */
static void judge_alone(struct mesh_self *s)
{
	if (s->me)
		return;
	firewall_read(&s->local.fw, s->a, s->o->deadline_ns);
	local_judge(&s->local, s->report);
	report_covers(s->report, "this host only; nothing between hosts was tested");
}

static void self_init(struct mesh_self *s, const struct port_env *env, const struct world *w)
{
	s->n = (size_t)w->size;
	s->me = (size_t)w->rank;
	s->idle = w->local_rank > 0;
	s->local = (struct local){.f = s->f, .env = *env};
	s->lost_n = (s->n + 7) / 8;
	s->cards = arena_alloc(s->a, s->n * sizeof(*s->cards));
	s->addrs = arena_alloc(s->a, s->n * sizeof(*s->addrs));
	s->ports = arena_alloc(s->a, s->n * sizeof(*s->ports));
	s->target_rank = arena_alloc(s->a, s->n * sizeof(*s->target_rank));
	s->lost = arena_alloc(s->a, s->n * s->lost_n);
	s->gone = arena_alloc(s->a, s->n);
	s->talks = arena_alloc(s->a, s->n * sizeof(*s->talks));
	s->fits = arena_alloc(s->a, s->n * sizeof(*s->fits));
	s->crawl_mbps = arena_alloc(s->a, s->n * sizeof(*s->crawl_mbps));
}

static void self_done(struct mesh_self *s)
{
	for (size_t i = 0; i < s->lines.n; i++)
		cJSON_Delete(s->lines.v[i]);
	talk_close(s->door);
	local_done(&s->local);
}

int mesh_rank(const struct mesh_opts *o, const struct port_env *env, struct world_run *w,
	      struct facts *f, struct report *r, struct err *e)
{
	struct mesh_opts own = *o;
	AUTO(self_done)
	struct mesh_self s = {.o = &own, .f = f, .a = f->a, .rdzv = w->rdzv, .report = r};
	int rc;

	s.relay = w->world.launcher == LAUNCHER_WINDSOCK;
	self_init(&s, env, &w->world);
	if (s.relay || s.me)
		report_answer(r, "",
			      0); /* what it concludes is rank 0's, or the launcher's, to say */
	if (agree(&s, &own, env, e) || meet(&s, e))
		return -1;
	if (s.active < 2 && !s.relay) {
		judge_alone(&s);
		return 0;
	}
	rc = find_out(&s, e);
	if (s.me == 0 && s.lines.n)
		judge_here(&s, rc < 0);
	return rc;
}
