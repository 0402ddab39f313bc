#ifndef LIB_CLUSTER_WORLD_ENV_H
#define LIB_CLUSTER_WORLD_ENV_H
/*
 * Between world.c and world_*.c, one file per family of launchers: variables
 * read strictly. What was used is noted in world.from; the first thing that
 * cannot be is world.trouble.
 */
#include "lib/cluster/world.h"

struct env {
	world_getenv *get;
	void *arg;
	struct arena *a;
	struct world *w;
};

/* The names of one launcher; NULL where it has none. */
struct world_names {
	enum launcher launcher;
	const char *rank, *size, *local_rank, *local_size, *node_rank, *nodes;
};

void world_clear(struct world *w);			     /* nothing known */
const char *env_peek(const struct env *v, const char *name); /* NULL: unset or empty */
const char *env_take(struct env *v, const char *name);	     /* the same, noted in world.from */
/* -1: unset, or not a whole number of @min..WORLD_MAX (then there is trouble). */
int env_int(struct env *v, const char *name, int min);
bool env_digits(const char *s);
void env_trouble(struct env *v, const char *fmt, ...) PRINTF(2, 3);
void env_note(struct env *v, const char *fmt, ...) PRINTF(2, 3);
/* Foreign text fit for a sentence: short, nothing that a terminal obeys. */
const char *env_quote(struct env *v, const char *s);

void env_read(struct env *v, const struct world_names *n); /* and checks what fits what */
void env_master(struct env *v, const char *addr, const char *port);
/* For launchers that do not say where rank 0 runs: MASTER_ADDR, or this host where it has all
 * ranks; else there is a note to add @how to @program. */
void env_rank0(struct env *v, const char *how, const char *program);
/* A port that all ranks of world.run, and hardly anybody else, come to. */
uint16_t env_port_of_run(const struct env *v);

/* Each: true when it is this launcher, and then world is filled. */
bool world_torch(struct env *v); /* torchrun, accelerate */
bool world_openmpi(struct env *v);
bool world_mpich(struct env *v);
bool world_flux(struct env *v);
bool world_pals(struct env *v);
bool world_jsrun(struct env *v);
bool world_mvapich(struct env *v);
bool world_aws_batch(struct env *v);
bool world_kubeflow(struct env *v);
bool world_plain(struct env *v);
bool world_slurm(struct env *v);
bool world_sagemaker(struct env *v);
void world_slurm_shell(struct env *v); /* trouble where a rank is only pretended */

#endif
