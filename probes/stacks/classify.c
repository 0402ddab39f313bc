/* What a stack is busy with, by the frames of well-known libraries in it. */
#include "probes/stacks/stand.h"

enum { WORKS_PERCENT = 20 };

const char *const stand_words[STAND_KINDS] = {
	[STAND_UNREAD] = "unread",	 [STAND_COLLECTIVE] = "collective",
	[STAND_MEETING] = "meeting",	 [STAND_BACKWARD] = "backward",
	[STAND_DEVICE] = "device",	 [STAND_DATA] = "data",
	[STAND_SAVING] = "checkpoint",	 [STAND_COMPILING] = "compiling",
	[STAND_IMPORTING] = "importing", [STAND_DEBUGGER] = "debugger",
	[STAND_LOCK] = "lock",		 [STAND_SERVICE] = "service",
	[STAND_IDLE] = "idle",		 [STAND_ENDING] = "ending",
	[STAND_ELSEWHERE] = "elsewhere",
};

/* The innermost frame that a row fits decides. A file "a/" is all of a folder. */
static const struct known {
	const char *file, *function; /* NULL: any */
	enum stand_kind kind;
} known[] = {
	{"/torch/distributed/distributed_c10d.py", "init_process_group", STAND_MEETING},
	{"/torch/distributed/distributed_c10d.py", "new_group", STAND_MEETING},
	{"/torch/distributed/distributed_c10d.py", "split_group", STAND_MEETING},
	{"/torch/distributed/distributed_c10d.py", "_store_based_barrier", STAND_MEETING},
	{"/torch/distributed/distributed_c10d.py", "_new_process_group_helper", STAND_MEETING},
	{"/torch/distributed/distributed_c10d.py", "destroy_process_group", STAND_ENDING},
	{"/torch/distributed/distributed_c10d.py", NULL, STAND_COLLECTIVE},
	{"/torch/distributed/rendezvous.py", NULL, STAND_MEETING},
	{"/torch/distributed/_functional_collectives.py", NULL, STAND_COLLECTIVE},
	{"/torch/distributed/nn/functional.py", NULL, STAND_COLLECTIVE},
	{"/torch/distributed/utils.py", "_verify_param_shape_across_processes", STAND_COLLECTIVE},
	{"/torch/distributed/utils.py", "_sync_module_states", STAND_COLLECTIVE},
	{"/torch/distributed/utils.py", "_sync_params_and_buffers", STAND_COLLECTIVE},
	{"/torch/nn/parallel/distributed.py", "_distributed_broadcast_coalesced", STAND_COLLECTIVE},
	{"/torch/nn/parallel/distributed.py", "_sync_module_buffers", STAND_COLLECTIVE},
	{"/torch/nn/parallel/distributed.py", "_sync_final_model", STAND_COLLECTIVE},
	{"/torch/distributed/rpc/api.py", "_all_gather", STAND_COLLECTIVE},
	{"/torch/distributed/rpc/api.py", "_barrier", STAND_COLLECTIVE},
	{"/horovod/", "synchronize", STAND_COLLECTIVE},
	{"/jax/_src/distributed.py", NULL, STAND_MEETING},
	{"/jax/_src/array.py", NULL, STAND_DEVICE},
	{"/torch/cuda/", "synchronize", STAND_DEVICE},
	{"/torch/cuda/streams.py", NULL, STAND_DEVICE},
	{"/torch/autograd/graph.py", "_engine_run_backward", STAND_BACKWARD},
	{"/torch/autograd/__init__.py", "backward", STAND_BACKWARD},
	{"/torch/autograd/__init__.py", "grad", STAND_BACKWARD},
	{"/torch/utils/data/", NULL, STAND_DATA},
	{"/torch/serialization.py", NULL, STAND_SAVING},
	{"/torch/distributed/checkpoint/", NULL, STAND_SAVING},
	{"/safetensors/", NULL, STAND_SAVING},
	{"/torch/_inductor/compile_fx.py", "compile_fx", STAND_COMPILING},
	{"/torch/_inductor/compile_fx.py", "compile_fx_inner", STAND_COMPILING},
	{"/torch/_inductor/compile_fx.py", "fx_codegen_and_compile", STAND_COMPILING},
	{"/torch/_inductor/async_compile.py", NULL, STAND_COMPILING},
	{"/torch/_dynamo/convert_frame.py", NULL, STAND_COMPILING},
	{"/torch/utils/cpp_extension.py", NULL, STAND_COMPILING},
	{"/torch/utils/file_baton.py", "wait", STAND_LOCK},
	{"/filelock/_api.py", "acquire", STAND_LOCK},
	{"/triton/compiler/", NULL, STAND_COMPILING},
	{"<frozen importlib._bootstrap", NULL, STAND_IMPORTING},
	{"/pdb.py", "interaction", STAND_DEBUGGER},
	{"/bdb.py", "dispatch_line", STAND_DEBUGGER},
	{"/debugpy/", "do_wait_suspend", STAND_DEBUGGER},
	{"/debugpy/", "_do_wait_suspend", STAND_DEBUGGER},
	{"/IPython/terminal/debugger.py", "interaction", STAND_DEBUGGER},
	{"/vllm/distributed/device_communicators/shm_broadcast.py", NULL, STAND_IDLE},
	{"/vllm/v1/engine/core.py", "_process_input_queue", STAND_IDLE},
	{"/sglang/srt/managers/", "maybe_sleep", STAND_IDLE},
	{"/socket.py", NULL, STAND_SERVICE},
	{"/ssl.py", NULL, STAND_SERVICE},
	{"/http/client.py", NULL, STAND_SERVICE},
	{"/urllib3/", NULL, STAND_SERVICE},
	{"/httpcore/", NULL, STAND_SERVICE},
	{"/grpc/", NULL, STAND_SERVICE},
	{"/zmq/", NULL, STAND_SERVICE},
	{"/threading.py", "_shutdown", STAND_ENDING},
	{"/multiprocessing/util.py", "_exit_function", STAND_ENDING},
	{"/concurrent/futures/thread.py", "_python_exit", STAND_ENDING},
};

