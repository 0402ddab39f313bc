#include "lib/cluster/loopback.h"

#include "lib/core/self.h"
#include "lib/core/units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { PATIENCE_MS = 2000 };

static void (*explainer)(struct err *e);

void loopback_explained_by(void (*explain)(struct err *e)) { explainer = explain; }

/* A listener on any port; -1 with errno. */
static int listen_there(struct sockaddr_in *ret)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), saved;
	socklen_t n = sizeof(*ret);

	*ret = (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd >= 0 && !bind(fd, (struct sockaddr *)ret, n) && !listen(fd, 1) &&
	    !getsockname(fd, (struct sockaddr *)ret, &n))
		return fd;
	saved = errno;
	auto_closep(&fd);
	errno = saved;
	return -1;
}

/* 0, or why not: ETIMEDOUT is silence. */
static int call(const struct sockaddr_in *at)
{
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	uint64_t end = now_ns() + PATIENCE_MS * NS_PER_MS;
	socklen_t n = sizeof(int);
	int why = 0, got = 0, ms;

	if (fd < 0)
		return errno;
	if (!connect(fd, (const struct sockaddr *)at, sizeof(*at)))
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	while (got <= 0 && (ms = ms_until(end)))
		got = poll(&p, 1, ms);
	if (got <= 0)
		return ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n) ? errno : why;
}

static void advise_rules(struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *typed = self_as_root(&a, "portcheck");

	if (typed)
		(void)err_command(e, "%s   # names the rule", typed);
	else
		(void)err_command(e, "sudo nft list ruleset");
}

/* One that was up keeps its address when it is taken down, and swallows what is sent. */
static bool is_down(void)
{
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = {.ifr_name = "lo"};

	return fd >= 0 && !ioctl(fd, SIOCGIFFLAGS, &lo) && !(lo.ifr_flags & IFF_UP);
}

/* Something is missing here, and nobody refused anything. */
static bool is_want(int why)
{
	return why == EMFILE || why == ENFILE || why == ENOBUFS || why == ENOMEM;
}

int loopback_check(struct err *e)
{
	struct sockaddr_in at;
	AUTO_CLOSE int fd = listen_there(&at);
	int why = fd < 0 ? errno : call(&at);

	if (!why)
		return 0;
	if (is_down()) {
		err_set(e, ERR_SYS,
			"the loopback interface is down: ranks on one machine meet over it");
		return err_command(e, "sudo ip link set lo up");
	}
	if (why == ENETUNREACH || why == EADDRNOTAVAIL) {
		err_set(e, ERR_SYS, "lo has no address 127.0.0.1: ranks on one machine meet there");
		return err_command(e, "sudo ip addr add 127.0.0.1/8 dev lo");
	}
	if (why == EADDRINUSE || why == EAGAIN) {
		err_set(e, ERR_SYS, "no port is left that its kernel may hand out");
		/* not sysctl -w ...=, which older ones refuse without a value */
		return err_command(e, "echo | sudo tee /proc/sys/net/ipv4/ip_local_reserved_ports; "
				      "sudo sysctl -w net.ipv4.ip_local_port_range='32768 60999'");
	}
	if (fd < 0 || is_want(why)) { /* no firewall keeps anybody from listening */
		errno = why;
		return err_sys(e, "cannot open a socket at 127.0.0.1");
	}
	err_set(e, ERR_SYS,
		"its own firewall %s what it sends to itself over lo (127.0.0.1), where ranks "
		"of one machine meet",
		why == ETIMEDOUT ? "drops" : "rejects");
	advise_rules(e);
	if (explainer)
		explainer(e);
	return -1;
}
