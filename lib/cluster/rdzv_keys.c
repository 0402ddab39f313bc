/* Keys and values: set by one, waited for by others. */
#include "lib/cluster/rdzv_core.h"

#include <search.h>

#define NO_MEMORY "the rendezvous has no memory left"

struct rdzv_key {
	char *name;
	void *data;
	size_t n;
	bool set;
	struct rdzv_seat *wanted_by;
};

static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct rdzv_key *)a)->name, ((const struct rdzv_key *)b)->name);
}

static void free_key(void *p)
{
	struct rdzv_key *k = p;

	free(k->name);
	free(k->data);
	free(k);
}

void rdzv_forget_keys(struct rdzv_core *c)
{
	tdestroy(c->keys, free_key);
	c->keys = NULL;
}

void rdzv_stop_waiting(struct rdzv_seat *s)
{
	struct rdzv_seat **at;

	if (!s->wants)
		return;
	for (at = &s->wants->wanted_by; *at != s;)
		at = &(*at)->next_wants;
	*at = s->next_wants;
	s->wants = NULL;
}

/* What @s asks for is too much: whether it brings a value or only ever new names. */
static bool has_room(struct rdzv_core *c, const struct rdzv_seat *s, size_t n)
{
	AUTO(arena_done) struct arena a = {0};

	if (c->store_bytes + n <= RDZV_STORE_MAX)
		return true;
	rdzv_fail(c, RDZV_GAVE_UP, "%s stores more than the rendezvous can keep (%d MiB)",
		  rdzv_who(c, s->m.rank, &a), RDZV_STORE_MAX >> 20);
	return false;
}

/* The key of that name, made when it is new; NULL: the run failed for want of room. */
static struct rdzv_key *key_of(struct rdzv_core *c, const struct rdzv_seat *s, const char *name)
{
	const size_t n = sizeof(struct rdzv_key) + strlen(name);
	struct rdzv_key probe = {.name = (char *)(uintptr_t)name}, *k;
	struct rdzv_key **at = tfind(&probe, &c->keys, compare_keys);

	if (at)
		return *at;
	if (!has_room(c, s, n))
		return NULL;
	k = calloc(1, sizeof(*k));
	if (k)
		k->name = strdup(name);
	if (!k || !k->name || !tsearch(k, &c->keys, compare_keys)) {
		if (k)
			free_key(k);
		rdzv_fail(c, RDZV_UNABLE, NO_MEMORY);
		return NULL;
	}
	c->store_bytes += n;
	return k;
}

static void send_value(struct rdzv_core *c, const struct rdzv_seat *s, const struct rdzv_key *k)
{
	AUTO_FREE unsigned char *buf = malloc(k->n + 8);
	struct wire_out w = {.p = buf, .cap = k->n + 8};

	if (!buf || !s->peer)
		return; /* its deadline tells */
	wire_put_u32(&w, s->get_id);
	wire_put_bytes(&w, k->data, k->n);
	c->send(c, s->peer, RDZV_VALUE, buf, w.n);
}

static const char *read_key(struct wire_in *w, struct arena *a)
{
	const char *key = wire_str(w, a);

	if (!*key || strlen(key) > RDZV_KEY_MAX)
		w->bad = true;
	return key;
}

static int key_set(struct rdzv_key *k, const void *data, size_t n)
{
	void *copy = malloc(n ? n : 1);

	if (!copy)
		return -1;
	if (n)
		memcpy(copy, data, n);
	free(k->data);
	k->data = copy;
	k->n = n;
	k->set = true;
	return 0;
}

int rdzv_on_set(struct rdzv_core *c, struct rdzv_seat *s, struct wire_in *w)
{
	AUTO(arena_done) struct arena a = {0};
	const char *name = read_key(w, &a);
	size_t n;
	const void *data = wire_bytes(w, &n);
	struct rdzv_key *k;

	if (!wire_end(w) || n > RDZV_VALUE_MAX)
		return -1;
	k = key_of(c, s, name);
	if (!k || (n > k->n && !has_room(c, s, n - k->n)))
		return 0;
	c->store_bytes += n - k->n;
	if (key_set(k, data, n) < 0) {
		rdzv_fail(c, RDZV_UNABLE, NO_MEMORY);
		return 0;
	}
	while (k->wanted_by) {
		send_value(c, k->wanted_by, k);
		rdzv_stop_waiting(k->wanted_by);
	}
	return 0;
}

int rdzv_on_get(struct rdzv_core *c, struct rdzv_seat *s, struct wire_in *w)
{
	AUTO(arena_done) struct arena a = {0};
	uint32_t id = wire_u32(w);
	const char *name = read_key(w, &a);
	struct rdzv_key *k;

	if (!wire_end(w))
		return -1;
	k = key_of(c, s, name);
	if (!k)
		return 0;
	rdzv_stop_waiting(s); /* it gave up waiting for another */
	s->get_id = id;
	if (k->set) {
		send_value(c, s, k);
		return 0;
	}
	s->wants = k;
	s->next_wants = k->wanted_by;
	k->wanted_by = s;
	return 0;
}
