#ifndef LIB_FLIGHT_FLIGHT_H
#define LIB_FLIGHT_FLIGHT_H
/*
 * The dumps of PyTorch's Flight Recorder, one per rank: which collectives each
 * rank entered, in which group, with what, and how far they came. What many
 * entries have in common (names, sizes, frames) is kept once, so that a
 * thousand ranks fit into memory. probes/flight/judge.h says what they mean.
 *
 * A dump does not say whose it is; its file's name does, as PyTorch makes it
 * (nccl_trace_rank_3), or else the groups that it is in.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

enum { FLIGHT_GROUPS = 1024 /* that one rank is in, at most */ };
enum { FLIGHT_HEAD = 1 << 16 /* first bytes that tell a dump from a log */ };

enum flight_state { FLIGHT_SCHEDULED, FLIGHT_STARTED, FLIGHT_COMPLETED };

/* A word of flight.words; 0 is "". */
typedef uint32_t flight_word;

struct flight_entry {
	uint64_t record;    /* counts what this rank ever recorded */
	int64_t created_ns; /* since 1970, by its host's clock; never less than 0 */
	float duration_ms;  /* -1: not measured */
	uint32_t seq;	    /* in its group: of collectives, or of sends and receives */
	uint32_t written;   /* what its dump has for its number among collectives: see count.c */
	uint32_t group;
	uint32_t timeout_s;
	uint32_t pg_id;	   /* how the watchdog calls its group */
	flight_word op;	   /* "all_reduce", "send 0->1" */
	flight_word frame; /* "train.py line 9, in step": the program's own */
	flight_word in, out, in_types, out_types;
	uint8_t state;
	bool is_p2p;
	bool is_end;  /* of several that were put together */
	bool is_part; /* ... and one of those: it has no state of its own */
};

struct flight_group {
	flight_word as, of; /* its name, and its ranks as the dumps write them */
	const char *name, *desc;
	int *ranks; /* in the group's own order */
	size_t n;
	bool is_told; /* a dump lists its ranks; else they are those that are in it */
};

struct flight_status { /* as the watchdog counted; -1: none */
	uint32_t group;
	int64_t enqueued, started, completed;
};

/* A group in which messages were counted among the collectives. */
struct flight_shift {
	uint32_t group;
	bool is_known; /* from the first one on, so that its numbers are as other ranks' are */
};

struct flight_dump {
	const char *path, *version;
	int rank;
	int64_t written_ns; /* when its file was, since 1970; 0: not known */
	int64_t last_ns;    /* the last thing that it tells of; 0: nothing */
	LIST(struct flight_entry) entries;
	LIST(uint32_t) groups; /* that it is in */
	LIST(struct flight_status) status;
	LIST(struct flight_shift) shifts;
	bool is_cut;	  /* nothing of it could be read but that it is one */
	bool tells_start; /* it would say of an entry that it began */
	bool is_left_out; /* of another run, or an older one of the same rank */
};

struct flight_text {
	const char *s;
	uint32_t hash;
	int64_t elements; /* of tensors' sizes */
};

struct flight {
	struct arena a;
	LIST(struct flight_dump) dumps;
	LIST(struct flight_group) groups;
	LIST(struct flight_text) words;
	uint32_t *slots; /* of words, by hash */
	size_t nslots;
};

struct flight *flight_new(void);
void flight_free(struct flight *f);

/* Do these first bytes begin a dump, or any pickle? */
bool flight_begins(const char *head, size_t n);
/* Takes the dump that @fd goes on with after @head. An error is of the file, not of the cluster; of
 * one that was cut short it is remembered whose it was. @path: what people call it. */
int flight_read(struct flight *f, int fd, const char *path, const char *head, size_t n,
		struct err *e) MUST_CHECK;
/* The same, of bytes that are all there. @written_ns may be 0. */
int flight_take(struct flight *f, const char *path, int64_t written_ns, const char *data, size_t n,
		struct err *e) MUST_CHECK;

/* The rank that a file's name ends in; -1: none. */
int flight_rank_of(const char *path);

bool flight_group_has(const struct flight_group *g, int rank);
/* Do both say who is in their world, and not the same? Then they are of two runs. */
bool flight_worlds_differ(const struct flight *f, const struct flight_dump *a,
			  const struct flight_dump *b);
/* The longest that a collective of it may take; 0: it does not say. */
uint32_t flight_timeout_s(const struct flight_dump *d);
/* So much later than another's end may a rank of the same run, of that timeout, still tell of
 * something, or begin. */
int64_t flight_patience_ns(uint32_t timeout_s);

static inline const char *flight_said(const struct flight *f, flight_word w)
{
	return f->words.v[w].s;
}

/* --- between model.c, entries.c and read.c ----------------------------------------- */
struct value;
flight_word flight_keep(struct flight *f, const char *s, size_t n); /* up to a NUL in it */
/* Of a group's name and the text of its ranks, "[0, 1]"; NULL where it is not said. */
uint32_t flight_group_of(struct flight *f, const char *name, const char *desc, const char *ranks);
/* What a dump holds. @d is empty but for its path and time. */
int flight_model(struct flight *f, struct flight_dump *d, const struct value *v, struct err *e);
/* ... its entries. */
void flight_entries(struct flight *f, struct flight_dump *d, const struct value *list);
/* Numbers its collectives alone. @has_p2p: messages have numbers of their own. */
void flight_count(struct flight *f, struct flight_dump *d, bool has_p2p);
/* What the collective that was written as @written, or the last one before, is by that; -1: it is
 * not there any more. */
int64_t flight_counted(const struct flight_dump *d, uint32_t group, int64_t written);

#endif
