#ifndef PROBES_LOG_HEAR_H
#define PROBES_LOG_HEAR_H
/* What a process says about itself, remembered with it. */
#include "probes/log/actors.h"

/* NCCL: the network it chose, its bootstrap interface, the addresses it offers, its version. */
void hear_network(struct actors *t, const struct log_line *l);
void hear_bootstrap(struct actors *t, const struct log_line *l);
void hear_sockets(struct actors *t, const struct log_line *l);
void hear_version(struct actors *t, const struct log_line *l);
/* It is in many communicators; its rank in the largest is its rank. True: one is complete. */
bool hear_init(struct actors *t, const struct log_line *l);
/* The RDMA ports that it found, where the line is whole and they are the cards' own; what it was
 * told to use. */
void hear_ports(struct actors *t, const struct log_line *l);
void hear_hca(struct actors *t, const struct log_line *l);
/* A channel over InfiniBand; over sockets, and which card. */
void hear_channel(struct actors *t, const struct log_line *l);
void hear_socket_channel(struct actors *t, const struct log_line *l);

/* torch's watchdog: the collective that timed out, and how far each rank came when it gives up.
 * Groups other than the whole world count on their own. */
void hear_timed_out_work(struct actors *t, const struct log_line *l);
void hear_last_work(struct actors *t, const struct log_line *l);

#endif
