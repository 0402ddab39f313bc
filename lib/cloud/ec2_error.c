/* What EC2 has against a request, in words that say what to do. */
#include "lib/cloud/ec2.h"

bool ec2_is_passing(int status, const char *code)
{
	static const char *const codes[] = {
		"RequestLimitExceeded",	  "Throttling",		"ThrottlingException",
		"RequestThrottled",	  "Unavailable",	"ServiceUnavailable",
		"InternalError",	  "InternalFailure",	"RequestThrottledException",
		"BandwidthLimitExceeded", "ClientInternalError"};

	for (size_t i = 0; code && i < ARRAY_LEN(codes); i++)
		if (streq(code, codes[i]))
			return true;
	return !code && (status == 429 || status >= 500);
}

static const struct {
	const char *code, *meaning, *hint; /* "%s" in the hint: the action */
} sayings[] = {
	{"UnauthorizedOperation", "these credentials may not do that",
	 "the user or role needs ec2:%s"},
	{"AuthFailure", "the access key is not valid here",
	 "is it of another account or partition, deleted, or the region not enabled? aws sts "
	 "get-caller-identity"},
	{"InvalidClientTokenId", "the access key id does not exist", "aws sts get-caller-identity"},
	{"SignatureDoesNotMatch", "the secret access key does not belong to the access key id",
	 "copy both again; a wrong clock shows the same: timedatectl"},
	{"RequestExpired", "the request is too old, or the temporary keys have expired",
	 "is the clock right (timedatectl)? Then get new keys"},
	{"ExpiredToken", "the temporary keys have expired",
	 "get new ones, for example aws sso login"},
	{"OptInRequired", "the account is not subscribed to this region",
	 "choose another: --region"},
	{"InvalidGroup.NotFound", "there is no such security group in this region",
	 "is the region right? --region"},
	{"InvalidGroupId.Malformed", "that is not the id of a security group",
	 "ids look like sg-0123..."},
	{"RulesPerSecurityGroupLimitExceeded", "the group has as many rules as it may have",
	 "take out rules that are not needed, or ask AWS for a higher quota"},
	{"RequestLimitExceeded", "EC2 throttles this account's requests",
	 "try again in a minute, or with a longer --deadline"},
	{"MissingAuthenticationToken", "the request arrived without a signature",
	 "does a proxy take headers out?"},
	{"UnsupportedOperation", "EC2 does not do that", ""},
};

int ec2_explain(const char *action, const char *code, const char *message, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(sayings); i++) {
		const char *at;

		if (!streq(code, sayings[i].code))
			continue;
		err_set(e, ERR_SYS, "EC2's %s: %s (%s)", action, sayings[i].meaning, code);
		at = strstr(sayings[i].hint, "%s");
		if (at)
			return err_hint(e, "%.*s%s", (int)(at - sayings[i].hint), sayings[i].hint,
					action);
		return err_hint(e, "%s", sayings[i].hint);
	}
	/* Its first sentence: what follows may be an encoded blob of a page. */
	return err_set(e, ERR_SYS, "EC2's %s: %.80s: %.*s", action, code,
		       message ? (int)strcspn(message, ".\n") % 200 : 0, message ? message : "");
}
