#include "bench/sweep/rank.h"

#include "bench/plugin/counters.h"
#include "bench/ranks/address.h"
#include "bench/sweep/alike.h"
#include "bench/sweep/story.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/memory.h"
#include "lib/report/json.h"

#include <math.h>
#include <poll.h>

enum { NEWS_MS = 500 };

/* --- meeting ---------------------------------------------------------------------- */

static int exchange(void *arg, const void *mine, size_t n, void *all, struct err *e)
{
	return rdzv_all_gather(arg, mine, n, all, e);
}

/* The address that this rank's data uses. */
static int own_address(struct rank *r, union addr *ret, struct err *e)
{
	const char *at = r->o->bind;

	if (!at)
		return rank_address(r->w->rdzv, ret, e);
	if (addr_parse(at, ret))
		return err_set(e, ERR_USAGE, "'%s' is not an address", at);
	return 0;
}

static int learn_hardware(struct rank *r, struct err *e)
{
	const struct world *w = &r->w->world;
	struct hardware own = {.nic_gbps = w->nodes == 1 ? NAN : hardware_nic_gbps(&r->at, r->a)};

	(void)snprintf(own.instance, sizeof(own.instance), "%s", hardware_answer(&r->cloud) ?: "");
	r->hardware = arena_alloc(r->a, (size_t)w->size * sizeof(own));
	return rdzv_all_gather(r->w->rdzv, &own, sizeof(own), r->hardware, e);
}

/* -d all: all that there are here; what nobody here has is known before anybody begins. */
static int fit_types(struct rank *r, struct err *e)
{
	const struct comm_caps *caps = comm_caps(r->comm);
	unsigned *types = &r->sweep.types;

	for (enum dtype t = 0; *types != DT_ALL && t < DT_COUNT; t++)
		if ((*types >> t & 1) && comm_check_type(r->comm, t, e)) {
			r->all_know = true;
			return -1;
		}
	if (!(*types & ~caps->types))
		return 0;
	*types &= caps->types;
	*LIST_ADD(r->a, &r->notes) = arena_printf(
		r->a, "Without 8-bit floats: %s",
		caps->lacks_types ? caps->lacks_types
				  : arena_printf(r->a, "%s does not know them", caps->backend));
	return 0;
}

static int meet(struct rank *r, int *ret_culprit, struct err *e)
{
	const struct world *w = &r->w->world;
	char host[256] = "localhost";
	struct comm_world cw = {.rank = w->rank,
				.size = w->size,
				.local_rank = w->local_rank > 0 ? w->local_rank : 0,
				.local_size = w->local_size > 0 ? w->local_size : 1,
				.host = host,
				.sockets = r->o->sockets,
				.library = r->o->library,
				.registers = r->o->registers,
				.stop_fds = {interrupt_fd(), rdzv_failure_fd(r->w->rdzv)},
				.exchange = exchange,
				.arg = r->w->rdzv};

	(void)gethostname(host, sizeof(host) - 1);
	if (r->o->sweep.root >= w->size)
		return err_set(e, ERR_USAGE, "-r: %d is not one of %d ranks", r->o->sweep.root,
			       w->size);
	if (own_address(r, &r->at, e) || alike_check(r, e))
		return -1;
	cw.at = r->at;
	cw.deadline_ns = r->deadline_ns;
	r->backend = rank_backend(r, &cw, e);
	r->dev = r->backend ? r->backend->dev_new(&cw, e) : NULL;
	r->comm = r->dev ? r->backend->comm_new(&cw, r->dev, ret_culprit, e) : NULL;
	return r->comm && !fit_types(r, e) ? learn_hardware(r, e) : -1;
}

/* --- memory ------------------------------------------------------------------------ */

/* It is known to all that they do not fit: to whom the least is left, and how much. */
static int too_little(struct rank *r, double fits, double all_fit, uint64_t most, struct err *e)
{
	double who = fits <= all_fit ? -r->comm->rank : -r->comm->size, left;
	struct unit_buf is, was;

	if (sweep_agree(r->comm, &who, 1, OP_MAX, e))
		return -1;
	left = r->comm->rank == -(int)who ? (double)most : 0;
	if (sweep_agree(r->comm, &left, 1, OP_SUM, e))
		return -1;
	err_set(e, ERR_SYS, "%d ranks with buffers of %s do not fit into memory", r->comm->size,
		format_size(&was, r->sweep.min));
	return err_hint(e, "%s is available to each %s where it is least: rank %d (%s)",
			format_size(&is, (uint64_t)left),
			r->dev->available ? "rank on its GPU" : "host's ranks", -(int)who,
			comm_peer(r->comm, -(int)who)->host);
}

