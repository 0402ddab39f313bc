/* Who carries the data, as far as that can be said before ranks have met. */
#include "bench/comm/backend.h"
#include "bench/sweep/ask.h"
#include "lib/host/gpu.h"

const char *ask_tcp(const char *backend) { return streq(backend, "auto") ? "tcp" : backend; }

static bool has_nvidia(struct arena *a)
{
	gpu_list gpus = {0};

	gpu_read(a, &gpus);
	for (size_t i = 0; i < gpus.n; i++)
		if (gpus.v[i].vendor == GPU_NVIDIA)
			return true;
	return false;
}

static int probe(const struct comm_plugin *b, const struct comm_world *here, struct arena *a,
		 str_list *notes, struct err *e)
{
	char text[400];

	if (b == &comm_tcp)
		*LIST_ADD(a, notes) = "Host memory over TCP was measured, not NCCL and no GPU.";
	if (!here || !b->probe)
		return 0;
	if (b->probe(here, text, sizeof(text), e))
		return -1;
	*LIST_ADD(a, notes) = arena_strdup(a, text);
	return 0;
}

int ask_backend(const char *name, const struct comm_world *here, struct ask_flags *flags,
		struct arena *a, str_list *notes, struct err *e)
{
	bool is_auto = streq(name, "auto");
	const struct comm_plugin *b = is_auto ? NULL : backend_find(name, a, e);

	if (!b && !is_auto)
		return *e->hint && e->kind == ERR_ABSENT
			       ? -1
			       : err_hint(e,
					  "ncclbench --backend tcp measures host memory over TCP");
	if (b && probe(b, here, a, notes, e))
		return -1;
	if (is_auto) /* a guess: hosts elsewhere may have others */
		flags->backend = has_nvidia(a) ? "nccl" : "tcp";
	ask_notes(flags, a, notes);
	return 0;
}
