#ifndef PROBES_IFACE_FLEET_H
#define PROBES_IFACE_FLEET_H
/*
 * ifprobe on many hosts (--hosts): the same question is asked everywhere, the
 * answers are merged, and what only a comparison shows is judged here: names
 * that differ, choices that cannot reach each other, variables that disagree.
 */
#include "lib/cluster/carry.h"
#include "lib/cluster/fanout.h"
#include "lib/report/report.h"
#include "probes/tally/names.h"
#include "probes/tally/tally.h"

struct fleet {
	const char *command; /* NULL: ifprobe */
	const char *given;   /* --hosts as typed, for commands that we propose */
	host_list hosts;
	const char *rsh;
	/* What is typed between our name and --hosts, behind a blank; NULL: there is no --copy-self
	 * to advise */
	const char *mode;
	const char *set; /* a variable that it has there, "MASTER_PORT=29500"; NULL: none */
	const struct carry *carry; /* to these hosts; NULL: nothing was */
	uint64_t deadline_ns;	   /* of one peer's answer; a host gets more */
	uint64_t patience_ns;	   /* with a host; 0: three times that */
	struct arena *a;
	struct report *report;
	bool fold;			  /* what hosts say alike is one line: for people */
	str_list lost;			  /* did not answer: not asked again */
	LIST(const struct finding *) why; /* of each of them, as it was reported */
	/* private: */
	struct names lost_set;
	struct tally told;
	struct host_way way;
};

/* One host's answer. The documents belong to the fleet's asker: answers_done(). */
struct answer {
	const char *host;     /* as named in --hosts */
	const char *hostname; /* as the host calls itself */
	cJSON *doc;	      /* its envelope; NULL: none came (a finding says why) */
	const cJSON *data;    /* doc's data, or NULL */
};
struct answers {
	struct answer *v;
	size_t n;
};
void answers_done(struct answers *a);
size_t answers_count(const struct answers *a); /* hosts that gave one */

/*
 * Runs `COMMAND ARGS --json` on every host, at most 32 at a time. A host that
 * does not answer is a FAIL finding host.answer. With @merge every answer's
 * findings and data go into the report.
 */
int fleet_ask(struct fleet *f, const str_list *args, bool merge, struct answers *ret,
	      struct err *e) MUST_CHECK;

/* Its findings and data into the report; fleet_say() brings them there. */
void fleet_merge(struct fleet *f, const char *host, const cJSON *doc);
void fleet_say(struct fleet *f);

/* The table of what each chose, and a warning where the MTUs of the choices differ. */
void fleet_view_choices(struct fleet *f, const struct answers *all);
void fleet_compare_mtu(struct fleet *f, const struct answers *all);

/* --suggest --hosts: proves a choice on every host and answers with lines that
 * are right on all of them. @form is an emit form's name; NULL: findings only. */
int fleet_suggest(struct fleet *f, const char *form, bool name_only, struct err *e) MUST_CHECK;
/* Without a mode: every host's own judgement, then the proof between them. */
int fleet_bare(struct fleet *f, struct err *e) MUST_CHECK;
/* --predict --hosts: can each host reach what NCCL would publish on the others? */
int fleet_predict(struct fleet *f, const str_list *args, struct err *e) MUST_CHECK;
/* --check --hosts: which variables differ between hosts? */
int fleet_check(struct fleet *f, const str_list *args, struct err *e) MUST_CHECK;

/* Adds --peer NAME=ADDR,ADDR of what each would choose to what is asked of each. */
int fleet_peer_args(struct fleet *f, str_list *args, struct err *e) MUST_CHECK;
/* A host that is asked for others waits for them no longer than we do: it is ended at three times
 * that. */
void fleet_deadline_args(struct fleet *f, str_list *args);
/* Adds --peer HOSTS=ADDR,ADDR to what is asked of each: addresses of a few of them at which others
 * were answered. Each is asked at all but its own, and one answer is enough. */
int fleet_witness_args(struct fleet *f, str_list *args, struct err *e) MUST_CHECK;
/*
 * --bashrc and --write: each host does it by itself; a dry run answers with all
 * diffs. Before, each proves fixed values against all others, and those that are
 * asked for again against a few, which are asked for then, too. Where fixed values
 * differ each looks again: one file for several of them is the failure write.shared.
 */
struct write_request;
int fleet_write(struct fleet *f, const struct write_request *w, str_list *args,
		struct err *e) MUST_CHECK;

#endif
