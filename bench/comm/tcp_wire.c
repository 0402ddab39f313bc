/* What the kernel counts of our connections. Its header and libc's <netinet/tcp.h> do not mix. */
#include "bench/comm/tcp_core.h"

#include <linux/tcp.h>
#include <netinet/in.h>

bool tcp_wire(const struct comm *c, int peer, struct comm_wire *ret)
{
	const struct tcp *t = CONTAINER_OF(c, struct tcp, comm);

	*ret = (struct comm_wire){0};
	for (size_t i = 0; i < t->nsockets; i++) {
		struct tcp_info info = {0};
		socklen_t n = sizeof(info);

		if (getsockopt(t->lanes[(size_t)peer * t->nsockets + i].fd, IPPROTO_TCP, TCP_INFO,
			       &info, &n))
			return false;
		ret->sent += info.tcpi_data_segs_out;
		ret->again += info.tcpi_total_retrans;
	}
	return true;
}
