/*
 * The rendezvous, hearing anything from peers that proved themselves (in an
 * open run that is anybody), and a rank, hearing anything from its server.
 *
 * Input: a byte that says which; then messages: peer, type, length (two bytes
 * each but the first), body. Peer 200 and up: the connection closes, time
 * passes, an agent reports.
 */
#include "lib/cluster/rdzv_core.h"
#include "lib/cluster/rdzv_rank.h"
#include "lib/core/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { PEERS = 6 };

struct input {
	const uint8_t *p;
	size_t n;
};

static unsigned byte(struct input *in)
{
	if (!in->n)
		return 0;
	in->n--;
	return *in->p++;
}

/* In memory of its own, so that reading past its end is seen. */
static void *body(struct input *in, size_t *ret_n)
{
	size_t n = byte(in) | byte(in) << 8;
	void *copy;

	*ret_n = n < in->n ? n : in->n;
	copy = malloc(*ret_n ? *ret_n : 1);
	if (*ret_n)
		memcpy(copy, in->p, *ret_n);
	in->p += *ret_n;
	in->n -= *ret_n;
	return copy;
}

/* ---- the server's core ---- */
static struct player {
	struct rdzv_peer peer;
	bool gone;
} players[PEERS];

static void check_send(struct rdzv_core *c, struct rdzv_peer *p, uint16_t type, const void *data,
		       size_t n)
{
	(void)c;
	if (CONTAINER_OF(p, struct player, peer)->gone || type < RDZV_BEAT || (n && !data) ||
	    n > SECURE_MAX_MESSAGE)
		abort();
}

static void check_close(struct rdzv_core *c, struct rdzv_peer *p)
{
	(void)c;
	if (CONTAINER_OF(p, struct player, peer)->gone || !p->deaf)
		abort();
}

static void close_peer(struct rdzv_core *c, struct player *pl, uint64_t now)
{
	if (pl->gone)
		return;
	pl->gone = true;
	rdzv_core_closed(c, &pl->peer, now);
	*pl = (struct player){.peer.rank = -1}; /* another connection */
}

static void one_event(struct rdzv_core *c, struct input *in, uint64_t *now)
{
	unsigned who = byte(in), type = byte(in);
	struct player *pl = &players[who % PEERS];
	size_t n;

	AUTO_FREE void *data = body(in, &n);

	if (who >= 240) {
		*now += (uint64_t)type * 100 * NS_PER_MS;
		rdzv_core_tick(c, *now);
	} else if (who >= 220) {
		rdzv_core_report_exit(c, (int)type - 2, who % 2 ? NULL : "exit code 1", *now);
	} else if (who >= 200) {
		close_peer(c, pl, *now);
	} else if (rdzv_core_message(c, &pl->peer, (uint16_t)type, data, n, *now) < 0) {
		close_peer(c, pl, *now);
	}
}

static void play_core(struct input *in)
{
	uint64_t now = NS_PER_S;
	struct rdzv_core c = {.size = 1 + (int)(byte(in) % 4),
			      .run = "r",
			      .send = check_send,
			      .close = check_close};

	for (int i = 0; i < PEERS; i++)
		players[i] = (struct player){.peer.rank = -1};
	rdzv_core_init(&c, now);
	while (in->n) {
		one_event(&c, in, &now);
		if (c.gone > c.joined || c.joined > c.size || c.arrived >= c.size ||
		    (c.ready && c.joined < c.size))
			abort();
	}
	rdzv_core_done(&c);
}

/* ---- a rank's ear ---- */
static void play_rank(struct input *in)
{
	struct rdzv_door door = {.tries = 1};
	struct rdzv r = {
		.o.size = 1 + (int)(byte(in) % 4),
		.rank = -1,
		.failure_fd = -1,
		.doors = &door,
		.ndoors = 1,
	};
	unsigned char table[64];
	struct err e;

	if (loop_init(&r.loop, &e) < 0)
		abort();
	(void)pthread_mutex_init(&r.lock, NULL);
	(void)pthread_cond_init(&r.changed, NULL);
	while (in->n) {
		unsigned type = byte(in);
		size_t n;

		AUTO_FREE void *data = body(in, &n);
		if (type % 3 == 0) { /* somebody waits */
			r.table.into = table;
			r.table.n = sizeof(table);
			r.table.got = 0;
			r.table.seq = type % 2;
			r.value.wanted = !r.value.data;
		}
		if (rdzv_on_news(&r.channel, (uint16_t)type, data, n) < 0)
			break;
	}
	loop_done(&r.loop);
	free(r.value.data);
	free(r.members_raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct input in = {data, n};

	if (byte(&in) % 4)
		play_core(&in);
	else
		play_rank(&in);
	return 0;
}
