/* What an agent knows of its host: its program, its address, its orphans. */
#include "lib/cluster/agent.h"

#include "lib/core/file.h"
#include "lib/core/units.h"
#include "lib/host/rank.h"

#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

enum { REAP_STEPS = 400, STEP_MS = 5 };

const char *agent_own_path(struct arena *a)
{
	char buf[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", buf, sizeof(buf));

	return n > 0 && (size_t)n < sizeof(buf) ? arena_strndup(a, buf, (size_t)n)
						: "/proc/self/exe";
}

static bool is_usable(const union addr *x)
{
	enum addr_class c = addr_class(x);

	return c == ADDR_PRIVATE || c == ADDR_SHARED || c == ADDR_PUBLIC;
}

/* "CLIENT PORT SERVER PORT": the address at which ssh reached this host. */
static bool ssh_address(union addr *ret)
{
	const char *s = getenv("SSH_CONNECTION");
	char server[INET6_ADDRSTRLEN + 1];

	return s && sscanf(s, "%*s %*s %46s", server) == 1 && !addr_parse(server, ret) &&
	       is_usable(ret);
}

/* Where packets to @peer would come from. */
static bool source_towards(const union addr *peer, union addr *ret)
{
	AUTO_CLOSE int fd = socket(peer->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(*ret);

	return fd >= 0 && !connect(fd, &peer->sa, addr_len(peer)) &&
	       !getsockname(fd, &ret->sa, &n) && is_usable(ret);
}

static bool best_interface(struct arena *a, union addr *ret)
{
	AUTO(netlink_close) struct netlink nl = {0};
	struct inventory inv = {0};
	candidate_list c = {0};
	struct err ignored;

	if (netlink_open(&nl, NULL, &ignored) < 0 ||
	    inventory_read(&inv, &nl, INV_ALL, a, &ignored) < 0)
		return false;
	rank_ifaces(&inv, 0, &c);
	if (!c.n || !c.v[0].usable)
		return false;
	*ret = c.v[0].addr->addr;
	return true;
}

const char *agent_data_addr(const union addr *peer, struct arena *a)
{
	struct addr_text t;
	union addr x;

	if ((peer && source_towards(peer, &x)) || (!peer && ssh_address(&x)) ||
	    best_interface(a, &x))
		return arena_strdup(a, addr_print(&x, &t));
	return "127.0.0.1";
}

static pid_t parent_of(struct arena *a, const char *pid)
{
	const char *stat = file_line(a, arena_printf(a, "/proc/%s/stat", pid));
	const char *p = stat ? strrchr(stat, ')') : NULL; /* the name may hold anything */
	int ppid;

	return p && sscanf(p, ") %*c %d", &ppid) == 1 ? ppid : 0;
}

static void kill_children(void)
{
	AUTO(arena_done) struct arena a = {0};
	DIR *d = opendir("/proc");
	struct dirent *x;
	uint64_t pid;

	while (d && (x = readdir(d)))
		if (!parse_uint(x->d_name, &pid) && parent_of(&a, x->d_name) == getpid())
			(void)kill((pid_t)pid, SIGKILL);
	if (d)
		(void)closedir(d);
}

void agent_reap_all(void)
{
	for (int i = 0; i < REAP_STEPS; i++) {
		pid_t got = waitpid(-1, NULL, WNOHANG);

		if (got < 0)
			return; /* no children left */
		if (got > 0)
			continue;
		kill_children(); /* their own children come to us then */
		(void)poll(NULL, 0, STEP_MS);
	}
}
