#ifndef LIB_CLUSTER_MEND_H
#define LIB_CLUSTER_MEND_H
/* What a person types where ssh has failed: the command that goes with a cause of trouble.h. */
#include "lib/cluster/fanout.h"
#include "lib/cluster/rsh.h"

enum mend {
	MEND_LOOK, /* the same ssh by hand; NULL: whoever asks knows what it was to run */
	MEND_REACH,
	MEND_ROUTE,
	MEND_FORGET_KEY,
	MEND_KNOW_KEY,
	MEND_GIVE_KEY,
	MEND_KEY_FILE,
	MEND_GIVE_NAME,
	MEND_LOG,
	MEND_PROXY,
	MEND_QUIET
};

const char *mend_line(enum mend m, const struct fanout_result *r, const struct rsh_way *rsh,
		      struct arena *a);
/* @line on that host, @why after it: it says there what it does not say here. */
const char *mend_by_hand(const struct fanout_result *r, const struct rsh_way *rsh, const char *line,
			 const char *why, struct arena *a);

/* By what ssh said when it was denied, which ends in what that host takes: "(publickey,password)".
 */
bool mend_takes_password(const char *err, struct arena *a);

#endif
