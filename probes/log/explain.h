#ifndef PROBES_LOG_EXPLAIN_H
#define PROBES_LOG_EXPLAIN_H
/*
 * What a log that was read means: the causes, best first. What broke first
 * stands before its echoes; what ranks say about themselves is compared.
 */
#include "probes/log/why.h"

/* Another entry of the same family that was met too. */
struct kin {
	const struct signature *sig;
	const struct log_event *first;
	const struct record *record;
};

struct cause {
	const struct signature *sig;	     /* whose words it has */
	const struct signature *head;	     /* by whose id it goes: see kin.h */
	const struct signature *effect_head; /* ... where it stands before its effect, or NULL */
	LIST(struct kin) kin;
	const struct log_event *first;
	const struct record *record;
	int weight;	     /* the confidence, in percent */
	bool is_echo;	     /* the same line, or an effect of another cause */
	bool is_over;	     /* the job went on after it, or had come to its end before */
	bool is_healed;	     /* it was tried again, and that worked */
	bool is_settled;     /* the log itself says afterwards that all ended well: a remark */
	const char *meaning; /* with addresses, interfaces and ranks put in */
	const char *because; /* what the ranks' comparison adds, or NULL */
	str_list causes, confirm, fix;
	const char *cure;      /* typed before the entry's own, of this log; NULL: none */
	unsigned port;	       /* that its line names; 0: none */
	const char *seen_here; /* by confirm(); NULL: it was not asked */
	const char *seen;      /* where, if it is no line; NULL: by comparing the ranks */
};

struct explanation {
	LIST(struct cause) causes;
	str_list notes;	 /* what comparing the ranks shows */
	bool in_trouble; /* something failed, known or not */
	/* who failed first, where that is known */
	bool has_first;
	struct log_who first;
	const char *first_how;
	struct flight_verdict *flight; /* what dumps show; NULL: there are none */
};

/* May be called at any time, also while more is to come. All lives in @a. */
void explain(struct why *w, struct arena *a, struct explanation *ret);

/* --- between explain.c and those who judge: kin.c, correlate.c, outlive.c ... ---------- */
struct cause *explain_find(struct explanation *x, const char *id);
/* The surest of these (the first of equals) that the job did not outlive, from @least on; NULL:
 * there is none. */
struct cause *explain_surest(struct explanation *x, const char *const *ids, int least);
/* What @effect weighs and @more, up to @most: the weight of what explains it. */
int explain_above(const struct cause *effect, int more, int most);
/* Is it one of these, up to a NULL? */
bool explain_is_one_of(const struct cause *c, const char *const *ids);
/* The first line of the cause that has @words; NULL: none, or the job outlived it. */
const struct log_event *explain_event(const struct cause *c, const char *words);
/* The cause of that name, made where no line showed it. */
struct cause *explain_add(struct why *w, struct arena *a, struct explanation *x, const char *id);
/* A failure, or what one left: no wrapper around it, no hint. */
bool explain_is_real(const struct cause *c);
/* Gives what broke first its due, and says who that was. */
void first_favour(struct why *w, struct arena *a, struct explanation *x);
/* ... and why that is not who the best cause is about. When all is sorted. */
void first_agree(struct arena *a, struct explanation *x);
/* Raises (or makes) a cause that a comparison shows. NULL when @first is NULL and it is not there.
 */
void correlate(struct why *w, struct arena *a, struct explanation *x);
/* Raises what the ranks waited in shows: who is behind, who is elsewhere, who still prepares. */
void waits(struct why *w, struct arena *a, struct explanation *x);
/* Raises that ranks of one group gave up at different numbers, and says who is where; NULL: they
 * did not. Of waits(). */
const char *behind(struct why *w, struct arena *a, struct explanation *x);
/* Raises what is left where every rank came, and says who did not come to Gloo's. After waits(). */
void came(struct why *w, struct arena *a, struct explanation *x);
/* Raises those whose interface or address could not be reached. */
void offers(struct why *w, struct arena *a, struct explanation *x);
/* Takes the weight from a suspected docker where the addresses are those of machines, and says
 * which interface to pin on a host itself. After offers(). */
void docker(struct why *w, struct arena *a, struct explanation *x);
/* Raises GPUDirect RDMA that is off: on one of the hosts, or on all. */
void gdr(struct why *w, struct arena *a, struct explanation *x);
/* Raises the RDMA port that one host has not and another has. When the others have judged. */
void rails(struct why *w, struct arena *a, struct explanation *x);
/* Raises settings, programs and interfaces that differ where all should be alike. When the others
 * have judged. */
void unlike(struct why *w, struct arena *a, struct explanation *x);
/* Raises what keeps machines from being one job, as their commands show: apart.h. When the others
 * have judged. */
void apart_judge(struct why *w, struct arena *a, struct explanation *x);
/* Raises that sharded parameters are gathered in generate(), which ranks leave at different times.
 */
void generated_judge(struct why *w, struct arena *a, struct explanation *x);
/* Raises an address that a rank should listen on and that is another host's. */
void foreign(struct why *w, struct arena *a, struct explanation *x);
/* Takes the weight from an event of Kubernetes that others, newer and more frequent, overtook. When
 * the others have judged. */
void kubevents(const struct why *w, struct arena *a, struct explanation *x);
/* Raises what keeps a pod from running where others miss its name, and says what is done about
 * the taint. */
void unplaced(const struct why *w, struct arena *a, struct explanation *x);
/* Raises that ranks have different numbers of batches, where a collective failed for that. After
 * waits(). */
