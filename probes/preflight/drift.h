#ifndef PROBES_PREFLIGHT_DRIFT_H
#define PROBES_PREFLIGHT_DRIFT_H
/* Where hosts differ: the odd one is named against the majority. */
#include "probes/iface/fleet.h"
#include "probes/preflight/preflight.h"

/* Which of them have settings that the ways between hosts must be asked about: for
 * preflight_published(). */
void preflight_find_published(struct preflight *p, const struct answers *all);

/* What is set in the shell that we were typed in, into the stage of settings: where it is one of
 * theirs. */
void preflight_own_shell(struct preflight *p, const struct answers *all);

/* What hosts are called, for preflight_asked(). */
void preflight_learn_names(struct preflight *p, const struct answers *all);

/* The drift stage: compares all answers, asked between these two moments. */
void preflight_drift(struct preflight *p, const struct answers *all, double asked, double answered);

/* What this host says of one of its stages: an element of data.stages; NULL: nothing. */
const cJSON *answer_stage(const struct answer *a, enum stage_id id);
/* Of what they say, for preflight_tell_next(). */
void preflight_count_gpus(struct preflight *p, const struct answers *all);
enum { PREFLIGHT_GPUS = 1024 }; /* that another host says it has more of is not believed */
/* The table of hosts. */
void preflight_view(struct preflight *p, const struct answers *all);

/* ---- its parts ---- */

/* The finding drift.KEY (NULL: drift.same) of a host; NULL: of all of them. */
struct finding *drift_note(struct preflight *p, const char *key, const char *subject,
			   const char *host);
/* A path that must be alike; true: it was compared. */
bool drift_same(struct preflight *p, const struct answers *all, const char *path);
/* Their versions of windsock differ, and @others have not this one. */
void drift_advise_version(struct preflight *p, struct finding *f, const host_list *others);
/* Is it a machine that an earlier answer is of: one kernel, name and address? Of those that joined,
 * it is no host of this run. */
bool drift_is_twin(const struct answers *all, size_t at);
/* Two that call themselves alike, and one that was named twice. */
void drift_names(struct preflight *p, const struct answers *all);
/* One name, and other addresses on some of them. */
void drift_master(struct preflight *p, const struct answers *all);
/* Of the findings from @from on: where MASTER_ADDR leads each host to itself, the first host's
 * address, and not each one's own. */
void drift_advise_master(struct preflight *p, const struct answers *all, size_t from);
/* RANK, where no launcher has set it: of this host into @facts; what hosts say of theirs. */
void drift_note_rank(cJSON *facts);
void drift_ranks(struct preflight *p, const struct answers *all);
/* One address that two of them have. */
void drift_addresses(struct preflight *p, const struct answers *all);
/* Cards beside the one that hosts are reached by, by their networks: down on one host, or of
 * another MTU; true: there was something to compare. */
bool drift_cards(struct preflight *p, const struct answers *all);
/* Those that others reach by another family of addresses than most: into p->alone, too. */
void drift_families(struct preflight *p, const struct answers *all);
/*
 * Of the findings from @from on, what a host said of itself without knowing the others: where it
 * has no address, the one that it should have; where NCCL's choice is right among them, that.
 */
void drift_advise_address(struct preflight *p, const struct answers *all, size_t from);
/* The same of a host whose best card leads to none of the others, and NCCL's choice to all. */
void drift_accept_meeting(struct preflight *p, const struct answers *all, size_t from);
/* " --peer A --peer B": two hosts of this run, for a proof on any of them; or "". */
const char *drift_peer_args(struct preflight *p, const struct answers *all);

/* ---- addresses as the answers have them ---- */

/* What others reach it by; NULL: nothing. */
const char *answer_address(const struct answer *a);
/* What NCCL would publish there; NULL: nothing. */
const char *answer_published(const struct answer *a);
/* The interface with this address, of whatever kind it is; NULL: none. */
const cJSON *answer_card(const struct answer *a, const char *addr);
/* Its name, as a shell takes it; "IFACE": none. */
const char *answer_card_word(struct arena *a, const struct answer *from, const char *addr);
unsigned answer_prefix(const struct answer *a, const char *addr);
/* Those that other hosts could use; the texts are the answer's. */
void answer_addresses(struct arena *a, const struct answer *from, str_list *ret);
enum { DRIFT_LOOKUPS = 32 }; /* of drift_vacant(): each is one of a name, so no more are done */
/*
 * The address in the network of @like (that of @usual) which the name of @a leads to, and
 * which nobody has: what it should have. NULL: there is none.
 */
const char *drift_vacant(struct preflight *p, const struct answers *all, const struct answer *a,
			 const struct answer *usual, const char *like);
/* Their clocks, asked between these two moments of ours. */
void drift_clocks(struct preflight *p, const struct answers *all, double asked, double answered);

#endif