/* What fits everywhere; the ranks of a host share its memory. */
static int fit_memory(struct rank *r, struct err *e)
{
	struct sweep_opts *s = &r->sweep;
	uint64_t ranks = r->w->world.local_size > 0 ? (uint64_t)r->w->world.local_size : 1;
	uint64_t most = memory_available(), own = memory_of_process(), wanted = s->max;
	double fits = (double)s->max, all_fit;

	if (own < UINT64_MAX / ranks && (!most || own * ranks < most))
		most = own * ranks;
	if (r->dev->available) { /* a GPU's, and this rank's share of it alone */
		most = r->dev->available(r->dev);
		ranks = 1;
	}
	most = s->adaptive ? most / 4 : most / 10 * 8;
	while (most && fits >= 1 && (double)ranks * 2 * (fits + 4096) > (double)most)
		fits = floor(fits / 2);
	all_fit = fits;
	if (sweep_agree(r->comm, &all_fit, 1, OP_MIN, e))
		return -1;
	s->max = (uint64_t)all_fit;
	if (s->max == wanted)
		return 0;
	if (s->max < s->min || !s->max)
		return too_little(r, fits, all_fit, most, e);
	if (!s->adaptive)
		*LIST_ADD(r->a, &r->notes) = arena_printf(
			r->a, "Reducing maxBytes to %zu due to memory limitation", (size_t)s->max);
	return 0;
}

/* --- rank 0 tells -------------------------------------------------------------------- */

static void tell_world(struct rank *r)
{
	cJSON *event = relay_event("world"), *ranks = json_array(event, "ranks"), *notes;

	json_str(event, "backend", comm_caps(r->comm)->backend);
	json_str(event, "transport", comm_transport(r->comm));
	json_str(event, "device", r->dev->kind);
	if (r->w->world.launcher != LAUNCHER_WINDSOCK) {
		json_str(event, "launcher", launcher_name(r->w->world.launcher));
		json_str(event, "launcher_from", r->w->world.from);
	}
	json_num(event, "max", (double)r->sweep.max);
	json_num(event, "table", r->o->mode == RANK_SWEEP);
	notes = json_array(event, "notes");
	for (size_t i = 0; r->w->notes[i]; i++)
		json_push_str(notes, r->w->notes[i]);
	for (size_t i = 0; i < r->notes.n; i++)
		json_push_str(notes, r->notes.v[i]);
	for (int i = 0; i < r->comm->size; i++) {
		const struct comm_peer *p = comm_peer(r->comm, i);
		cJSON *o = json_push_object(ranks);

		json_str(o, "host", p->host);
		json_str(o, "address", p->address);
		json_str(o, "device", p->device ? p->device : r->dev->kind);
		json_num(o, "pid", p->pid);
		json_num(o, "nic_gbps", r->hardware[i].nic_gbps);
		if (*r->hardware[i].instance)
			json_str(o, "instance", r->hardware[i].instance);
	}
	relay_send(r->relay, event);
}

static void on_row(struct sweep *s, const struct sweep_row *row)
{
	struct rank *r = s->arg;

	relay_send(r->relay, story_row_event(row, r->o->with_times));
}

static void on_next(struct sweep *s, const struct coll_case *c)
{
	struct rank *r = s->arg;
	cJSON *event = relay_event("next");
	struct unit_buf size;
	char what[64];

	(void)snprintf(what, sizeof(what), "%s %s %s", c->coll->name, dtype_name(c->type),
		       format_size(&size, coll_bytes(c)));
	json_str(event, "what", what);
	json_num(event, "done", (double)s->rows);
	relay_send(r->relay, event);
}

static bool on_stop(struct sweep *s)
{
	(void)s;
	return interrupt_pending();
}

static void tell_finding(struct rank *r, const struct comm_finding *f, bool warns)
{
	cJSON *event = relay_event("finding");

	json_str(event, "check", f->check);
	json_str(event, "subject", f->subject);
	json_str(event, "message", f->message);
	json_str(event, "fix", f->fix);
	json_num(event, "warns", warns);
	relay_send(r->relay, event);
}

static void tell_judgement(struct rank *r)
{
	struct comm_finding f;

	if (r->unused.check)
		tell_finding(r, &r->unused, true);
	if (r->backend->judge && r->backend->judge(r->comm, &f))
		tell_finding(r, &f, false);
}

static void tell_begin(struct rank *r)
{
	if (r->comm->rank)
		return;
	tell_world(r);
	tell_judgement(r);
}

static int run_sweep(struct rank *r, struct err *e)
{
	struct sweep s = {
		.o = &r->sweep, .comm = r->comm, .dev = r->dev, .stop = on_stop, .arg = r};
	int result;

	if (fit_memory(r, e))
		return -1;
	tell_begin(r);
	if (!r->comm->rank) {
		s.row = on_row;
		s.next = on_next;
	}
	result = sweep_run(&s, e);
	if (s.timed_out && !r->comm->rank)
		relay_send(r->relay, relay_event("timed_out"));
	return result;
}

