#ifndef TESTS_FAKE_LIBCUDA_H
#define TESTS_FAKE_LIBCUDA_H
/* Between the parts of the driver's stand-in. */
#include <cuda.h>

#include <functional>
#include <memory>
#include <vector>

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
struct event;
struct work {
	std::function<void()> run;
	event *waits_for;
	unsigned turn;
	std::function<bool()> goes_on; /* asked until it is done; then no others */
	std::shared_ptr<void> kept;    /* as long as a graph has it */
};
struct fake_graph {
	std::vector<work> nodes;
	bool is_spoilt;
};
CUresult fake_put(CUstream s, work w);
fake_graph **fake_captured(CUstream s); /* what it is captured into; *: NULL if it is not */
void fake_spoil_captures(void);		/* of all streams */
bool fake_captures(void);		/* is one captured? */
void fake_wait_for_all(void);  /* that was ever given to the GPU: as who frees memory does */
bool fake_is_full(CUstream s); /* a launch waits for room */
bool fake_is_alive(const void *stream_or_event);
CUresult fake_enqueue(CUstream s, std::function<void()> run);
void fake_advance(); /* all streams, as far as they come */

/* --- libcuda_graph.cc --- */
/* A call that a capture does not survive. */
CUresult fake_unsafe(const char *what);
#define UNSAFE(what)                                                                               \
	do {                                                                                       \
		if (CUresult unsafe = fake_unsafe(what))                                           \
			return unsafe;                                                             \
	} while (0)
void fake_no_graph_is_left(void);

/* --- libcuda_memory.cc: mode "ahead" --- */
void fake_launched(const char *kernel, CUstream s);
void fake_asked(CUstream s); /* whether work is done */

#endif
