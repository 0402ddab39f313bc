#ifndef TESTS_FAKE_KERNELS_H
#define TESTS_FAKE_KERNELS_H
/* Between the parts of the driver's stand-in: kernels by name. */
#include <functional>

struct fake_kernel {
	const char *name;
	std::function<void()> (*prepare)(void **args);
};
/* NULL: there is none of that name. */
const fake_kernel *fake_engine_kernel(const char *name);

#endif
