/* The conversation with NCCL's RAS service; live_judge.c understands the answer. */
#include "probes/log/live.h"

#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/host/hostname.h"
#include "lib/net/addr.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

enum { RAS_PORT = 28028, ANSWER_MAX = 64 << 20, LINE_LIMIT = 4096, BETWEEN_MS = 1000 };
enum { GREETINGS = 8 };
static const uint64_t GREETING_NS = NS_PER_S; /* at least, for one */
/* So long the service waits for ranks that do not answer it, and so much longer, whatever it was
 * told, for others that wait for such ranks themselves. */
enum { PATIENCE_S = 5, EXTRA_S = 5, LEAST_S = 1, ENOUGH_S = (PATIENCE_S + EXTRA_S) * 3 / 2 };

struct talk {
	int fd;
	uint64_t deadline_ns; /* without progress */
	const char *where;
	struct arena *a;
};

static bool wait_for(const struct talk *t, short events)
{
	return interrupt_poll(t->fd, events, ms_until(now_ns() + t->deadline_ns));
}

static int say(const struct talk *t, const char *line, struct err *e)
{
	size_t n = strlen(line);

	while (n) {
		ssize_t done = wait_for(t, POLLOUT) ? send(t->fd, line, n, MSG_NOSIGNAL) : -1;

		if (done < 0)
			return err_sys(e, "%s took no question", t->where);
		line += done;
		n -= (size_t)done;
	}
	return 0;
}

