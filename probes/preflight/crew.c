#include "probes/preflight/crew.h"

#include "lib/cluster/launch.h"
#include "lib/cluster/world.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/net/token.h"
#include "lib/report/json.h"
#include "probes/preflight/crew_say.h"

#include <math.h>

enum { FIRST_PORT = 29500, PATIENCE_S = 600 };
#define DONE "done"
#define DOOR "door"

struct crew {
	struct preflight *p;
	struct world_run world;
	const struct rdzv_member *members;
	size_t n;
	int rank;
	unsigned round;
};

/* What would make a child of ours a rank of this run. */
static void forget_launch(void)
{
	static const char *const names[] = {
		"WINDSOCK_RANK",       "WINDSOCK_WORLD_SIZE",  "WINDSOCK_LOCAL_RANK",
		"WINDSOCK_LOCAL_SIZE", "WINDSOCK_NODE_RANK",   "WINDSOCK_NODES",
		"WINDSOCK_DATA_ADDR",  "WINDSOCK_MASTER_ADDR", "WINDSOCK_MASTER_PORT",
		"WINDSOCK_RUN",	       "WINDSOCK_TOKEN_FD"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unsetenv(names[i]);
}

/* One is gone, and the run with it: that is news of a host. */
static void note_lost(struct crew *c)
{
	const char *why = rdzv_failure(c->world.rdzv);

	if (why && !interrupt_pending())
		c->p->lost = arena_strdup(c->p->a, why);
}

struct crew *crew_join(struct preflight *p, struct err *e)
{
	const struct world_opts o = {.rank = -1, .size = -1, .deadline_ns = PATIENCE_S * NS_PER_S};
	struct crew *c = ARENA_NEW(p->a, struct crew);

	c->p = p;
	if (world_start(&o, p->a, &c->world, e)) {
		p->lost = c->world.missing ? arena_strdup(p->a, e->msg) : NULL;
		return NULL;
	}
	if (!c->world.rdzv) {
		err_set(e, ERR_USAGE, "--serve found no run to take part in");
		return NULL;
	}
	c->rank = rdzv_rank(c->world.rdzv);
	p->over_fd = rdzv_failure_fd(c->world.rdzv);
	p->width = (size_t)c->world.world.size;
	forget_launch();
	if (rdzv_members(c->world.rdzv, &c->members, &c->n, e)) {
		note_lost(c);
		crew_leave(c, e->msg);
		return NULL;
	}
	return c;
}

bool crew_leads(const struct crew *c) { return c->rank == 0; }

void crew_leave(struct crew *c, const char *reason) { world_stop(&c->world, reason); }

/* ---- what each says of itself ---- */

/* For the leader. */
static int tell(struct crew *c, const char *what, const cJSON *doc, struct err *e)
{
	return crew_say(c->world.rdzv, arena_printf(c->p->a, "%s/%d", what, c->rank), doc, c->n, e);
}

/* NULL in @ret: it had nothing to say. */
static int hear(struct crew *c, const char *what, size_t i, cJSON **ret, struct err *e)
{
	return crew_listen(c->world.rdzv, arena_printf(c->p->a, "%s/%zu", what, i), ret, e);
}

static int tell_of_self(struct crew *c, struct err *e)
{
	const uint64_t cap = preflight_cap(c->p, S_HOSTS), patience = 6 * c->p->deadline_ns;
	const uint64_t most = c->p->until_ns || cap > patience ? cap : patience;
	struct arena *a = c->p->a;
	AUTO(part_done) struct part got;
	str_list args = {0};

	*LIST_ADD(a, &args) = "--json";
	*LIST_ADD(a, &args) = "--quick";
	*LIST_ADD(a, &args) = "--here";
	*LIST_ADD(a, &args) = "--asked";
	*LIST_ADD(a, &args) = arena_printf(a, "--deadline=%llums",
					   (unsigned long long)(c->p->deadline_ns / NS_PER_MS));
	*LIST_ADD(a, &args) =
		arena_printf(a, "--budget=%llums", (unsigned long long)(most / NS_PER_MS + 1));
	if (preflight_bursts(c->p))
		*LIST_ADD(a, &args) = "--burst";
	preflight_ask_alike(c->p, &args);
	*LIST_ADD(a, &args) = NULL;
	part_run("windsock", args.v, most, NULL, a, &got);
	return tell(c, "node", got.doc, e);
}

static int hear_of(struct crew *c, size_t i, struct answer *ret, struct err *e)
{
	if (hear(c, "node", i, &ret->doc, e))
		return -1;
	ret->host = ret->hostname = arena_strdup(c->p->a, c->members[i].host);
	ret->data = json_get(ret->doc, "data");
	LIST_ADD(c->p->a, &c->p->hosts)->name = ret->host;
	if (!ret->doc)
		finding_set(tally_add(&c->p->t, S_HOSTS, stages[S_HOSTS].name, "host.answer",
				      ret->host),
			    ST_ERROR, "said nothing of itself that could be read");
	return 0;
}

int crew_ask(struct crew *c, struct answers *ret, struct err *e)
{
	int rc = tell_of_self(c, e);

	*ret = (struct answers){.n = !rc && crew_leads(c) ? c->n : 0};
	ret->v = arena_alloc(c->p->a, (ret->n + 1) * sizeof(*ret->v));
	for (size_t i = 0; !rc && i < ret->n; i++)
		rc = hear_of(c, i, &ret->v[i], e);
	if (rc)
		note_lost(c);
	return rc;
}

/* ---- what they do together ---- */

/* Where the others meet the leader in this round; not the port of the job to come, which portcheck
 * looks at. */
static unsigned meeting_port(unsigned round) { return FIRST_PORT + 1 + round; }

/* A sibling takes these for torchrun's, and meets the others where the leader is. */
static void pose_as_rank(struct crew *c, const char *stage, const char *code)
{
	const struct {
		const char *name, *value;
	} all[] = {
		{"TORCHELASTIC_RUN_ID", arena_printf(c->p->a, "windsock.%s.%u", stage, c->round)},
		{"RANK", arena_printf(c->p->a, "%d", c->rank)},
		{"WORLD_SIZE", arena_printf(c->p->a, "%zu", c->n)},
		{"LOCAL_RANK", "0"},
		{"LOCAL_WORLD_SIZE", "1"},
		{"GROUP_RANK", arena_printf(c->p->a, "%d", c->rank)},
		{"GROUP_WORLD_SIZE", arena_printf(c->p->a, "%zu", c->n)},
		{"MASTER_ADDR", c->members[0].data_addr},
		{"MASTER_PORT", arena_printf(c->p->a, "%u", FIRST_PORT)},
		{"WINDSOCK_PORT", arena_printf(c->p->a, "%u", meeting_port(c->round))},
		{"WINDSOCK_TOKEN", code},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		(void)setenv(all[i].name, all[i].value, 1);
	(void)unsetenv(WORLD_NO_RANK);
}

static void drop_pose(void)
{
	static const char *const names[] = {
		"TORCHELASTIC_RUN_ID", "RANK",		"WORLD_SIZE",	    "LOCAL_RANK",
		"LOCAL_WORLD_SIZE",    "GROUP_RANK",	"GROUP_WORLD_SIZE", "MASTER_ADDR",
		"MASTER_PORT",	       "WINDSOCK_TOKEN"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unsetenv(names[i]);
	(void)setenv(WORLD_NO_RANK, "1", 1);
}

/* The leader alone knows how long a stage may take, and its table. */
static int announce(struct crew *c, const char *what, const char *code, uint64_t cap_ns,
		    struct err *e)
{
	const char *order = arena_printf(c->p->a, "%s %s %llu %llu", what, code,
					 (unsigned long long)(cap_ns / NS_PER_MS),
					 (unsigned long long)(c->p->within_ns / NS_PER_MS));

	return rdzv_set(c->world.rdzv, arena_printf(c->p->a, "round/%u", c->round), order,
			strlen(order) + 1, e);
}

/* ---- can they come to where they meet? ---- */

/* That nobody came would be known after half a minute, and no reason for it: this asks. */
static int ask_at_door(struct crew *c, struct err *e)
{
	AUTO(part_done) struct part got = {0};
	const char *args[] = {"--json", NULL, NULL};
	struct addr_text text;
	union addr door;

	if (!addr_parse(c->members[0].data_addr, &door)) {
		addr_set_port(&door, (uint16_t)meeting_port(c->round + 1));
		args[1] = addr_print_port(&door, &text);
		part_run("portcheck", args, preflight_cap(c->p, S_REACH), NULL, c->p->a, &got);
	}
	return tell(c, DOOR, got.doc, e);
}

/* Who of a pair is at fault is not known; where nobody can come, it is the leader's end. */
static void take_closed(struct crew *c, const cJSON *finding, size_t i, bool to_all)
{
	const size_t at = c->p->t.items.n;
	const char *leader = c->members[0].host, *host = c->members[i].host;
	struct finding *f;

	tally_take(&c->p->t, S_REACH, stages[S_REACH].name, to_all ? host : NULL, finding);
	if (c->p->t.items.n == at)
		return;
	f = c->p->t.items.v[at].f;
	f->message =
		arena_printf(c->p->a, "no way to %s, where all meet: %s", f->subject, f->message);
	f->subject = to_all ? leader : arena_printf(c->p->a, "%s -> %s", host, leader);
}

static const cJSON *closed_in(const cJSON *doc)
{
	const cJSON *f;

	cJSON_ArrayForEach (f, json_get(doc, "findings"))
		if (streq(json_text(f, "status"), status_name(ST_FAIL)))
			return f;
	return NULL;
}

static bool door_is_closed(struct crew *c)
{
	cJSON **docs = arena_alloc(c->p->a, c->n * sizeof(*docs));
	struct err ignored = {0}; /* who is lost now will be missed at once */
	size_t heard = 1, closed = 0;

	if (announce(c, DOOR, "-", preflight_cap(c->p, S_REACH), &ignored))
		return false;
	c->round++;
	while (heard < c->n && !hear(c, DOOR, heard, &docs[heard], &ignored))
		closed += closed_in(docs[heard++]) != NULL;
	for (size_t i = 1; i < heard; i++) {
		if (closed_in(docs[i]))
			take_closed(c, closed_in(docs[i]), i, closed > 1 && closed == c->n - 1);
		cJSON_Delete(docs[i]);
	}
	return closed;
}

/* ---- a stage ---- */

/* "rank 1 (node1, 10.0.0.2) died: ..." is of that host. */
static void tell_lost(struct crew *c, enum stage_id id, const char *why)
{
	struct finding *f = tally_add(&c->p->t, id, stages[id].name, "host.answer", NULL);
	unsigned long long rank =
		starts_with(why, "rank ") ? strtoull(why + 5, NULL, 10) : (unsigned long long)c->n;

	note_lost(c);
	finding_set(f, ST_FAIL, "%s", why);
	finding_fix(f, SERVE_AGAIN);
	if (rank < c->n)
		tally_of_host(&c->p->t, c->members[rank].host);
}

/* After a Ctrl-C it is no news that a run has ended. */
static bool is_news(const struct crew *c)
{
	return !c->p->lost && (!interrupt_pending() || interrupt_by_budget());
}

cJSON *crew_run(struct crew *c, enum stage_id id, bool takes)
{
	struct err e = {0};
	struct token token;
	char code[TOKEN_CODE_SIZE];
	cJSON *doc;

	if (id == S_REACH && takes && door_is_closed(c))
		return NULL;
	if (token_new(&token, &e)) {
		finding_set(preflight_note(c->p, id), ST_ERROR, "%s", e.msg);
		return NULL;
	}
	token_code(&token, code);
	token_wipe(&token);
	if (announce(c, stages[id].name, code, preflight_cap(c->p, id), &e)) {
		if (is_news(c))
			tell_lost(c, id, e.msg);
		return NULL;
	}
	pose_as_rank(c, stages[id].name, code);
	doc = preflight_run_doc(c->p, id, preflight_args(c->p, id, NULL), takes);
	drop_pose();
	c->round++;
	if (is_news(c) && rdzv_failure(c->world.rdzv))
		tell_lost(c, id, rdzv_failure(c->world.rdzv));
	return doc;
}

/* What this one's part of a stage says is the leader's to tell. */
static void take_part(struct crew *c, const char *stage, const char *code, uint64_t cap_ns)
{
	AUTO(part_done) struct part got = {0};
	enum stage_id id;
	str_list args = {0};

	if (!stage_find(stage, &id) || !stages[id].command)
		return;
	*LIST_ADD(c->p->a, &args) = "--json";
	for (const char *const *x = preflight_args(c->p, id, NULL); *x; x++)
		*LIST_ADD(c->p->a, &args) = *x;
	*LIST_ADD(c->p->a, &args) = NULL;
	pose_as_rank(c, stage, code);
	part_run(stages[id].command, args.v, cap_ns ? cap_ns : preflight_cap(c->p, id), NULL,
		 c->p->a, &got);
	drop_pose();
}

static uint64_t within(uint64_t v, uint64_t least, uint64_t most)
{
	return v < least ? least : v > most ? most : v;
}

/* "MILLISECONDS MILLISECONDS"; what cannot be one is the least. It ends first: a rank that went
 * before it would be a failure. */
static uint64_t read_numbers(struct crew *c, const char *text)
{
	enum { MS_MOST = 24 * 3600 * 1000, LATER = 5 };
	char *end;
	uint64_t cap = within(strtoull(text, &end, 10), 1, MS_MOST) * NS_PER_MS;

	c->p->within_ns = 0;
	if (*end == ' ')
		c->p->within_ns = within(strtoull(end, NULL, 10), 0, MS_MOST) * NS_PER_MS;
	return cap + LATER * NS_PER_S;
}

int crew_follow(struct crew *c, struct err *e)
{
	for (;; c->round++) {
		const void *order;
		char *stage, *code, *numbers;
		uint64_t cap_ns = 0;
		size_t n;

		if (rdzv_get(c->world.rdzv, arena_printf(c->p->a, "round/%u", c->round), c->p->a,
			     &order, &n, e))
			return -1;
		stage = arena_strndup(c->p->a, order, n);
		code = strchr(stage, ' ');
		if (!code || starts_with(stage, DONE " "))
			return 0;
		*code++ = '\0';
		numbers = strchr(code, ' ');
		if (numbers) {
			*numbers++ = '\0';
			cap_ns = read_numbers(c, numbers);
		}
		if (!streq(stage, DOOR))
			take_part(c, stage, code, cap_ns);
		else if (ask_at_door(c, e))
			return -1;
	}
}

void crew_finish(struct crew *c)
{
	struct err ignored;

	(void)!announce(c, DONE, "-", 0, &ignored);
}
