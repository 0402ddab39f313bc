#ifndef PROBES_LOG_SETTINGS_H
#define PROBES_LOG_SETTINGS_H
/*
 * The settings of NCCL that change how it transfers: who looks for what makes a
 * collective hang takes them out first. Not those that name an interface or describe
 * the machine (a cloud's NCCL_TOPO_FILE), which are needed, nor those that switch
 * something off.
 */
#include "probes/log/why.h"

/* Parted as anchors and alternatives are. */
#define TRANSPORT_SETTINGS                                                                         \
	"NCCL_NET_GDR_LEVEL|NCCL_NET_GDR_READ|NCCL_CROSS_NIC|NCCL_COLLNET_ENABLE|NCCL_ALGO|"       \
	"NCCL_PROTO|NCCL_P2P_LEVEL|NCCL_NVLS_ENABLE|NCCL_IB_ADAPTIVE_ROUTING|"                     \
	"NCCL_IB_QPS_PER_CONNECTION|NCCL_GRAPH_FILE|NCCL_MIN_NCHANNELS|NCCL_MAX_NCHANNELS|"        \
	"NCCL_LAUNCH_MODE|NCCL_NET_SHARED_BUFFERS"

/* Notes those that the line says or sets; each once. */
void settings_hear(struct why *w, struct why_stream *s, const struct log_line *l);

#endif
