#ifndef LIB_HOST_CLOUD_SERVICE_H
#define LIB_HOST_CLOUD_SERVICE_H
/*
 * Private to lib/host/cloud*.c (and their tests): one metadata service while
 * it is being read, the readers per provider, and their pure parsers.
 */
#include "lib/host/cloud.h"
#include "lib/net/http.h"

struct metadata {
	struct arena *a;
	struct cloud *cloud;
	union addr to;	   /* with port */
	const char *host;  /* for the Host: header and for sentences */
	uint64_t until_ns; /* of everything */
	bool is_down;	   /* it stopped answering: ask nothing more */
	enum { READ_MAP, READ_CARDS, READ_ROLE, READ_TYPE } depth;
	char *role; /* READ_ROLE's */
};

/* At most @most_ns (0: what is left). A late or broken answer is status 0 and sets is_down. */
int metadata_ask(struct metadata *m, const char *method, const char *path,
		 const char *const *headers, uint64_t most_ns, struct http_answer *ret,
		 struct err *e) MUST_CHECK;
/* Says in cloud->trouble, unless that is taken, what an answer of status 0 means. */
void metadata_silent(struct metadata *m, const struct http_answer *answer);
/* Text that is short, printable and without blanks, or NULL. */
const char *metadata_word(struct arena *a, const char *s, size_t n);
/* One line after the other; false: no more. */
bool metadata_line(struct arena *a, const char **at, const char **ret);
/* Adds a pair if both are addresses; @mac may be NULL. */
void metadata_map(struct metadata *m, const char *public_text, const char *private_text,
		  const char *mac);
/* Adds an interface, where cards are read; @addr_text may be NULL. */
void metadata_card(struct metadata *m, const char *mac, const char *addr_text);
/* One more private address of the last one. */
void metadata_card_addr(struct metadata *m, const char *addr_text);

/* One key of AWS's tree; NULL where there is none. */
struct aws {
	struct metadata *m;
	const char *headers[2]; /* the token, or nothing where IMDSv1 is allowed */
};
#define AWS_META "/latest/meta-data/"
int aws_get(struct aws *s, const char *path, const char **ret_body, struct err *e) MUST_CHECK;
int aws_read_card(struct aws *s, const char *mac, struct err *e) MUST_CHECK;
int aws_read_role(struct aws *s, struct err *e) MUST_CHECK;
int aws_read_place(struct aws *s, struct err *e) MUST_CHECK;

int aws_read(struct metadata *m, struct err *e) MUST_CHECK;
int gcp_read(struct metadata *m, struct err *e) MUST_CHECK;
int azure_read(struct metadata *m, struct err *e) MUST_CHECK;

/* -1: not such a document. Fuzzed. */
int gcp_parse(struct metadata *m, const char *text, size_t n) MUST_CHECK;
int azure_parse(struct metadata *m, const char *text, size_t n) MUST_CHECK;

#endif
