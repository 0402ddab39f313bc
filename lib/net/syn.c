#include "lib/net/syn.h"

#include "lib/core/units.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>

enum {
	BARE,
	ALL,
	FIRST, /* with one option each */
	LAST = FIRST + 2,
	AGAIN, /* bare */
	WAYS,
	MOST = 16, /* hosts at a time */
	ROUNDS = 2,
	DOUBTS = 4, /* rounds of what is asked to make sure */
	WAIT_MS = 250,
};

static const unsigned options[WAYS] = {[ALL] = SYN_TIMESTAMPS | SYN_SCALING | SYN_SACK,
				       SYN_TIMESTAMPS,
				       SYN_SCALING,
				       SYN_SACK,
				       [AGAIN] = 0};

struct asked {
	int raw;	/* hears what comes from there alone */
	int held[WAYS]; /* keeps a port for each */
	union addr from;
	uint16_t ports[WAYS];
	uint32_t seq;	   /* asked again it is the same question */
	unsigned answered; /* a bit for each way */
};

struct packet {
	struct tcphdr h;
	unsigned char options[24];
};

static void put(struct packet *p, size_t *n, const void *bytes, size_t len)
{
	memcpy(p->options + *n, bytes, len);
	*n += len;
}

/* Multiples of four; what a kernel says of itself. */
static size_t put_options(struct packet *p, unsigned which)
{
	static const unsigned char mss[] = {TCPOPT_MAXSEG, 4, 1360 >> 8, 1360 & 255},
				   sack[] = {TCPOPT_NOP, TCPOPT_NOP, TCPOPT_SACK_PERMITTED, 2},
				   scaling[] = {TCPOPT_NOP, TCPOPT_WINDOW, 3, 7};
	unsigned char stamp[12] = {TCPOPT_NOP, TCPOPT_NOP, TCPOPT_TIMESTAMP, 10};
	uint32_t now = htobe32((uint32_t)(now_ns() / NS_PER_MS));
	size_t n = 0;

	memcpy(stamp + 4, &now, sizeof(now));
	put(p, &n, mss, sizeof(mss));
	if (which & SYN_SACK)
		put(p, &n, sack, sizeof(sack));
	if (which & SYN_TIMESTAMPS)
		put(p, &n, stamp, sizeof(stamp));
	if (which & SYN_SCALING)
		put(p, &n, scaling, sizeof(scaling));
	return n;
}

static uint32_t sum(uint32_t s, const void *bytes, size_t n)
{
	const unsigned char *v = bytes;

	for (size_t i = 0; i + 1 < n; i += 2)
		s += (uint32_t)v[i] << 8 | v[i + 1];
	return s;
}

/* Of IPv6 the kernel makes it. */
static uint16_t checksum(const struct asked *x, const union addr *to, const void *p, size_t n)
{
	uint32_t s = IPPROTO_TCP + (uint32_t)n;

	s = sum(s, &x->from.v4.sin_addr, 4);
	s = sum(s, &to->v4.sin_addr, 4);
	s = sum(s, p, n);
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return htobe16((uint16_t)~s);
}

