/* What the rendezvous tells a rank; in the rank's thread. */
#include "lib/cluster/rdzv_rank.h"
#include "lib/core/units.h"

static int on_welcome(struct rdzv *r, struct wire_in *w)
{
	int rank = (int)wire_u32(w);
	uint64_t heartbeat = wire_u64(w);

	if (!wire_end(w) || rank < 0 || rank >= r->o.size || heartbeat < RDZV_BEATS ||
	    r->state != RDZV_CONNECTING)
		return -1;
	silence_begin(&r->silence, heartbeat, now_ns());
	pthread_mutex_lock(&r->lock);
	r->rank = rank;
	pthread_mutex_unlock(&r->lock);
	rdzv_news(r, RDZV_JOINED);
	rdzv_arm(r, silence_look(&r->silence, now_ns(), heartbeat / RDZV_BEATS));
	return 0;
}

static void pull(struct rdzv *r, uint32_t seq, uint64_t at)
{
	unsigned char buf[16];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	wire_put_u32(&w, seq);
	wire_put_u64(&w, at);
	(void)!channel_send(&r->channel, RDZV_PULL, buf, w.n);
}

/* One piece of the table that a call waits for; @ret_more: where the next begins. */
static int take_page(struct rdzv *r, uint64_t at, const void *page, size_t n, bool *ret_more)
{
	if (n > r->table.n - at)
		return -1;
	if (n)
		memcpy(r->table.into + at, page, n);
	r->table.got = at + n;
	*ret_more = r->table.got < r->table.n;
	if (!*ret_more) {
		r->table.into = NULL;
		pthread_cond_broadcast(&r->changed);
	}
	return 0;
}

static int on_page(struct rdzv *r, struct wire_in *w)
{
	uint32_t seq = wire_u32(w);
	uint64_t at = wire_u64(w);
	size_t n, next;
	const void *page = wire_bytes(w, &n);
	bool more = false;
	int rc = -1;

	if (!wire_end(w) || !n)
		return -1;
	pthread_mutex_lock(&r->lock);
	if (!r->table.into || r->table.seq != seq)
		rc = 0; /* the call has given up */
	else if (at == r->table.got)
		rc = take_page(r, at, page, n, &more);
	next = r->table.got;
	pthread_mutex_unlock(&r->lock);
	if (more)
		pull(r, seq, next);
	return rc;
}

/* All have joined. The table comes along when it is short. */
static int on_all_here(struct rdzv *r, uint64_t total, const void *page, size_t n)
{
	if (r->state != RDZV_JOINED || total > (uint64_t)RDZV_TEXT_MAX * 4 * (unsigned)r->o.size)
		return -1;
	r->members_raw = malloc(total ? total : 1);
	if (!r->members_raw) {
		rdzv_broken(r, RDZV_UNABLE, "no memory for the list of ranks");
		return 0;
	}
	r->members_raw_n = total;
	r->members_got = n;
	if (n)
		memcpy(r->members_raw, page, n);
	rdzv_news(r, RDZV_ALL_HERE);
	return 0;
}

static int on_met(struct rdzv *r, struct wire_in *w)
{
	uint32_t seq = wire_u32(w);
	uint64_t total = wire_u64(w);
	size_t n;
	const void *page = wire_bytes(w, &n);
	bool more = false;
	int rc = 0;

	if (!wire_end(w) || (n && n != total))
		return -1;
	if (!seq)
		return on_all_here(r, total, page, n);
	pthread_mutex_lock(&r->lock);
	if (r->table.into && r->table.seq == seq)
		rc = total == r->table.n ? take_page(r, 0, page, n, &more) : -1;
	pthread_mutex_unlock(&r->lock);
	if (more)
		pull(r, seq, 0);
	return rc;
}

static int on_value(struct rdzv *r, struct wire_in *w)
{
	uint32_t id = wire_u32(w);
	size_t n;
	const void *data = wire_bytes(w, &n);
	void *copy;

	if (!wire_end(w))
		return -1;
	pthread_mutex_lock(&r->lock);
	copy = r->value.wanted && r->value.id == id ? malloc(n ? n : 1) : NULL;
	if (copy) {
		if (n)
			memcpy(copy, data, n);
		r->value.data = copy;
		r->value.n = n;
		r->value.there = true;
		r->value.wanted = false;
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	return 0;
}

static int on_status(struct rdzv *r, struct wire_in *w)
{
	AUTO(arena_done) struct arena a = {0};
	uint32_t seq = wire_u32(w);
	uint64_t idle = wire_u64(w);
	const char *text = wire_str(w, &a);

	if (!wire_end(w))
		return -1;
	pthread_mutex_lock(&r->lock);
	r->status.seq = seq;
	r->status.idle_ns = idle;
	snprintf(r->status.text, sizeof(r->status.text), "%s", text);
	r->status.there = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return 0;
}

static int on_failed(struct rdzv *r, struct wire_in *w)
{
	AUTO(arena_done) struct arena a = {0};
	uint32_t why = wire_u32(w);
	const char *text = wire_str(w, &a);

	if (!wire_end(w) || why > RDZV_INTERRUPTED)
		return -1;
	rdzv_broken(r, (enum rdzv_why)why, text);
	return 0;
}

/* Of a message that is a text and nothing else. */
static int with_text(struct rdzv *r, struct wire_in *w, void (*take)(struct rdzv *, const char *))
{
	AUTO(arena_done) struct arena a = {0};
	const char *text = wire_str(w, &a);

	if (!wire_end(w))
		return -1;
	take(r, text);
	return 0;
}

static void refused(struct rdzv *r, const char *why) { rdzv_broken(r, RDZV_UNABLE, why); }
static int on_refused(struct rdzv *r, struct wire_in *w) { return with_text(r, w, refused); }

/* Our rendezvous may listen on the next port. */
static int on_elsewhere(struct rdzv *r, struct wire_in *w)
{
	return with_text(r, w, rdzv_stranger);
}

/* Ours comes there when that one has ended. */
static int on_later(struct rdzv *r, struct wire_in *w) { return with_text(r, w, rdzv_early); }

static int on_beat(struct rdzv *r, struct wire_in *w)
{
	(void)r;
	return wire_end(w) ? 0 : -1;
}

int rdzv_on_news(struct channel *c, uint16_t type, const void *data, size_t n)
{
	static int (*const on[])(struct rdzv *, struct wire_in *) = {
		[RDZV_BEAT] = on_beat,
		[RDZV_WELCOME] = on_welcome,
		[RDZV_REFUSED] = on_refused,
		[RDZV_VALUE] = on_value,
		[RDZV_MET] = on_met,
		[RDZV_PAGE] = on_page,
		[RDZV_STATUS] = on_status,
		[RDZV_FAILED] = on_failed,
		[RDZV_ELSEWHERE] = on_elsewhere,
		[RDZV_LATER] = on_later,
	};
	struct rdzv *r = CONTAINER_OF(c, struct rdzv, channel);
	struct wire_in w = {.p = data, .n = n};

	silence_heard(&r->silence, now_ns());
	return type < ARRAY_LEN(on) && on[type] ? on[type](r, &w) : -1;
}
