#ifndef PROBES_LOG_WHY_H
#define PROBES_LOG_WHY_H
/*
 * A log, or several, read as a stream, and what of it matters remembered. The
 * memory is bounded whatever is fed: a few events per signature, a table of
 * processes. One struct why takes several streams (files; a command's stdout
 * and stderr); explain.h says what it all means.
 */
#include "lib/flight/frame.h"
#include "probes/log/actors.h"
#include "probes/log/apart.h"
#include "probes/log/asides.h"
#include "probes/log/busy.h"
#include "probes/log/cachekeys.h"
#include "probes/log/catalogue.h"
#include "probes/log/elastic.h"
#include "probes/log/ending.h"
#include "probes/log/endpoint.h"
#include "probes/log/exits.h"
#include "probes/log/generated.h"
#include "probes/log/gid.h"
#include "probes/log/ignored.h"
#include "probes/log/kubetime.h"
#include "probes/log/machine.h"
#include "probes/log/muster.h"
#include "probes/log/pings.h"
#include "probes/log/pkeys.h"
#include "probes/log/podrow.h"
#include "probes/log/roster.h"
#include "probes/log/samples.h"
#include "probes/log/sequel.h"
#include "probes/log/setup.h"
#include "probes/log/shown.h"
#include "probes/log/summons.h"
#include "probes/log/tasks.h"
#include "probes/log/traits.h"
#include "probes/log/twins.h"
#include "probes/log/uneven.h"
#include "probes/log/votes.h"
#include "probes/log/worlds.h"

struct flight;

enum { EVENTS_KEPT = 8, EVENT_TEXT = 400, RANKS_KEPT = 64, FRAME_TEXT = 200 };

/* A line that a signature matched. */
struct log_event {
	uint64_t line;	/* of its file, from 1 */
	uint64_t order; /* over all that was fed */
	unsigned file;	/* index into why.files */
	struct log_who who;
	enum clock_kind clock;
	int64_t time_ms;
	const char *text, *body; /* body: without time, rank and host */
	bool after_traceback;
	enum frame_owner innermost; /* ... whose innermost file that is, ... */
	bool in_module;		    /* ... which was being imported, or run */
	bool is_ignored;	    /* of an exception that Python goes on after */
	bool has_come;	   /* what it could not get (a file, a node, a link) came afterwards */
	const char *frame; /* "train.py line 9, in step": the program's own, or NULL */
};

/* How a source went on. */
struct log_progress {
	uint32_t steps;		 /* lines of progress that were counted */
	char step[64];		 /* the beginning of the last of them: when was it? */
	uint64_t finish, lines;	 /* the line that said it came to its end, 0: none; all of them */
	struct log_who finisher; /* who said that */
	uint64_t met;		 /* the latest line that says that all came together, 0: none */
	struct log_who meeter;	 /* who said that */
	struct ending ending;
	bool is_cut;   /* it ends with ^C */
	uint64_t told; /* a server was told to end, 0: no */
	/* what it has of figures: a benchmark's table, or NCCL's Inspector's lines */
	enum { MEASURED_NOTHING, MEASURED_TABLE, MEASURED_RECORD } measured;
	bool is_open;		  /* a table's last lines have not come */
	bool is_reply;		  /* its lines are those of a call stack in it: reply.h */
	uint64_t gpu;		  /* the latest line that shows a GPU at work, 0: none */
	struct log_who gpu_owner; /* who said that */
	/* the lines after which its file began anew: it was cut, or replaced */
	LIST(uint64_t) anew;
};

/* Of RDMA's ports, as far as the log has them; 0: not said, or not another one. */
struct mtus {
	long one_bytes, other_bytes;
};

/* What one signature met. */
struct record {
	uint64_t count;
	uint64_t ignored; /* of those, in what Python ignores */
	uint64_t tried;	  /* lines that had its anchor and were looked at */
	LIST(struct log_event) events;
	int *ranks; /* the first RANKS_KEPT different ones; NULL: none yet */
	size_t nranks;
	uint32_t fatigue; /* hits since tired of it */
	/* where its latest line was: did the job go on after it? */
	unsigned last_file;
	uint32_t last_progress;
	uint64_t last_line;
	/* whose trying again has not worked yet: ranks, by their last six bits, and others */
	uint64_t open_ranks;
	bool is_open;
	bool is_up_again;   /* the daemon that its lines are of came up after them */
	bool is_guess;	    /* by the words alone of a line that was pasted */
	uint64_t back_line; /* where what all of its lines speak of came back; 0: nowhere */
};

