#ifndef LIB_CLUSTER_RDZV_MESSAGES_H
#define LIB_CLUSTER_RDZV_MESSAGES_H
/*
 * What a rank and the rendezvous say to each other (on lib/net/channel.h).
 * Everybody "meets" in order: meeting 0 is the join, every barrier and
 * all-gather is the next. What a meeting leaves is one table, read in pages,
 * so that ten thousand ranks do not each get ten thousand entries at once.
 *
 *	rank -> server                        server -> rank
 *	JOIN  protocol version run rank       WELCOME rank heartbeat_ns
 *	      size local_rank host            REFUSED sentence
 *	      data_addr device                ELSEWHERE sentence (another run's; look on)
 *	      silence_ns excuse
 *	                                      LATER sentence (this run is ending; try again)
 *	BEAT                                  BEAT
 *	SET   key value
 *	GET   id key                          VALUE id value (when it is set)
 *	MEET  seq blob                        MET   seq total page (when all have come)
 *	PULL  seq offset                      PAGE  seq offset page
 *	ASK   seq                             STATUS seq idle_ns sentence
 *	LEAVE why reason ("" in order)        FAILED why sentence
 *
 * Integers are u32 but offset, total and what ends in _ns; -1 travels as UINT32_MAX; why is
 * enum rdzv_why.
 * What comes before JOIN's protocol and version never changes: whoever speaks another
 * protocol is told so, whatever else it sent.
 */
#include "lib/net/wire.h"

enum rdzv_type {
	RDZV_JOIN = 1,
	RDZV_BEAT,
	RDZV_SET,
	RDZV_GET,
	RDZV_MEET,
	RDZV_PULL,
	RDZV_ASK,
	RDZV_LEAVE,
	RDZV_WELCOME = 64,
	RDZV_REFUSED,
	RDZV_VALUE,
	RDZV_MET,
	RDZV_PAGE,
	RDZV_STATUS,
	RDZV_FAILED,
	RDZV_ELSEWHERE,
	RDZV_LATER,
};

enum {
	RDZV_PROTOCOL = 4, /* 2: silence_ns and excuse in JOIN; 3: why in LEAVE and FAILED;
			      4: LATER */
	RDZV_PAGE_MAX = 16 << 10,
	RDZV_KEY_MAX = 255,
	RDZV_VALUE_MAX = (1 << 20) - 1024, /* with its key it has to fit in one message */
	RDZV_TEXT_MAX = 255,		   /* a host, an address, a device */
	RDZV_SAY_MAX = 480,		   /* a sentence: it has to fit in struct err */
};

/* "rank 3 (node1) does not take part: no such option" */
#define RDZV_EXCUSED " does not take part: "
/* How the sentence begins of a rank that found nobody. */
#define RDZV_NOT_FOUND "no rendezvous at "

struct rdzv_join_msg {
	const char *version, *run; /* run "": not said */
	int rank, size, local_rank;
	const char *host, *data_addr, *device;
	uint64_t silence_ns; /* that this rank's machine may make of it; 0: the server's figure */
	const char *excuse;  /* why it does not come; "": it does */
};

struct rdzv_member;

void rdzv_put_join(struct wire_out *w, const struct rdzv_join_msg *m);
/*
 * -1: no JOIN. @ret_protocol is read first, and nothing else when it is
 * another than ours but the version. Texts in @a.
 */
int rdzv_read_join(struct wire_in *w, struct arena *a, uint32_t *ret_protocol,
		   struct rdzv_join_msg *ret) MUST_CHECK;

/* The table that meeting 0 leaves. */
void rdzv_put_member(struct wire_out *w, const struct rdzv_member *m);
size_t rdzv_member_size(const struct rdzv_member *m);
int rdzv_read_members(struct wire_in *w, struct arena *a, struct rdzv_member *ret,
		      size_t n) MUST_CHECK;

#endif
