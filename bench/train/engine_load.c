#include "bench/train/engine_load.h"

#include "lib/cluster/world.h"
#include "lib/core/plugin.h"

const char *const engine_devices[] = {"cpu", "cuda", NULL};

static enum engine_precision precision_of(const struct engine_choice *c)
{
	int i = 0;

	while (engine_precisions[i + 1] && !streq(engine_precisions[i], c->amp))
		i++;
	return (enum engine_precision)i;
}

int engine_check(const struct engine_choice *c, bool is_sharded, struct err *e)
{
	bool is_cuda = streq(c->device, "cuda"), is_16 = precision_of(c) != ENGINE_FLOAT32;

	if (!is_cuda && (is_16 || c->tf32)) {
		err_set(e, ERR_USAGE, "%s is for GPUs", is_16 ? "--amp" : "--tf32");
		return err_hint(e, "--device cuda");
	}
	if (precision_of(c) == ENGINE_FP16 && is_sharded) {
		err_set(e, ERR_USAGE,
			"--amp fp16 scales the loss by what all gradients say, and with --pattern "
			"fsdp no rank has them all");
		return err_hint(e, "--amp bf16");
	}
	if (is_16 && c->tf32)
		return err_set(e, ERR_USAGE, "--amp and --tf32: one of the two");
	return 0;
}

static const struct engine *load(const struct plugin_want *want, struct arena *a, struct err *e)
{
	return plugin_load(want, a, e);
}

/* One thread for each rank: with more, how sums are rounded would depend on the host. */
static int load_cpu(const struct model *m, struct arena *a, struct engine_loaded *ret,
		    struct err *e)
{
	static const struct plugin_want want = {.name = "onednn",
						.symbol = "windsock_engine",
						.version = ENGINE_VERSION,
						.package = "libdnnl2",
						.build = "libdnnl-dev"};

	if (!m->graph)
		return 0;
	(void)setenv("OMP_NUM_THREADS", "1", false);
	ret->engine = load(&want, a, e);
	return ret->engine ? 0 : -1;
}

static const char *get_env(const char *name, void *arg UNUSED) { return getenv(name); }

/* Which of this host's ranks this is: its GPU follows from that. */
static int local_rank(struct arena *a)
{
	struct world w;

	world_from_env(get_env, NULL, a, &w);
	if (w.local_rank >= 0)
		return w.local_rank;
	return w.rank >= 0 ? w.rank : 0;
}

static int load_cuda(const struct engine_opts *o, struct arena *a, struct engine_loaded *ret,
		     struct err *e)
{
	static const struct plugin_want want = {.name = "cudnn",
						.symbol = "windsock_engine",
						.version = ENGINE_VERSION,
						.package = "libcudnn9-cuda-13",
						.build = "nvcc, cudnn.h and cublas_v2.h"};
	char text[700];

	ret->engine = load(&want, a, e);
	if (!ret->engine || ret->engine->device->open(o, text, sizeof(text), e))
		return -1;
	ret->text = arena_strdup(a, text);
	ret->device = arena_printf(a, "%.*s", (int)strcspn(text, ",;"), text);
	return 0;
}

int engine_load(const struct engine_choice *c, const struct model *m, uint64_t deadline_ns,
		struct arena *a, struct engine_loaded *ret, struct err *e)
{
	const struct engine_opts o = {.local_rank = local_rank(a),
				      .precision = precision_of(c),
				      .tf32 = c->tf32,
				      .deadline_ns = deadline_ns};

	*ret = (struct engine_loaded){.precision = o.precision};
	return streq(c->device, "cuda") ? load_cuda(&o, a, ret, e) : load_cpu(m, a, ret, e);
}
