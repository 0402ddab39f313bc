#include "probes/log/actors.h"

#include "lib/core/span.h"

#include <ctype.h>

enum { HEADS = 4096, END = UINT16_MAX };

void actors_init(struct actors *t, struct arena *a)
{
	*t = (struct actors){.a = a};
	t->heads = arena_alloc(a, HEADS * sizeof(*t->heads));
	memset(t->heads, 0xff, HEADS * sizeof(*t->heads));
}

/* A process and its GPU where NCCL's header says them, else the launcher's rank. */
static bool is_same(const struct log_who *a, const struct log_who *b)
{
	if (a->pid || b->pid)
		return a->pid == b->pid && a->local == b->local && streq(a->host, b->host);
	return a->rank == b->rank && streq(a->host, b->host);
}

bool actor_is(const struct actor *a, const struct log_who *who) { return is_same(&a->who, who); }

static unsigned hash(const struct log_who *w)
{
	unsigned h = w->pid ? (unsigned)w->pid * 31u + (unsigned)w->local : (unsigned)w->rank;

	for (const char *p = w->host; *p; p++)
		h = h * 31u + (unsigned char)*p;
	return h * 2654435761u >> 20;
}

static void note_host(struct actors *t, const char *host)
{
	if (!*host || t->nhosts == ARRAY_LEN(t->hosts))
		return;
	for (size_t i = 0; i < t->nhosts; i++)
		if (streq(t->hosts[i], host))
			return;
	t->hosts[t->nhosts++] = arena_strdup(t->a, host);
}

/* The latest, unless it is a label and the process itself said another. */
static void note_rank(struct log_who *w, const struct log_who *said)
{
	if (said->rank < 0 || (w->rank >= 0 && said->rank_by < w->rank_by))
		return;
	w->rank = said->rank;
	w->rank_by = said->rank_by;
}

struct actor *actors_get(struct actors *t, const struct log_who *who)
{
	unsigned h = hash(who) % HEADS;
	struct actor *x;

	if (!who->pid && who->rank < 0 && !*who->host)
		return NULL;
	for (uint16_t i = t->heads[h]; i != END; i = t->v.v[i].next)
		if (is_same(&t->v.v[i].who, who)) {
			note_rank(&t->v.v[i].who, who);
			return &t->v.v[i];
		}
	if (t->v.n == ACTORS_MAX)
		return NULL;
	note_host(t, who->host);
	x = LIST_ADD(t->a, &t->v);
	x->who = *who;
	x->seq = x->begun = x->ended = -1;
	x->next = t->heads[h];
	t->heads[h] = (uint16_t)(t->v.n - 1);
	return x;
}

static void add_offer(struct actors *t, const struct actor *who, int card, struct span iface,
		      struct span addr)
{
	struct offer *o;

	if (t->offers.n == OFFERS_MAX || !iface.n || !addr.n || iface.n >= sizeof(o->iface) ||
	    addr.n >= sizeof(o->addr))
		return;
	o = LIST_ADD(t->a, &t->offers);
	o->actor = (uint16_t)(who - t->v.v);
	o->card = (int8_t)card;
	memcpy(o->iface, iface.s, iface.n);
	memcpy(o->addr, addr.s, addr.n);
}

void actors_offer(struct actors *t, const struct actor *who, const char *list)
{
	while (*list) {
		const char *p = list + strspn(list, " "), *colon, *end;
		size_t n = strcspn(p, " ");
		long card = -1;

		list = p + n;
		if (*p == '[' && isdigit((unsigned char)p[1])) { /* [0]ens3 */
			card = strtol(p + 1, NULL, 10);
			p = memchr(p, ']', n) ? (const char *)memchr(p, ']', n) + 1 : p;
		}
		colon = memchr(p, ':', (size_t)(list - p));
		end = memchr(p, '<', (size_t)(list - p));
		if (colon && end && colon < end)
			add_offer(t, who, card < CARDS ? (int)card : -1,
				  (struct span){p, (size_t)(colon - p)},
				  (struct span){colon + 1, (size_t)(end - colon - 1)});
	}
}

const char *actors_text(struct actors *t, const char *text)
{
	for (size_t i = 0; i < t->texts.n; i++)
		if (streq(t->texts.v[i], text))
			return t->texts.v[i];
	if (t->texts.n == TEXTS_MAX)
		return NULL;
	return *LIST_ADD(t->a, &t->texts) = arena_strdup(t->a, text);
}

const struct offer *actors_offered(const struct actors *t, const char *addr)
{
	for (size_t i = 0; *addr && i < t->offers.n; i++)
		if (streq(t->offers.v[i].addr, addr))
			return &t->offers.v[i];
	return NULL;
}

const struct offer *actors_near(const struct actors *t, const char *host, const char *addr)
{
	const char *dot = strrchr(addr, '.');
	size_t n = dot ? (size_t)(dot - addr) + 1 : 0;

	for (size_t i = 0; n && i < t->offers.n; i++) {
		const struct offer *o = &t->offers.v[i];

		if (!strncmp(o->addr, addr, n) && streq(t->v.v[o->actor].who.host, host))
			return o;
	}
	return NULL;
}

const struct offer *actors_card(const struct actors *t, const struct actor *who, int card)
{
	for (size_t i = 0; i < t->offers.n; i++)
		if (t->offers.v[i].card == card && &t->v.v[t->offers.v[i].actor] == who)
			return &t->offers.v[i];
	return NULL;
}

bool actors_alone(const struct actors *t)
{
	bool any = false;

	for (size_t i = 0; i < t->v.n; i++) {
		if (t->v.v[i].nranks > 1)
			return false;
		any |= t->v.v[i].nranks == 1 && t->v.v[i].ready;
	}
	return any;
}

/* As torchrun counts them: of each node from 0. */
static const char *local_text(struct arena *a, const struct log_who *w)
{
	return arena_printf(a, "local rank %d%s%s, attempt %u", w->local, *w->host ? " of " : "",
			    w->host, w->attempts - 1);
}

const char *who_text(struct arena *a, const struct log_who *w)
{
	if (w->rank < 0 && w->local >= 0 && w->attempts)
		return local_text(a, w);
	if (w->rank >= 0)
		return *w->host ? arena_printf(a, "rank %d on %s", w->rank, w->host)
				: arena_printf(a, "rank %d", w->rank);
	if (*w->host && w->local >= 0)
		return arena_printf(a, "GPU %d of %s", w->local, w->host);
	return *w->host ? arena_strdup(a, w->host) : "a rank";
}

const char *actor_place_text(struct arena *a, const struct actor *p)
{
	return p->place ? arena_printf(a, " (%s)", p->place) : "";
}

bool actors_share_group(const struct actor *p, const struct actor *q)
{
	return !*p->group || !*q->group || streq(p->group, q->group);
}

struct waiters actors_waiting(const struct actors *t)
{
	struct waiters w = {.n = 0};

	for (size_t i = 0; i < t->v.n; i++) {
		const struct actor *y = &t->v.v[i];

		if (y->nranks > w.nranks)
			w.nranks = y->nranks;
		if (y->seq < 0)
			continue;
		w.n++;
		if (!w.behind || y->seq < w.behind->seq)
			w.behind = y;
	}
	return w;
}
