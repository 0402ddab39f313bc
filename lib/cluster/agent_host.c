/* What an agent knows of its host: its program, its address, its orphans. */
#include "lib/cluster/agent.h"

#include "lib/core/heir.h"
#include "lib/core/lineage.h"
#include "lib/core/self.h"
#include "lib/core/units.h"
#include "lib/host/rank.h"
#include "lib/net/own_addr.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

enum { REAP_STEPS = 400, HEIR_STEPS = 200, STEP_MS = 5 };

const char *agent_own_path(struct arena *a) { return self_path(a) ?: "/proc/self/exe"; }

static bool is_usable(const union addr *x)
{
	enum addr_class c = addr_class(x);

	return c == ADDR_PRIVATE || c == ADDR_SHARED || c == ADDR_PUBLIC;
}

/*
 * "CLIENT PORT SERVER PORT": the address at which ssh reached this host. Or another one: srun and
 * mpirun bring the environment along that somebody has where they logged in.
 */
static bool ssh_address(union addr *ret)
{
	const char *s = getenv("SSH_CONNECTION");
	char server[INET6_ADDRSTRLEN + 1];

	return s && sscanf(s, "%*s %*s %46s", server) == 1 && !addr_parse(server, ret) &&
	       is_usable(ret) && own_addr(ret);
}

/* Where packets to @peer would come from. */
static bool source_towards(const union addr *peer, union addr *ret)
{
	AUTO_CLOSE int fd = socket(peer->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(*ret);

	return fd >= 0 && !connect(fd, &peer->sa, addr_len(peer)) &&
	       !getsockname(fd, &ret->sa, &n) && is_usable(ret);
}

/* Where packets to somewhere else would: nobody has these addresses, and nothing is sent. */
static bool source_of_default(union addr *ret)
{
	static const char *const nowhere[] = {"192.0.2.1", "2001:db8::1"};
	union addr far;

	for (size_t i = 0; i < ARRAY_LEN(nowhere); i++)
		if (!addr_parse(nowhere[i], &far)) {
			addr_set_port(&far, 9);
			if (source_towards(&far, ret))
				return true;
		}
	return false;
}

/* Where they cannot be read, none. */
static void read_interfaces(struct arena *a, struct inventory *ret)
{
	AUTO(netlink_close) struct netlink nl = {0};
	struct err ignored;

	*ret = (struct inventory){.a = a};
	if (netlink_open(&nl, NULL, &ignored) < 0 ||
	    inventory_read(ret, &nl, INV_ALL, a, &ignored) < 0)
		*ret = (struct inventory){.a = a};
}

static bool best_interface(struct inventory *inv, int family, union addr *ret)
{
	candidate_list c = {0};

	rank_ifaces(inv, family, &c);
	if (!c.n || !c.v[0].usable)
		return false;
	*ret = c.v[0].addr->addr;
	return true;
}

/* Instead of @x, which is of another one: of the same interface, if it has any. */
static bool of_family(struct inventory *inv, int family, const union addr *x, union addr *ret)
{
	const struct iface_addr *known = inventory_by_addr(inv, x);
	const struct iface_addr *other = known ? iface_best_addr(inv, known->iface, family) : NULL;

	if (!other)
		return best_interface(inv, family, ret);
	*ret = other->addr;
	return true;
}

const char *agent_data_addr(const union addr *peer, struct arena *a)
{
	int told = rank_family(getenv("NCCL_SOCKET_FAMILY"));
	struct inventory inv;
	struct addr_text t;
	union addr x, other;
	bool known = peer && source_towards(peer, &x);

	if (known && (!told || x.sa.sa_family == told))
		return arena_strdup(a, addr_print(&x, &t));
	read_interfaces(a, &inv);
	known = known || ssh_address(&x);
	if (!known)
		known = (told && best_interface(&inv, told, &x)) || best_interface(&inv, 0, &x) ||
			(!inv.ifaces.n && source_of_default(&x));
	else if (told && x.sa.sa_family != told && of_family(&inv, told, &x, &other))
		x = other;
	return known ? arena_strdup(a, addr_print(&x, &t)) : "127.0.0.1";
}

/* Are there others than heirs among them? */
static bool kill_children(bool spare_heirs)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO_DIR DIR *d = opendir("/proc");
	bool others = false;
	struct dirent *x;
	uint64_t pid;

	while (d && (x = readdir(d))) {
		bool is_heir;

		if (parse_uint(x->d_name, &pid) || parent_of(&a, (pid_t)pid) != getpid())
			continue;
		is_heir = heir_has_inherited((pid_t)pid);
		others |= !is_heir;
		if (!is_heir || !spare_heirs)
			(void)kill((pid_t)pid, SIGKILL);
	}
	return others;
}

/*
 * Whoever does what a rank has left to do may come to its end, unless it takes long. Where others
 * are left that cannot be killed, since they stand in a file system that does not answer, it waits
 * for them, and will be there when they have gone on.
 */
void agent_reap_all(void)
{
	int stuck = 0;

	for (int i = 0; i < REAP_STEPS; i++) {
		pid_t got = waitpid(-1, NULL, WNOHANG);

		if (got < 0)
			return; /* no children left */
		if (got > 0)
			continue;
		if (kill_children(i - stuck < HEIR_STEPS)) /* their own children come to us then */
			stuck = i;
		(void)poll(NULL, 0, STEP_MS);
	}
}
