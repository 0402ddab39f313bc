#ifndef LIB_NET_CHANNEL_WHY_H
#define LIB_NET_CHANNEL_WHY_H
/* Why a channel ends, in words for its owner; each sets its error as well. */
#include "lib/net/channel.h"

void why_finished(struct channel *c, struct err *e);
void why_late(struct channel *c, struct err *e);	    /* the deadline */
void why_lost(struct channel *c, int error, struct err *e); /* 0: the peer closed it */
void why_refused(struct channel *c, struct err *e);	    /* @e: what secure_feed() said */
void why_of(struct channel *c, int error, const char *what, struct err *e); /* "PEER WHAT" */

#endif