static bool is_file(const char *file, const char *of)
{
	if (*of == '<')
		return starts_with(file, of);
	return ends_with(of, "/") ? strstr(file, of) != NULL : ends_with(file, of);
}

static const struct known *find(const struct py_frame *f)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (is_file(f->file, known[i].file) &&
		    (!known[i].function || streq(py_bare_name(f->function), known[i].function)))
			return &known[i];
	return NULL;
}

/* What the program called: all_gather_object, which is made of an all_gather. */
static const char *called(const struct stand *s, size_t from, bool *ret_meets)
{
	const char *name = py_bare_name(s->frames[from].function);

	for (size_t i = from; i < s->n; i++) {
		const char *file = s->frames[i].file,
			   *function = py_bare_name(s->frames[i].function);
		bool is_wrapper = ends_with(file, "/torch/distributed/c10d_logger.py");
		const struct known *k = is_wrapper ? NULL : find(&s->frames[i]);

		if (!is_wrapper &&
		    (!k || (k->kind != STAND_COLLECTIVE && k->kind != STAND_MEETING)))
			break;
		if (!is_wrapper && *function != '_' && *function != '<') {
			name = function;
			*ret_meets = k->kind == STAND_MEETING;
		}
	}
	return name;
}

bool stand_is_library(const char *file)
{
	static const char *const parts[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
					    "/torchinductor_" /* what it made */};

	if (*file == '<')
		return true;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (strstr(file, parts[i]))
			return true;
	return false;
}

/* A program that was installed, too, has frames of its own: what is neither torch's nor Python's.
 */
static size_t own_frame(const struct stand *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!stand_is_library(s->frames[i].file) && !find(&s->frames[i]))
			return i;
	for (size_t i = 0; i < s->n; i++)
		if (strstr(s->frames[i].file, "-packages/") &&
		    !strstr(s->frames[i].file, "-packages/torch/"))
			return i;
	return s->n;
}