/* A line, or everything until it closes. A line must be there by the deadline, all of it. */
static int hear(const struct talk *t, bool all, struct text *ret, struct err *e)
{
	uint64_t until = now_ns() + t->deadline_ns;
	char buf[16384];

	text_init(ret, t->a);
	for (;;) {
		ssize_t n;

		if ((!all && now_ns() >= until) || !wait_for(t, POLLIN))
			return err_set(e, ERR_SYS, "%s accepted the connection but did not answer",
				       t->where);
		n = recv(t->fd, buf, all ? sizeof(buf) : 1, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return err_sys(e, "%s broke off", t->where);
		if (n == 0)
			return all || ret->n
				       ? 0
				       : err_set(e, ERR_SYS, "%s closed the connection", t->where);
		text_addn(ret, buf, (size_t)n);
		if (!all && buf[0] == '\n')
			return 0;
		if (ret->n > (all ? (size_t)ANSWER_MAX : (size_t)LINE_LIMIT))
			return err_set(e, ERR_SYS,
				       "%s is not NCCL's RAS service: it talks on and on",
				       t->where);
	}
}

static int connect_to(struct talk *t, const union addr *to)
{
	int error = 0;
	socklen_t len = sizeof(error);

	t->fd = socket(to->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->fd < 0)
		return errno;
	if (connect(t->fd, &to->sa, addr_len(to)) == 0)
		return 0;
	error = errno;
	if (error == EINPROGRESS && wait_for(t, POLLOUT))
		(void)getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	else if (error == EINPROGRESS)
		error = ETIMEDOUT;
	if (error) {
		(void)close(t->fd);
		t->fd = -1;
	}
	return error;
}

static int open_talk(struct talk *t, const char *host, uint16_t port, struct err *e)
{
	struct name_answer who;
	int error = 0;

	name_resolve(host, t->deadline_ns, t->a, &who);
	if (!who.addrs.n)
		return err_set(e, ERR_SYS, "%s %s", host, who.trouble);
	for (size_t i = 0; i < who.addrs.n; i++) {
		addr_set_port(&who.addrs.v[i], port);
		error = connect_to(t, &who.addrs.v[i]);
		if (!error)
			return 0;
	}
	errno = error;
	err_sys(e, "no NCCL job answers on %s", t->where);
	e->kind = ERR_ABSENT;
	return err_hint(
		e, "run it on a host of the job (NCCL 2.24 or later; NCCL_RAS_ENABLE=0 switches "
		   "it off, NCCL_RAS_ADDR moves it)");
}

static void talk_done(struct talk *t) { auto_closep(&t->fd); }

/*
 * All ranks of a host listen on that port, and the kernel chooses one for each connection: a
 * stopped one is silent, and the next connection may meet one that is not.
 */
static int greet(struct talk *t, const char *host, uint16_t port, struct text *ret, struct err *e)
{
	uint64_t whole = t->deadline_ns, until = now_ns() + whole, began;
	uint64_t each = whole / GREETINGS > GREETING_NS ? whole / GREETINGS : GREETING_NS;
	int result;

	do {
		began = now_ns();
		talk_done(t);
		t->fd = -1;
		t->deadline_ns = until - began < each ? until - began : each;
		result = open_talk(t, host, port, e) || say(t, "CLIENT PROTOCOL 2\n", e) ||
					 hear(t, false, ret, e)
				 ? -1
				 : 0;
	} while (result && now_ns() - began >= t->deadline_ns && now_ns() < until &&
		 !interrupt_pending());
	t->deadline_ns = whole;
	return result;
}

/* Who is to answer us in time has to give up the others before. */
static int hurry(struct talk *t, struct err *e)
{
	uint64_t s = t->deadline_ns / NS_PER_S, patience_s = s / 3;
	struct text line;

	if (t->deadline_ns > ENOUGH_S * NS_PER_S)
		return 0;
	if (patience_s < LEAST_S || patience_s + EXTRA_S >= s)
		patience_s = LEAST_S;
	return say(t, arena_printf(t->a, "TIMEOUT %u\n", (unsigned)patience_s), e) ||
			       hear(t, false, &line, e)
		       ? -1
		       : 0;
}

static bool is_short(const struct talk *t)
{
	return t->deadline_ns <= (LEAST_S + EXTRA_S) * NS_PER_S;
}

/* Before we wait for what may not come in time. */
static void warn_of_haste(const struct talk *t)
{
	struct unit_buf b;

	if (is_short(t))
		log_warn("where a rank is silent NCCL's service may take %d s to say so, longer "
			 "than --deadline %s: --deadline %ds is enough",
			 LEAST_S + EXTRA_S, format_duration(&b, t->deadline_ns), ENOUGH_S);
}

static int status(struct talk *t, struct text *ret, struct err *e)
{
	if (!say(t, "STATUS\n", e) && !hear(t, true, ret, e))
		return 0;
	return is_short(t) && !interrupt_pending()
		       ? err_hint(e,
				  "a rank may be silent, and the service waits for it: "
				  "--deadline %ds",
				  ENOUGH_S)
		       : -1;
}

static int ask_once(struct talk *t, const char *host, uint16_t port, struct text *ret,
		    struct err *e)
{
	struct text line;

	if (greet(t, host, port, &line, e))
		return -1;
	if (strncasecmp(line.s, "SERVER PROTOCOL", strlen("SERVER PROTOCOL")) != 0)
		return err_set(e, ERR_SYS, "%s is not NCCL's RAS service", t->where);
	if (hurry(t, e))
		return -1;
	/* before 2.28 there is no JSON; the text is understood as well */
	if (say(t, "SET FORMAT json\n", e) || hear(t, false, &line, e))
		return -1;
	return status(t, ret, e);
}

int live_ask(const char *where, uint64_t deadline_ns, struct report *r, struct err *e)
{
	AUTO(talk_done)
	struct talk t = {
		.fd = -1, .deadline_ns = deadline_ns, .where = where, .a = report_arena(r)};
	struct text first, second = {0};
	struct err ignored = {0};
	const char *host;
	uint16_t port;

	if (addr_split(where, t.a, &host, &port))
		return err_set(e, ERR_USAGE, "--live: '%s' is not a host", where);
	if (!port) {
		port = RAS_PORT;
		t.where = arena_printf(t.a, "%s:%u", where, (unsigned)port);
	}
	warn_of_haste(&t);
	if (ask_once(&t, host, port, &first, e))
		return -1;
	(void)interrupt_poll(-1, 0, BETWEEN_MS);
	if (!interrupt_pending() && ask_once(&t, host, port, &second, &ignored) == 0)
		live_judge(first.s, first.n, second.s, second.n, where, r);
	else
		live_judge(first.s, first.n, NULL, 0, where, r);
	return 0;
}
