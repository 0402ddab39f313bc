#ifndef TESTS_UNIT_RDZV_PLAYERS_H
#define TESTS_UNIT_RDZV_PLAYERS_H
/* Ranks that are played against the core of the rendezvous; time is a number. */
#include "lib/cluster/rdzv_core.h"
#include "lib/core/units.h"
#include "lib/core/version.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct player {
	struct rdzv_peer peer;
	uint16_t type; /* of the last message to it */
	unsigned told; /* messages */
	bool closed;
	unsigned char data[RDZV_PAGE_MAX + 64];
	size_t n;
	char text[RDZV_SAY_MAX + 1]; /* of a sentence */
	enum rdzv_why why;	     /* of a failure */
};

static struct rdzv_core core;
static struct player *players;
static uint64_t now = 5 * NS_PER_S;
static unsigned long long bytes_sent;

static void keep(struct rdzv_core *c, struct rdzv_peer *p, uint16_t type, const void *data,
		 size_t n)
{
	struct player *pl = CONTAINER_OF(p, struct player, peer);
	struct wire_in w = {.p = data, .n = n};
	size_t text_n;
	const void *text;

	(void)c;
	assert_false(pl->closed);
	assert_true(n <= sizeof(pl->data));
	pl->type = type;
	pl->told++;
	bytes_sent += n;
	if (n)
		memcpy(pl->data, data, n);
	pl->n = n;
	if (type == RDZV_STATUS)
		(void)(wire_u32(&w) + wire_u64(&w));
	if (type == RDZV_FAILED)
		pl->why = (enum rdzv_why)wire_u32(&w);
	if (type == RDZV_REFUSED || type == RDZV_ELSEWHERE || type == RDZV_LATER ||
	    type == RDZV_FAILED || type == RDZV_STATUS) {
		text = wire_bytes(&w, &text_n);
		assert_true(wire_end(&w));
		snprintf(pl->text, sizeof(pl->text), "%.*s", (int)text_n, (const char *)text);
	}
}

static void shut(struct rdzv_core *c, struct rdzv_peer *p)
{
	(void)c;
	CONTAINER_OF(p, struct player, peer)->closed = true;
}

static void begin(int size, size_t nplayers)
{
	core = (struct rdzv_core){.size = size,
				  .run = "r1",
				  .join_deadline_ns = 30 * NS_PER_S,
				  .heartbeat_ns = 10 * NS_PER_S,
				  .send = keep,
				  .close = shut};
	players = calloc(nplayers, sizeof(*players));
	for (size_t i = 0; i < nplayers; i++)
		players[i].peer.rank = -1;
	bytes_sent = 0;
	rdzv_core_init(&core, now);
}

static int end(void **state)
{
	(void)state;
	rdzv_core_done(&core);
	free(players);
	players = NULL;
	core = (struct rdzv_core){0};
	return 0;
}

static int say(int who, uint16_t type, const struct wire_out *w)
{
	return rdzv_core_message(&core, &players[who].peer, type, w->p, w->n, now);
}

static struct rdzv_join_msg join_msg(int rank)
{
	static char host[32], addr[32];

	snprintf(host, sizeof(host), "node%d", rank / 2);
	snprintf(addr, sizeof(addr), "10.0.0.%d", rank / 2 + 1);
	return (struct rdzv_join_msg){WINDSOCK_VERSION, "r1", rank, core.size, rank % 2, host, addr,
				      "gpu0",		0,    NULL};
}

static int join_as(int who, const struct rdzv_join_msg *m)
{
	unsigned char buf[2048];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	rdzv_put_join(&w, m);
	return say(who, RDZV_JOIN, &w);
}

static void join(int who)
{
	struct rdzv_join_msg m = join_msg(who);

	assert_int_equal(join_as(who, &m), 0);
}

UNUSED static void all_join(int n)
{
	for (int i = 0; i < n; i++)
		join(i);
}

UNUSED static int simple(int who, uint16_t type, uint32_t first, const void *blob, size_t n)
{
	unsigned char buf[4096];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	wire_put_u32(&w, first);
	if (type == RDZV_PULL)
		wire_put_u64(&w, n);
	else if (type != RDZV_ASK)
		wire_put_bytes(&w, blob, n);
	return say(who, type, &w);
}

static void leave_for(int who, enum rdzv_why why, const char *reason)
{
	unsigned char buf[512];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	wire_put_u32(&w, why);
	wire_put_str(&w, reason);
	assert_int_equal(say(who, RDZV_LEAVE, &w), 0);
}

static void leave(int who, const char *reason) { leave_for(who, RDZV_GAVE_UP, reason); }

UNUSED static void beat_but(int n, int silent)
{
	struct wire_out w = {0};

	for (int i = 0; i < n; i++)
		if (i != silent)
			assert_int_equal(say(i, RDZV_BEAT, &w), 0);
}

/* As the server's timer does: whenever the core wants it, up to @until. */
UNUSED static void time_passes(uint64_t delay_ns)
{
	uint64_t until = now + delay_ns;

	while (core.due_ns <= until) {
		now = core.due_ns;
		rdzv_core_tick(&core, now);
	}
	now = until;
}

UNUSED static void told_all(int n, int but, enum rdzv_why why, const char *sentence)
{
	assert_string_equal(core.failure, sentence);
	for (int i = 0; i < n; i++)
		if (i != but) {
			assert_int_equal(players[i].type, RDZV_FAILED);
			assert_string_equal(players[i].text, sentence);
			assert_int_equal(players[i].why, why);
		}
}

#endif
