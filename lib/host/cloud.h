#ifndef LIB_HOST_CLOUD_H
#define LIB_HOST_CLOUD_H
/*
 * Who the cloud says we are: AWS (IMDSv2), GCP, Azure, told apart by DMI
 * before anything is sent, so a machine that is in no cloud sends nothing.
 * AWS_EC2_METADATA_DISABLED and AWS_EC2_METADATA_SERVICE_ENDPOINT are
 * honoured (the latter also lets tests bring their own server).
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/net/addr.h"

struct cloud_map { /* a public address and the private one behind it */
	union addr public_addr, private_addr;
	const char *mac; /* or NULL */
};
struct cloud {
	const char *provider;	   /* "aws", "gcp", "azure", or NULL: none recognised */
	const char *instance_type; /* or NULL */
	LIST(struct cloud_map) map;
	const char *trouble; /* "IMDS hop limit too small: ..." when the service was there
				but did not answer us, or NULL */
};

/* Never takes longer than @total_ns; finding nothing is not an error. */
int cloud_read(struct arena *a, uint64_t total_ns, struct cloud *ret, struct err *e) MUST_CHECK;

#endif
