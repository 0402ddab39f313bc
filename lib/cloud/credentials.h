#ifndef LIB_CLOUD_CREDENTIALS_H
#define LIB_CLOUD_CREDENTIALS_H
/*
 * AWS's keys from where its own tools find them, in their order: the
 * environment; a profile (AWS_PROFILE; ~/.aws/credentials, ~/.aws/config,
 * AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE); the container's service
 * (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, ..._FULL_URI: ECS, EKS Pod Identity);
 * the instance's role. Before a profile comes the role of a Kubernetes service
 * account (AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN: EKS' IRSA). A profile that
 * is named by option takes the environment's out of the chain. Profiles that need another program
 * (SSO, assumed roles, credential_process) are recognised and refused with the command that turns
 * them into plain keys.
 *
 * Keys are secrets: nothing here logs them, no error quotes them, and
 * credentials_done() wipes them.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

struct credentials {
	char key_id[160], secret[256], token[8192]; /* token "": none */
	const char *from;     /* "the environment", "profile dev of /home/me/.aws/credentials" */
	const char *region;   /* NULL: nothing named one */
	const char *endpoint; /* the profile's endpoint_url, or NULL */
};

/* @profile: named by option, or NULL. Waits at most @total_ns for services. ERR_ABSENT: no keys. */
int credentials_find(struct credentials *ret, const char *profile, uint64_t total_ns,
		     struct arena *a, struct err *e) MUST_CHECK;
void credentials_done(struct credentials *c);

/* A profile of one INI text of AWS's; keys absent there stay as they are. Fuzzed. */
struct profile {
	const char *key_id, *secret, *token, *region, *endpoint;
	const char *needs; /* "sso_session", "role_arn": what this program cannot do */
	bool found;
};
/* @is_config: sections are called "profile NAME" there, but for "default". */
void profile_parse(const char *text, const char *name, bool is_config, struct arena *a,
		   struct profile *ret);
/* What the services answer: {"AccessKeyId":..,"SecretAccessKey":..,"Token":..}. */
int credentials_parse_json(const char *text, size_t n, struct credentials *ret,
			   struct err *e) MUST_CHECK;
/* Copies the three, checked: no blanks or control characters, and short enough. */
int credentials_set(struct credentials *c, const char *key_id, const char *secret,
		    const char *token, struct err *e) MUST_CHECK;

#endif
