/*
 * Nobody leaves without last words. Every pair of ranks has one socket for
 * them: goodbye, or whom the sender holds to be at fault and why. When a rank
 * dies, its connections close without a word, and so it is known which of all
 * the closing ranks was the first. When one is stuck, the ranks that wait for
 * each other because of it blame one another, and the one that blames nobody is it.
 */
#include "bench/comm/tcp_core.h"
#include "lib/core/units.h"

#include <errno.h>
#include <sys/socket.h>

enum word {
	WORD_GOODBYE = 1,
	WORD_DIED,    /* the culprit's connection closed */
	WORD_WAITED,  /* the deadline passed while waiting for the culprit */
	WORD_STOPPED, /* the sender gives up on purpose */
};
struct words {
	int32_t word, culprit;
	int32_t deaf; /* whom the sender's data does not reach, -1: nobody it knows of */
	char text[244];
};

static const uint64_t GRACE_NS = 500 * NS_PER_MS; /* for the words of those that still live */

static int fail(struct tcp *t, int culprit, bool gone, struct err *e, const char *text)
{
	struct tcp *root = t->root; /* it is the failure of all */

	err_set(&root->failure, ERR_SYS, "%s", text);
	root->culprit = culprit;
	root->culprit_gone = gone;
	*e = root->failure;
	return -1;
}

int tcp_failed(const struct tcp *t, struct err *e)
{
	*e = t->root->failure;
	return -1;
}

