#ifndef PROBES_RULES_ACCELERATE_H
#define PROBES_RULES_ACCELERATE_H
/*
 * The file that `accelerate config` leaves behind, and that `accelerate launch` and `accelerate
 * test` obey, on each machine by itself: found where accelerate looks for it, or named as for
 * their --config_file; judged by what accelerate refuses and by what it hands on to torchrun. Who
 * starts with options goes by those, and who uses torchrun by none of it: so whatever is wrong in
 * a file that nobody named is a warning.
 */
#include "probes/rules/rules.h"

/* What YAML makes of a value: what accelerate does with 2 it refuses to do with '2'. */
enum accelerate_kind {
	ACCELERATE_ABSENT,
	ACCELERATE_NULL,
	ACCELERATE_BOOL,
	ACCELERATE_INT,
	ACCELERATE_FLOAT,
	ACCELERATE_TEXT,
	ACCELERATE_OTHER, /* a mapping, a list, or what is not read here */
};

struct accelerate_key {
	const char *name;   /* below another one: "mpirun_config.mpirun_hostfile" */
	const char *value;  /* a number in its decimal form; NULL: null, or no plain value */
	const char *origin; /* "PATH:LINE" */
	enum accelerate_kind kind;
};

struct accelerate {
	const char *path;    /* as people type it; NULL: there is no such file */
	bool is_named;	     /* by the caller */
	unsigned version;    /* of the accelerate here, 115 for 1.15; 0: not known, so the newest */
	const char *trouble; /* why it could not be read; NULL: it was */
	const char *broken;  /* why it is no YAML, or no JSON; NULL: it is, for all that shows */
	LIST(struct accelerate_key) keys;
};
/* @file NULL: where accelerate looks. */
void accelerate_read(struct accelerate *c, const char *file, struct arena *a);
/* The parsers alone. */
void accelerate_parse(struct accelerate *c, const char *text, size_t n, struct arena *a);
void accelerate_parse_json(struct accelerate *c, const char *text, size_t n, struct arena *a);
/* What a word without quotes is; @v: its value then, NULL for null. */
enum accelerate_kind accelerate_word(struct arena *a, const char **v);

/* The last one of that name, as in YAML; NULL: there is none. */
const struct accelerate_key *accelerate_find(const struct accelerate *c, const char *key);
enum accelerate_kind accelerate_kind(const struct accelerate *c, const char *key);
/* NULL: there is none, or it is null. */
const char *accelerate_get(const struct accelerate *c, const char *key);

/* Which of its keys decide how machines meet, in order; NULL ends them. */
extern const char *const accelerate_keys[];
#define ACCELERATE_IN_LINT "accelerate " /* stands before them in data.lint */
#define ACCELERATE_RANK "machine_rank"	 /* the one that must differ between machines */

/* How a launch by this file would go about it. */
enum accelerate_way {
	ACCELERATE_ALONE,     /* one machine: torchrun for itself, or one process */
	ACCELERATE_APART,     /* several, each of which would train alone */
	ACCELERATE_STATIC,    /* torchrun, the machine of rank 0 has the store */
	ACCELERATE_OTHER_WAY, /* mpirun, DeepSpeed's own launcher, TPUs, SageMaker */
};
enum accelerate_way accelerate_way(const struct accelerate *c);
/* Python starts a single process, whatever num_processes says. */
bool accelerate_is_single(const struct accelerate *c);
/* Who starts processes: "torchrun", "one process", "mpirun", "deepspeed", "tpu", "sagemaker". */
const char *accelerate_starter(const struct accelerate *c);
/* As Python's int() has it: of a whole number, also in quotes, and of what is cut to one. */
long accelerate_int(const struct accelerate *c, const char *key, long otherwise);
/* main_process_ip as torchrun reads it: without brackets, and blanks before it. */
const char *accelerate_address(const struct accelerate *c, struct arena *a);
bool accelerate_says_yes(const struct accelerate *c, const char *key);
/* Is accelerate here of that version, or a newer one? */
bool accelerate_is_from(const struct accelerate *c, unsigned version);
/* What it calls itself: "accelerate 1.15", or "accelerate" where the version is not known. */
const char *accelerate_title(const struct accelerate *c, struct arena *a);
/* The command line that sets @key to @value in the file @path, or takes it out where that is "";
 * one that asks for everything where @key is no plain word. */
const char *accelerate_fix(struct arena *a, const char *path, const char *key, const char *value);

/* Why `accelerate launch` ends before anything is started; NULL: it does not. A guess: nothing is
 * certain. */
struct accelerate_refusal {
	const char *key; /* where it is wrong; "": the file as a whole */
	const char *why; /* stands behind "KEY: VALUE" */
	const char *fix; /* a value for it; NULL: none is known, "": without the key */
	bool is_guess;	 /* others start with it, and which one is here is not known */
};
/* The first that is for none of the keys in @but (NULL: none are). */
const struct accelerate_refusal *accelerate_refuses(const struct accelerate *c, const str_list *but,
						    struct arena *a);

/* Adds findings lint.accelerate.*; none where there is no such file. */
void accelerate_check(const struct accelerate *c, const struct rules_input *in, struct report *r);
/* What a launch by it would be: data.accelerate. */
void accelerate_data(const struct accelerate *c, struct report *r, struct arena *a);

#endif
