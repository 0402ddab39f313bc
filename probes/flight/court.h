#ifndef PROBES_FLIGHT_COURT_H
#define PROBES_FLIGHT_COURT_H
/* Between those who judge: the dumps of one run, made ready to be compared. */
#include "probes/flight/judge.h"
#include "probes/tally/ranks.h"

enum { NOWHERE = UINT32_MAX };

/* How far one rank came in one group. Entries are named by their place in the dump. */
struct track {
	uint32_t group;
	uint32_t lo, hi;      /* in view.order */
	uint32_t first, last; /* numbers of collectives that are in the buffer */
	uint32_t waits;	      /* the first that has not completed; NOWHERE: all have */
	int64_t enqueued;     /* the last one, as the watchdog counted; -1: not said */
	bool is_adrift;	      /* its numbers are not those of other ranks: see count.c */
};

struct view {
	const struct flight_dump *d;
	uint32_t *order; /* collectives, by group and number */
	size_t norder;
	LIST(struct track) tracks;
	uint32_t stuck; /* what it waits in before all else; NOWHERE: nothing */
	bool has_lost;	/* older entries fell off its buffer */
};

/* What ranks wait in: a collective of a group, the first that is not over. */
struct front {
	uint32_t group, seq; /* seq: NOWHERE where nobody waits in that group */
	int64_t created_ns;
	bool is_adrift; /* the number is one rank's alone */
};

struct court {
	struct flight *f;
	struct arena *a;
	struct view *views; /* by rank */
	size_t nviews;
	struct front *fronts; /* by group */
	int64_t last_ns;      /* the last thing that any rank saw */
	int *cut;	      /* ranks whose dump could not be read */
	size_t ncut;
};

enum presence { HERE, ABSENT, LOST, NO_DUMP };

/* Makes it ready; leaves out what is of another run, and says so in @v. */
void court_open(struct court *c, struct flight_verdict *v);
struct view *court_view(const struct court *c, int rank);
const struct track *view_track(const struct view *v, uint32_t group);
/* Has this rank entered that collective? @ret: the entry. */
enum presence view_presence(const struct view *v, uint32_t group, uint32_t seq,
			    const struct flight_entry **ret);

static inline const struct flight_entry *view_entry(const struct view *v, uint32_t i)
{
	return &v->d->entries.v[i];
}

/* --- what is told ------------------------------------------------------------------- */
typedef LIST(int) rank_list;

const char *say_group(const struct court *c, uint32_t group); /* "group \"tp\" (ranks 0-3)" */
const char *say_op(const struct court *c, const struct flight_entry *e); /* "all_reduce #118" */
const char *say_at(const struct court *c, const struct flight_entry *e); /* " (train.py ...)" */
/* "the last it entered was ..."; @group: the one that is talked about. */
const char *say_last(const struct court *c, const struct view *v, uint32_t group);
/* " of the same group", or of which. */
const char *say_of(const struct court *c, uint32_t of, uint32_t group);

struct flight_cause *tell_new(struct court *c, struct flight_verdict *v, const char *id, int weight,
			      const int *ranks, size_t n);
void tell_line(struct court *c, str_list *to, const char *fmt, ...) PRINTF(3, 4);

/* --- the judges: each returns true where it told a cause ------------------------------ */
/* Ranks that called other things under one number. Of match.c. */
bool judge_match(struct court *c, struct flight_verdict *v);
/* Who waits for whom. Of chain.c. */
bool judge_chain(struct court *c, struct flight_verdict *v);
/* Who comes last again and again. Of slow.c. */
void judge_slow(struct court *c, struct flight_verdict *v);

/* Of messages.c: what a rank's stuck send or receive waits for. */
struct need {
	const struct flight_entry *mine, *theirs; /* theirs: NULL where the peer never called it */
	int peer;				  /* its rank; -1: the group does not say */
	struct view *at;			  /* NULL: no dump of it */
};
typedef LIST(struct need) need_list;
void messages_needed(const struct court *c, const struct view *v, uint32_t entry, need_list *ret);
/* A send or receive that has not completed, and after which none of its kind has; or NOWHERE. */
uint32_t messages_stuck(struct arena *a, const struct flight_dump *d);

#endif