static void tell_all(struct tcp *t, const struct words *w)
{
	for (int i = 0; i < t->npeers; i++)
		if (i != t->root->comm.rank && !t->peers[i].closed)
			(void)send(t->peers[i].words, w, sizeof(*w), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void tell(struct tcp *t, enum word word, int culprit, const char *text)
{
	struct words w = {.word = word, .culprit = culprit, .deaf = -1};

	if (word == WORD_WAITED)
		w.deaf = t->peers[t->root->comm.rank].deaf = tcp_deaf_peer(t);
	(void)snprintf(w.text, sizeof(w.text), "%s", text);
	tell_all(t, &w);
}

void tcp_goodbye(struct tcp *t) { tell(t, WORD_GOODBYE, -1, ""); }

static const char *name(const struct tcp *t, int peer, char buf[192])
{
	const struct tcp_peer *p = &t->peers[peer];

	(void)snprintf(buf, 192, "rank %d (%s, %s)", peer, p->host, p->address.s);
	return buf;
}

static int fail_gone(struct tcp *t, int peer, struct err *e, const char *text)
{
	tell(t, WORD_DIED, peer, text);
	return fail(t, peer, true, e, text);
}

static int fail_died(struct tcp *t, int peer, struct err *e)
{
	char text[256], who[192];

	(void)snprintf(text, sizeof(text), "%s died: its connection closed", name(t, peer, who));
	return fail_gone(t, peer, e, text);
}

/* 1: it said something; 0: nothing yet; -1: its connection is closed. */
static int listen_to(struct tcp *t, int peer, struct words *w)
{
	struct tcp_peer *p = &t->peers[peer];
	/* 256 bytes sent at once arrive at once; half a message is a broken peer */
	ssize_t k = p->closed ? -1 : recv(p->words, w, sizeof(*w), MSG_DONTWAIT);

	if (!p->closed && k < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (k != (ssize_t)sizeof(*w)) {
		p->closed = true;
		return -1;
	}
	w->text[sizeof(w->text) - 1] = '\0';
	w->culprit = w->culprit >= 0 && w->culprit < t->npeers ? w->culprit : peer;
	if (w->word == WORD_GOODBYE)
		p->left = true;
	if (w->word == WORD_WAITED) {
		p->blames = w->culprit;
		p->deaf = w->deaf < t->npeers ? w->deaf : -1;
	}
	return 1;
}

static bool is_member(const struct tcp *t, int peer)
{
	for (int i = 0; i < t->comm.size; i++)
		if (comm_origin(&t->comm, i) == peer)
			return true;
	return false;
}

/* What it waits for now, if anything, does not hold it up for long yet. */
static bool goes_on(const struct tcp *t)
{
	return !t->still.since_ns || now_ns() - t->still.since_ns < t->deadline_ns / 2;
}

/*
 * What another rank failed of is what we fail of; its waiting makes us say for whom we
 * wait. That would mean nothing where it waits in another part of the ranks, or has
 * heard from there: then two of us, who have work left, would blame each other. Nor does
 * it where we were going on until now: data may be far from where somebody is stuck. But
 * nobody blames himself: what holds us up is known here alone.
 */
static int believe(struct tcp *t, int peer, const struct words *w, struct err *e)
{
	bool elsewhere = !is_member(t, peer) || !is_member(t, w->culprit);

	if (w->word == WORD_WAITED && (elsewhere || goes_on(t)) && w->culprit != t->root->comm.rank)
		return tcp_fail_silent(t, w->culprit, e);
	if (w->word == WORD_WAITED && elsewhere && tcp_waits_for(t) < 0)
		return 0; /* we go on, and our own deadline tells */
	if (w->word == WORD_WAITED)
		return tcp_fail_silent(t, tcp_waits_for(t) >= 0 ? tcp_waits_for(t) : peer, e);
	if (w->word == WORD_DIED)
		return fail_gone(t, w->culprit, e, w->text);
	tell(t, WORD_STOPPED, peer, w->text);
	return fail(t, -1, false, e, w->text);
}

int tcp_hear(struct tcp *t, int peer, struct err *e)
{
	struct words w = {0};
	int k = listen_to(t, peer, &w);

	if (k < 0 && !t->peers[peer].left)
		return fail_died(t, peer, e);
	return k <= 0 || w.word == WORD_GOODBYE ? 0 : believe(t, peer, &w, e);
}

/* Waits a little for @peer to say why. */
static int last_words(struct tcp *t, int peer, struct words *w)
{
	uint64_t until = now_ns() + GRACE_NS;
	int k, ms;

	while (!(k = listen_to(t, peer, w)) && (ms = ms_until(until))) {
		struct pollfd p = {.fd = t->peers[peer].words, .events = POLLIN};

		(void)poll(&p, 1, ms);
	}
	return k;
}

int tcp_fail_closed(struct tcp *t, int peer, int error, struct err *e)
{
	struct words w = {0};
	char text[256], who[192];

	if (last_words(t, peer, &w) > 0 && w.word != WORD_GOODBYE)
		return believe(t, peer, &w, e);
	if (!t->peers[peer].left && (!error || error == ECONNRESET || error == EPIPE))
		return fail_died(t, peer, e);
	(void)snprintf(text, sizeof(text), "%s %s%s", name(t, peer, who),
		       t->peers[peer].left ? "left too early" : "cannot be reached: ",
		       t->peers[peer].left ? "" : strerror(error));
	return fail_gone(t, peer, e, text);
}

/* Hears everybody out: who waits for whom? */
static void hear_out(struct tcp *t)
{
	uint64_t until = now_ns() + GRACE_NS;
	struct words w = {0};

	for (int ms; (ms = ms_until(until));) {
		for (int i = 0; i < t->npeers; i++)
			t->set[i] =
				(struct pollfd){.fd = t->peers[i].closed ? -1 : t->peers[i].words,
						.events = POLLIN};
		(void)poll(t->set, (nfds_t)t->npeers, ms);
		for (int i = 0; i < t->npeers; i++)
			if (t->set[i].revents)
				(void)listen_to(t, i, &w);
	}
}

/* Follows who blames whom to the one that blames nobody. */
static int trace(const struct tcp *t, int suspect)
{
	for (int hops = 0; hops < t->npeers; hops++) {
		int next = t->peers[suspect].blames;

		if (next < 0 || next == t->root->comm.rank)
			break;
		suspect = next;
	}
	return suspect;
}

/* All wait in a circle: between which two does it not go on? One of them whose data does not reach
 * the other knows; else it is as good as any. */
static int broken_link(const struct tcp *t, int suspect, int *ret_other)
{
	for (int i = 0; i < t->npeers; i++)
		if (t->peers[i].deaf >= 0) {
			*ret_other = t->peers[i].deaf;
			return i;
		}
	*ret_other = t->peers[suspect].blames;
	return suspect;
}

int tcp_fail_silent(struct tcp *t, int peer, struct err *e)
{
	char text[512], who[192], other[192];
	int end;
	struct unit_buf waited;

	if (peer < 0)
		return fail(t, -1, false, e, "a collective could not go on: no rank is at fault");
	tell(t, WORD_WAITED, peer, "");
	hear_out(t);
	peer = trace(t, peer);
	(void)name(t, peer, who);
	format_duration(&waited, t->deadline_ns);
	if (t->peers[peer].closed && !t->peers[peer].left && t->peers[peer].blames < 0) {
		(void)snprintf(text, sizeof(text), "%s died: its connection closed", who);
	} else if (t->peers[peer].blames >= 0) { /* alive, and waiting in a circle */
		peer = broken_link(t, peer, &end);
		(void)snprintf(text, sizeof(text), "nothing passes between %s and %s",
			       name(t, peer, who), name(t, end, other));
	} else {
		(void)snprintf(text, sizeof(text), "%s did nothing for %s", who, waited.s);
	}
	return fail(t, peer, t->peers[peer].closed, e, text);
}

static void pass_over_unmet(struct tcp *t)
{
	for (int i = 0; i < t->npeers; i++)
		t->peers[i].closed |= t->peers[i].words < 0;
}

int tcp_fail_asleep(struct tcp *t, uint64_t slept_ns, struct err *e)
{
	struct unit_buf slept, most;
	char text[192];

	pass_over_unmet(t);
	(void)snprintf(text, sizeof(text),
		       "its process did not run for %s, and the longest wait is %s (--deadline)",
		       format_duration(&slept, slept_ns), format_duration(&most, t->deadline_ns));
	return tcp_fail_aborted(t, text, e);
}

void tcp_tell_waited(struct tcp *t, int peer)
{
	pass_over_unmet(t);
	tell(t, WORD_WAITED, peer, "");
	hear_out(t);
}

int tcp_fail_aborted(struct tcp *t, const char *reason, struct err *e)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "rank %d gave up: %s", t->root->comm.rank, reason);
	tell(t, WORD_STOPPED, t->root->comm.rank, text);
	return fail(t, -1, false, e, reason);
}
