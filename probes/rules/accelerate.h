#ifndef PROBES_RULES_ACCELERATE_H
#define PROBES_RULES_ACCELERATE_H
/*
 * The file that `accelerate config` leaves behind, and that `accelerate launch` and `accelerate
 * test` obey, on each machine by itself: found where accelerate looks for it, read as
 * yaml.safe_dump() writes it, judged by what accelerate hands on to torchrun. Who starts with
 * --config_file or with options goes by those, and who uses torchrun by none of it: so whatever
 * is wrong here is a warning.
 */
#include "probes/rules/rules.h"

struct accelerate {
	const char *path;    /* as people type it; NULL: there is no such file */
	const char *trouble; /* why it could not be read; NULL: it was */
	setting_list keys;   /* with "PATH:LINE"; value NULL: null, or no plain one */
};
void accelerate_read(struct accelerate *c, struct arena *a);
/* The parser alone: adds to keys. */
void accelerate_parse(struct accelerate *c, const char *text, size_t n, struct arena *a);
/* The last one of that name, as in YAML; NULL: there is none, or it is null. */
const char *accelerate_get(const struct accelerate *c, const char *key);

/* Which of its keys decide how machines meet, in order; NULL ends them. */
extern const char *const accelerate_keys[];
#define ACCELERATE_IN_LINT "accelerate " /* stands before them in data.lint */
#define ACCELERATE_RANK "machine_rank"	 /* the one that must differ between machines */

/* How a launch by this file would go about it. */
enum accelerate_way {
	ACCELERATE_ALONE,  /* one machine */
	ACCELERATE_APART,  /* several, each of which would train alone */
	ACCELERATE_STATIC, /* torchrun, the machine of rank 0 has the store */
	ACCELERATE_C10D,   /* torchrun, which finds out by itself who has the store */
	ACCELERATE_OTHER,  /* mpirun, DeepSpeed's own launcher, TPUs, SageMaker */
};
enum accelerate_way accelerate_way(const struct accelerate *c);
/* A number that is not below 0; -1: there is none. */
long accelerate_number(const struct accelerate *c, const char *key);
bool accelerate_says_yes(const struct accelerate *c, const char *key);
/* The command line that sets @key to @value in the file @path. */
const char *accelerate_fix(struct arena *a, const char *path, const char *key, const char *value);

/* Adds findings lint.accelerate.*; none where there is no such file. */
void accelerate_check(const struct accelerate *c, const struct rules_input *in, struct report *r);

#endif
