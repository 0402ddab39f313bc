#ifndef PROBES_IFACE_PREDICT_H
#define PROBES_IFACE_PREDICT_H
/* What every stack would use on this host with the settings as they are. */
#include "probes/iface/facts.h"
#include "probes/iface/suggest.h"

/* As rows, as findings predict.NAME, and as data.predict where that is wanted. */
void predict_all(const struct facts *f, struct report *r);
/* Only data.predict. */
void predict_data(const struct facts *f, struct report *r);
/* After a proof: does every peer answer through the interface that NCCL would use? */
void predict_peers(const struct facts *f, const struct suggestion *s, struct report *r);

#endif
