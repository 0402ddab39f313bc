/* The calls of a rank: each posts a request to the thread and waits for what comes of it. */
#include "lib/cluster/rdzv_rank.h"
#include "lib/core/units.h"

/* ---- tables ---- */
static bool table_whole(const struct rdzv *r) { return !r->table.into; }

/* Locked. Asks for the table that r->table says, and waits until it is whole. */
static int read_table(struct rdzv *r, uint16_t request, const struct wire_out *msg, struct err *e)
{
	static unsigned char nothing;
	int rc;

	if (!r->table.n)
		r->table.into = &nothing;
	rc = rdzv_post(r, request, msg->p, msg->n, e);
	if (!rc)
		rc = rdzv_wait_meeting(r, r->table.seq, table_whole, e);
	r->table.into = NULL; /* nothing more may be written there */
	return rc;
}

static int meet(struct rdzv *r, const void *data, size_t n, void *ret, struct err *e)
{
	AUTO_FREE unsigned char *buf = n <= RDZV_VALUE_MAX ? malloc(n + 8) : NULL;
	struct wire_out w = {.p = buf, .cap = n + 8};
	int rc;

	if (!buf)
		return err_set(e, ERR_SYS, "an all-gather of %zu bytes per rank is too large", n);
	rdzv_lock(r);
	r->call_why = RDZV_UNABLE;
	wire_put_u32(&w, ++r->meets);
	wire_put_bytes(&w, data, n);
	r->table =
		(struct rdzv_reading){.seq = r->meets, .into = ret, .n = n * (unsigned)r->o.size};
	rc = read_table(r, RDZV_MEET, &w, e);
	rdzv_unlock(r);
	return rc;
}

int rdzv_barrier(struct rdzv *r, struct err *e) { return meet(r, NULL, 0, NULL, e); }

int rdzv_all_gather(struct rdzv *r, const void *data, size_t n, void *ret, struct err *e)
{
	return meet(r, data, n, ret, e);
}

static int pull_members(struct rdzv *r, struct err *e)
{
	unsigned char buf[16];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};
	int rc;

	if (r->members_got == r->members_raw_n)
		return 0;
	wire_put_u32(&w, 0);
	wire_put_u64(&w, 0);
	rdzv_lock(r);
	r->call_why = RDZV_UNABLE;
	r->table = (struct rdzv_reading){.into = r->members_raw, .n = r->members_raw_n};
	rc = read_table(r, RDZV_PULL, &w, e);
	rdzv_unlock(r);
	if (!rc)
		r->members_got = r->members_raw_n;
	return rc;
}

int rdzv_members(struct rdzv *r, const struct rdzv_member **ret, size_t *ret_n, struct err *e)
{
	struct wire_in w;

	if (!r->members) {
		struct rdzv_member *v;

		if (pull_members(r, e) < 0)
			return -1;
		w = (struct wire_in){.p = r->members_raw, .n = r->members_raw_n};
		v = arena_alloc(&r->a, (size_t)r->o.size * sizeof(*v));
		if (rdzv_read_members(&w, &r->a, v, (size_t)r->o.size) < 0)
			return err_set(e, ERR_SYS, "the rendezvous sent no list of ranks");
		r->members = v;
	}
	*ret = r->members;
	*ret_n = (size_t)r->o.size;
	return 0;
}

/* ---- keys and values ---- */
static int check_key(const char *key, struct err *e)
{
	if (*key && strlen(key) <= RDZV_KEY_MAX)
		return 0;
	return err_set(e, ERR_SYS, "'%.40s' is no key: 1 to %d characters", key, RDZV_KEY_MAX);
}

int rdzv_set(struct rdzv *r, const char *key, const void *data, size_t n, struct err *e)
{
	size_t cap = n <= RDZV_VALUE_MAX ? n + RDZV_KEY_MAX + 16 : 0;
	AUTO_FREE unsigned char *buf = malloc(cap ? cap : 1);
	struct wire_out w = {.p = buf, .cap = cap};
	int rc;

	if (check_key(key, e) < 0)
		return -1;
	if (!buf || !cap)
		return err_set(e, ERR_SYS, "the value of '%.40s' is too large: %zu bytes", key, n);
	wire_put_str(&w, key);
	wire_put_bytes(&w, data, n);
	rdzv_lock(r);
	r->call_why = RDZV_UNABLE;
	rc = rdzv_post(r, RDZV_SET, buf, w.n, e);
	rdzv_unlock(r);
	return rc;
}

static int wait_value(struct rdzv *r, const char *key, struct err *e)
{
	uint64_t until = rdzv_deadline(r->o.deadline_ns);
	struct unit_buf b;

	while (!r->value.there) {
		if (rdzv_check(r, e) < 0)
			return -1;
		if (!rdzv_wait_until(r, until) && !r->value.there)
			return rdzv_in_vain(r, e, "nobody has set '%.40s' for %s", key,
					    format_duration(&b, r->o.deadline_ns));
	}
	return 0;
}

int rdzv_get(struct rdzv *r, const char *key, struct arena *a, const void **ret, size_t *ret_n,
	     struct err *e)
{
	unsigned char buf[RDZV_KEY_MAX + 16];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};
	int rc;

	if (check_key(key, e) < 0)
		return -1;
	rdzv_lock(r);
	r->call_why = RDZV_UNABLE;
	free(r->value.data);
	r->value.data = NULL;
	r->value.there = false;
	r->value.wanted = true;
	wire_put_u32(&w, ++r->value.id);
	wire_put_str(&w, key);
	rc = rdzv_post(r, RDZV_GET, buf, w.n, e);
	if (!rc)
		rc = wait_value(r, key, e);
	r->value.wanted = false;
	if (!rc) {
		*ret = arena_strndup(a, r->value.data, r->value.n);
		*ret_n = r->value.n;
	}
	rdzv_unlock(r);
	return rc;
}
