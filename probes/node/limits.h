#ifndef PROBES_NODE_LIMITS_H
#define PROBES_NODE_LIMITS_H
/* The parts of the limits stage: of this process, of its control groups, of the machine. */
#include "probes/node/node.h"

struct finding *limit_finding(struct node_look *look, const char *check, const char *subject);
/* Where room for files (inodes) runs out, which bytes do not tell of: true, and that is said. */
struct statvfs;
bool limit_files(struct node_look *look, struct finding *f, const struct statvfs *s,
		 const char *dir);
/* "container", "Kubernetes pod": we are inside one; NULL: not, as far as can be seen. */
const char *limits_container(void);
void limits_groups(struct node_look *look);
void limits_machine(struct node_look *look);
void limits_numa(struct node_look *look);
/* "0": off; any other: on; NULL: fewer than two nodes with processors, nothing to balance. */
const char *limits_numa_balancing(struct arena *a);

#endif
