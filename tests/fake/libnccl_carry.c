/*
 * Of the stand-in for NCCL, where it is to be as slow as the network is: what a rank puts in goes
 * to the next rank over TCP, and is taken there, before the collective goes on. A thread of each
 * rank takes what comes.
 */
#include "tests/fake/libnccl.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <pthread.h>
#include <sys/socket.h>

/* One connection of this process to each rank's, whichever communicator asks. */
enum { KNOWN = 64 };
static struct {
	struct sockaddr_in at;
	int fd;
} known[KNOWN];
static struct sockaddr_in own;

static bool read_all(int fd, void *to, size_t n)
{
	for (ssize_t got; n; n -= (size_t)got, to = (char *)to + got)
		if ((got = read(fd, to, n)) <= 0)
			return false;
	return true;
}

static bool write_all(int fd, const void *from, size_t n)
{
	for (ssize_t put; n; n -= (size_t)put, from = (const char *)from + put)
		if ((put = send(fd, from, n, MSG_NOSIGNAL)) <= 0)
			return false;
	return true;
}

/* What has come whole is answered with a byte. */
static void *take_all(void *arg)
{
	int fd = (int)(intptr_t)arg;
	static _Thread_local char to[1 << 16];
	size_t n;

	while (read_all(fd, &n, sizeof(n))) {
		for (size_t part; n; n -= part) {
			part = n < sizeof(to) ? n : sizeof(to);
			if (!read_all(fd, to, part))
				break;
		}
		if (n || !write_all(fd, "", 1))
			break;
	}
	(void)close(fd);
	return NULL;
}

static void *listen_for_all(void *arg)
{
	pthread_t thread;

	for (int fd; (fd = accept((int)(intptr_t)arg, NULL, NULL)) >= 0;)
		if (pthread_create(&thread, NULL, take_all, (void *)(intptr_t)fd) ||
		    pthread_detach(thread))
			(void)close(fd);
	return NULL;
}

/* The address of this host's first network card. */
static void find_card(struct sockaddr_in *ret)
{
	struct ifaddrs *all = NULL;

	*ret = (struct sockaddr_in){.sin_family = AF_INET};
	ret->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)getifaddrs(&all);
	for (struct ifaddrs *i = all; i; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
		    !(i->ifa_flags & IFF_LOOPBACK)) {
			memcpy(ret, i->ifa_addr, sizeof(*ret));
			break;
		}
	ret->sin_port = 0;
	freeifaddrs(all);
}

bool fake_carry_join(struct ncclComm *c)
{
	socklen_t n = sizeof(own);
	pthread_t thread;
	int fd;

	if (!fake_mode("carried"))
		return true;
	if (!own.sin_port) {
		find_card(&own);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || bind(fd, (struct sockaddr *)&own, n) || listen(fd, RANKS) ||
		    getsockname(fd, (struct sockaddr *)&own, &n) ||
		    pthread_create(&thread, NULL, listen_for_all, (void *)(intptr_t)fd) ||
		    pthread_detach(thread))
			return false;
	}
	memcpy(c->shared->where[c->rank], &own, sizeof(own));
	return true;
}

static int connection(const struct sockaddr_in *to)
{
	for (size_t i = 0; i < KNOWN; i++) {
		if (known[i].at.sin_port == to->sin_port &&
		    known[i].at.sin_addr.s_addr == to->sin_addr.s_addr)
			return known[i].fd;
		if (known[i].at.sin_port)
			continue;
		known[i].at = *to;
		known[i].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		return known[i].fd < 0 || connect(known[i].fd, (const struct sockaddr *)to,
						  sizeof(*to))
			       ? -1
			       : known[i].fd;
	}
	return -1;
}

bool fake_carry(const struct ncclComm *c, const void *from, size_t n)
{
	struct sockaddr_in to;
	char answer;
	int fd;

	if (!fake_mode("carried") || c->size < 2)
		return true;
	memcpy(&to, c->shared->where[(c->rank + 1) % c->size], sizeof(to));
	fd = connection(&to);
	return fd >= 0 && write_all(fd, &n, sizeof(n)) && write_all(fd, from, n) &&
	       read_all(fd, &answer, 1);
}
