#include "bench/train/door.h"

#include "bench/train/who.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/host/free_port.h"
#include "lib/net/scan.h"

enum { USUAL = 29500 };
static const char key[] = "ddpsmoke.port";
static const uint64_t PATIENCE_NS = 2 * NS_PER_S; /* a lost packet is sent again after one */

static uint16_t own_port(struct arena *a)
{
	struct free_ports f;

	free_ports_read(&f, a);
	return free_ports_next(&f, USUAL);
}

/* Rank 0 says which; 0: it has none. */
static int share(struct rdzv *z, struct arena *a, uint16_t *port, struct err *e)
{
	const void *p;
	size_t n;

	if (!rdzv_rank(z))
		return rdzv_set(z, key, port, sizeof(*port), e);
	if (rdzv_get(z, key, a, &p, &n, e))
		return -1;
	if (n == sizeof(*port))
		memcpy(port, p, n);
	return 0;
}

/* Nobody listens yet: a refusal comes from there, and nothing in between was in its way. */
static enum tcp_state knock(const char *address, uint16_t port)
{
	const struct scan_opts o = {.patience_ns = PATIENCE_NS, .workers = 1};
	struct scan_probe p = {.state = TCP_PENDING};
	struct err unknown = {0};

	if (!port || addr_parse(address, &p.to))
		return TCP_PENDING;
	addr_set_port(&p.to, port);
	return scan_tcp(&p, 1, &o, &unknown) ? TCP_PENDING : p.state;
}

static bool is_shut(enum tcp_state s) { return s == TCP_FILTERED || s == TCP_UNREACHABLE; }

void door_try(struct rdzv *z, const struct who *w, struct arena *a, struct door *ret)
{
	int rank = rdzv_rank(z), state = TCP_PENDING, *all;
	struct err unheard = {0};

	*ret = (struct door){.port = rank ? 0 : own_port(a), .shut = -1};
	if (w->hosts < 2 || interrupt_pending() || share(z, a, &ret->port, &unheard))
		return;
	if (!streq(w->peers[rank].at, w->peers[0].at))
		state = (int)knock(w->peers[0].address, ret->port);
	all = arena_alloc(a, (size_t)w->size * sizeof(*all));
	if (rdzv_all_gather(z, &state, sizeof(state), all, &unheard))
		return;
	for (int i = w->size - 1; i > 0; i--) {
		ret->tried |= all[i] != TCP_PENDING;
		if (is_shut((enum tcp_state)all[i])) {
			ret->shut = i;
			ret->state = all[i];
		}
	}
}