/* --- the end ------------------------------------------------------------------------- */

/*
 * "rank 3 (node1, 10.0.0.2) died: ..." names its culprit; "rank 0 (...): no
 * connection with rank 3 (...)" is what rank 0 says of another one.
 */
static int culprit_of(const char *sentence, int size)
{
	const char *said = strstr(sentence, "): "), *rank = strstr(said ? said : sentence, "rank ");
	char *end;
	long n;

	if (!rank || (!said && rank != sentence))
		return -1;
	n = strtol(rank + 5, &end, 10);
	return end > rank + 5 && *end == ' ' && n >= 0 && n < size ? (int)n : -1;
}

static const char *failed_check(const struct rank *r)
{
	if (r->check)
		return r->check;
	return r->backend && r->backend->failed_check ? r->backend->failed_check() : NULL;
}

static void tell_broke(struct rank *r, const struct err *e)
{
	cJSON *event = relay_event("broke");

	json_num(event, "kind", e->kind);
	json_str(event, "message", e->msg);
	json_str(event, "hint", e->hint);
	json_str(event, "check", failed_check(r));
	relay_send(r->relay, event);
}

static void tell_lost(struct rank *r, int culprit, const char *message)
{
	cJSON *event = relay_event("lost");

	json_num(event, "by", r->w->world.rank);
	json_num(event, "rank", culprit);
	json_str(event, "message", message);
	relay_send(r->relay, event);
}

/* "rank 0 (...): rank 2 (...) died: ..." is what one told who had heard it first. */
static const char *first_hand(const char *news)
{
	const char *told = news;

	while (told && (told = strstr(told, "): rank ")))
		news = told += strlen("): ");
	return news;
}

/* Who gave up because of what all are told of may be heard before that is. */
static const char *bad_news(struct rank *r, int culprit)
{
	struct pollfd p = {.fd = rdzv_failure_fd(r->w->rdzv), .events = POLLIN};

	if (culprit < 0 && !rdzv_failure(r->w->rdzv) && !interrupt_pending())
		(void)poll(&p, 1, NEWS_MS);
	return first_hand(rdzv_failure(r->w->rdzv));
}

/* What ranks compare with each other, each of them finds. */
static bool was_compared(const char *check)
{
	return check && (streq(check, "comm.version") || streq(check, "nccl.settings"));
}

/* What the rendezvous knows of a death is more exact than a closed connection. */
static int explain(struct rank *r, int culprit, struct rank_end *ret, struct err *e)
{
	const char *news;
	bool usual = culprit >= 0;

	r->all_know |= was_compared(failed_check(r));
	news = r->all_know ? NULL : bad_news(r, culprit);
	if (interrupt_pending())
		return -1;
	if (news && culprit_of(news, r->w->world.size) == r->w->world.rank)
		news = NULL; /* what others saw of our end, and we know why it is */
	if (news && (!usual || strstr(news, "died: ")))
		(void)err_set(e, ERR_SYS, "%s", news);
	if (news && (culprit < 0 || strstr(news, "died: ")) &&
	    culprit_of(news, r->w->world.size) >= 0)
		culprit = culprit_of(news, r->w->world.size);
	ret->lost = culprit;
	if (culprit < 0) {
		ret->check = failed_check(r);
		ret->all_know = r->all_know;
		tell_broke(r, e);
		return -1;
	}
	tell_lost(r, culprit, e->msg);
	return 0;
}

int rank_run(const struct rank_opts *o, struct world_run *w, struct relay *relay, struct arena *a,
	     struct rank_end *ret_end, struct err *e)
{
	struct rank r = {.o = o, .w = w, .relay = relay, .a = a, .sweep = o->sweep, .culprit = -1};
	counter_list before = {0}, after = {0};
	bool counts = w->world.local_rank <= 0; /* one rank of each host */
	int culprit = -1, result;

	*ret_end = (struct rank_end){.lost = -1};
	if (counts && w->world.nodes != 1)
		hardware_ask(&r.cloud);
	if (counts)
		counters_read(a, &before);
	result = meet(&r, &culprit, e);
	if (!result)
		result = o->mode == RANK_PAIRS ? rank_pairs(&r, tell_begin, e) : run_sweep(&r, e);
	if (result && r.comm)
		culprit = r.culprit >= 0 ? r.culprit : comm_culprit(r.comm, NULL);
	if (result)
		result = explain(&r, culprit, ret_end, e);
	if (counts && before.n) {
		char host[256] = "localhost";

		(void)gethostname(host, sizeof(host) - 1);
		counters_read(a, &after);
		relay_send(relay, counters_pack(&before, &after, host));
	}
	hardware_ask_done(&r.cloud);
	comm_free(r.comm);
	if (r.dev && r.backend->dev_free)
		r.backend->dev_free(r.dev);
	return result;
}
