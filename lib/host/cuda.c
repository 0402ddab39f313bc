#include "lib/host/cuda.h"

#include "lib/host/cuda_start.h"

#include <dlfcn.h>

enum { CUDA_STUB = 34, CUDA_NO_DEVICE = 100 }; /* CUresult: cuda.h is not everywhere */

typedef int cu_init(unsigned flags);
typedef int cu_count(int *n);
typedef int cu_text(int code, const char **text);

static void *symbol(void *so, const char *name) { return so ? dlsym(so, name) : NULL; }

void cuda_ask(const char *library, struct cuda_answer *ret)
{
	void *so = dlopen(library ?: "libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	const char *text = NULL;
	cu_count *count;
	cu_init *init;
	cu_text *say;
	int code;

	*ret = (struct cuda_answer){.has_driver = so};
	*(void **)&init = symbol(so, "cuInit");
	*(void **)&count = symbol(so, "cuDeviceGetCount");
	*(void **)&say = symbol(so, "cuGetErrorString");
	if (!so || !init || !count)
		return;
	code = init(0);
	if (!code)
		code = count(&ret->n);
	if (!code || code == CUDA_NO_DEVICE || code == CUDA_STUB)
		return;
	ret->n = 0;
	ret->is_sick = true;
	ret->error = code;
	if (!say || say(code, &text) || !text)
		text = "no reason given";
	(void)snprintf(ret->text, sizeof(ret->text), "%s (CUDA error %d)", text, code);
	cuda_start_fix(code, *(void **)&init, ret->fix, sizeof(ret->fix));
}

struct asking {
	const char *library;
	struct cuda_answer *to;
};

static void work(int to, void *arg)
{
	const struct asking *a = arg;
	struct cuda_answer r;

	cuda_ask(a->library, &r);
	aside_say(to, &r, sizeof(r));
}

static void take(void *arg, const void *record, size_t n)
{
	if (n == sizeof(struct cuda_answer))
		memcpy(((struct asking *)arg)->to, record, n);
}

enum aside_end cuda_ask_aside(const char *library, uint64_t deadline_ns, struct cuda_answer *ret)
{
	struct asking a = {.library = library, .to = ret};
	const struct aside s = {.work = work, .take = take, .arg = &a, .deadline_ns = deadline_ns};

	*ret = (struct cuda_answer){.is_sick = true, .text = "it ended the process that asked it"};
	cuda_start_fix(ret->error, NULL, ret->fix, sizeof(ret->fix));
	return aside_run(&s);
}
