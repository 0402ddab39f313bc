/* Carries out a plan: moves what can be moved, and waits when nothing can. */
#include "bench/comm/tcp_core.h"
#include "lib/core/units.h"

#include <errno.h>
#include <sched.h>
#include <sys/socket.h>

enum { PATIENT = 1000, POLITE = 30 };

static const uint64_t SLEEP_MOST_NS = NS_PER_S;
static const uint64_t ROBBED_NS = NS_PER_MS / 5, ROBBED_CROWD_NS = 2 * NS_PER_MS,
		      ROBBED_PAUSE_NS = 10 * NS_PER_MS, ROBBED_PAUSE_MOST_NS = 500 * NS_PER_MS;

/* --- sending ------------------------------------------------------------------- */

static bool may_send(const struct tcp *t, const struct tcp_lane *l)
{
	return l->sends.v[l->at].after <= t->at;
}

/* 1: something went out; 0: nothing can now. */
static int send_lane(struct tcp *t, struct tcp_lane *l, struct err *e)
{
	int moved = 0;

	while (l->at < l->sends.n && may_send(t, l)) {
		const struct tcp_send *s = &l->sends.v[l->at];
		ssize_t k = send(l->fd, s->p + l->off, s->n - l->off, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (k < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (k < 0)
			return tcp_fail_closed(t, l->peer, errno, e);
		moved = 1;
		l->off += (size_t)k;
		t->sent_bytes += (size_t)k;
		if (l->off < s->n)
			break;
		l->off = 0;
		l->at++;
		if (s->n == TCP_BLOCK)
			break; /* receive in between: what arrived is still in the cache */
	}
	return moved;
}

static int send_all(struct tcp *t, struct err *e)
{
	size_t kept = 0;
	int moved = 0;

	for (size_t i = 0; i < t->nbusy; i++) {
		struct tcp_lane *l = &t->lanes[t->busy[i]];
		int k = send_lane(t, l, e);

		if (k < 0)
			return -1;
		moved |= k;
		if (l->at < l->sends.n)
			t->busy[kept++] = t->busy[i];
	}
	t->nbusy = kept;
	return moved;
}

/* --- receiving ------------------------------------------------------------------- */

static void apply(struct tcp *t, const struct tcp_step *s)
{
	size_t count = s->n / t->element;

	if (s->kind == STEP_COPY)
		memmove(s->to, s->with, s->n);
	else if (s->kind == STEP_STORE && s->hold_lane != NO_HOLD)
		memcpy(s->to, t->scratch, s->n);
	else if (s->kind == STEP_REDUCE && s->theirs_first)
		t->reduce(s->to, t->scratch, s->with, count);
	else if (s->kind == STEP_REDUCE)
		t->reduce(s->to, s->with, t->scratch, count);
	if (s->divide)
		reduce_divide(t->q.type, s->to, count, (unsigned)t->comm.size);
	t->at++;
	t->off = 0;
}

static bool is_direct(const struct tcp_step *s)
{
	return s->kind == STEP_STORE && s->hold_lane == NO_HOLD;
}

/* 1: the step went on; 0: it cannot now. */
static int step(struct tcp *t, struct err *e)
{
	const struct tcp_step *s = &t->steps.v[t->at];
	struct tcp_lane *l = &t->lanes[s->lane];
	ssize_t k = 0;

	if (s->kind != STEP_COPY && t->off < s->n) {
		char *to = is_direct(s) ? s->to : t->scratch;

		k = recv(l->fd, to + t->off, s->n - t->off, MSG_DONTWAIT);
		if (!k)
			return tcp_fail_closed(t, l->peer, 0, e);
		if (k < 0 && errno != EAGAIN && errno != EINTR)
			return tcp_fail_closed(t, l->peer, errno, e);
		if (k < 0)
			return 0;
		t->off += (size_t)k;
		if (t->off < s->n)
			return 1;
	}
	if (s->hold_lane != NO_HOLD && t->lanes[s->hold_lane].at < s->hold_sends)
		return k > 0;
	apply(t, s);
	return 1;
}

static int turn(struct tcp *t, struct err *e)
{
	int sent = t->nbusy ? send_all(t, e) : 0, got = 0;

	if (sent >= 0 && t->at < t->steps.n)
		got = step(t, e);
	return sent < 0 || got < 0 ? -1 : sent | got;
}

/* --- waiting ------------------------------------------------------------------------ */

enum { AT_STOP, AT_ABORT = 2, AT_STEP, AT_WORDS }; /* TCP_POLL_FIXED of them */

/* Everything that could let us go on, or tell us why not. */
static size_t poll_set(const struct tcp *t)
{
	struct pollfd *set = t->set;
	const struct tcp_step *s = t->at < t->steps.n ? &t->steps.v[t->at] : NULL;
	bool receives = s && s->kind != STEP_COPY && t->off < s->n;
	size_t n = AT_WORDS;

	set[AT_STOP] = (struct pollfd){.fd = t->stop_fds[0], .events = POLLIN};
	set[AT_STOP + 1] = (struct pollfd){.fd = t->stop_fds[1], .events = POLLIN};
	set[AT_ABORT] = (struct pollfd){.fd = t->abort_fd, .events = POLLIN};
	set[AT_STEP] =
		(struct pollfd){.fd = receives ? t->lanes[s->lane].fd : -1, .events = POLLIN};
	for (int i = 0; i < t->npeers; i++) {
		const struct tcp_peer *p = &t->peers[i];

		set[n++] = (struct pollfd){.fd = p->closed ? -1 : p->words, .events = POLLIN};
	}
	for (size_t i = 0; i < t->nbusy; i++) {
		const struct tcp_lane *l = &t->lanes[t->busy[i]];

		if (may_send(t, l))
			set[n++] = (struct pollfd){.fd = l->fd, .events = POLLOUT};
	}
	return n;
}

/* The peer that we wait for, by the root's ranks. */
int tcp_waits_for(const struct tcp *t)
{
	const struct tcp_step *s = t->at < t->steps.n ? &t->steps.v[t->at] : NULL;

	if (s && s->kind != STEP_COPY && t->off < s->n)
		return t->lanes[s->lane].peer;
	for (size_t i = 0; i < t->nbusy; i++)
		if (may_send(t, &t->lanes[t->busy[i]]))
			return t->lanes[t->busy[i]].peer;
	return -1;
}

static int heard(struct tcp *t, struct err *e)
{
	const struct pollfd *set = t->set;

	if (set[AT_ABORT].revents)
		return tcp_fail_aborted(t, tcp_abort_reason(t), e);
	if (set[AT_STOP].revents || set[AT_STOP + 1].revents)
		return tcp_fail_aborted(t, "told to stop", e);
	for (int i = 0; i < t->npeers; i++)
		if (set[AT_WORDS + i].revents && tcp_hear(t, i, e))
			return -1;
	return 0;
}

uint64_t tcp_look(const struct tcp *t, struct silence *s, uint64_t *ret_slept_ns)
{
	uint64_t now = now_ns(), due = s->due_ns;
	bool overslept = due && silence_overslept(due, t->deadline_ns, now);

	*ret_slept_ns = overslept ? now - due : 0;
	if (t->deadline_given)
		s->due_ns = 0; /* however late we look */
	return silence_look(s, now,
			    t->deadline_ns < SLEEP_MOST_NS * SILENCE_LOOKS ? 0 : SLEEP_MOST_NS);
}

/* Sleeps until something can be done. */
static int sleep_on(struct tcp *t, struct err *e)
{
	size_t n = poll_set(t);
	uint64_t left, slept;

	if (!t->still.since_ns)
		silence_begin(&t->still, t->deadline_ns, now_ns());
	left = tcp_look(t, &t->still, &slept);
	if (!left)
		return slept ? tcp_fail_asleep(t, slept, e)
			     : tcp_fail_silent(t, tcp_waits_for(t), e);
	if (poll(t->set, n, (int)(left / NS_PER_MS) + 1) < 0 && errno != EINTR)
		return err_sys(e, "cannot wait for the other ranks");
	return heard(t, e);
}

/*
 * How often to look again before sleeping. Spinning halves the latency when the
 * peer is running, and steals its time when it is not: what paid last time tells.
 * Where ranks share processors, looking means letting the others run. Where they do
 * not, it lasts longer than being woken takes: two ranks that both sleep would wait
 * for each other's waking up for ever.
 */
static void learn(struct tcp *t, bool paid)
{
	unsigned most = t->crowded ? 40 : 4000, least = t->crowded ? 4 : PATIENT;

	t->patience = paid ? t->patience * 2 : t->patience / 2;
	t->patience = t->patience > most ? most : t->patience < least ? least : t->patience;
}

/*
 * Other programs run where we do: whoever gives way waits for their whole slices,
 * and whoever sleeps is woken before them. True: so it is, or was a moment ago. That
 * is believed for longer each time that it proves true again.
 */
static bool is_robbed(struct tcp *t)
{
	uint64_t before = now_ns(), now;

	if (before < t->robbed_until_ns)
		return true;
	(void)sched_yield();
	now = now_ns();
	if (now - before < (t->crowded ? ROBBED_CROWD_NS : ROBBED_NS))
		return false;
	t->robbed_pause_ns = before - t->robbed_until_ns > ROBBED_PAUSE_MOST_NS
				     ? ROBBED_PAUSE_NS
				     : t->robbed_pause_ns * 2;
	if (t->robbed_pause_ns > ROBBED_PAUSE_MOST_NS)
		t->robbed_pause_ns = ROBBED_PAUSE_MOST_NS;
	t->robbed_until_ns = now + t->robbed_pause_ns;
	return true;
}

/* Since it was to look again: for so long nothing but this process kept it waiting. */
static uint64_t overslept_ns(const struct tcp *t)
{
	uint64_t now = now_ns();

	return now > t->still.due_ns ? now - t->still.due_ns : 0;
}

/* The time since @since_ns was lost waiting for @peer. */
static void blame(struct tcp *t, int peer, uint64_t since_ns)
{
	if (since_ns && peer >= 0)
		t->waited_ns[peer] += now_ns() - since_ns;
}

int tcp_run(struct tcp *t, bool wait, struct err *e)
{
	uint64_t idle_since_ns = 0;
	unsigned idle = 0;
	int waits_for = -1;

	t->still.since_ns = 0;
	while (!tcp_finished(t)) {
		int moved = turn(t, e);

		if (moved < 0)
			return -1;
		if (moved) {
			if (idle) {
				learn(t, !t->still.since_ns);
				blame(t, waits_for, idle_since_ns);
			}
			idle = 0;
			t->still.since_ns = 0;
		} else if (!wait) {
			return 0;
		} else if (!idle && t->is_large) {
			idle = 1;
			idle_since_ns = now_ns();
			waits_for = tcp_waits_for(t);
		} else if (idle++ >= t->patience) {
			if (sleep_on(t, e))
				return -1;
			idle_since_ns += idle_since_ns ? overslept_ns(t) : 0;
		} else if (t->crowded || idle > POLITE) {
			if (idle == POLITE + 1)
				tcp_go_home(t);
			if (is_robbed(t))
				idle = t->patience; /* one more look, then sleep */
		}
	}
	return 0;
}