void uneven(struct why *w, struct arena *a, struct explanation *x);
/* Raises that hosts which use EFA are in different zones. */
void zones(struct why *w, struct arena *a, struct explanation *x);
/* Raises what kubectl shows of NetworkPolicies and Services that ranks need. */
void shown_judge(const struct why *w, struct arena *a, struct explanation *x);
/* ... and says what mends it, when the cause has its words. */
void shown_advise(const struct why *w, struct arena *a, struct cause *c);
/* Raises of two lines that are cause and effect of one thing the one that can be mended. */
void reasons(const struct why *w, struct arena *a, struct explanation *x);
/* Every line of @c, which says that there is no GPU, is refuted by a later one. Its first is then
 * the first one that is not. */
bool is_refuted(const struct why *w, struct cause *c);
/* What a line means beside others: a link that went down, an RDMA address that changed ... */
void beside(struct why *w, struct arena *a, struct explanation *x);
/* ... a slice of a GPU, a torch for other GPUs than CUDA's, the memory of another host's GPU. */
void beside_gpu(struct why *w, struct arena *a, struct explanation *x);
/* ... GPU memory that another process holds. */
void beside_held(const struct why *w, struct arena *a, struct explanation *x);
/* ... a SyncBatchNorm without ranks, a buffer that DDP changed, a rank that works on alone. */
void beside_torch(struct why *w, struct arena *a, struct explanation *x);
/* ... an mpirun of another MPI, data for fewer ranks, a host that was still being made ready. When
 * the ranks' waiting was judged. */
void beside_job(struct why *w, struct arena *a, struct explanation *x);
/* Says which settings to take out first where a collective timed out. */
void settings_judge(struct why *w, struct arena *a, struct explanation *x);
/* ... in the advice of @c, when it has its words. */
void settings_advise(const struct why *w, struct arena *a, struct cause *c);
/* ... and of a port that is taken, whose it is and how it is given another. */
void ports_advise(struct arena *a, struct cause *c);
/* Says which of several lines about one RDMA transfer names the reason. */
void wire(struct why *w, struct arena *a, struct explanation *x);
/* What the ranks' meeting at torch's store and in Gloo's mesh shows. After offers(). */
void meeting(struct why *w, struct arena *a, struct explanation *x);
/* Raises what explains another line and is harmless alone. */
void bystanders(const struct why *w, struct arena *a, struct explanation *x);
/* Each of a launcher's tasks starts the whole job, or is one of its own; nodes wait for each other
 * in different places. */
void wholes(struct why *w, struct arena *a, struct explanation *x);
/* What torchrun saw of the ranks that ended. When the others have judged. */
void quits(struct why *w, struct arena *a, struct explanation *x);
/* Who ended first where torchrun started them again; NULL: it did not. */
const struct log_event *quits_first(const struct why *w, struct arena *a);
/* Its cure goes before the entry's own. When it has its words. */
void explain_cure(struct arena *a, struct cause *c);
/* A word of the log that may stand in a command; NULL: it is empty, or a shell would see more in
 * it. */
const char *explain_word(struct arena *a, const char *word);
/* Where that is more; @c may be NULL. */
void explain_suspect(struct cause *c, int weight, const char *because);
/* That, and what shows it is said in any case. */
void explain_raise(struct cause *c, int weight, const char *because);
/* @c is the reason of @effect, and mostly stands before it. */
void explain_reason(struct cause *c, const struct cause *effect, int weight, const char *because);
/* ... and says at @e better what @of does, which is left as a remark. */
void explain_instead(struct cause *c, struct cause *of, const struct log_event *e, int weight,
		     const char *because);
/* Where it stands before @effect it goes by its id, if that is shared and its own is not. */
void kin_adopt(struct cause *c, const struct cause *effect);
/* Of sorted causes: the best of each family stands for it. */
void kin_unite(struct arena *a, struct explanation *x);
/* A line of @c, which may be NULL and must not be over, has these words, in capitals or not. */
bool explain_says(const struct cause *c, const char *words);
/* Something that names its reason was found: then nothing is guessed. A time limit is none. */
bool explain_has_reason(const struct explanation *x);
/* Raises what side commands show of the hosts: a name that leads elsewhere, a firewall that lets in
 * little, a neighbour that does not answer, WSL's own network. When the others have judged. */
void asides_judge(struct why *w, struct arena *a, struct explanation *x);
/* Raises that two hosts have one number among the nodes. */
void twins(struct why *w, struct arena *a, struct explanation *x);
/* Raises who never came, and lowers what only ended a job that did not progress. */
void absent(struct why *w, struct arena *a, struct explanation *x);
/* Raises that ranks of several hosts are to meet on localhost. Of absent(). */
void locals(struct why *w, struct arena *a, struct explanation *x, bool is_explained);
/* Raises what a job that crashed or hangs did last. */
void stuck(struct why *w, struct arena *a, struct explanation *x);
/* What is suspected between the GPUs of one host, which may be NULL. */
struct cause *stuck_between(struct explanation *x);
/* Takes the weight from what the job outlived, and says whether anything failed at all. */
void outlive(struct why *w, struct arena *a, struct explanation *x);
/* Marks a crash that by the clock was nobody's of the job, and a request that a server refused. Of
 * outlive(). */
void lived(const struct why *w, struct explanation *x);
/* Marks what ended an earlier run, of which the same log tells. After outlive(). */
void earlier(const struct why *w, struct explanation *x);
/* Marks what the log's own words about its end clear. Of outlive(). */
void settle(struct why *w, struct arena *a, struct explanation *x);
/* ... and takes the weight from it, and from what was made of it. When all have judged. */
void settle_weights(const struct why *w, struct explanation *x);
void explain_sort(struct explanation *x);

#endif
