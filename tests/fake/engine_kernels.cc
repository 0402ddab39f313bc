/* The training engine's kernels, compiled for the processor: part of the driver's stand-in. */
#include "plugins/cudnn/kernels.cu"

#include "tests/fake/kernels.h"

#include <cstring>
#include <tuple>

/* What a launch will do: its arguments are taken when it is asked for, as a driver does. */
template <typename... A, size_t... I>
static std::function<void()> capture(void (*f)(A...), void **args, std::index_sequence<I...>)
{
	std::tuple<A...> taken(*static_cast<A *>(args[I])...);

	return [f, taken] { std::apply(f, taken); };
}
template <typename... A> static std::function<void()> prepare(void (*f)(A...), void **args)
{
	return capture(f, args, std::index_sequence_for<A...>());
}
template <auto F> static std::function<void()> launch(void **args) { return prepare(F, args); }

#define ONE(name)                                                                                  \
	{                                                                                          \
#name, launch < &name>                                                             \
	}
#define ALL(name) ONE(name##_f32), ONE(name##_bf16), ONE(name##_fp16)

static const fake_kernel kernels[] = {
	ALL(pack_input), ALL(pack_weights), ALL(unpack_weights), ALL(bias),	  ALL(add),
	ALL(pass),	 ALL(norm_sums),    ALL(norm_finish),	 ALL(norm_apply), ALL(back_sums),
	ALL(norm_back),	 ALL(pool),	    ALL(pool_back),	 ALL(mean),	  ALL(mean_back),
	ONE(copy),	 ONE(sgd),	    ONE(find_strange),	 ONE(sum_parts),  ONE(norm_use),
	ONE(norm_grads), ONE(bias_grads),
};

const fake_kernel *fake_engine_kernel(const char *name)
{
	for (const fake_kernel &k : kernels)
		if (!strcmp(k.name, name))
			return &k;
	return nullptr;
}
