#ifndef TESTS_UNIT_STUB_SERVER_H
#define TESTS_UNIT_STUB_SERVER_H
/*
 * A server on a free port of 127.0.0.1 for tests: a child process per server
 * and per connection, so that one that stalls does not hold up the next. It
 * reads one request head and lets the test's own function answer it.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void stub_answer(int fd, const char *request);

struct stub {
	pid_t pid;
	uint16_t port;
};

/* After the answer the server closes; what the client still sends is not read. */
static void stub_serve_one(int fd, stub_answer *answer)
{
	char request[8192] = "";
	size_t n = 0;
	ssize_t got;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)alarm(20);
	while (n + 1 < sizeof(request) && !strstr(request, "\r\n\r\n")) {
		got = recv(fd, request + n, sizeof(request) - 1 - n, 0);
		if (got <= 0)
			_exit(0);
		n += (size_t)got;
		request[n] = '\0';
	}
	answer(fd, request);
	_exit(0);
}

static void stub_serve(int listener, stub_answer *answer)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			_exit(1);
		if (!fork())
			stub_serve_one(fd, answer);
		(void)close(fd);
	}
}

/* On @fd, bound to @at, which has its port where both families have it. */
static struct stub stub_start_at(int fd, struct sockaddr_in6 *at, socklen_t len,
				 stub_answer *answer)
{
	struct stub s;

	if (bind(fd, (void *)at, len) || listen(fd, 64) || getsockname(fd, (void *)at, &len))
		abort();
	s.port = ntohs(at->sin6_port);
	s.pid = fork();
	if (!s.pid)
		stub_serve(fd, answer);
	(void)close(fd);
	return s;
}

static struct stub stub_start(stub_answer *answer)
{
	union {
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = {.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};

	return stub_start_at(socket(AF_INET, SOCK_STREAM, 0), &at.v6, sizeof(at.v4), answer);
}

static void stub_stop(struct stub *s)
{
	(void)kill(s->pid, SIGKILL);
	(void)waitpid(s->pid, NULL, 0);
}

static void stub_say(int fd, const char *s, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, s, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		s += sent;
		n -= (size_t)sent;
	}
}

#endif
