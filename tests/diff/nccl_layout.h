#ifndef TESTS_DIFF_NCCL_LAYOUT_H
#define TESTS_DIFF_NCCL_LAYOUT_H
/*
 * One random host: interfaces and addresses as `ip -batch` lines, NCCL
 * variables, conf files. A (seed, number) pair always makes the same one.
 */
#include "lib/core/text.h"

enum conf { CONF_NAMED, CONF_HOME, CONF_PASSWD_HOME, CONF_ETC, CONF_COUNT };

struct layout {
	struct text ip;
	str_list env;		      /* NAME=VALUE */
	struct text conf[CONF_COUNT]; /* s NULL: there is no such file */
	bool names_conf_file;	      /* NCCL_CONF_FILE is set */
	bool own_home;		      /* HOME differs from the passwd entry's */
	bool dad;		      /* IPv6 addresses stay tentative */
};

void layout_make(struct layout *l, uint64_t seed, uint64_t number, struct arena *a);
/* The whole of it as comment lines that begin with how to repeat it, for replaying by hand. */
void layout_print(const struct layout *l, uint64_t seed, uint64_t number, struct text *out);

/* /etc/hosts of every layout. */
#define LAYOUT_HOSTS "127.0.0.1 localhost\n10.0.1.77 host4\nfd00:1::77 host6\n192.0.2.7 far\n"

#endif
