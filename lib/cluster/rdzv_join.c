/* The life of a rank's end: join and leave. */
#include "lib/cluster/rdzv_rank.h"
#include "lib/core/interrupt.h"
#include "lib/core/text.h"
#include "lib/core/units.h"

#include <sys/eventfd.h>

enum { DEADLINE_S = 60 };

static bool all_here(const struct rdzv *r) { return r->state == RDZV_ALL_HERE; }

/* Of each address what was in the way the last time. */
static const char *troubles(struct rdzv *r)
{
	struct addr_text at;
	struct text t;

	text_init(&t, &r->a);
	for (size_t i = 0; i < r->ndoors; i++) {
		const struct rdzv_door *d = &r->doors[i];

		text_add(&t, i ? "; " : "");
		if (*d->trouble)
			text_add(&t, d->trouble);
		else
			text_addf(&t, "no answer from %s", addr_print(&d->to.server, &at));
	}
	return t.s;
}

static int not_found(struct rdzv *r, struct err *e)
{
	struct addr_text text;
	struct unit_buf b;
	const char *at = addr_print_port(&r->o.server, &text);

	for (size_t i = 0; i < r->ndoors; i++)
		if (r->doors[i].early) {
			r->call_why = RDZV_UNABLE;
			return err_set(e, ERR_SYS, "%s", r->doors[i].trouble);
		}
	(void)rdzv_in_vain(r, e, RDZV_NOT_FOUND "%s for %s; the last %s: %s", at,
			   format_duration(&b, r->o.deadline_ns), r->ndoors > 1 ? "tries" : "try",
			   troubles(r));
	if (strstr(e->msg, "Connection refused"))
		return err_command(e, "ss -ltn   # at %s: " RDZV_NOBODY, at);
	return err_hint(e, "is rank 0 (or the launcher) running there? portcheck %s", at);
}

static int wait_joined(struct rdzv *r, struct err *e)
{
	uint64_t until = rdzv_deadline(r->o.deadline_ns);

	while (r->state == RDZV_CONNECTING) {
		if (rdzv_check(r, e) < 0)
			return -1;
		if (!rdzv_wait_until(r, until) && r->state == RDZV_CONNECTING)
			return not_found(r, e);
	}
	return rdzv_wait_meeting(r, 0, all_here, e);
}

static const char *keep(struct rdzv *r, const char *s) { return arena_strdup(&r->a, s ? s : ""); }

static struct rdzv_door *doors(struct rdzv *r)
{
	struct rdzv_door *v = arena_alloc(&r->a, (1 + r->o.nothers) * sizeof(*v));

	v[0].to = (struct rdzv_way){r->o.server, keep(r, r->o.data_addr)};
	for (size_t i = 0; i < r->o.nothers; i++)
		v[i + 1].to =
			(struct rdzv_way){r->o.others[i].server, keep(r, r->o.others[i].data_addr)};
	for (size_t i = 0; i < 1 + r->o.nothers; i++)
		v[i].tries = r->o.first;
	return v;
}

static struct rdzv *rank_new(const struct rdzv_join_opts *o, struct err *e)
{
	struct rdzv *r = calloc(1, sizeof(*r));
	pthread_condattr_t attr;

	if (!r) {
		err_sys(e, "cannot join a rendezvous");
		return NULL;
	}
	r->o = *o;
	r->o.run = keep(r, o->run);
	r->o.host = keep(r, o->host);
	r->doors = doors(r);
	r->ndoors = 1 + o->nothers;
	r->o.device = keep(r, o->device);
	r->o.excuse = keep(r, o->excuse);
	if (o->token)
		r->token = *o->token;
	if (!r->o.deadline_ns)
		r->o.deadline_ns = DEADLINE_S * NS_PER_S;
	r->rank = -1;
	r->wake.fd = -1;
	r->loop.epfd = -1;
	r->failure_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	(void)pthread_mutex_init(&r->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&r->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	return r;
}

static void rank_free(struct rdzv *r)
{
	loop_done(&r->loop);
	auto_closep(&r->wake.fd);
	auto_closep(&r->failure_fd);
	(void)pthread_cond_destroy(&r->changed);
	(void)pthread_mutex_destroy(&r->lock);
	if (r->post.full)
		free(r->post.data);
	free(r->value.data);
	free(r->members_raw);
	arena_done(&r->a);
	token_wipe(&r->token);
	free(r);
}

struct rdzv *rdzv_join(const struct rdzv_join_opts *o, struct err *e)
{
	struct rdzv *r;
	int rc;

	if (o->size < 1 || o->size > WORLD_MAX || o->rank < -1 || o->rank >= o->size) {
		err_set(e, ERR_USAGE, "rank %d is not in a world of %d", o->rank, o->size);
		return NULL;
	}
	r = rank_new(o, e);
	if (!r)
		return NULL;
	if (r->failure_fd < 0 || rdzv_thread_start(r, e) < 0) {
		if (r->failure_fd < 0)
			err_sys(e, "cannot make a descriptor for bad news");
		rank_free(r);
		return NULL;
	}
	rdzv_lock(r);
	rc = wait_joined(r, e);
	rdzv_unlock(r);
	if (rc < 0) {
		if (o->ret_missing)
			*o->ret_missing = rdzv_why(r) == RDZV_LOST && !interrupt_pending();
		rdzv_leave(r, e->msg);
		return NULL;
	}
	return r;
}

void rdzv_leave(struct rdzv *r, const char *reason)
{
	enum rdzv_why why;
	struct wire_out w;

	if (!r)
		return;
	why = interrupt_pending() ? RDZV_INTERRUPTED : rdzv_why(r);
	w = (struct wire_out){.p = r->goodbye, .cap = sizeof(r->goodbye)};
	wire_put_u32(&w, why == RDZV_UNABLE ? RDZV_GAVE_UP : why); /* as others see it */
	wire_put_bytes(&w, reason, reason ? strnlen(reason, RDZV_SAY_MAX) : 0);
	r->goodbye_n = w.n;
	rdzv_thread_end(r);
	rank_free(r);
}

int rdzv_rank(const struct rdzv *r) { return r->rank; }
uint64_t rdzv_heartbeat_ns(const struct rdzv *r) { return r->silence.most_ns; }
int rdzv_failure_fd(const struct rdzv *r) { return r->failure_fd; }
const char *rdzv_failure(const struct rdzv *r) { return atomic_load(&r->failure); }

enum rdzv_why rdzv_why(const struct rdzv *r)
{
	return rdzv_failure(r) ? r->failure_why : r->call_why;
}
