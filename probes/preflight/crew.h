#ifndef PROBES_PREFLIGHT_CREW_H
#define PROBES_PREFLIGHT_CREW_H
/*
 * The pre-flight of machines that joined with a pasted line: each is a rank of
 * one run. The first one leads: it takes what all say of themselves, decides
 * what is tested between them, and reports. For that every one runs the same
 * sibling at the same time, as torchrun would have started it.
 */
#include "probes/iface/fleet.h"
#include "probes/preflight/preflight.h"

/* What is typed where one of them is gone. */
#define SERVE_AGAIN "windsock --serve   # from here; then the line that it prints, there once more"

struct crew;
/* NULL with @e filled. */
struct crew *crew_join(struct preflight *p, struct err *e) MUST_CHECK;
bool crew_leads(const struct crew *c);
/* Everybody looks at itself; the leader gets the answers, the others tell. */
int crew_ask(struct crew *c, struct answers *ret, struct err *e) MUST_CHECK;
/* The leader: everybody runs this stage's command; with @takes its findings are taken. The
 * document is the caller's to free; NULL: there is none. */
cJSON *crew_run(struct crew *c, enum stage_id id, bool takes);
void crew_finish(struct crew *c); /* the leader: that was all */
/* The others: until the leader has no more to do. */
int crew_follow(struct crew *c, struct err *e) MUST_CHECK;
void crew_leave(struct crew *c, const char *reason);

#endif
