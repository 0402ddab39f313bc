/* The ranks of a run, seen from the launcher: what they say and how they end. */
#include "lib/cluster/launch_agents.h"

#include "lib/core/fix.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>

enum { GRACE_S = 3, LATE_S = 4, SENTENCE = 512, PREFIX = 128 };

static struct err ignored;

/* ---- the end ---- */
static void over(struct launch *L)
{
	if (!L->alive && !bytes_left(&L->out.waiting) && !bytes_left(&L->err.waiting))
		loop_stop(&L->loop);
}

static void failed(struct launch *L)
{
	const char *sentence = L->server ? rdzv_server_failure(L->server) : NULL;

	if (!sentence || L->r->failure || interrupt_pending())
		return; /* ranks that obey a Ctrl-C are no failure */
	L->r->failure = arena_strdup(L->a, sentence);
	if (rdzv_server_unjoined(L->server) >= 0)
		L->r->unjoined = &L->r->ranks[rdzv_server_unjoined(L->server)];
	(void)!loop_arm(&L->loop, &L->grace, GRACE_S * NS_PER_S, &ignored);
}

void ranks_changed(struct rdzv_server *s UNUSED, void *arg) { failed(arg); }

void ranks_tell(struct launch *L, uint16_t order, uint32_t sig)
{
	unsigned char buf[4];
	struct wire_out w = {buf, 0, sizeof(buf), false};

	wire_put_u32(&w, sig);
	for (size_t i = 0; i < L->agents.n; i++)
		if (L->agents.v[i]->state == AGENT_UP)
			link_send(&L->agents.v[i]->link, order, buf,
				  order == ORDER_SIGNAL ? w.n : 0);
}

/* Those say nothing any more: nobody else is waited for. */
static bool only_silent_are_left(const struct launch *L)
{
	for (size_t i = 0; i < L->r->nranks; i++) {
		const struct rdzv_member *m = rdzv_server_member(L->server, (int)i);

		if (!L->r->ranks[i].ended && !m->silent)
			return false;
	}
	return true;
}

/* They were told what happened and had time to say what they have. */
static void on_grace(struct loop *l, struct timer *t UNUSED)
{
	struct launch *L = CONTAINER_OF(l, struct launch, loop);

	ranks_tell(L, ORDER_END, 0);
	(void)!loop_arm(l, &L->late, LATE_S * NS_PER_S, &ignored);
}

/* Here there is nobody who could not answer: what hangs are processes. */
static const char *why_late(const struct agent_host *h)
{
	return h->local ? arena_printf(h->of->a,
				       "ranks on this machine had not ended %d s after they were "
				       "told to",
				       LATE_S)
			: arena_printf(h->of->a, "%s no longer answers", h->h->name);
}

/* A host whose ranks have all ended did what it was told. */
static bool has_ranks_left(const struct agent_host *h)
{
	for (int i = 0; i < h->h->ranks; i++)
		if (!h->of->r->ranks[h->h->first + i].ended)
			return true;
	return false;
}

static void on_late(struct loop *l, struct timer *t UNUSED)
{
	struct launch *L = CONTAINER_OF(l, struct launch, loop);

	for (size_t i = 0; i < L->agents.n; i++)
		if (L->agents.v[i]->state == AGENT_UP && has_ranks_left(L->agents.v[i]))
			agent_give_up(L->agents.v[i], why_late(L->agents.v[i]));
	loop_stop(l);
}

static void set_prefix(const struct agent_host *h, int i, char ret[PREFIX])
{
	*ret = '\0';
	if (h->of->r->nranks > 1)
		snprintf(ret, PREFIX, "[%d %.100s] ", h->h->first + i, h->h->hostname);
}

/* What its host lacks, in its own words: where these are seen by nobody, they are the news. */
static const char *with_words(const struct agent_host *h, int i, int status, const char *cause)
{
	const char *words = h->lines[2 * i + 1].last;

	return cause && *words && (status == EXIT_UNABLE || status == EXIT_ABSENT)
		       ? arena_printf(h->of->a, "%s (%s)", cause, words)
		       : cause;
}

static void rank_ended(struct agent_host *h, int i, int status, int sig, const char *cause)
{
	struct launch *L = h->of;
	struct launch_rank *r = &L->r->ranks[h->h->first + i];
	char prefix[PREFIX];

	if (r->ended)
		return;
	r->ended = true;
	r->status = status;
	r->signal = sig;
	r->cause = cause ? arena_strdup(L->a, cause) : NULL;
	L->alive--;
	set_prefix(h, i, prefix);
	line_add(&h->lines[2 * i], &L->out, prefix, NULL, 0, true);
	line_add(&h->lines[2 * i + 1], &L->err, prefix, NULL, 0, true);
	if (L->server)
		rdzv_server_report_exit(L->server, h->h->first + i,
					with_words(h, i, status, cause));
	failed(L);
	if (L->alive && L->r->failure && L->grace.pos && only_silent_are_left(L))
		(void)!loop_arm(&L->loop, &L->grace, 0, &ignored);
	over(L);
}