struct why {
	struct arena a;
	struct record *records; /* by signature */
	struct signature_re *compiled;
	bool *is_retired; /* also the facts' */
	struct scan *scan;
	struct actors actors;
	str_list files;
	uint64_t lines, bytes, order;
	uint64_t news;	     /* lines that an entry knew, and not as one more of a thousand */
	uint64_t healthy;    /* lines that only a working job prints */
	uint64_t finished;   /* ... and one that came to its end */
	bool is_interrupted; /* somebody pressed Ctrl-C */
	long nodes;	     /* that the launcher was told; 0: not said */
	long gloo_ranks;     /* of its largest group; 0: not said */
	struct muster muster[MUSTER_KINDS];
	str_list barriers;    /* keys of torch's barriers that all ranks reached; the first 64 */
	struct roster roster; /* of MEMBERS */
	struct worlds worlds;
	struct launches launches;
	struct summons summons;
	struct twins twins;
	struct apart apart;
	struct generated generated;
	/* the store's latest count of its ranks, and of how many; 0: not said */
	long store_came, store_total;
	/* lines that only training that goes on prints, by file; counted for a while after a
	 * failure */
	LIST(struct log_progress) progress;
	unsigned progress_left, progress_armed;
	uint64_t *fact_tried;
	unsigned bare_tried; /* lines that nothing knew as they stood */
	/* the bar of a preparation that still ran when somebody gave up */
	char preparation[64];
	int preparation_percent;
	long preparation_s; /* 0: none */
	struct elastic elastic;
	struct exits exits;
	struct endpoints endpoints;
	struct mtus mtus;
	struct kubetimes kubetimes;
	struct podrows podrows;
	struct tasks tasks;
	struct votes votes;
	struct cachekeys cachekeys;
	struct samples samples;
	long stalled;	       /* the first rank that Horovod misses; -1: not said */
	bool uses_efa;	       /* AWS's network, through libfabric */
	bool has_ddp;	       /* or a launcher of ranks */
	char nccl_said[2][24]; /* the first two different versions; "": not said */
	char ray_head[64];     /* its address, as the nodes were told; "": not said */
	long cuda_of_nccl;     /* 12060: the one that it was built with; 0: not said */
	long cuda_of_driver;   /* 12020: the latest CUDA that it serves; 0: not said */
	char awaited[160];     /* the latest line that waits for somebody to be ready */
	struct setup setup;
	struct traits traits;
	struct pings pings;
	struct asides asides;
	struct pkeys pkeys;
	struct shown shown;
	struct uneven uneven;
	struct gids gids;
	struct busy busy;
	str_list settings;     /* of transports and algorithms: "NCCL_ALGO=Ring", each once */
	struct flight *flight; /* the dumps that were read; NULL: none */
	bool has_dumped;       /* a log says that there are some ... */
	str_list dumped;       /* ... and where */
	const char *ended;     /* how the command that was run failed; NULL: there was none */
	bool was_silent;       /* ... and it had printed nothing */
};

void why_init(struct why *w);
void why_done(struct why *w);

struct reply;

enum { PASTED_MOST = 2000 /* bytes */, PASTED_LINES = 3 };

/* One source of lines. */
struct why_stream {
	struct why *w;
	unsigned file;
	struct log_who owner;	   /* who says what names nobody, as far as its path tells */
	char heading[64];	   /* of the machine that the lines below are of; "": none */
	const struct reply *reply; /* what its rank failed of, and when; NULL: not known */
	uint64_t line, counted;
	uint64_t traceback;	/* the line of the latest one */
	char frame[FRAME_TEXT]; /* its innermost that is no library's; "": none yet */
	enum frame_owner innermost;
	bool in_module;		/* it failed at the file's own level, in no function */
	struct ignored ignored; /* exceptions that Python goes on after */
	struct sequel sequel;	/* of the line that was looked at last */
	struct showing showing; /* what kubectl shows there */
	enum { TEXT_UNKNOWN, TEXT_BYTES, TEXT_WIDE_LE, TEXT_WIDE_BE } width;
	bool odd; /* between the bytes of a wide character */
	/* set by who reads a whole text, whose lines may have been broken (rejoin.h): nothing is
	 * looked at before enough of it came */
	bool is_text;
	bool is_measured;
	/* the whole, while it is no more than what somebody copied out of a log, and which of its
	 * lines an entry knows: a bit for each number */
	char pasted[PASTED_MOST];
	size_t pasted_n;
	unsigned known;
	char last[400];	  /* the beginning of the latest line that is not empty */
	char dmesg[64];	  /* whose dmesg somebody shows; "": not said */
	uint64_t test;	  /* where a test began that says what it does; 0: in none */
	bool is_framed;	  /* and below a frame of a traceback */
	bool is_folded;	  /* as YAML folds (unfold.h) */
	size_t broken_at; /* columns; 0: not */
	char *buf;
	const char *at; /* in buf: the first literal of the line that is looked at */
	size_t n, cap;
};

