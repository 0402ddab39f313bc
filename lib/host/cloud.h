#ifndef LIB_HOST_CLOUD_H
#define LIB_HOST_CLOUD_H
/*
 * Who the cloud says we are: AWS (IMDSv2), GCP, Azure, told apart by DMI
 * before anything is sent, so a machine that is in no cloud sends nothing.
 * AWS_EC2_METADATA_DISABLED=true silences all of them, and
 * AWS_EC2_METADATA_SERVICE_ENDPOINT is honoured (it also lets tests bring
 * their own server).
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/net/addr.h"

struct cloud_map { /* a public address and the private one behind it */
	union addr public_addr, private_addr;
	const char *mac; /* or NULL */
};
struct cloud_card { /* an interface, as the cloud sees it */
	const char *mac;
	const char *id, *subnet, *vpc; /* or NULL */
	addr_list addrs;	       /* private */
	str_list groups;	       /* ids of its security groups */
};
struct cloud {
	const char *provider;	   /* "aws", "gcp", "azure", or NULL: none recognised */
	const char *instance_type; /* or NULL */
	LIST(struct cloud_map) map;
	/* Only cloud_read_cards() asks for these; of cards all clouds tell MAC and
	 * addresses, the rest only AWS. */
	const char *instance_id, *region, *zone;
	LIST(struct cloud_card) cards;
	const char *trouble; /* "IMDS hop limit too small: ..." when the service was there
				but did not answer us, or NULL */
};

/* Never takes longer than @total_ns; finding nothing is not an error. */
int cloud_read(struct arena *a, uint64_t total_ns, struct cloud *ret, struct err *e) MUST_CHECK;
/* The same, and what each interface is: some requests more. */
int cloud_read_cards(struct arena *a, uint64_t total_ns, struct cloud *ret,
		     struct err *e) MUST_CHECK;
/* The instance type alone: the fewest requests. */
int cloud_read_type(struct arena *a, uint64_t total_ns, struct cloud *ret,
		    struct err *e) MUST_CHECK;
/*
 * The JSON of the keys that AWS lends to this instance's role, or NULL: there
 * is no role (or no AWS; see @ret's trouble). They are secrets.
 */
int cloud_read_role(struct arena *a, uint64_t total_ns, struct cloud *ret, char **ret_json,
		    struct err *e) MUST_CHECK;

#endif
