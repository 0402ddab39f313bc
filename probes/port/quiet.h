#ifndef PROBES_PORT_QUIET_H
#define PROBES_PORT_QUIET_H
/*
 * Connections that are silent for a while, and whether they are still there afterwards: firewalls
 * that keep a table of connections, NAT gateways and hosts themselves forget one that is silent
 * for too long, and neither of its ends hears of it. With each peer there is one for each time
 * and for each end that may be the first to speak again, and none has keepalive. All of them are
 * silent side by side, so that the longest time is what it takes.
 *
 *	who opened it				who was called
 *	magic[8] secret[16] rank[4] time[4] 	->
 *						<-	1 byte: 0
 *	1 byte: 0				->
 *	(that time, in which nothing is sent)
 *	1 byte from the first to speak, 1 byte back
 *
 * Bit 31 of @time says that who was called is the first to speak. A stranger is read no further
 * than those 32 bytes. Who opened it may have given up before it was answered, and an end of that
 * is none of silence. A thread of its own keeps all of them, so that each is answered in time
 * whatever else is waited for. Where one has died, a new one is opened and used at once: is the
 * way between the two still there?
 *
 *	quiet_open()	listens; when all do:
 *	quiet_start()	connects
 *	quiet_wait(q, QUIET_BEGUN), and when all have come so far:
 *	quiet_wait(q, 0), quiet_wait(q, 1) ...	until each time has passed; when all have:
 *	quiet_close()
 */
#include "probes/port/talk.h"

enum { QUIET_TIMES = 16, QUIET_PEERS = 8 };
#define QUIET_BEGUN SIZE_MAX

/* Which times are tried up to @longest_ns, ascending; how many. */
size_t quiet_times(uint64_t longest_ns, uint64_t ret[QUIET_TIMES]);

enum quiet_state {
	QUIET_UNKNOWN,
	QUIET_ALIVE,
	QUIET_SILENT, /* no answer came */
	QUIET_RESET,
	QUIET_CLOSED, /* as if the other end had closed it in order */
	QUIET_STATES
};
extern const char quiet_letters[QUIET_STATES + 1]; /* one for each */
static inline bool quiet_is_dead(char letter)
{
	return letter && strchr(quiet_letters + QUIET_SILENT, letter);
}

struct quiet_peer {
	union addr to; /* with port; family 0: it is not called */
	unsigned char secret[TALK_SECRET];
};
struct quiet_opts {
	uint16_t port; /* to listen on; 0: any free one */
	unsigned char secret[TALK_SECRET];
	const uint64_t *times_ns;
	size_t ntimes;
	const struct quiet_peer *peers; /* by rank, as callers say who they are */
	size_t n, me;
	uint64_t patience_ns; /* for an answer */
};
struct quiet;
/* Keeps what @o points to. */
struct quiet *quiet_open(const struct quiet_opts *o, struct err *e) MUST_CHECK;
int quiet_start(struct quiet *q, struct err *e) MUST_CHECK;
/* Until all is known of that time. False: interrupted, or @stop_fd (-1: none) became readable. */
bool quiet_wait(struct quiet *q, size_t time, int stop_fd);
/* Where this end was the first to speak, on what it opened (@opened) or the peer did: a letter for
 * each time, "" where nothing is known; in @ret, which has room for QUIET_TIMES + 1. */
const char *quiet_said(const struct quiet *q, size_t peer, bool opened, char *ret);
/* Of the new connection to it. */
char quiet_again(const struct quiet *q, size_t peer);
uint16_t quiet_port(const struct quiet *q);
size_t quiet_number(const struct quiet *q); /* of connections that were opened here */
void quiet_close(struct quiet *q);	    /* NULL is fine */
/* A line of progress, for whoever waits: so much of the longest time has passed. */
void quiet_show(uint64_t passed_ns, uint64_t longest_ns);

#endif
