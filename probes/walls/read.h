#ifndef PROBES_WALLS_READ_H
#define PROBES_WALLS_READ_H
/* Private to probes/walls/read*.c: one element of a document each. */
#include "probes/walls/walls.h"

/* Is @o one of those? Then what it says is added. */
bool walls_read_gcp(struct walls *w, const cJSON *o);
bool walls_read_azure(struct walls *w, const cJSON *o);

/* The first document says of which cloud all are. */
bool walls_are_of(struct walls *w, enum walls_cloud cloud);
/* Google's network by its id, and what is so of all of them. */
void walls_name_gcp(struct walls *w, struct wall *wall);
/* A copy, or NULL: too long, with control characters, or as an option begins. A command has it
 * quoted. */
const char *walls_word(struct walls *w, const char *s);
/* The last part of a path or an address: ".../networks/default" -> "default". */
const char *walls_tail(struct walls *w, const char *s);
/* Of ".../resourceGroups/ml/..." what follows "resourceGroups", in any letters; NULL: nothing. */
const char *walls_part(struct walls *w, const char *path, const char *key);
/* In small letters, as ids are compared. */
const char *walls_id(struct walls *w, const char *s);
/* "22", "20000-30000"; what is none is left out. -1: it was none. */
int walls_add_ports(struct walls *w, port_spans *l, const char *text);
/* IANA's number of "tcp", "6"; -1: all; -2: it is none. */
int walls_protocol(const char *s);
bool walls_add_range(struct walls *w, struct wall_whom *who, const char *text);
/* The wall with that id, made where there is none. */
struct wall *walls_make(struct walls *w, const char *id);
/* Behind those that are asked before it: a denial before what allows, of equal numbers. */
void walls_add_rule(struct walls *w, struct wall *wall, const struct wall_rule *r);

#endif
