#ifndef LIB_CLUSTER_OPEN_FILES_H
#define LIB_CLUSTER_OPEN_FILES_H

/*
 * Ranks need some descriptors for each other one, and who starts them for each host and rank:
 * the soft limit is a default, not a wish, and becomes the hard one.
 */
void open_files_raise(void);

#endif
