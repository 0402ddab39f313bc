#ifndef TESTS_UNIT_STAND_GROUND_H
#define TESTS_UNIT_STAND_GROUND_H
/* Stacks as PyTorch's and a program's frames make them, for t_stand.c and t_stand_frames.c. */
#include "probes/stacks/stand.h"

#define TORCH "/opt/venv/lib/python3.12/site-packages/torch/"
#define MAIN                                                                                       \
	{                                                                                          \
		"<module>", "/home/me/train.py", 99                                                \
	}
#define IN(what)                                                                                   \
	{what, TORCH "distributed/distributed_c10d.py", 2000},                                     \
	{                                                                                          \
		"wrapper", TORCH "distributed/c10d_logger.py", 80                                  \
	}
#define STAND .job = "torchrun 1", .local_size = -1, .state = 'S', .wchan = "", .seconds = 2
#define AT(where) ((struct stand){STAND, .frames = (where), .n = ARRAY_LEN(where)})

static struct py_frame loading[] = {
	{"Queue.get", "/usr/lib/python3.12/queue.py", 171},
	{"_MultiProcessingDataLoaderIter._try_get_data", TORCH "utils/data/dataloader.py", 1120},
	{"epoch", "/home/me/train.py", 30},
	MAIN};
static struct py_frame own[] = {{"tokenize", "/home/me/data.py", 7}, MAIN};

#endif
