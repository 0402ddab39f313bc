#include "bench/dev/gpus.h"

#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/cuda.h"
#include "lib/host/gpu.h"

#include <dlfcn.h>

static const char driver[] = "libcuda.so.1";
static const uint64_t START_NS = 60 * NS_PER_S; /* many GPUs that nobody keeps awake take long */

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

static int judge(const struct cuda_answer *r, struct arena *a, struct gpus *ret, struct err *e)
{
	*ret = (struct gpus){.n = r->n};
	if (r->is_sick) {
		err_set(e, ERR_ABSENT, "the NVIDIA driver does not start: %s", r->text);
		return err_take_fix(e, arena_printf(a,
						    "%s; without a GPU: ddpsmoke --device cpu, "
						    "ncclbench --backend tcp",
						    r->fix));
	}
	if (!r->n)
		note_cards(r->has_driver, a, ret);
	return 0;
}

int gpus_look(struct arena *a, struct gpus *ret, struct err *e)
{
	struct cuda_answer r;

	cuda_ask(NULL, &r);
	return judge(&r, a, ret, e);
}

int gpus_look_aside(uint64_t deadline_ns, struct arena *a, struct gpus *ret, struct err *e)
{
	uint64_t patience_ns = deadline_ns > START_NS ? deadline_ns : START_NS;
	struct cuda_answer r;
	void *so = dlopen(driver, RTLD_LAZY | RTLD_LOCAL);
	struct unit_buf time;

	if (!so)
		return judge(&(struct cuda_answer){0}, a, ret, e);
	(void)dlclose(so);
	switch (cuda_ask_aside(NULL, patience_ns, &r)) {
	case ASIDE_INTERRUPTED:
		return interrupt_err(e);
	case ASIDE_NONE:
		return err_sys(e, "cannot ask the NVIDIA driver");
	case ASIDE_SILENT:
		(void)snprintf(r.text, sizeof(r.text), "no answer within %s",
			       format_duration(&time, patience_ns));
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
