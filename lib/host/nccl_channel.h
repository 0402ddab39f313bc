#ifndef LIB_HOST_NCCL_CHANNEL_H
#define LIB_HOST_NCCL_CHANNEL_H
/*
 * One line in which NCCL says which way a channel goes, as 2.3 to 2.30 print it:
 *	NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0(1)/GDRDMA
 *	NCCL INFO Channel 00 : 3[1d000] -> 2[1c000] via direct shared memory
 *	NCCL INFO Ring 01 : 1 -> 0 [receive] via NET/IB/0/GDRDMA
 * A network's channel is said at both ends, each of its own; others by who sends.
 */
#include "lib/core/base.h"

enum nccl_way { NCCL_WAY_NET, NCCL_WAY_P2P, NCCL_WAY_SHM, NCCL_WAY_OTHER };
enum nccl_end { NCCL_END_UNSAID, NCCL_END_SEND, NCCL_END_RECEIVE };

struct nccl_channel {
	int from, to; /* ranks of one communicator, whichever that is */
	enum nccl_way way;
	enum nccl_end end;
	const char *name; /* in the line: "NET/AWS Libfabric", "P2P/CUMEM", "SHM/direct/direct" */
	size_t name_n, kind_n; /* of the name; of it what is the kind: "NET/IB", "P2P", "SHM" */
	bool is_direct;	       /* GPUDirect RDMA, at this end */
};

/* False where it is no such line, or is cut before it says the way. */
bool nccl_channel_read(const char *line, struct nccl_channel *ret);

#endif
