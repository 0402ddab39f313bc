#include "lib/net/netlink.h"

#include <errno.h>
#include <linux/if_link.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

/* The kernel fills at most 32 KiB per answer; a single link can be larger. */
enum { BUFFER = 256 << 10, TRIES = 8, PATIENCE_S = 10 };

#ifndef RTEXT_FILTER_SKIP_STATS
#define RTEXT_FILTER_SKIP_STATS (1 << 3)
#endif

/* nla_ok() and nla_next() are calls into another archive: half of this loop's time. */
int netlink_attrs(const struct nlmsghdr *h, size_t hdr, struct nlattr **tb, size_t max)
{
	size_t left = (size_t)nlmsg_datalen(h), step = NLMSG_ALIGN(hdr);
	const char *at = nlmsg_data(h);

	memset(tb, 0, (max + 1) * sizeof(*tb));
	if (nlmsg_datalen(h) < (int)hdr)
		return -1;
	while (step < left) {
		struct nlattr *a;
		size_t type;

		at += step;
		left -= step;
		a = (struct nlattr *)at;
		if (left < sizeof(*a) || a->nla_len < sizeof(*a) || a->nla_len > left)
			break;
		type = a->nla_type & NLA_TYPE_MASK;
		if (type <= max)
			tb[type] = a;
		step = NLA_ALIGN(a->nla_len);
	}
	return 0;
}

uint32_t netlink_u32(const struct nlattr *a, uint32_t otherwise)
{
	return a && nla_len(a) >= (int)sizeof(uint32_t) ? nla_get_u32((struct nlattr *)a)
							: otherwise;
}

uint8_t netlink_u8(const struct nlattr *a, uint8_t otherwise)
{
	return a && nla_len(a) >= 1 ? nla_get_u8((struct nlattr *)a) : otherwise;
}

void netlink_msg_freep(struct nl_msg **m) { nlmsg_free(*m); }

static int no_socket(int rc, struct err *e)
{
	err_set(e, ERR_SYS, "cannot ask the kernel about interfaces: %s", nl_geterror(rc));
	if (rc != -NLE_AF_NOSUPPORT && rc != -NLE_PERM && rc != -NLE_NOACCESS)
		return -1;
	return err_hint(e,
			"what confines this process forbids netlink sockets: allow AF_NETLINK "
			"(systemd's RestrictAddressFamilies=, a container's seccomp profile), or "
			"run it outside");
}

static int connect_socket(struct netlink *nl, struct err *e)
{
	struct timeval patience = {.tv_sec = PATIENCE_S};
	int on = 1, rc, fd;

	nl_socket_free(nl->sock);
	nl->sock = nl_socket_alloc();
	rc = nl->sock ? nl_connect(nl->sock, NETLINK_ROUTE) : -NLE_NOMEM;
	if (rc < 0)
		return no_socket(rc, e);
	nl_socket_disable_auto_ack(nl->sock);
	fd = nl_socket_get_fd(nl->sock);
	/* Linux 4.20; an older kernel answers with more than was asked, which we skip. */
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return 0;
}

int netlink_open(struct netlink *nl, const char *recorded, struct err *e)
{
	*nl = (struct netlink){.recorded = recorded};
	if (recorded)
		return 0;
	nl->buf = malloc(BUFFER);
	if (!nl->buf)
		return err_sys(e, "no memory for netlink");
	if (connect_socket(nl, e) < 0) {
		netlink_close(nl);
		return -1;
	}
	return 0;
}

void netlink_close(struct netlink *nl)
{
	nl_socket_free(nl->sock);
	free(nl->buf);
	nl->sock = NULL;
	nl->buf = NULL;
}

/* Not nl_recv(): it takes a new buffer for every answer. */
static ssize_t receive(struct netlink *nl)
{
	struct sockaddr_nl from;
	socklen_t len;
	ssize_t n;

	do {
		len = sizeof(from);
		n = recvfrom(nl_socket_get_fd(nl->sock), nl->buf, BUFFER, MSG_TRUNC,
			     (struct sockaddr *)&from, &len);
	} while ((n < 0 && errno == EINTR) || (n >= 0 && from.nl_pid != 0));
	if (n > BUFFER) {
		errno = EMSGSIZE;
		return -1;
	}
	return n;
}

/* The errno that a closing message carries: both types begin with it, negated. */
static int closing_status(const struct nlmsghdr *h)
{
	int status = 0;

	if (nlmsg_datalen(h) >= (int)sizeof(status))
		memcpy(&status, nlmsg_data(h), sizeof(status));
	return status < 0 ? -status : 0;
}

int netlink_ask(struct netlink *nl, struct nl_msg *msg, const struct netlink_sink *to,
		struct netlink_end *ret, struct err *e)
{
	bool again = false, stopped = false;
	int rc = nl_send_auto(nl->sock, msg);
	uint32_t seq = nlmsg_hdr(msg)->nlmsg_seq;