void ranks_lost(struct agent_host *h)
{
	for (int i = 0; h->of->running && i < h->h->ranks; i++)
		rank_ended(
			h, i, -1, 0,
			h->local ? h->h->trouble
				 : arena_printf(h->of->a, "its host is lost (%s)", h->h->trouble));
}

/* ---- what agents say ---- */
static int exited(struct agent_host *h, uint32_t i, struct wire_in *in)
{
	int status = (int)wire_u32(in), sig = (int)wire_u32(in);
	const char *why = wire_str(in, h->of->a), *cause = NULL;

	if (in->bad)
		return -1;
	if (status)
		cause = arena_printf(h->of->a, "%s%s%s", child_ending(status, sig, h->of->a),
				     *why ? ", " : "", why);
	rank_ended(h, (int)i, status, sig, cause);
	return 0;
}

static void give_credit(struct agent_host *h)
{
	unsigned char buf[4];
	struct wire_out w = {buf, 0, sizeof(buf), false};

	wire_put_u32(&w, (uint32_t)h->owed);
	h->owed = 0;
	link_send(&h->link, ORDER_CREDIT, buf, w.n);
}

/* Who reads us takes what ranks say. */
static bool is_keeping_up(const struct launch *L)
{
	return bytes_left(&L->out.waiting) < PENDING_LOW &&
	       bytes_left(&L->err.waiting) < PENDING_LOW;
}

static void on_drained(struct launch *L)
{
	if (!is_keeping_up(L))
		return;
	for (size_t i = 0; i < L->agents.n; i++)
		if (L->agents.v[i]->owed > AGENT_CREDIT / 4)
			give_credit(L->agents.v[i]);
	over(L);
}

static void on_out_drained(struct outlet *q) { on_drained(CONTAINER_OF(q, struct launch, out)); }

static void on_err_drained(struct outlet *q) { on_drained(CONTAINER_OF(q, struct launch, err)); }

static int said(struct agent_host *h, uint16_t type, uint32_t i, struct wire_in *in)
{
	struct launch *L = h->of;
	struct outlet *q = type == SAY_OUT ? &L->out : &L->err;
	char prefix[PREFIX];
	int rank = h->h->first + (int)i;

	h->owed += in->n;
	set_prefix(h, (int)i, prefix);
	if (L->o.raw && rank == 0 && type == SAY_OUT)
		outlet_add(q, in->p, in->n);
	else
		line_add(&h->lines[2 * i + (type == SAY_ERR)], q, prefix, (const char *)in->p,
			 in->n, false);
	if (is_keeping_up(L) && h->owed > AGENT_CREDIT / 4)
		give_credit(h);
	return 0;
}

/* A rank's connection, made again here. */
static int open_stream(struct agent_host *h, uint32_t id)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd, one = 1;

	if (!id)
		return -1;
	at.sin_port = htons(rdzv_server_port(h->of->server));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || (connect(fd, (struct sockaddr *)&at, sizeof(at)) && errno != EINPROGRESS)) {
		auto_closep(&fd);
		link_sendf(&h->link, STREAM_CLOSE, id, NULL, 0);
		return 0;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)!stream_new(&h->streams, fd, id, &ignored);
	return 0;
}

static int in_trouble(struct agent_host *h, struct wire_in *in)
{
	struct launch *L = h->of;
	const char *what = wire_str(in, L->a), *lets = wire_str(in, L->a);
	char sentence[SENTENCE];

	if (in->bad)
		return -1;
	snprintf(sentence, sizeof(sentence), "%s on %s%s%s", what, h->h->hostname,
		 *lets ? ": " : "", fix_text(lets));
	h->h->trouble = arena_strdup(L->a, sentence);
	agent_advise_short(h, what);
	rdzv_server_fail(L->server, sentence);
	failed(L);
	for (int i = 0; i < h->h->ranks; i++)
		rank_ended(h, i, 3, 0, what);
	return 0;
}

int ranks_message(struct agent_host *h, uint16_t type, struct wire_in *in)
{
	uint32_t id;

	if (!h->of->server || h->state != AGENT_UP)
		return -1; /* it has no ranks to speak of */
	if (type == SAY_TROUBLE)
		return in_trouble(h, in);
	if (type == STREAM_DATA || type == STREAM_CLOSE)
		return streams_message(&h->streams, type, in);
	id = wire_u32(in);
	if (in->bad)
		return -1;
	if (type == STREAM_OPEN)
		return open_stream(h, id);
	if (id >= (uint32_t)h->h->ranks)
		return -1;
	return type == SAY_OUT || type == SAY_ERR ? said(h, type, id, in)
	       : type == SAY_EXITED		  ? exited(h, id, in)
						  : -1;
}

void ranks_watch(struct launch *L)
{
	L->grace.fire = on_grace;
	L->late.fire = on_late;
	L->out.drained = on_out_drained;
	L->err.drained = on_err_drained;
	L->alive = (int)L->r->nranks;
	L->running = true;
}
