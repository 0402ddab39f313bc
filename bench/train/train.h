#ifndef BENCH_TRAIN_TRAIN_H
#define BENCH_TRAIN_TRAIN_H
/*
 * Data-parallel training as a diagnosis: what is asked for, what one rank does
 * (train_rank()), what rank 0 knows in the end, and the same steps done by one
 * process alone (train_alone()), which must come to the same parameters.
 */
#include "bench/comm/comm.h"
#include "bench/train/data.h"
#include "bench/train/engine_load.h"
#include "bench/train/fault.h"
#include "bench/train/history.h"
#include "bench/train/net.h"
#include "bench/train/odd.h"
#include "bench/train/sampler.h"
#include "bench/train/saved.h"
#include "lib/core/arena.h"

struct rdzv;
struct where;

extern const char *const train_patterns[]; /* --pattern's words, by is_sharded; NULL-terminated */

struct trouble {
	struct err why;
	bool is_common; /* found by train_rank(): every rank has some, so it is no rank's fault */
};

#define TRAIN_MOMENTUM 0.9 /* unasked */
#define TRAIN_DECAY 1e-4
struct train_opts {
	const struct model *model;
	int np, batch;	    /* per rank */
	uint64_t epochs;    /* 0: not given: see train_epochs() */
	uint64_t max_steps; /* 0: no limit but the epochs */
	double lr, momentum, decay, lr_gamma;
	uint64_t lr_every; /* epochs, then lr *= lr_gamma */
	uint64_t seed;
	const char *data_spec;
	const char *backend;		/* who carries the gradients */
	const char *checkpoint;		/* a folder; NULL: none is saved */
	uint64_t checkpoint_bytes;	/* of all its files together, at least */
	size_t asked, asked_validation; /* samples; 0: as many as the data set has */
	unsigned workers;
	const struct data *data;      /* opened by train_job() ... */
	const struct engine *engine;  /* of a model that is a graph: of @loaded */
	struct engine_loaded *loaded; /* of this rank; train_job() agrees with the others */
	struct comm *gpu_comm;	      /* carries gradients that stay in GPUs' memory ... */
	struct dev *gpu_dev;	      /* ... which is of this; NULL: there is none */
	struct rdzv *rdzv;	      /* of train_rank(): where the ranks have met */
	/* to rank 0's person, of what is no step; NULL: nobody looks */
	void (*tell)(const char *what, uint64_t done, uint64_t total);
	struct trouble *trouble;    /* with its data, which could not be opened; NULL */
	bool drop_last, is_sharded; /* --pattern fsdp */
	bool emits;		    /* a line for the job that comes next is asked for */
	const char *const *argv;    /* as it was typed, to be typed again; NULL */
	const char *typed;	    /* " --model mlp": of that what one rank computes; NULL: "" */
	bool batch_is_shared;	    /* it was said of all ranks together, and not in @typed */
	const struct where *where;  /* where ranks were asked for; NULL: nobody said */
	bool is_foreign;	    /* not by us: somebody else started the ranks */
	double expect;		    /* accuracy, 0..1; 0: whatever it is */
	bool is_expected;	    /* somebody said so: after few steps, too */
	/* What --lr is unasked: with such a batch, and with one that is not below the default. */
	double usual_lr, full_lr;
	uint64_t deadline_ns;
	bool deadline_given; /* as comm_world has it */
	struct fault fault;
};

enum train_phase {
	PHASE_DATA,
	PHASE_FORWARD,
	PHASE_BACKWARD,
	PHASE_EXCHANGE,
	PHASE_UPDATE,
	PHASES
};
enum { PROVEN_STEPS = 8, PROVEN_MAX = 16 /* with those that fp16 leaves out */ };
#define NO_STEP UINT64_MAX

/* What a rank tells all others after an epoch. */
struct train_word {
	uint64_t params, shard; /* hashes: parameters; which samples, in order */
	uint64_t maker;		/* as engine_maker() has it */
	uint64_t samples, steps;
	uint64_t bad_step;		 /* the first whose own gradient was not finite */
	uint64_t hole_step;		 /* ... whose averaged one was not, as it arrived */
	uint64_t is_lost;		 /* its parameters or statistics are not finite */
	uint64_t grads[PROVEN_MAX];	 /* hashes of its own gradients of the first steps */
	uint64_t before[PROVEN_MAX + 1]; /* hashes of the parameters before (and after) them */
	double seconds[PHASES];		 /* of this epoch */
	double longest_s;		 /* of its steps, without the exchange ... */
	double longest_data_s;		 /* ... of that to get its data ... */
	uint64_t longest_step;		 /* ... and which that was */
	double robbed_s;		 /* it wanted a processor meanwhile, and others had it */
	int64_t processors, first_processor; /* it may use so many, from this one on */
	int64_t machine; /* the first rank on its one: hosts may be containers of it */
};
enum { OPTIONS_ALIKE = 18 };
/* And before the first: who differs here trains something else. */
struct train_pass {
	uint64_t program, seed, data[DATA_FILES_MAX];
	double options[OPTIONS_ALIKE];	/* see options.h */
	char trouble[256], remedy[256]; /* with its data; what helps, as a fix */
};