	if (rc < 0)
		return err_set(e, ERR_SYS, "cannot ask the kernel: %s", nl_geterror(rc));
	for (;;) {
		ssize_t n = receive(nl);
		int left = (int)n;

		if (n < 0 && errno == ENOBUFS) { /* the rest of the answer may be lost too */
			*ret = (struct netlink_end){.again = true};
			return connect_socket(nl, e);
		}
		if (n <= 0)
			return err_sys(e, "the kernel's answer about interfaces did not come");
		for (struct nlmsghdr *h = (void *)nl->buf; nlmsg_ok(h, left);
		     h = nlmsg_next(h, &left)) {
			if (h->nlmsg_seq != seq)
				continue;
			again |= h->nlmsg_flags & NLM_F_DUMP_INTR;
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
				*ret = (struct netlink_end){closing_status(h), again};
				return 0;
			}
			/* After a stop the rest is read all the same, or the next dump is EBUSY. */
			stopped = stopped || to->each(h, to->arg) < 0;
			if (!(h->nlmsg_flags & NLM_F_MULTI)) {
				*ret = (struct netlink_end){.again = again};
				return 0;
			}
		}
	}
}

static struct nl_msg *dump_request(int type, int family, int master)
{
	struct ifinfomsg link = {.ifi_family = (unsigned char)family};
	struct ifaddrmsg addr = {.ifa_family = (unsigned char)family};
	/* With strict checking these are filters: no local table, no multicast. */
	struct rtmsg route = {.rtm_family = (unsigned char)family,
			      .rtm_table = RT_TABLE_MAIN,
			      .rtm_type = RTN_UNICAST};
	struct rtmsg rule = {.rtm_family = (unsigned char)family};
	struct nl_msg *m = nlmsg_alloc_simple(type, NLM_F_DUMP);
	int rc = -1;

	if (!m)
		return NULL;
	if (type == RTM_GETLINK)
		rc = nlmsg_append(m, &link, sizeof(link), NLMSG_ALIGNTO) ||
		     nla_put_u32(m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS) ||
		     (master && nla_put_u32(m, IFLA_MASTER, (uint32_t)master));
	else if (type == RTM_GETADDR)
		rc = nlmsg_append(m, &addr, sizeof(addr), NLMSG_ALIGNTO);
	else
		rc = nlmsg_append(m, type == RTM_GETROUTE ? &route : &rule, sizeof(route),
				  NLMSG_ALIGNTO);
	if (rc == 0)
		return m;
	nlmsg_free(m);
	return NULL;
}

/* No such table or family: a namespace without routes, a kernel without IPv6. */
static bool means_empty(int type, int status)
{
	return (type == RTM_GETROUTE || type == RTM_GETRULE) &&
	       (status == ENOENT || status == EOPNOTSUPP || status == EAFNOSUPPORT);
}

static int dump(struct netlink *nl, int type, int family, int master, const struct netlink_sink *to,
		struct err *e)
{
	bool again = true;

	if (nl->recorded)
		return netlink_recorded_dump(nl->recorded, type, family, to, e);
	for (int try = 0; again && try < TRIES; try++) {
		AUTO(netlink_msg_freep) struct nl_msg *m = dump_request(type, family, master);
		struct netlink_end end;

		if (!m)
			return err_set(e, ERR_SYS, "no memory for a netlink request");
		if (try > 0 && to->restart)
			to->restart(to->arg);
		if (netlink_ask(nl, m, to, &end, e) < 0)
			return -1;
		again = end.again || end.status == EINTR || end.status == EBUSY;
		if (end.status && !again && !means_empty(type, end.status)) {
			errno = end.status;
			return err_sys(e, "the kernel refused to list its interfaces");
		}
	}
	nl->unsettled |= again;
	return 0;
}

int netlink_dump(struct netlink *nl, int type, int family, const struct netlink_sink *to,
		 struct err *e)
{
	return dump(nl, type, family, 0, to, e);
}

int netlink_dump_ports(struct netlink *nl, int master, const struct netlink_sink *to, struct err *e)
{
	return dump(nl, RTM_GETLINK, AF_UNSPEC, master, to, e);
}

int netlink_link(struct netlink *nl, int index, const struct netlink_sink *to, struct err *e)
{
	struct ifinfomsg link = {.ifi_index = index};
	AUTO(netlink_msg_freep) struct nl_msg *m = nlmsg_alloc_simple(RTM_GETLINK, 0);
	struct netlink_end end;

	if (!m || nlmsg_append(m, &link, sizeof(link), NLMSG_ALIGNTO) ||
	    nla_put_u32(m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS))
		return err_set(e, ERR_SYS, "no memory for a netlink request");
	if (netlink_ask(nl, m, to, &end, e) < 0)
		return -1;
	errno = end.status ? end.status : EAGAIN;
	return end.status || end.again
		       ? err_sys(e, "the kernel did not tell of interface %d", index)
		       : 0;
}
