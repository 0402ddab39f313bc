/* nccl-tests' flags for a GPU, and ours for one backend: who serves them, and who does not. */
#include "bench/sweep/ask.h"
#include "lib/core/units.h"

/* nccl-tests has kernels of its own for some collectives; a figure without them is another one. */
static int ask_device_api(const struct ask_flags *in, struct err *e)
{
	if (!in->device_api || !streq(in->backend, "nccl"))
		return 0;
	if (in->registers != 2) {
		err_set(e, ERR_USAGE, "-D %zu needs symmetric memory: -R 2",
			(size_t)in->device_api);
		return err_hint(e, "and nccl-tests: no backend of ncclbench has such kernels");
	}
	err_set(e, ERR_USAGE,
		"-D %zu: no backend of ncclbench has kernels that communicate by themselves",
		(size_t)in->device_api);
	return err_hint(e,
			"nccl-tests has: all_reduce_perf -R 2 -D %zu; without -D, --backend nccl "
			"-R 2 measures NCCL's own on the same memory",
			(size_t)in->device_api);
}

int ask_least_average(double *ret, struct err *e)
{
	const char *v = where_is_ours() ? NULL : getenv("NCCL_TESTS_MIN_BW");

	*ret = 0;
	if (!v || !*v)
		return 0;
	if (!parse_double(v, ret) && *ret >= 0)
		return 0;
	err_set(e, ERR_USAGE, "NCCL_TESTS_MIN_BW=%s is no bandwidth in GB/s", v);
	return err_hint(e,
			"unset NCCL_TESTS_MIN_BW; --expect judges what lasts, and not an average");
}

bool ask_has_rails(const char *rails)
{
	return rails && !streq(rails, "auto") && !streq(rails, "none");
}

/* What one backend alone reads, and another would leave alone without a word. */
static int ask_owner(const struct ask_flags *in, struct err *e)
{
	const struct {
		bool given;
		const char *flag, *backend;
	} owned[] = {
		{in->library, "--nccl", "nccl"},       {in->calls_block, "--nccl-blocking", "nccl"},
		{in->sockets, "--sockets", "tcp"},     {in->bind, "--bind", "tcp"},
		{in->wire_rate, "--wire-rate", "tcp"},
	};

	if (streq(in->backend, "auto"))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(owned); i++)
		if (owned[i].given && !streq(in->backend, owned[i].backend))
			return err_set(e, ERR_USAGE,
				       "%s is for --backend %s: it does nothing with %s",
				       owned[i].flag, owned[i].backend, in->backend);
	return 0;
}

int ask_flags(const struct ask_flags *in, struct err *e)
{
	bool rails = ask_has_rails(in->rails);
	bool tcp = streq(in->backend, "tcp") || streq(in->backend, "auto");

	if (rails && !in->pairs)
		return err_set(e, ERR_USAGE, "--rails is for --pairs and --find-slow");
	if (in->together && !in->pairs)
		return err_set(e, ERR_USAGE, "--together is for --pairs and --find-slow");
	if (rails && !tcp) {
		err_set(e, ERR_USAGE, "--rails: %s chooses its cards by itself", in->backend);
		return err_hint(e, "--backend tcp measures each card; NCCL_IB_HCA and "
				   "NCCL_SOCKET_IFNAME choose NCCL's");
	}
	return ask_owner(in, e) || ask_device_api(in, e) ? -1 : 0;
}

void ask_notes(const struct ask_flags *in, struct arena *a, str_list *ret)
{
	bool nccl = streq(in->backend, "nccl");
	const char *name = streq(in->backend, "auto") ? "tcp" : in->backend;
	const struct {
		bool given;
		const char *flag, *why;
	} unserved[] = {
		{in->library && !nccl, "--nccl", "that loads no NCCL; --backend nccl does"},
		{in->calls_block && !nccl, "--nccl-blocking",
		 "there is no NCCL in it; --backend nccl has"},
		{in->registers && !nccl, "-R",
		 "there is nothing to register buffers with; --backend nccl has"},
		{in->device_api && !nccl, "-D",
		 "there is no device API in host memory, and nccl-tests alone has kernels for it"},
		{in->ctas, "-V", "it counts the CTAs of -D, which nccl-tests alone serves"},
		{in->parallel_init, "-p", "ranks are processes and always initialize in parallel"},
		{in->cta_policy != ASK_NOT_GIVEN, "-x",
		 nccl ? "export NCCL_CTA_POLICY=N, which NCCL reads by itself"
		      : "there are no CTAs in host memory"},
		{getenv("NCCL_TESTS_DEVICE") != NULL, "NCCL_TESTS_DEVICE",
		 nccl ? "each rank has a GPU of its own, of those in CUDA_VISIBLE_DEVICES"
		      : "there is no GPU in it"},
		{in->stream_null, "-y",
		 nccl ? "operations have a stream of their own" : "there are no CUDA streams"},
	};

	for (size_t i = 0; i < ARRAY_LEN(unserved); i++)
		if (unserved[i].given)
			*LIST_ADD(a, ret) = arena_printf(a, "%s does nothing with %s: %s",
							 unserved[i].flag, name, unserved[i].why);
}
