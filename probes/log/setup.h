#ifndef PROBES_LOG_SETUP_H
#define PROBES_LOG_SETUP_H
/*
 * What NCCL says with NCCL_DEBUG=INFO that it set up, whether the job works or
 * not: over which interface ranks meet, which network and cards they use, which
 * ways their channels go and with GPUDirect or without, how long it took, and
 * which settings it read. Heard line by line (setup_hear.c) in bounded memory;
 * told as the section "What NCCL set up" (setup_tell.c), with a warning where it
 * is poor though nothing failed (setup_judge.c).
 *
 * A line about a channel names ranks of a communicator, and not of which: where
 * two processes speak of one pair, nothing is made of that pair.
 */
#include "lib/host/nccl_channel.h"
#include "probes/log/line.h"

#include "lib/core/arena.h"

enum {
	SETUP_WAYS = 12,
	SETUP_PAIRS = 16384,
	SETUP_SETTINGS = 32,
	SETUP_CARDS = 8,
	INIT_PARTS = 8,
	SETUP_CHANNELS_ENOUGH = 200000 /* lines about channels; then no more are looked at */
};

/* A connection that some rank said, first of its kind. */
struct setup_example {
	int from, to;
	unsigned actor; /* from 1; 0: nobody said so */
};

/* "NET/IB", "P2P/CUMEM", "SHM": ends of channels, by which end said it, and of those the ones with
 * GPUDirect. */
struct setup_way {
	char name[40];
	enum nccl_way way;
	uint64_t said[3], direct[3]; /* by enum nccl_end */
	struct setup_example first, bounced /* without GPUDirect */;
};

/* Two ranks over a network that may have GPUDirect. */
struct setup_pair {
	int from, to;
	uint16_t actor[3];	 /* who said that end, from 1 */
	uint8_t direct, bounced; /* ends that had it, that had it not: a bit each */
	bool is_many;		 /* several communicators have such a pair */
	uint16_t next;		 /* of the same hash, from 1 */
};

struct setup_setting {
	const char *name, *value, *other; /* other: another process has that; NULL: none */
	unsigned actor, other_actor;	  /* from 1 */
	uint64_t hosts;			  /* that say it: a bit each, by their place in actors */
};

/* Of the largest communicator's ranks. */
struct setup_init {
	int nranks;
	uint64_t n;
	double sum_s, longest_s, parts_s[INIT_PARTS]; /* parts: of the slowest; < 0: not said */
	struct log_who slowest;
	double boot_least_s, boot_most_s; /* who waited least for the others came last */
	struct log_who last;
};
extern const char *const init_parts[INIT_PARTS];

struct setup {
	struct setup_way ways[SETUP_WAYS];
	size_t nways;
	LIST(struct setup_pair) pairs;
	uint16_t *heads;   /* NULL: none yet */
	uint64_t channels; /* lines of them that were looked at */
	bool has_collnet;  /* SHARP */
	bool rings, trees; /* connected */
	long coll, nvls;   /* channels; -1: not said */
	bool has_nvls, lacks_nvls;
	unsigned nvls_on, nvls_off; /* who said it first: actors, from 1 */
	long nodes;		    /* of the largest communicator; 0: not said */
	char plugin[48];	    /* the network's that was loaded; "": none */
	char tuner[48], provider[48] /* libfabric's */;
	bool no_plugin;			/* NCCL uses its own network */
	char plugin_failed[160];	/* what it says of one that it could not use */
	bool no_ib;			/* "NET/IB : No device found" */
	const char *cards[SETUP_CARDS]; /* "mlx5_0:1/IB"; of who said it first */
	size_t ncards, more_cards;
	uint64_t gdr_on, gdr_off; /* lines that say so of a card or a GPU */
	char gdr_why[160];	  /* the first that says it is off */
	char p2p_off[160];	  /* "P2P is disabled between connected GPUs 0 and 1" */
	struct setup_init init;
	struct setup_setting settings[SETUP_SETTINGS];
	size_t nsettings, more_settings;
	uint64_t hosts; /* that say any of them */
};

struct why;
struct why_stream;
struct explanation;
struct report;

/* --- setup_hear.c --- */
void setup_hear_channel(struct why *w, struct why_stream *s, const struct log_line *l);
void setup_hear_counts(struct why *w, struct why_stream *s, const struct log_line *l);
void setup_hear_nodes(struct why *w, struct why_stream *s, const struct log_line *l);
void setup_hear_nvls(struct why *w, struct why_stream *s, const struct log_line *l);
void setup_hear_connected(struct why *w, struct why_stream *s, const struct log_line *l);
void setup_hear_plugin(struct why *w, struct why_stream *s, const struct log_line *l);
void setup_hear_cards(struct why *w, struct why_stream *s, const struct log_line *l);
void setup_hear_gdr(struct why *w, struct why_stream *s, const struct log_line *l);
void setup_hear_p2p(struct why *w, struct why_stream *s, const struct log_line *l);
void setup_hear_times(struct why *w, struct why_stream *s, const struct log_line *l);
void setup_hear_setting(struct why *w, struct why_stream *s, const struct log_line *l);

/* --- setup_what.c --- */
/* Channels that go this way, each counted once; those of them with GPUDirect at both ends. */
uint64_t setup_count(const struct setup_way *y);
uint64_t setup_direct(const struct setup_way *y);
/* Is that network one for GPUDirect? Sockets are not. */
bool setup_may_direct(const struct setup_way *y);
/* "rank 3 -> 8 on node1" */
const char *setup_example(const struct why *w, const struct setup_example *e, struct arena *a);
/* NULL: nobody said it. */
const char *setup_setting(const struct setup *s, const char *name);
/* As far as the log tells: NCCL's own count, else the hosts that speak. Of the largest
 * communicator the ranks; 0: not said. */
size_t setup_hosts(const struct why *w);
int setup_ranks(const struct why *w);
/* Each once: networks that were chosen, interfaces to meet over, interfaces for sockets, cards. */
str_list setup_networks(const struct why *w, struct arena *a);
str_list setup_meeting(const struct why *w, struct arena *a);
str_list setup_sockets(const struct why *w, struct arena *a);
str_list setup_cards(const struct why *w, struct arena *a);
struct cJSON;
void setup_data(const struct why *w, struct cJSON *root, struct arena *a);

/* --- setup_judge.c, setup_slow.c: findings that warn --- */
void setup_judge(const struct why *w, const struct explanation *x, struct report *r);
void setup_slow(const struct why *w, struct report *r);

/* --- setup_tell.c --- */
/* Did NCCL say anything of it? */
bool setup_is_known(const struct why *w);
/* The finding log.setup, those that warn, the section and data.setup; nothing where NCCL said
 * nothing of it. */
void setup_tell(const struct why *w, const struct explanation *x, struct report *r);

#endif
