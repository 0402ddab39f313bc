#include "lib/net/http.h"

#include "lib/core/interrupt.h"
#include "lib/core/text.h"
#include "lib/core/units.h"

#include <errno.h>
#include <poll.h>

/* Room for a body of the largest size in chunks of a reasonable one, and for a head. */
enum { RAW_MAX = HTTP_BODY_MAX + (128 << 10), READ_SIZE = 16 << 10 };

struct exchange {
	const struct http_request *q;
	struct arena *a;
	struct http_answer *answer;
	uint64_t until_ns; /* of the present phase */
	int fd;
};

static int build(const struct http_request *q, struct text *t, struct err *e)
{
	const char *const *h = q->headers;
	size_t lines = 5, seen = 0;

	text_addf(t, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: windsock\r\nConnection: close\r\n",
		  q->method, q->path, q->host);
	for (; h && *h; h++, lines++)
		text_addf(t, "%s\r\n", *h);
	text_add(t, streq(q->method, "GET") ? "\r\n" : "Content-Length: 0\r\n\r\n");
	lines += !streq(q->method, "GET");
	for (size_t i = 0; i < t->n; i++)
		seen += (unsigned char)t->s[i] < ' ' || t->s[i] == 0x7f;
	return seen == lines * 2 ? 0 : err_set(e, ERR_SYS, "a request with control characters");
}

/* -1: it will not happen; the answer says why. */
static int wait_for(struct exchange *x, short events)
{
	struct pollfd p = {.fd = x->fd, .events = events};

	while (!interrupt_pending()) {
		int n = poll(&p, 1, ms_until(x->until_ns));

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR) {
			x->answer->error = errno;
			return -1;
		}
		if (now_ns() >= x->until_ns) {
			x->answer->timed_out = true;
			return -1;
		}
	}
	x->answer->error = EINTR;
	return -1;
}

static int connect_to(struct exchange *x)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (connect(x->fd, &x->q->to.sa, addr_len(&x->q->to))) {
		if (errno != EINPROGRESS)
			error = errno;
		else if (wait_for(x, POLLOUT))
			return -1;
		else if (getsockopt(x->fd, SOL_SOCKET, SO_ERROR, &error, &len))
			error = errno;
	}
	x->answer->error = error;
	x->answer->timed_out = error == ETIMEDOUT;
	x->answer->connected = !error;
	return error ? -1 : 0;
}

static bool later(void) { return errno == EAGAIN || errno == EINTR; }

static int send_all(struct exchange *x, const char *s, size_t n)
{
	while (n) {
		ssize_t sent = send(x->fd, s, n, MSG_NOSIGNAL);

		if (sent < 0 && !later()) {
			x->answer->error = errno;
			return -1;
		}
		if (sent < 0 && wait_for(x, POLLOUT))
			return -1;
		s += sent > 0 ? sent : 0;
		n -= sent > 0 ? (size_t)sent : 0;
	}
	return 0;
}

static void receive(struct exchange *x)
{
	struct text raw;
	int rc = 0;

	text_init(&raw, x->a);
	while (rc == 0 && raw.n <= RAW_MAX) {
		char part[READ_SIZE];
		ssize_t n = recv(x->fd, part, sizeof(part), 0);

		if (n < 0 && !later()) {
			x->answer->error = errno;
			return;
		}
		if (n < 0 && wait_for(x, POLLIN))
			return;
		if (n < 0)
			continue;
		text_addn(&raw, part, (size_t)n);
		rc = n || raw.n ? http_parse(raw.s, raw.n, n == 0, x->a, x->answer) : -1;
		if (!raw.n)
			x->answer->error = ECONNRESET;
	}
	if (rc <= 0 && !x->answer->error)
		x->answer->error = EBADMSG;
}

int http_do(const struct http_request *q, struct arena *a, struct http_answer *ret, struct err *e)
{
	uint64_t start = now_ns();
	AUTO_CLOSE int fd =
		socket(q->to.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct exchange x = {.q = q, .a = a, .answer = ret, .fd = fd};
	struct text request;

	*ret = (struct http_answer){0};
	if (fd < 0)
		return err_sys(e, "cannot make a socket for http://%s", q->host);
	text_init(&request, a);
	if (build(q, &request, e))
		return -1;
	x.until_ns = start + (q->connect_ns < q->total_ns ? q->connect_ns : q->total_ns);
	if (connect_to(&x))
		return 0;
	x.until_ns = start + q->total_ns;
	if (!send_all(&x, request.s, request.n))
		receive(&x);
	return 0;
}