/* The sum over all epochs of one rank. */
struct train_total {
	double seconds[PHASES], longest_s, longest_data_s, robbed_s;
	uint64_t samples, steps, longest_step;
};

#define TRAIN_LAYOUT "layout of parameters"
#define TRAIN_PROGRAM "program"
/* Rank 0's knowledge; everything in @a. */
struct train_result {
	struct arena *a;
	const struct kernels *kernels; /* of all ranks */
	uint64_t total_steps, steps_per_epoch, proven_steps;
	uint64_t proven_taken;	/* of proven_steps, which fp16 makes more: those not left out */
	uint64_t skipped_steps; /* --amp fp16: left out, their gradients were too large for it */
	size_t nparams, padding, dropped;
	struct odd odd;		/* whose program, options or data are not those of most */
	const char *odd_what;	/* "seed", TRAIN_PROGRAM, TRAIN_LAYOUT */
	const char *odd_path;	/* of that rank's program or data; NULL: it cannot be told ... */
	const char *like_path;	/* ... and of the one that it should be like */
	const char *odd_option; /* "--steps 41, rank 0 has --steps 40"; NULL */
	const char *odd_how;	/* instead, that it cannot read its data, and why; NULL */
	const char *odd_remedy; /* for that; NULL */
	struct history history;
	struct train_total *totals;	    /* one per rank */
	const float *noted[PROVEN_MAX + 1]; /* rank 0's parameters at those times */
	bool repeated;			    /* the proven steps were done twice */
	int fickle_rank, unlike_rank; /* whose gradient, whose parameters were others then; -1 */
	bool all_unlike;	      /* everybody's parameters were */
	double unlike_by;	      /* rank 0's, in any parameter, when they first were */
	uint64_t fickle_step;
	double hidden; /* part of the exchange that backward hides, 0..1 */
	/* After proven_steps: the two ends of what ranks have, parameter by parameter (NULL: not
	 * that far), and how far each rank is from rank 0 in any. */
	const float *lowest, *highest;
	double *apart;
	struct saved_result saved; /* --checkpoint */
	void (*progress)(const struct train_result *r);
	/* Of train_alone(), gradient by gradient: one process does what all ranks did. */
	void (*proving)(const struct train_result *r, uint64_t done, uint64_t total);
};

/* One rank from the broadcast to the last validation. @ret is rank 0's, NULL elsewhere. */
int train_rank(const struct train_opts *o, struct comm *c, struct train_result *ret,
	       struct err *e) MUST_CHECK;

/* A gradient of rank 0's GPU and the processor's of the same: see control.h. */
struct train_control {
	const struct model *model; /* the one that was asked for, or what the processor has */
	int samples, layers;	   /* 0 layers: nothing was compared, it is no GPU */
	int layer;		   /* of these the one that is farthest, from 1 */
	bool is_conv, is_norm;	   /* what that is: else a dense one */
	double off, scale;	   /* its distance from ours; its length: in parts of ours */
	double may_off, may_scale; /* so far; so far from 1 */
	bool is_wrong;
};
struct train_alone {
	struct train_control control;
	double samples_per_s; /* of one rank, with the machine to itself and no exchange */
	int wrong_rank;	      /* the first whose own gradient was another one, -1 */
	uint64_t wrong_step;
	int odd_rank;	  /* the first that went on with other parameters than these, when others
			     had them to the bit, or but for rounding; -1: none, or it cannot be
			     told */
	bool is_lost;	  /* these are no finite numbers either: nothing was compared */
	bool ran_away;	  /* ... and one process came to that by itself, of finite ones */
	bool is_far;	  /* some rank's parameters are too far from these */
	int far_owner;	  /* sharded: who keeps the one that is farthest then; else -1 */
	int unlike;	  /* ranks that another engine computes for: see check() */
	double distance;  /* the largest of any parameter of any rank */
	double tolerance; /* how far is too far: see alone.c */
};
#define TRAIN_TOLERANCE 1e-5
/* Rank 0, afterwards: the first steps once more, rank by rank, without any exchange. */
int train_alone(const struct train_opts *o, const struct train_result *r, struct train_alone *ret,
		struct err *e) MUST_CHECK;

/* --- shared by both ---------------------------------------------------------- */
uint64_t train_steps_per_epoch(const struct train_opts *o);
/* Where nobody said how many: two, or as many as --steps takes. */
uint64_t train_epochs(const struct train_opts *o);
struct sampler train_sampler(const struct train_opts *o);
double train_lr(const struct train_opts *o, uint64_t epoch);
struct sgd train_sgd(const struct train_opts *o, uint64_t epoch);
/* Puts step @at of the epoch's samples of @rank into the net. */
int train_load(struct net *n, const struct train_opts *o, const struct sampler *s, int rank,
	       uint64_t at, struct err *e) MUST_CHECK;
/* Who keeps that parameter, where each rank keeps a part of every layer. */
int train_owner(const struct net *n, int ranks, size_t param);
/* The largest difference of any two, and where that is (NULL: no matter); NaN is infinitely far
 * from everything. */
double train_farthest(const float *a, const float *b, size_t n, size_t *ret_where);
uint64_t train_hash_layer(uint64_t hash, const struct net *n, int layer);

#endif