/* Python is in C there, and the line says what of: it brings a number over from the GPU, or waits
 * for a collective that was begun before. */
static bool line_waits(const char *line)
{
	static const char *const calls[] = {".item()", ".cpu()",	".tolist()", ".numpy()",
					    ".wait()", "synchronize()", ".nonzero()"};

	for (size_t i = 0; line && i < ARRAY_LEN(calls); i++)
		if (strstr(line, calls[i]))
			return true;
	return false;
}

/* What began the program, or what it is run by, is not what it does: its own code is further in. */
static bool is_outer(const struct stand *s, size_t i, enum stand_kind kind)
{
	return (kind == STAND_IMPORTING || kind == STAND_DEBUGGER) &&
	       (s->own < i || !stand_is_library(s->frames[i].file));
}

/* A Ray actor that has no task: what they are run by calls nothing. */
static bool is_between_tasks(const struct stand *s)
{
	return s->n && is_file(s->frames->file, "/ray/_private/worker.py") &&
	       streq(py_bare_name(s->frames->function), "main_loop");
}

/* Who asks a service does so for something, which tells more: a checkpoint, or what an engine's
 * worker waits for. What data comes from does not. */
static bool says_more(const struct stand *s, const struct known *k)
{
	return s->kind != STAND_SERVICE ||
	       (k->kind != STAND_SERVICE && k->kind != STAND_DATA && k->kind != STAND_IMPORTING);
}

void stand_classify(struct stand *s)
{
	s->own = own_frame(s);
	s->what = NULL;
	s->kind = s->unread ? STAND_UNREAD : s->n ? STAND_ELSEWHERE : STAND_ENDING;
	for (size_t i = 0; i < s->n && !s->unread; i++) {
		const struct known *k = find(&s->frames[i]);
		bool meets;

		if (!k || is_outer(s, i, k->kind) || !says_more(s, k))
			continue;
		s->kind = k->kind;
		if (k->kind == STAND_SERVICE)
			continue;
		if (k->kind == STAND_COLLECTIVE || k->kind == STAND_MEETING) {
			meets = k->kind == STAND_MEETING;
			s->what = called(s, i, &meets);
			s->kind = meets ? STAND_MEETING : STAND_COLLECTIVE;
		}
		return;
	}
	if (s->kind == STAND_ELSEWHERE &&
	    (line_waits(s->inner) || (!s->own && line_waits(s->line))))
		s->kind = STAND_DEVICE;
	else if (s->kind == STAND_ELSEWHERE && is_between_tasks(s))
		s->kind = STAND_IDLE;
}

bool stand_may_be_idle(const struct stand *s)
{
	if (s->kind == STAND_IDLE)
		return true;
	for (size_t i = 0; i < s->n; i++)
		if (is_file(s->frames[i].file, "/sglang/srt/managers/") &&
		    streq(py_bare_name(s->frames[i].function), "recv_requests"))
			return true;
	return false;
}

bool stand_works(const struct stand *s) { return s->busy * 100 >= WORKS_PERCENT; }

bool stand_below_works(const struct stand *s) { return s->busy_below * 100 >= WORKS_PERCENT; }

bool stand_waits(const struct stand *s)
{
	if (s->kind == STAND_BACKWARD)
		return !s->moved && !stand_works(s);
	return s->kind == STAND_COLLECTIVE || s->kind == STAND_MEETING || s->kind == STAND_DEVICE;
}

static const struct py_frame *own(const struct stand *s)
{
	static const struct py_frame none = {.function = "", .file = ""};

	return s->own < s->n ? &s->frames[s->own] : &none;
}

bool stand_same(const struct stand *p, const struct stand *q)
{
	return p->kind == q->kind && streq(p->what ?: "", q->what ?: "") &&
	       own(p)->line == own(q)->line && streq(own(p)->file, own(q)->file) &&
	       streq(own(p)->function, own(q)->function);
}
