/* What the kernel counts of our connections. Its header and libc's <netinet/tcp.h> do not mix. */
#include "bench/comm/tcp_core.h"

#include <linux/tcp.h>
#include <netinet/in.h>

static bool ask(int fd, struct tcp_info *ret)
{
	socklen_t n = sizeof(*ret);

	*ret = (struct tcp_info){0};
	return fd >= 0 && !getsockopt(fd, IPPROTO_TCP, TCP_INFO, ret, &n);
}

bool tcp_wire(const struct comm *c, int peer, struct comm_wire *ret)
{
	const struct tcp *t = CONTAINER_OF(c, struct tcp, comm);

	*ret = (struct comm_wire){0};
	for (size_t i = 0; i < t->nsockets; i++) {
		struct tcp_info info;

		if (!ask(t->lanes[(size_t)peer * t->nsockets + i].fd, &info))
			return false;
		ret->sent += info.tcpi_data_segs_out;
		ret->again += info.tcpi_total_retrans;
		ret->twice += info.tcpi_dsack_dups;
	}
	return true;
}

int tcp_deaf_peer(const struct tcp *t)
{
	struct tcp_info info;

	for (size_t i = 0; i < t->nlanes; i++)
		if (ask(t->lanes[i].fd, &info) && info.tcpi_unacked && info.tcpi_retransmits)
			return t->lanes[i].peer;
	return -1;
}
