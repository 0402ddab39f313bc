/* A training container of SageMaker: one rank per host, hosts in the order of their names. */
#include "lib/cluster/world_env.h"
#include "lib/net/addr.h"

#include <cjson/cJSON.h>

enum { SAGEMAKER_PORT = 7777 }; /* what its own toolkit takes for PyTorch */

static void free_json(cJSON **j) { cJSON_Delete(*j); }

static bool is_host(const struct env *v, const char *name)
{
	const char *host;
	uint16_t port;

	return name && !addr_split(name, v->a, &host, &port) && !port;
}

/*
 * The rank of @me is how many names come before it: algo-10 before algo-2, as
 * SageMaker sorts them. -1: it is not there, or something else is.
 */
static int place(struct env *v, const cJSON *hosts, const char *me, const char **ret_first)
{
	const cJSON *host;
	const char *first = NULL;
	int rank = 0;
	bool there = false;

	cJSON_ArrayForEach (host, hosts) {
		const char *name = cJSON_GetStringValue(host);

		if (!is_host(v, name))
			return -1;
		rank += strcmp(name, me) < 0;
		there |= streq(name, me);
		if (!first || strcmp(name, first) < 0)
			first = name;
	}
	*ret_first = first;
	return there ? rank : -1;
}

static void read_hosts(struct env *v, const char *list, const char *me)
{
	AUTO(free_json) cJSON *hosts = cJSON_Parse(list);
	int n = cJSON_IsArray(hosts) ? cJSON_GetArraySize(hosts) : 0;
	const char *first = NULL;

	v->w->rank = n > 0 && n <= WORLD_MAX ? place(v, hosts, me, &first) : -1;
	if (v->w->rank < 0) {
		env_trouble(v, "SM_HOSTS is %s, not a list of names with SM_CURRENT_HOST %s in it",
			    env_quote(v, list), env_quote(v, me));
		return;
	}
	v->w->size = v->w->nodes = n;
	v->w->node_rank = v->w->rank;
	v->w->local_rank = 0;
	v->w->local_size = 1;
	if (!v->w->master_addr)
		v->w->master_addr = arena_strdup(v->a, first);
}

bool world_sagemaker(struct env *v)
{
	const char *gpus = env_peek(v, "SM_NUM_GPUS"), *hosts, *me;

	if (!env_peek(v, "SM_HOSTS") || !env_peek(v, "SM_CURRENT_HOST"))
		return false;
	hosts = env_take(v, "SM_HOSTS");
	me = env_take(v, "SM_CURRENT_HOST");
	v->w->launcher = LAUNCHER_SAGEMAKER;
	v->w->run = env_peek(v, "TRAINING_JOB_NAME");
	env_master(v, "MASTER_ADDR", "MASTER_PORT");
	read_hosts(v, hosts, me);
	if (!v->w->master_port)
		v->w->master_port = SAGEMAKER_PORT;
	if (gpus && env_digits(gpus) && !streq(gpus, "0") && !streq(gpus, "1"))
		env_note(v,
			 "SageMaker starts one rank per host; %s GPUs are here: torchrun starts "
			 "more",
			 env_quote(v, gpus));
	return true;
}