static void send_one(const struct asked *x, const union addr *to, unsigned way)
{
	struct packet p = {0};
	size_t n = put_options(&p, options[way]) + sizeof(p.h);
	p.h.source = htobe16(x->ports[way]);
	p.h.dest = htobe16(addr_port(to));
	p.h.seq = x->seq;
	p.h.doff = (n / 4) & 15;
	p.h.syn = 1;
	p.h.window = htobe16(64240);
	if (to->sa.sa_family == AF_INET)
		p.h.check = checksum(x, to, &p, n);
	(void)!send(x->raw, &p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int hold(const union addr *from, uint16_t *ret_port)
{
	int fd = socket(from->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	union addr at = *from;
	socklen_t len = sizeof(at);

	addr_set_port(&at, 0);
	if (fd < 0 || bind(fd, &at.sa, addr_len(&at)) || getsockname(fd, &at.sa, &len)) {
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	*ret_port = addr_port(&at);
	return fd;
}

static void asked_done(struct asked *x)
{
	for (unsigned i = 0; i < WAYS; i++)
		if (x->held[i] >= 0)
			(void)close(x->held[i]);
	if (x->raw >= 0)
		(void)close(x->raw);
}

static bool asked_begin(struct asked *x, const union addr *to)
{
	const int family = to->sa.sa_family, at = offsetof(struct tcphdr, check);
	union addr there = *to;
	socklen_t len = sizeof(x->from);
	bool ok;

	*x = (struct asked){.raw = socket(family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_TCP)};
	addr_set_port(&there, 0);
	(void)!getrandom(&x->seq, sizeof(x->seq), 0);
	ok = x->raw >= 0 && !connect(x->raw, &there.sa, addr_len(&there)) &&
	     !getsockname(x->raw, &x->from.sa, &len) &&
	     (family == AF_INET ||
	      !setsockopt(x->raw, IPPROTO_IPV6, IPV6_CHECKSUM, &at, sizeof(at)));
	for (unsigned i = 0; i < WAYS; i++) {
		x->held[i] = ok ? hold(&x->from, &x->ports[i]) : -1;
		ok = ok && x->held[i] >= 0;
	}
	return ok;
}

/* "yes" and "no" are both answers. */
static void hear(struct asked *x, const union addr *to)
{
	unsigned char buf[256];
	struct tcphdr h;
	ssize_t got;

	while ((got = recv(x->raw, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		size_t skip = to->sa.sa_family == AF_INET ? (size_t)(buf[0] & 15) * 4 : 0;

		if ((size_t)got < skip + sizeof(h))
			continue;
		memcpy(&h, buf + skip, sizeof(h));
		for (unsigned i = 0; i < WAYS; i++)
			if (be16toh(h.source) == addr_port(to) && be16toh(h.dest) == x->ports[i] &&
			    (h.rst || (h.syn && h.ack)))
				x->answered |= 1u << i;
	}
}

static void listen_for(struct asked *x, const struct syn_probe *v, size_t n)
{
	uint64_t until = now_ns() + WAIT_MS * NS_PER_MS;
	struct pollfd p[MOST];

	for (size_t i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = x[i].raw, .events = POLLIN};
	for (int ms; (ms = ms_until(until));) {
		int rc = poll(p, n, ms);

		if (rc < 0 && errno != EINTR)
			return;
		for (size_t i = 0; i < n; i++)
			hear(&x[i], &v[i].to);
	}
}

/* The ways [first, last] of all that are worth it, more than once: packets get lost. */
static void ask(struct asked *x, const struct syn_probe *v, size_t n, unsigned first, unsigned last,
		int rounds)
{
	for (int round = 0; round < rounds; round++) {
		for (size_t i = 0; i < n; i++)
			for (unsigned way = first; way <= last; way++)
				if (x[i].raw >= 0 && !(x[i].answered & 1u << way))
					send_one(&x[i], &v[i].to, way);
		listen_for(x, v, n);
	}
}

static bool is_about_options(const struct asked *x)
{
	return (x->answered & (1u << BARE | 1u << ALL)) == 1u << BARE;
}

/*
 * A rule that lets some questions a second pass, or a bad cable, answers now one and then another.
 * So they are asked with all of them anew, and last without: then what lets little pass lets that
 * pass which acquits.
 */
static bool is_sure(const struct asked *x)
{
	return is_about_options(x) && x->answered & 1u << AGAIN;
}

static void ask_some(struct syn_probe *v, size_t n)
{
	struct asked x[MOST];
	bool any = false;

	for (size_t i = 0; i < n; i++)
		if (!asked_begin(&x[i], &v[i].to)) {
			asked_done(&x[i]);
			x[i].raw = -1; /* poll() passes over it */
			memset(x[i].held, -1, sizeof(x[i].held));
		} else {
			any = true;
		}
	if (any)
		ask(x, v, n, BARE, ALL, ROUNDS);
	any = false;
	for (size_t i = 0; i < n; i++)
		any |= is_about_options(&x[i]);
	if (any)
		ask(x, v, n, ALL, AGAIN, DOUBTS);
	for (size_t i = 0; i < n; i++) {
		for (unsigned way = FIRST; way <= LAST && is_sure(&x[i]); way++)
			if (!(x[i].answered & 1u << way))
				v[i].dropped |= options[way];
		asked_done(&x[i]);
	}
}

void syn_ask(struct syn_probe *v, size_t n)
{
	for (size_t i = 0; i < n; i += MOST)
		ask_some(v + i, n - i < MOST ? n - i : MOST);
}
