#ifndef PROBES_PORT_TALK_H
#define PROBES_PORT_TALK_H
/*
 * Real data between two of our own processes: a connect that works proves
 * little, since a path that swallows large packets lets every handshake
 * through. One end listens (on a thread, until talk_close()); the other
 * connects, shows the listener's secret, gets one byte back ("small passes"),
 * sends its bulk, ends, and is told how much arrived.
 *
 *	asker                             listener
 *	magic[8] secret[16]        ->
 *	                           <-     1 byte: 0
 *	bulk ... end               ->
 *	                           <-     u64, little-endian: bytes that came
 *
 * A stranger is read no further than those 24 bytes.
 */
#include "lib/net/addr.h"
#include "probes/port/ports.h"

enum { TALK_SECRET = 16, TALK_PARALLEL = 16, TALK_STALLS = 10 };

struct talk_door;
/*
 * Listens on the first free port of @ports (NULL: any free port), on every
 * address of this host. NULL with @e when none of them is to be had.
 */
struct talk_door *talk_open(const port_list *ports, const unsigned char secret[TALK_SECRET],
			    struct err *e) MUST_CHECK;
uint16_t talk_port(const struct talk_door *d);
void talk_close(struct talk_door *d); /* NULL is fine */

enum talk_state {
	TALK_PENDING,	/* interrupted before it was known */
	TALK_UNREACHED, /* no connection, or nobody who said a word */
	TALK_STALLED,	/* the small part passed, the bulk did not */
	TALK_DONE,
};
struct talk {
	union addr to; /* with port */
	unsigned char secret[TALK_SECRET];
	uint64_t bytes;	 /* to send; 0: as much as passes in... */
	uint64_t for_ns; /* ...so long */
	int max_segment; /* send no larger ones; 0: as the two agree */

	enum talk_state state;
	uint64_t arrived, took_ns;
	uint64_t way_ns;	  /* of that, what the way took, and neither of the two programs */
	uint64_t rtt_ns;	  /* the shortest seen, there and back */
	bool accepted;		  /* there was a connection */
	bool heard;		  /* the other end took our words, or hung up */
	bool began;		  /* some of the bulk has passed */
	unsigned path_mtu;	  /* as the kernel knows it at the end; 0: unknown */
	uint32_t segments, again; /* sent, and of these sent once more; 0: not known (Linux 4.2) */
	bool resent;		  /* large packets had to be made smaller on the way */
};
/*
 * At most @parallel at a time. No progress for @stall_ns ends one, and so does some now and then:
 * its bulk has TALK_STALLS times that in all, beside for_ns. Returns early when
 * interrupt_pending() or when @stop_fd becomes readable (-1: none).
 */
int talk_run(struct talk *v, size_t n, size_t parallel, uint64_t stall_ns, int stop_fd,
	     struct err *e) MUST_CHECK;

/* --- between talk*.c ----------------------------------------------------------- */
enum { TALK_MAGIC = 8, TALK_HELLO = TALK_MAGIC + TALK_SECRET };
extern const char talk_magic[TALK_MAGIC + 1];

#endif
