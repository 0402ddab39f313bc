#include "lib/host/listen.h"

#include "lib/host/sysroot.h"

enum { TCP_HALF_OPEN = 0x03, TCP_LISTENING = 0x0A };

/* The kernel prints addresses as 32-bit words in this machine's byte order. */
static bool parse_address(const char *hex, union addr *ret)
{
	size_t n = strspn(hex, "0123456789ABCDEFabcdef");
	uint32_t w[4];

	*ret = (union addr){0};
	if (n == 8 && sscanf(hex, "%8x", &w[0]) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_addr.s_addr = w[0];
		return true;
	}
	if (n != 32 || sscanf(hex, "%8x%8x%8x%8x", &w[0], &w[1], &w[2], &w[3]) != 4)
		return false;
	ret->v6.sin6_family = AF_INET6;
	memcpy(&ret->v6.sin6_addr, w, sizeof(w));
	return true;
}

bool holder_parse(const char *line, struct port_holder *ret)
{
	char local[40] = "";
	unsigned port, state, uid;
	unsigned long long inode;

	*ret = (struct port_holder){0};
	if (sscanf(line,
		   " %*u: %39[0-9A-Fa-f]:%4x %*[0-9A-Fa-f]:%*x %2x %*x:%*x %*x:%*x %*x %u "
		   "%*u %llu",
		   local, &port, &state, &uid, &inode) != 5 ||
	    state != TCP_LISTENING || !parse_address(local, &ret->at))
		return false;
	addr_set_port(&ret->at, (uint16_t)port);
	ret->uid = uid;
	ret->inode = inode;
	return true;
}

static void read_table(const char *path, uint16_t port, struct arena *a, holder_list *ret)
{
	AUTO_FILE FILE *f = fopen(sysroot_path(a, path), "re");
	struct port_holder x;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (holder_parse(line, &x) && addr_port(&x.at) == port)
			*LIST_ADD(a, ret) = x;
}

/* Does this process hold one of the sockets that nobody is known for yet? */
static void look_at_process(const char *pid, struct arena *a, holder_list *l)
{
	AUTO_DIR DIR *d = opendir(arena_printf(a, "/proc/%s/fd", pid));
	const struct dirent *x;

	while (d && (x = readdir(d))) {
		unsigned long long inode;
		char link[64];
		ssize_t n = readlinkat(dirfd(d), x->d_name, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = '\0';
		if (sscanf(link, "socket:[%llu]", &inode) != 1)
			continue;
		for (size_t i = 0; i < l->n; i++) {
			if (l->v[i].inode != inode || l->v[i].command)
				continue;
			l->v[i].pid = (int)strtol(pid, NULL, 10);
			l->v[i].command = sysroot_line(a, "/proc/%s/comm", pid) ?: "?";
		}
	}
}

void holders_read(uint16_t port, struct arena *a, holder_list *ret)
{
	AUTO_DIR DIR *proc = NULL;
	const struct dirent *x;

	read_table("/proc/net/tcp", port, a, ret);
	read_table("/proc/net/tcp6", port, a, ret);
	if (!ret->n || !sysroot_is_real())
		return;
	proc = opendir("/proc");
	while (proc && (x = readdir(proc)))
		if (x->d_name[0] >= '1' && x->d_name[0] <= '9')
			look_at_process(x->d_name, a, ret);
}

/* --- questions whose answers got lost ----------------------------------------------- */
static void read_half_open(const char *path, uint16_t port, struct arena *a, addr_list *ret)
{
	AUTO_FILE FILE *f = fopen(sysroot_path(a, path), "re");
	unsigned at, state;
	char line[512], peer[40];
	union addr from;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%4x %39[0-9A-Fa-f]:%*x %2x", &at, peer,
			   &state) == 3 &&
		    at == port && state == TCP_HALF_OPEN && parse_address(peer, &from))
			*LIST_ADD(a, ret) = from;
}

void half_open_read(uint16_t port, struct arena *a, addr_list *ret)
{
	read_half_open("/proc/net/tcp", port, a, ret);
	read_half_open("/proc/net/tcp6", port, a, ret);
}
