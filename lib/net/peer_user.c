#include "lib/net/peer_user.h"

#include "lib/core/base.h"
#include "lib/net/addr.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* One message each way, which libnl has in a library of its own. */
struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 about;
};

static void put_end(const union addr *x, __be32 ret_addr[4], __be16 *ret_port)
{
	bool is_v6 = x->sa.sa_family == AF_INET6;

	if (is_v6)
		memcpy(ret_addr, &x->v6.sin6_addr, sizeof(x->v6.sin6_addr));
	else
		memcpy(ret_addr, &x->v4.sin_addr, sizeof(x->v4.sin_addr));
	*ret_port = is_v6 ? x->v6.sin6_port : x->v4.sin_port;
}

/* What is the source for whoever owns that end. */
static bool ask(int netlink, const union addr *from, const union addr *to)
{
	struct question q = {
		.head = {.nlmsg_len = sizeof(q),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST},
		.about = {.sdiag_family = (__u8)from->sa.sa_family,
			  .sdiag_protocol = IPPROTO_TCP,
			  .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};

	put_end(from, q.about.id.idiag_src, &q.about.id.idiag_sport);
	put_end(to, q.about.id.idiag_dst, &q.about.id.idiag_dport);
	return send(netlink, &q, sizeof(q), 0) == (ssize_t)sizeof(q);
}

static bool answer(int netlink, const union addr *from, uid_t *ret)
{
	union { /* with attributes that nobody asked for */
		struct nlmsghdr head;
		char bytes[1024];
	} a;
	struct inet_diag_msg m;
	ssize_t n = recv(netlink, &a, sizeof(a), MSG_DONTWAIT); /* the kernel answered at once */

	if (n < (ssize_t)(NLMSG_HDRLEN + sizeof(m)) || a.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return false;
	memcpy(&m, a.bytes + NLMSG_HDRLEN, sizeof(m));
	*ret = m.idiag_uid;
	return m.idiag_family == from->sa.sa_family;
}

bool peer_user(int fd, uid_t *ret)
{
	union addr own = {0}, peer = {0};
	socklen_t n = sizeof(own), m = sizeof(peer);
	AUTO_CLOSE int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	return netlink >= 0 && !getsockname(fd, &own.sa, &n) && !getpeername(fd, &peer.sa, &m) &&
	       ask(netlink, &peer, &own) && answer(netlink, &peer, ret);
}
