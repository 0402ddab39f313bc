#include "bench/dev/gpus.h"

#include "lib/core/aside.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/gpu.h"

#include <dlfcn.h>

static const char driver[] = "libcuda.so.1";
static const uint64_t START_NS = 60 * NS_PER_S; /* many GPUs that nobody keeps awake take long */
enum { CUDA_STUB = 34, CUDA_NO_DEVICE = 100 };	/* CUresult: cuda.h is not everywhere */

struct answer { /* travels out of the child as it is */
	int n;
	bool has_driver, is_sick;
	char text[160]; /* of a sick one */
};
typedef int cu_init(unsigned flags);
typedef int cu_count(int *n);
typedef int cu_text(int code, const char **text);

static void *symbol(void *so, const char *name) { return so ? dlsym(so, name) : NULL; }

static void ask(struct answer *r)
{
	void *so = dlopen(driver, RTLD_LAZY | RTLD_LOCAL);
	const char *text = NULL;
	cu_count *count;
	cu_init *init;
	cu_text *say;
	int code;

	*r = (struct answer){.has_driver = so};
	*(void **)&init = symbol(so, "cuInit");
	*(void **)&count = symbol(so, "cuDeviceGetCount");
	*(void **)&say = symbol(so, "cuGetErrorString");
	if (!so || !init || !count)
		return;
	code = init(0);
	if (!code)
		code = count(&r->n);
	if (!code || code == CUDA_NO_DEVICE || code == CUDA_STUB)
		return;
	r->n = 0;
	r->is_sick = true;
	if (!say || say(code, &text) || !text)
		text = "no reason given";
	(void)snprintf(r->text, sizeof(r->text), "%s (CUDA error %d)", text, code);
}

static void note_nvidia(bool has_driver, const char *pci, const char *visible, struct arena *a,
			struct gpus *ret)
{
	const char *why = has_driver ? "its driver shows none" : "no driver (libcuda.so.1) is here";

	ret->is_wrong = has_driver;
	ret->fix = has_driver ? "nvidia-smi; dmesg -T | grep -i nvrm | tail"
			      : "- install NVIDIA's driver; in a container: docker run "
				"--gpus all ...";
	/* nvidia-smi does not look at it; 0 is there wherever one works */
	if (has_driver && visible && *visible != '0') {
		why = arena_printf(a, "CUDA_VISIBLE_DEVICES=%.100s names none that is here",
				   visible);
		ret->fix = "unset CUDA_VISIBLE_DEVICES   # nvidia-smi -L lists what is here";
	}
	ret->note = arena_printf(a, "the NVIDIA GPU here (%s) was not used: %s", pci, why);
}

static void note_cards(bool has_driver, struct arena *a, struct gpus *ret)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	gpu_list cards = {0};

	if (gpu_are_hidden(visible))
		return;
	gpu_read(a, &cards);
	for (size_t i = 0; i < cards.n; i++) {
		const struct gpu *g = &cards.v[i];

		if (g->vendor == GPU_AMD && !ret->note)
			ret->note =
				arena_printf(a,
					     "the AMD GPU here (%s) was not used: only NVIDIA's "
					     "are used, and RCCL was not tested",
					     g->pci);
		if (g->vendor != GPU_NVIDIA)
			continue;
		note_nvidia(has_driver, g->pci, visible, a, ret);
		return;
	}
}

static int judge(const struct answer *r, struct arena *a, struct gpus *ret, struct err *e)
{
	*ret = (struct gpus){.n = r->n};
	if (r->is_sick) {
		err_set(e, ERR_ABSENT, "the NVIDIA driver does not start: %s", r->text);
		return err_hint(e, "nvidia-smi says more; without a GPU: ddpsmoke --device cpu, "
				   "ncclbench --backend tcp");
	}
	if (!r->n)
		note_cards(r->has_driver, a, ret);
	return 0;
}

int gpus_look(struct arena *a, struct gpus *ret, struct err *e)
{
	struct answer r;

	ask(&r);
	return judge(&r, a, ret, e);
}

/* --- in a child ------------------------------------------------------------------------- */

static void work(int to, void *arg UNUSED)
{
	struct answer r;

	ask(&r);
	aside_say(to, &r, sizeof(r));
}

static void take(void *arg, const void *record, size_t n)
{
	if (n == sizeof(struct answer))
		memcpy(arg, record, n);
}

int gpus_look_aside(uint64_t deadline_ns, struct arena *a, struct gpus *ret, struct err *e)
{
	struct answer r = {.is_sick = true, .text = "it ended the process that asked it"};
	const struct aside s = {.work = work,
				.take = take,
				.arg = &r,
				.deadline_ns = deadline_ns > START_NS ? deadline_ns : START_NS};
	void *so = dlopen(driver, RTLD_LAZY | RTLD_LOCAL);
	struct unit_buf time;

	if (!so)
		return judge(&(struct answer){0}, a, ret, e);
	(void)dlclose(so);
	switch (aside_run(&s)) {
	case ASIDE_INTERRUPTED:
		return interrupt_err(e);
	case ASIDE_NONE:
		return err_sys(e, "cannot ask the NVIDIA driver");
	case ASIDE_SILENT:
		(void)snprintf(r.text, sizeof(r.text), "no answer within %s",
			       format_duration(&time, s.deadline_ns));
		break;
	default:
		break;
	}
	return judge(&r, a, ret, e);
}

/* --- all ranks, or none --------------------------------------------------------------------- */

struct gpu_word gpu_word(const struct gpus *own)
{
	struct gpu_word w = {.on_gpu = own->n > 0, .is_wrong = own->is_wrong};

	(void)snprintf(w.note, sizeof(w.note), "%.359s", own->note ? own->note : "");
	(void)snprintf(w.fix, sizeof(w.fix), "%.299s", own->fix ? own->fix : "");
	return w;
}

bool gpus_agree(struct gpu_word *all, size_t stride, const struct rdzv_member *m, int size,
		struct arena *a, struct gpus *ret)
{
	struct gpu_word *w = NULL;
	int on_gpu = 0, noted = -1, without = -1, who;

	for (int r = size - 1; r >= 0; r--) {
		w = (void *)((char *)all + (size_t)r * stride);
		w->note[sizeof(w->note) - 1] = w->fix[sizeof(w->fix) - 1] = '\0';
		on_gpu += w->on_gpu != 0;
		noted = *w->note ? r : noted;
		without = w->on_gpu ? without : r;
	}
	*ret = (struct gpus){.n = on_gpu};
	who = noted >= 0 ? noted : without;
	if (on_gpu == size || (noted < 0 && !on_gpu))
		return on_gpu == size;
	w = (void *)((char *)all + (size_t)who * stride);
	ret->note = arena_printf(a, "rank %d (%s): %s", who, m[who].host,
				 *w->note ? w->note : "there is no GPU");
	if (on_gpu)
		ret->note =
			arena_printf(a, "%s; so the GPUs of %d other rank%s were not used either",
				     ret->note, on_gpu, on_gpu == 1 ? "" : "s");
	ret->fix = *w->fix ? arena_strdup(a, w->fix) : NULL;
	ret->is_wrong = w->is_wrong || on_gpu;
	return false;
}
