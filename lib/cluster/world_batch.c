/* A node of a multi-node parallel job of AWS Batch: one rank on each. */
#include "lib/cluster/world_env.h"

/*
 * Whoever finds the job's main node takes it for rank 0, whichever index it has. Only the
 * others are told its address.
 */
static void main_first(struct env *v)
{
	struct world *w = v->w;
	int first = env_int(v, "AWS_BATCH_JOB_MAIN_NODE_INDEX", 0);

	if (first >= w->size && w->size > 0)
		env_trouble(
			v,
			"AWS_BATCH_JOB_MAIN_NODE_INDEX is %d and AWS_BATCH_JOB_NUM_NODES is %d, "
			"so it can be 0 to %d only: set them right",
			first, w->size, w->size - 1);
	if (first > 0 && !w->trouble)
		w->rank = (w->rank - first + w->size) % w->size;
}

static const char *job_of_all(struct env *v)
{
	const char *id = env_peek(v, "AWS_BATCH_JOB_ID"); /* "JOB#NODE" */

	return id ? arena_strndup(v->a, id, strcspn(id, "#")) : NULL;
}

bool world_aws_batch(struct env *v)
{
	static const struct world_names names = {.launcher = LAUNCHER_AWS_BATCH,
						 .rank = "AWS_BATCH_JOB_NODE_INDEX",
						 .size = "AWS_BATCH_JOB_NUM_NODES"};
	struct world *w = v->w;

	if (!env_peek(v, names.rank) || !env_peek(v, names.size))
		return false;
	env_read(v, &names);
	main_first(v);
	w->node_rank = w->rank;
	w->nodes = w->size;
	w->local_rank = 0;
	w->local_size = 1;
	w->run = job_of_all(v);
	env_master(v,
		   env_peek(v, "MASTER_ADDR") ? "MASTER_ADDR"
					      : "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS",
		   "MASTER_PORT");
	w->master_is_us = !w->rank && !w->master_addr;
	if (!w->master_port)
		w->master_port = env_port_of_run(v);
	env_note(v, "AWS Batch starts one rank per node; torchrun in the container starts more");
	return true;
}
