#ifndef LIB_CLOUD_CREDENTIALS_REMOTE_H
#define LIB_CLOUD_CREDENTIALS_REMOTE_H
/* Private to lib/cloud/credentials*.c: keys that a service lends. 1: got them, 0: there is no such
 * service here, -1: it is there and gave none. */
#include "lib/cloud/credentials.h"

/* Of STS, for the token of a file; @ret->region and ->endpoint say where that is. */
int credentials_from_web_identity(struct credentials *ret, uint64_t total_ns, struct arena *a,
				  struct err *e) MUST_CHECK;
int credentials_from_container(struct credentials *ret, uint64_t total_ns, struct arena *a,
			       struct err *e) MUST_CHECK;
/* @ret_trouble: why the metadata service said nothing, or NULL. */
int credentials_from_role(struct credentials *ret, uint64_t total_ns, struct arena *a,
			  const char **ret_trouble, struct err *e) MUST_CHECK;

#endif
