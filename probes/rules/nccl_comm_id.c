#include "probes/rules/nccl.h"

#include "lib/core/units.h"
#include "lib/host/sysroot.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

/* The first result counts, and its scope is dropped. */
static int lookup(const char *host, int flags, union addr *ret)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
	struct addrinfo *found;

	if (getaddrinfo(host, NULL, &hints, &found))
		return -1;
	*ret = (union addr){0};
	memcpy(ret, found->ai_addr, found->ai_addrlen);
	if (ret->sa.sa_family == AF_INET6)
		ret->v6.sin6_scope_id = 0;
	freeaddrinfo(found);
	return 0;
}

/* 1 answered, 0 no such name, -1 nothing in time. */
static int read_answer(int fd, union addr *ret, uint64_t deadline_ns)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t end = now_ns() + deadline_ns, now;

	while ((now = now_ns()) < end) {
		int ready = poll(&p, 1, (int)((end - now) / NS_PER_MS) + 1);

		if (ready > 0)
			return read(fd, ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
		if (ready < 0 && errno != EINTR)
			return -1;
	}
	return -1;
}

/* A resolver may block for minutes; a child can be left behind and ended. */
static int lookup_in_child(const char *host, union addr *ret, const char **ret_why)
{
	int fd[2], got;
	pid_t pid;

	*ret_why = "looking up its host name took too long";
	if (pipe(fd))
		return -1;
	pid = fork();
	if (pid == 0) {
		if (lookup(host, 0, ret) == 0 && write(fd[1], ret, sizeof(*ret)) < 0)
			_exit(1);
		_exit(0);
	}
	(void)close(fd[1]);
	got = pid < 0 ? -1 : read_answer(fd[0], ret, 5 * NS_PER_S);
	(void)close(fd[0]);
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (got == 0)
		*ret_why = "its host name does not resolve";
	return got == 1 ? 0 : -1;
}

static int resolve_name(const char *value, union addr *ret, const char **ret_why)
{
	struct nccl_ifspec list;

	/* NCCL uses its list parser here: only what is before the first ':' or ',' counts. */
	nccl_ifspec_parse(*value == '^' || *value == '=' ? "" : value, &list);
	*ret_why = "it must be IPV4:PORT, [IPV6]:PORT or HOST:PORT";
	if (!list.n)
		return -1;
	if (lookup(list.prefix[0], AI_NUMERICHOST, ret) == 0)
		return 0;
	*ret_why = "its host name is not looked up in a recorded tree";
	return sysroot_is_real() ? lookup_in_child(list.prefix[0], ret, ret_why) : -1;
}

/* if_nametoindex(): the kernel knows altnames and cuts an alias label at the colon. */
static unsigned zone_index(const struct inventory *inv, const char *zone, size_t n)
{
	char name[IFNAMSIZ] = "";
	const struct iface *i;

	if (n >= sizeof(name))
		return 0;
	memcpy(name, zone, n);
	name[strcspn(name, ":")] = '\0';
	i = inventory_by_name(inv, name);
	return i ? (unsigned)i->index : 0;
}

static int resolve_v6(const char *value, const struct inventory *inv, union addr *ret,
		      const char **ret_why)
{
	size_t n = strcspn(value + 1, "]");
	const char *percent = memrchr(value + 1, '%', n);
	char text[INET6_ADDRSTRLEN + 1] = "";
	size_t host = percent ? (size_t)(percent - value - 1) : n;

	*ret_why = "it must be IPV4:PORT, [IPV6]:PORT or HOST:PORT";
	if (!value[1 + n])
		return -1;
	*ret = (union addr){.v6 = {.sin6_family = AF_INET6}};
	/* NCCL does not look whether this worked and compares what was in memory before. */
	*ret_why = "there is no IPv6 address between the brackets";
	if (host >= sizeof(text))
		return -1;
	memcpy(text, value + 1, host);
	if (inet_pton(AF_INET6, text, &ret->v6.sin6_addr) != 1)
		return -1;
	if (percent)
		ret->v6.sin6_scope_id = zone_index(inv, percent + 1, n - host - 1);
	return 0;
}

int nccl_comm_id_resolve(const char *value, const struct inventory *inv, union addr *ret,
			 const char **ret_why)
{
	*ret_why = "it is too short";
	if (strlen(value) < 2)
		return -1;
	if (*value == '[' ? resolve_v6(value, inv, ret, ret_why)
			  : resolve_name(value, ret, ret_why))
		return -1;
	*ret_why = NULL;
	return 0;
}