/* @name is what people call it. */
void why_open(struct why_stream *s, struct why *w, const char *name);
/* ... "host:path", of the host that it lies on. NULL: that is not known. */
void why_open_of(struct why_stream *s, struct why *w, const char *name, const char *host);
void why_feed(struct why_stream *s, const char *data, size_t n);
/* Room for at least some bytes that a read() may fill; tell with why_filled(). */
char *why_room(struct why_stream *s, size_t *ret_n);
void why_filled(struct why_stream *s, size_t n);
/* Takes a last line without an end. The stream can be fed on. */
void why_flush(struct why_stream *s);
/* What comes next is the first line of its file. */
void why_anew(struct why_stream *s);
void why_close(struct why_stream *s);
/* Its number in its file; @ret_past: which has begun anew since. */
uint64_t why_line_of(const struct why *w, const struct log_event *e, bool *ret_past);

/* Somebody ended it by hand. */
bool why_was_interrupted(const struct why *w);
/* It trained, or came to its end, or did its first dozen of collectives. */
bool why_has_worked(const struct why *w);

static inline bool event_shares_line(const struct log_event *a, const struct log_event *b)
{
	return a->line == b->line && a->file == b->file;
}
/* Earlier: by the clock where both have the same kind, else by their order. */
bool event_before(const struct log_event *a, const struct log_event *b);
/* How much later @a is, by the kind of clock that both have. */
int64_t event_later_ms(const struct log_event *a, const struct log_event *b);

/* --- between why.c and why_line.c ------------------------------------------------ */
enum { LINE_TAGS = 24 /* different literals that count on one line */ };
struct why_hits {
	const char *start;	   /* of the line */
	const char *at[LINE_TAGS]; /* in their order */
	unsigned tags[LINE_TAGS];
	size_t n;
};
/* In any order. Each tag counts once; of too many the first ones stay. */
void why_hit(struct why_hits *p, const char *at, unsigned tag);
void why_line(struct why_stream *s, const struct why_hits *p, const char *end);
/* Does the signature of that number know the line? */
bool why_matches(struct why_stream *s, size_t sig, struct log_line *l);
/* Fires it where it would know @said, the message in @l, with an exception's name before it. */
bool why_unnamed(struct why_stream *s, size_t sig, struct log_line *l, const char *said);
/* One of a few lines that nothing knows as it stands, s->line: somebody may have left the name of
 * the exception away. */
void why_pasted(struct why_stream *s, const char *line, size_t n);
/* The log was cut within a traceback, at the "raise RuntimeError("no GPU")" whose message would
 * have come next. */
void why_cut(struct why_stream *s);
/* Keeps what it looks at, of @text's whole lines. */
void why_keep_last(struct why_stream *s, const char *text, const char *end);
/* The entry @id counts this line as its own, whatever its expression says. */
void why_fire(struct why_stream *s, const char *id, const struct log_line *l);

/* What comes before the message of @l, and who said it and when. Done already, it costs nothing. */
void why_place(const struct why_stream *s, struct log_line *l);

/* From now on a few lines of progress are counted. */
void why_watch_progress(struct why *w);

/* --- between why_line.c and facts.c ------------------------------------------------- */
struct fact {
	const char *anchors;
	uint64_t enough; /* lines looked at; then it is left alone */
	/* one of the two: of the job, or of the process that speaks */
	void (*learn)(struct why *w, struct why_stream *s, const struct log_line *l);
	void (*hear)(struct actors *t, const struct log_line *l);
};
extern const struct fact log_facts[];
extern const size_t log_fact_count, log_fact_progress /* its index */;

#endif
