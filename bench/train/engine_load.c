#include "bench/train/engine_load.h"

#include "bench/dev/gpus.h"
#include "lib/core/plugin.h"

const char *const engine_devices[] = {"auto", "cpu", "cuda", NULL};

static enum engine_precision precision_of(const struct engine_choice *c)
{
	int i = 0;

	while (engine_precisions[i + 1] && !streq(engine_precisions[i], c->amp))
		i++;
	return (enum engine_precision)i;
}

/* The option of numbers that only GPUs have; NULL: none was given. */
static const char *numbers_of(const struct engine_choice *c)
{
	return precision_of(c) != ENGINE_FLOAT32 ? "--amp" : c->tf32 ? "--tf32" : NULL;
}

int engine_check(struct engine_choice *c, const char *for_gpu, bool is_sharded, struct err *e)
{
	const char *what = numbers_of(c) ?: for_gpu;

	if (streq(c->device, "cpu") && what) {
		err_set(e, ERR_USAGE, "%s is for GPUs, and --device cpu uses none", what);
		return err_hint(e, "leave %s out, or --device cuda", what);
	}
	if (precision_of(c) == ENGINE_FP16 && is_sharded) {
		err_set(e, ERR_USAGE,
			"--amp fp16 scales the loss by what all gradients say, and with --pattern "
			"fsdp no rank has them all");
		return err_hint(e, "--amp bf16");
	}
	if (precision_of(c) != ENGINE_FLOAT32 && c->tf32)
		return err_set(e, ERR_USAGE, "--amp and --tf32: one of the two");
	c->needs = what;
	c->is_implied = what && streq(c->device, "auto");
	if (c->is_implied)
		c->device = "cuda";
	return 0;
}

/* One thread for each rank: with more, how sums are rounded would depend on the host. */
const struct engine *engine_cpu(struct arena *a, struct err *e)
{
	static const struct plugin_want want = {.name = "onednn",
						.symbol = "windsock_engine",
						.version = ENGINE_VERSION,
						.package = "libdnnl2",
						.build = "libdnnl-dev"};

	(void)setenv("OMP_NUM_THREADS", "1", false);
	return plugin_load(&want, a, e);
}

static int load_cpu(const struct model *m, struct arena *a, struct engine_loaded *ret,
		    struct err *e)
{
	ret->engine = NULL;
	ret->device = ret->text = NULL;
	if (!m->graph)
		return 0;
	ret->engine = engine_cpu(a, e);
	return ret->engine ? 0 : -1;
}

/* Which of this host's ranks this is: its GPU follows from that. */
static int local_rank(const struct engine_choice *c, struct arena *a)
{
	struct world w;

	world_from_env(world_own_env, NULL, a, &w);
	if (w.local_rank >= 0)
		return w.local_rank;
	return w.rank >= 0 ? w.rank : c->rank > 0 ? c->rank : 0;
}

/* The plug-in and what it needs; the GPU itself is not opened. */
static const struct engine *find_cuda(struct arena *a, struct err *e)
{
	static const struct plugin_want want = {.name = "cudnn",
						.symbol = "windsock_engine",
						.version = ENGINE_VERSION,
						.package = "libcudnn9-cuda-13",
						.build = "nvcc, cudnn.h and cublas_v2.h"};
	const struct engine *engine = plugin_load(&want, a, e);

	return engine && !engine->device->find(e) ? engine : NULL;
}

static int open_cuda(const struct engine_opts *o, struct arena *a, struct engine_loaded *ret,
		     struct err *e)
{
	char text[700];

	if (!ret->engine || ret->engine->device->open(o, text, sizeof(text), e))
		return -1;
	ret->text = arena_strdup(a, text);
	ret->device = arena_printf(a, "%.*s", (int)strcspn(text, ",;"), text);
	return 0;
}

/* With a GPU it has to be libraries that are missing; anything else is an error. */
static int load_auto(const struct engine_opts *o, const struct model *m, struct arena *a,
		     struct engine_loaded *ret, struct err *e)
{
	struct err lacks = {0};
	struct gpus gpus;

