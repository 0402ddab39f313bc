#ifndef PROBES_TALLY_TALLY_H
#define PROBES_TALLY_TALLY_H
/*
 * All findings of a pre-flight in the order of its stages, whoever made them:
 * we, a sibling command here, or a node. What several hosts say alike is one
 * line for people; what is wrong is ranked, the first cause first.
 */
#include "lib/cluster/on_each.h"
#include "lib/report/report.h"

struct item {
	unsigned stage; /* its place in the order of dependency */
	const char *stage_name;
	struct finding *f;
	host_list hosts; /* who says so; none: this host */
	bool retold;	 /* another says it too, and more surely: this one is not shown */
	bool of_shell;	 /* of the shell that we were typed in, and of no host */
};
typedef LIST(struct item) item_list;

struct tally {
	struct arena *a;
	struct report *r;
	const char *own;	    /* this host, when it is one of several */
	const struct host_way *way; /* to the hosts that speak; NULL: there is none */
	bool fold;		    /* one line for several hosts: for people, not for programs */
	bool terse;		    /* and what passed is one line for each stage */
	item_list items;
	size_t emitted; /* of items: in the report already */
	/* private: warnings and remarks by what they say; one more than their place in items */
	size_t *said, said_size, said_n;
};

/* A finding of our own, not yet in the report. @stage_name: the tally's for as long as it is. */
struct finding *tally_add(struct tally *t, unsigned stage, const char *stage_name,
			  const char *check, const char *subject);
/* What was added last is what this host says. */
void tally_of_host(struct tally *t, const char *host);
/* One finding of an envelope. @host: who made it; NULL: this host. */
void tally_take(struct tally *t, unsigned stage, const char *stage_name, const char *host,
		const cJSON *finding);
/* Brings what was added since the last time into the report, folded where that is wanted. */
void tally_emit(struct tally *t);
/* A copy of items [from, n), alike ones joined; with @wrong only what is wrong. */
item_list tally_folded(const struct tally *t, size_t from, bool wrong);
/* How the stage of these items ended: the worst, FAIL before ERROR; SKIP: nothing was tested. */
enum status tally_status(const struct tally *t, size_t from, size_t to);
const struct finding *tally_first(const struct tally *t, size_t from, size_t to, enum status st);
bool tally_same_fix(const str_list *x, const str_list *y);
/* For a command that many hosts have alike, one line that does it on all of them; NULL: it changes
 * nothing there, or has a hole that a person must fill, or there is no way to them. */
const char *tally_on_all(const struct tally *t, const struct item *x, const char *fix);
/* @fix of @host for several alike; @rsh: as given, or NULL. */
const char *tally_of_one(struct arena *a, const char *fix, const char *host, const char *rsh);
/* That line; else @fix, and behind it where it is to be typed unless it says so. */
const char *tally_typed(const struct tally *t, const struct item *x, const char *fix);
/* "node2 is not reached", "this host: no interface is up": for the middle of another sentence. */
const char *tally_sentence(struct arena *a, const struct finding *f);
/* Of a comparison of runs: news, also where it passes. */
bool tally_is_change(const struct finding *f);
/* Silence has many causes: this finding names none, such as a rule or a route. */
bool tally_is_guess(const struct finding *f);
/* What is wrong, folded, worst first, then in the order of stages, then by number of hosts. */
item_list tally_causes(const struct tally *t);
/* Prints the causes that people must act on; all of them into data.causes. */
void tally_tell_causes(const struct tally *t, const item_list *causes);

#endif
