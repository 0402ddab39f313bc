#ifndef LIB_NET_SCAN_H
#define LIB_NET_SCAN_H
/*
 * Is a port open, refused or silent, for one port or for all 65,535 of a host:
 * ordinary connects (no privilege), thousands in flight, on several cores. Beside
 * the answer it keeps the evidence: errno, time, and which ICMP message came
 * from whom (Linux 6.0 and later tell that for TCP; before, only errno).
 *
 * A few thousand probes wait `patience` each, while the kernel repeats its SYN
 * after 1 and 3 seconds. With more ports of one host the waiting follows the
 * answers that came: a short first try, and a second, more patient one for
 * what stayed silent, repeated as long as that finds ports that the last missed.
 */
#include "lib/net/addr.h"
#include "lib/net/tcp_state.h"

enum { SCAN_PATIENCE_S = 4, SCAN_FEW = 4096 };

/* Where a probe leaves this host. */
struct scan_from {
	const char *device;	  /* SO_BINDTODEVICE */
	const union addr *source; /* bind(), where that is not permitted: before Linux 5.7 */
};

struct scan_probe {
	union addr to;		      /* with port; fe80 without a scope takes that of the device */
	uint16_t from_port;	      /* it is asked from; 0: any. TCP alone */
	const struct scan_from *from; /* instead of what the options say; NULL: as they do */

	enum tcp_state state; /* TCP_PENDING: interrupted before it was known */
	int error;	      /* errno behind it */
	uint32_t took_us;
	uint8_t icmp_type, icmp_code; /* valid when by.sa.sa_family is not 0 */
	bool unsent;   /* there was no such socket to be had: TCP_ERROR, whatever error */
	union addr by; /* who sent the ICMP message; family 0: none came */
};

struct scan_opts {
	const char *device;	  /* SO_BINDTODEVICE, or NULL */
	const union addr *source; /* bind(), or NULL */
	uint64_t patience_ns;	  /* how long a port may be silent; 0: SCAN_PATIENCE_S */
	unsigned workers;	  /* 0: as many as processors may be used, at most 4 */
	/* Now and then, from the calling thread. May be NULL. */
	void (*tick)(void *arg, size_t done, size_t total);
	void *arg;
};

/* Probes of one address should stand together. Returns early when interrupt_pending(). */
int scan_tcp(struct scan_probe *v, size_t n, const struct scan_opts *o, struct err *e) MUST_CHECK;
/*
 * One empty datagram each, repeated after half a second and again. TCP_OPEN:
 * something answered; TCP_FILTERED: silence, which with UDP says nothing.
 */
int scan_udp(struct scan_probe *v, size_t n, const struct scan_opts *o, struct err *e) MUST_CHECK;

/* --- between scan*.c ------------------------------------------------------ */
/* A connected (TCP: connecting) socket, or -1 with @p concluded. */
int scan_socket(struct scan_probe *p, int type, const struct scan_opts *o);
/* @fd: the connection where there is one, for its own timing; -1: none. */
void scan_conclude(struct scan_probe *p, int fd, int error, uint64_t started_ns);
/* Reads the error of @fd, 0 for none, and the ICMP message behind it. */
int scan_error(int fd, struct scan_probe *p);

#endif
