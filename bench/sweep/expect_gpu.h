#ifndef BENCH_SWEEP_EXPECT_GPU_H
#define BENCH_SWEEP_EXPECT_GPU_H
/*
 * What a GPU is attached by, from the name that the driver has for it: one model is sold with
 * NVLink, as a PCIe card and in parts, and a family with 8 lanes and with 16. Pure.
 */
#include "lib/core/base.h"

struct expect_gpu {
	const char *name;	/* "H100" */
	const char *generation; /* "NVLink 4"; NULL: none */
	double nvlink;		/* GB/s, one direction, all links; 0: none, or not known */
	bool is_switched;	/* eight of them have a switch, and each two have all links */
	int pcie;		/* its generation; 0: something else, or not known */
	int lanes;		/* of PCIe, by design */
	int domain;		/* so many, of several hosts, NVLink may join; 0: of one */
	bool is_named_sxm;	/* the names of boards with NVLink say so */
};
/* @name as the driver has it, or NULL. False: it is not in the table. */
bool expect_gpu(const char *name, struct expect_gpu *ret);

#endif