	if (gpus_look(a, &gpus, e))
		return -1;
	if (gpus.n) {
		ret->engine = find_cuda(a, &lacks);
		if (ret->engine)
			return open_cuda(o, a, ret, e);
		if (lacks.kind != ERR_ABSENT) {
			*e = lacks;
			return -1;
		}
		gpus.note = arena_printf(a, "%s is here and was not used: %s",
					 gpus.n == 1 ? "a GPU" : arena_printf(a, "%d GPUs", gpus.n),
					 lacks.msg);
		gpus.fix = err_fix(&lacks, a);
		gpus.is_wrong = true;
	}
	ret->note = gpus.note;
	ret->fix = gpus.fix;
	ret->is_wrong = gpus.is_wrong;
	return load_cpu(m, a, ret, e);
}

/* Whoever cannot find a GPU does not know who asked for it; that is what is left out. */
static void say_without(const struct engine_choice *c, struct err *e)
{
	struct err why = *e;

	if (!c->is_implied) {
		if (why.kind == ERR_ABSENT && !why.typed)
			(void)err_hint(e, "%s; --device cpu%s%s trains without a GPU", why.hint,
				       c->needs ? " without " : "", c->needs ?: "");
		return;
	}
	err_set(e, why.kind, "%s needs a GPU: %s", c->needs, why.msg);
	(void)err_hint(e, "%s%sleave %s out to train on the CPU", why.hint, *why.hint ? "; " : "",
		       c->needs);
}

static int load(const struct engine_opts *o, const struct model *m, struct arena *a,
		struct engine_loaded *ret, struct err *e)
{
	const struct engine_choice *c = ret->choice;

	if (streq(c->device, "auto"))
		return load_auto(o, m, a, ret, e);
	if (streq(c->device, "cpu"))
		return load_cpu(m, a, ret, e);
	ret->engine = find_cuda(a, e);
	if (!ret->engine)
		say_without(c, e);
	return open_cuda(o, a, ret, e);
}

int engine_load(const struct engine_choice *c, const struct model *m, uint64_t deadline_ns,
		struct arena *a, struct engine_loaded *ret, struct err *e)
{
	const struct engine_opts o = {.local_rank = local_rank(c, a),
				      .precision = precision_of(c),
				      .tf32 = c->tf32,
				      .deadline_ns = deadline_ns};

	*ret = (struct engine_loaded){
		.choice = c, .precision = o.precision, .local_rank = o.local_rank};
	if (!load(&o, m, a, ret, e))
		return 0;
	ret->lacks = *e;
	return -1;
}

const char *engine_failed_check(const struct engine_loaded *l)
{
	return l->engine && l->engine->device ? l->engine->device->failed_check() : NULL;
}

/* --- what all ranks have ------------------------------------------------------------------ */

struct word { /* travels as it is */
	struct gpu_word gpu;
	char choice[8];
};

static struct word own_word(const struct engine_loaded *l)
{
	const struct gpus own = {.n = l->engine && l->engine->device,
				 .note = l->note,
				 .fix = l->fix,
				 .is_wrong = l->is_wrong};
	struct word w = {.gpu = gpu_word(&own)};

	(void)snprintf(w.choice, sizeof(w.choice), "%s", l->choice->device);
	return w;
}

int engine_agree(struct engine_loaded *l, const struct model *m, struct world_run *w,
		 struct arena *a, int *ret_culprit, struct err *e)
{
	AUTO_FREE struct word *all = calloc((size_t)w->world.size, sizeof(*all));
	const struct rdzv_member *members;
	struct word own = own_word(l);
	struct gpus common;
	size_t n;

	*ret_culprit = -1;
	if (l->lacks.kind) { /* to the others the rendezvous tells it */
		*e = l->lacks;
		return -1;
	}
	if (!all)
		return err_sys(e, "no memory for %d ranks", w->world.size);
	if (rdzv_members(w->rdzv, &members, &n, e) ||
	    rdzv_all_gather(w->rdzv, &own, sizeof(own), all, e))
		return -1;
	for (int r = 0; r < w->world.size; r++) {
		all[r].choice[sizeof(own.choice) - 1] = '\0';
		if (streq(all[r].choice, all[0].choice))
			continue;
		*ret_culprit = r;
		err_set(e, ERR_SYS,
			"rank %d (%.60s) was started with --device %.8s, rank 0 with %.8s", r,
			members[r].host, all[r].choice, all[0].choice);
		return err_hint(e, "start every rank with the same command line");
	}
	if (gpus_agree(&all->gpu, sizeof(*all), members, w->world.size, a, &common))
		return 0;
	l->note = common.note;
	l->fix = common.fix;
	l->is_wrong = common.is_wrong;
	return own.gpu.on_gpu ? load_cpu(m, a, l, e) : 0;
}
