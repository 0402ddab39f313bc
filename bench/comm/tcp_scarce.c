/* What a host may run out of while many ranks connect: its own trouble, and no other rank's. */
#include "bench/comm/tcp_core.h"

#include <errno.h>

const char *tcp_scarce(int error)
{
	switch (error) {
	case EMFILE:
		return "raise the limit of open files of every rank: ulimit -n, LimitNOFILE= of "
		       "slurmd, or fewer --sockets";
	case ENFILE:
		return "raise fs.file-max here, or end what has so many files open";
	case EADDRNOTAVAIL:
	case EADDRINUSE:
	case EAGAIN:
		return "sudo sysctl -w net.ipv4.ip_local_port_range='1024 65535'   # here; ss -s "
		       "tells "
		       "how many ports are in use";
	case ENOBUFS:
	case ENOMEM:
		return "give it memory: free -m, memory.max of the control group, "
		       "sysctl net.ipv4.tcp_mem";
	default:
		return NULL; /* the other end's, or the way to it */
	}
}
