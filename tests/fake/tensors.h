#ifndef TESTS_FAKE_TENSORS_H
#define TESTS_FAKE_TENSORS_H
/* Shared by the stand-ins of cuDNN and cuBLAS: numbers of any type, and work on a stream. */
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <dlfcn.h>
#include <functional>
#include <vector>

enum class number { f32, f16, bf16 };

inline size_t number_size(number t) { return t == number::f32 ? 4 : 2; }
inline std::vector<float> read_all(const void *p, number t, size_t n)
{
	std::vector<float> v(n);

	for (size_t i = 0; i < n; i++)
		v[i] = t == number::f32 ? static_cast<const float *>(p)[i]
		       : t == number::f16
			       ? __half2float(static_cast<const __half *>(p)[i])
			       : __bfloat162float(static_cast<const __nv_bfloat16 *>(p)[i]);
	return v;
}
inline void write_all(void *p, number t, const std::vector<float> &v)
{
	for (size_t i = 0; i < v.size(); i++)
		if (t == number::f32)
			static_cast<float *>(p)[i] = v[i];
		else if (t == number::f16)
			static_cast<__half *>(p)[i] = __float2half(v[i]);
		else
			static_cast<__nv_bfloat16 *>(p)[i] = __float2bfloat16(v[i]);
}

/* As the real ones: a handle is for the context that is current in the thread that makes it. */
inline bool has_context()
{
	using ask = CUresult (*)(CUcontext *);
	auto current = reinterpret_cast<ask>(dlsym(RTLD_DEFAULT, "cuCtxGetCurrent"));
	CUcontext c = nullptr;

	return !current || (current(&c) == CUDA_SUCCESS && c);
}

/* The driver's stand-in is loaded before; work waits in its queues, unless it refuses it. */
inline bool on_stream(CUstream s, std::function<void()> work)
{
	using host_func = CUresult (*)(CUstream, CUhostFn, void *);
	auto launch = reinterpret_cast<host_func>(dlsym(RTLD_DEFAULT, "cuLaunchHostFunc"));
	auto run = [](void *p) {
		auto *w = static_cast<std::function<void()> *>(p);

		(*w)();
		delete w;
	};

	return launch && launch(s, run, new std::function<void()>(std::move(work))) == CUDA_SUCCESS;
}

#endif
