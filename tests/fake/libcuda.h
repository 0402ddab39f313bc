#ifndef TESTS_FAKE_LIBCUDA_H
#define TESTS_FAKE_LIBCUDA_H
/* Between the parts of the driver's stand-in. */
#include <cuda.h>

#include <functional>

#define OUT extern "C" __attribute__((visibility("default")))

bool fake_mode(const char *name);
/* Says what was wrong, and returns it. */
CUresult fake_refuse(const char *what, CUresult r);
CUresult fake_ready(); /* to be called here, in this process and thread? */
#define READY()                                                                                    \
	do {                                                                                       \
		if (CUresult not_ready = fake_ready())                                             \
			return not_ready;                                                          \
	} while (0)
CUresult fake_enqueue(CUstream s, std::function<void()> run);
void fake_advance(); /* all streams, as far as they come */

/* --- libcuda_memory.cc: mode "ahead" --- */
void fake_launched(const char *kernel, CUstream s);
void fake_asked(CUstream s); /* whether work is done */

#endif
