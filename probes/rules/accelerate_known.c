/* Which keys, types and places accelerate knows: what it does not ends it while it reads. */
#include "probes/rules/accelerate_trial.h"

static const char *const card_types[] = {"MULTI_GPU",  "MULTI_NPU",    "MULTI_MLU",
					 "MULTI_SDAA", "MULTI_MUSA",   "MULTI_XPU",
					 "MULTI_HPU",  "MULTI_NEURON", NULL};
static const char *const other_types[] = {"NO",	 "MULTI_CPU",	"DEEPSPEED", "FSDP",
					  "XLA", "MEGATRON_LM", "TP",	     NULL};
static const char *const keys[] = {"compute_environment",
				   "distributed_type",
				   "mixed_precision",
				   "use_cpu",
				   "debug",
				   "num_processes",
				   "machine_rank",
				   "num_machines",
				   "gpu_ids",
				   "main_process_ip",
				   "main_process_port",
				   "rdzv_backend",
				   "same_network",
				   "main_training_function",
				   "enable_cpu_affinity",
				   "fp8_config",
				   "deepspeed_config",
				   "fsdp_config",
				   "parallelism_config",
				   "tp_config",
				   "megatron_lm_config",
				   "ipex_config",
				   "mpirun_config",
				   "downcast_bf16",
				   "tpu_name",
				   "tpu_zone",
				   "tpu_use_cluster",
				   "tpu_use_sudo",
				   "command_file",
				   "commands",
				   "tpu_vm",
				   "tpu_env",
				   "dynamo_config",
				   /* and of older files: */ "fp16",
				   "dynamo_backend",
				   NULL};

/* Those of them that not every version from 0.34 on knows: 115 is 1.15, 0 the newest. */
static const struct span {
	const char *name;
	unsigned since, gone;
} spans[] = {{"MULTI_HPU", 105, 0},	    {"MULTI_SDAA", 105, 0},
	     {"MULTI_NEURON", 113, 0},	    {"TP", 104, 110},
	     {"tp_config", 104, 107},	    {"ipex_config", 0, 113},
	     {"parallelism_config", 110, 0}};

static bool is_listed(const char *name, const char *const *all)
{
	for (; *all; all++)
		if (streq(name, *all))
			return true;
	return false;
}

bool trial_is_for_cards(const char *type) { return is_listed(type, card_types); }

static const struct span *span_of(const char *name, const char *const *all)
{
	for (size_t i = 0; is_listed(name, all) && i < ARRAY_LEN(spans); i++)
		if (streq(name, spans[i].name))
			return &spans[i];
	return NULL;
}

/* By the version that is here. */
static bool is_known(const struct trial *t, const char *name, const char *const *all)
{
	const struct span *s = span_of(name, all);

	return is_listed(name, all) && (!s || (accelerate_is_from(t->c, s->since) &&
					       !(s->gone && accelerate_is_from(t->c, s->gone))));
}

static const char *why_gone(struct trial *t, const char *what, const struct span *s)
{
	return arena_printf(t->a, "is %s that accelerate from %u.%u on does not know", what,
			    s->gone / 100, s->gone % 100);
}

static bool refuse_key(struct trial *t, const char *name)
{
	const struct span *s = t->c->version ? NULL : span_of(name, keys);
	const char *why =
		s ? why_gone(t, "a key", s)
		  : arena_printf(t->a,
				 "is a key that %s does not know: of another version, or mistyped",
				 accelerate_title(t->c, t->a));

	return trial_refuse(t, name, why, "") && (!s || trial_doubt(t, 0));
}

static bool by_key(struct trial *t)
{
	for (size_t i = 0; i < t->c->keys.n; i++) {
		const char *name = t->c->keys.v[i].name;

		if (!strchr(name, '.') && !is_known(t, name, keys) && refuse_key(t, name))
			return true;
	}
	return false;
}

static bool refuse_type(struct trial *t, const char *type)
{
	const struct span *s = t->c->version ? NULL : span_of(type, other_types);
	const char *why = s ? why_gone(t, "one", s)
			    : arena_printf(t->a,
					   "is none that %s knows (NO, MULTI_GPU, FSDP, DEEPSPEED, "
					   "MULTI_CPU ...)",
					   accelerate_title(t->c, t->a));

	return trial_refuse(t, "distributed_type", why, "MULTI_GPU") && (!s || trial_doubt(t, 0));
}

static bool by_type(struct trial *t)
{
	const char *type = accelerate_get(t->c, "distributed_type");

	if (accelerate_kind(t->c, "distributed_type") == ACCELERATE_ABSENT)
		return trial_refuse(t, "distributed_type", "is not set", "MULTI_GPU");
	if (accelerate_kind(t->c, "distributed_type") != ACCELERATE_TEXT)
		return false;
	if (streq(type, "TPU"))
		return trial_refuse(t, "distributed_type", "is called XLA by a current accelerate",
				    "XLA");
	return !is_known(t, type, card_types) && !is_known(t, type, other_types) &&
	       refuse_type(t, type);
}

/* Not a mapping, no YAML at all, or of another kind of place. */
bool trial_by_file(struct trial *t)
{
	const char *where = accelerate_get(t->c, "compute_environment");

	if (t->c->broken)
		return trial_refuse(t, "", t->c->broken, NULL);
	if (!t->c->keys.n)
		return trial_refuse(t, "", "it is empty", NULL);
	if (accelerate_kind(t->c, "compute_environment") == ACCELERATE_ABSENT ||
	    streq(where ?: "", "LOCAL_MACHINE"))
		return by_type(t) || by_key(t);
	if (!where || !streq(where, "AMAZON_SAGEMAKER"))
		return trial_refuse(t, "compute_environment",
				    "is none that it knows (LOCAL_MACHINE, AMAZON_SAGEMAKER)",
				    "LOCAL_MACHINE");
	return false;
}
