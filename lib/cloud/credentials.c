#include "lib/cloud/credentials.h"

#include "lib/cloud/credentials_remote.h"
#include "lib/cloud/env.h"
#include "lib/core/file.h"
#include "lib/core/quote.h"
#include "lib/report/json.h"

#include <errno.h>

enum { FILE_MAX = 1 << 20 };

/* They become parts of a header: a line break in one would add headers. */
static bool copy(char *to, size_t room, const char *from)
{
	size_t n = strlen(from);

	if (n >= room)
		return false;
	for (size_t i = 0; i < n; i++)
		if (from[i] <= ' ' || from[i] >= 0x7f)
			return false;
	memcpy(to, from, n + 1);
	return true;
}

int credentials_set(struct credentials *c, const char *key_id, const char *secret,
		    const char *token, struct err *e)
{
	if (!key_id || !*key_id || !secret || !*secret) {
		err_set(e, ERR_ABSENT, "%s: the access key is incomplete",
			c->from ? c->from : "AWS credentials");
		return err_hint(e, "an access key id and a secret access key belong together");
	}
	if (copy(c->key_id, sizeof(c->key_id), key_id) &&
	    copy(c->secret, sizeof(c->secret), secret) &&
	    copy(c->token, sizeof(c->token), token ? token : ""))
		return 0;
	credentials_done(c);
	err_set(e, ERR_ABSENT,
		"%s: the access key has blanks or control characters, or is too long",
		c->from ? c->from : "AWS credentials");
	return err_hint(e, "was it pasted with its quotes or a line break?");
}

void credentials_done(struct credentials *c)
{
	explicit_bzero(c->key_id, sizeof(c->key_id));
	explicit_bzero(c->secret, sizeof(c->secret));
	explicit_bzero(c->token, sizeof(c->token));
}

int credentials_parse_json(const char *text, size_t n, struct credentials *ret, struct err *e)
{
	struct err bad = {0};
	cJSON *doc = json_parse(text, n, 8, &bad);
	const char *code = json_get_str(doc, "Code");
	int rc;

	if (code && !streq(code, "Success"))
		rc = err_set(e, ERR_ABSENT, "%s: %.100s", ret->from ? ret->from : "role", code);
	else
		rc = credentials_set(ret, json_get_str(doc, "AccessKeyId"),
				     json_get_str(doc, "SecretAccessKey"),
				     json_get_str(doc, "Token"), e);
	cJSON_Delete(doc);
	return rc;
}

/* --- profiles ------------------------------------------------------------------ */

static const char *file_of(struct arena *a, const char *variable, const char *name)
{
	const char *set = env(variable), *home = env("HOME");

	if (set && (set[0] != '~' || set[1] != '/' || !home))
		return set;
	return home ? arena_printf(a, "%s/%s", home, set ? set + 2 : name) : NULL;
}

/* A file that is not there has no profiles; one that cannot be read is an error. */
static int read_profile(const char *path, const char *name, bool is_config, struct arena *a,
			struct profile *ret, struct err *e)
{
	struct err why = {0};
	char *text;
	size_t n;

	if (!path)
		return 0;
	if (file_read(path, FILE_MAX, a, &text, &n, &why)) {
		if (errno == ENOENT || errno == ENOTDIR)
			return 0;
		*e = why;
		return -1;
	}
	profile_parse(text, name, is_config, a, ret);
	explicit_bzero(text, n);
	return 0;
}

static int refuse(struct arena *a, const char *name, const char *needs, struct err *e)
{
	err_set(e, ERR_ABSENT,
		"profile %.100s gets its keys with %s, which this program does not do", name,
		needs);
	return err_hint(e,
			"eval \"$(aws configure export-credentials --profile %s --format env)\" "
			"and run this again without --profile",
			shell_quote(a, arena_strndup(a, name, strnlen(name, 100))));
}

static int no_such_profile(const char *name, const char *files, const char *config, struct err *e)
{
	err_set(e, ERR_ABSENT, "there is no profile %.100s in %.150s or %.150s", name,
		files ? files : "~/.aws/credentials", config ? config : "~/.aws/config");
	return err_command(e, "aws configure list-profiles");
}

/* 1: found, 0: not there and nobody asked for it by name. */
static int from_profile(struct credentials *ret, const char *name, bool only_region,
			struct arena *a, struct err *e)
{
	const char *shown = name ? name : "default";
	const char *keys = file_of(a, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
	const char *config = file_of(a, "AWS_CONFIG_FILE", ".aws/config");
	struct profile p = {0};

	/* What both have is taken from the credentials file, which is read last. */
	if (read_profile(config, shown, true, a, &p, e) ||
	    read_profile(keys, shown, false, a, &p, e))
		return -1;
	ret->region = p.region;
	ret->endpoint = p.endpoint;
	if (only_region)
		return 0;
	if (!p.found)
		return name ? no_such_profile(name, keys, config, e) : 0;
	/* of a profile with a role its keys are for asking for that, and may do less, or else */
	if (p.needs && ((!p.key_id && !p.secret) || streq(p.needs, "role_arn")))
		return refuse(a, shown, p.needs, e);
	if (!p.key_id && !p.secret)
		return 0;
	ret->from = arena_printf(a, "profile %s", shown);
	return credentials_set(ret, p.key_id, p.secret, p.token, e) ? -1 : 1;
}

static int nothing(const char *trouble, struct err *e)
{
	err_set(e, ERR_ABSENT,
		"no AWS credentials in the environment, in a profile, or from a role%s%.250s",
		trouble ? "; " : "", trouble ? trouble : "");
	return err_hint(
		e, "run this where the aws command works (--profile NAME), or let it ask: aws ec2 "
		   "describe-security-groups --group-ids sg-... | portcheck --cloud --audit -");
}

int credentials_find(struct credentials *ret, const char *profile, uint64_t total_ns,
		     struct arena *a, struct err *e)
{
	const char *name = profile ? profile : env("AWS_PROFILE"), *trouble = NULL, *region;
	bool from_env = !profile && env("AWS_ACCESS_KEY_ID");
	bool from_web = !profile && !from_env && env("AWS_WEB_IDENTITY_TOKEN_FILE");
	int rc;

	*ret = (struct credentials){0};
	rc = from_profile(ret, name, from_env || from_web, a, e);
	if (rc < 0)
		return -1;
	region = env("AWS_REGION") ? env("AWS_REGION") : env("AWS_DEFAULT_REGION");
	ret->region = region ? region : ret->region;
	if (rc)
		return 0;
	if (from_env) {
		ret->from = "the environment";
		return credentials_set(ret, env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY"),
				       env("AWS_SESSION_TOKEN"), e);
	}
	rc = from_web ? credentials_from_web_identity(ret, total_ns, a, e)
		      : credentials_from_container(ret, total_ns, a, e);
	if (!rc)
		rc = credentials_from_role(ret, total_ns, a, &trouble, e);
	return rc > 0 ? 0 : rc < 0 ? -1 : nothing(trouble, e);
}
