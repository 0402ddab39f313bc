#include "lib/cloud/endpoint.h"

#include "lib/cloud/env.h"
#include "lib/net/addr.h"

#include <ctype.h>

#define COMMON "AWS_ENDPOINT_URL"

/* AWS_ENDPOINT_URL_EC2 */
static const char *own_variable(const char *service, struct arena *a)
{
	char *name = arena_printf(a, COMMON "_%s", service);

	for (char *c = name; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return name;
}

/* The variable that says where to ask, or "" where the profile does; NULL: nobody does. */
static const char *who_says(const char *service, const char *of_profile, struct arena *a)
{
	const char *off = env("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
	const char *own = own_variable(service, a);

	if (off && !strcasecmp(off, "true"))
		return NULL;
	return env(own) ? own : env(COMMON) ? COMMON : of_profile ? "" : NULL;
}

/* Of AWS's partitions; botocore's endpoints.json has the same. */
static const char *domain_of(const char *region)
{
	static const struct {
		const char *regions, *domain;
	} partitions[] = {{"cn-", "amazonaws.com.cn"},	  {"eusc-", "amazonaws.eu"},
			  {"us-iso-", "c2s.ic.gov"},	  {"us-isob-", "sc2s.sgov.gov"},
			  {"eu-isoe-", "cloud.adc-e.uk"}, {"us-isof-", "csp.hci.ic.gov"}};

	for (size_t i = 0; i < ARRAY_LEN(partitions); i++)
		if (starts_with(region, partitions[i].regions))
			return partitions[i].domain;
	return "amazonaws.com";
}

const char *endpoint_url(const char *service, const char *region, const char *of_profile,
			 struct arena *a)
{
	const char *who = who_says(service, of_profile, a), *set, *host;

	if (who) {
		set = *who ? env(who) : of_profile;
		host = strstr(set, "://") ? strstr(set, "://") + 3 : set;
		return strchr(host, '/') ? set : arena_printf(a, "%s/", set);
	}
	if (!region)
		return arena_printf(a, "https://%s.amazonaws.com/", service);
	return arena_printf(a, "https://%s.%s.%s/", service, region, domain_of(region));
}

int endpoint_is_silent(const char *service, const char *url, const char *why,
		       const char *of_profile, enum err_kind kind, struct arena *a, struct err *e)
{
	const char *who = who_says(service, of_profile, a);

	err_set(e, kind, "no answer from %.200s: %.200s", url, why);
	if (!who)
		return -1;
	err_set(e, kind, "no answer from %.200s, where %s points: %.200s", url,
		*who ? who : "endpoint_url of the profile", why);
	if (*who)
		return err_command(e,
				   "unset %s   # then AWS itself is asked; or start what should "
				   "answer there",
				   who);
	return err_command(e,
			   "export AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true   # then AWS itself is "
			   "asked; or start what should answer there");
}

bool endpoint_is_near(const char *url, struct arena *a)
{
	const char *host = strstr(url, "://");
	union addr at;
	uint16_t port;

	if (!host ||
	    addr_split(arena_strndup(a, host + 3, strcspn(host + 3, "/")), a, &host, &port))
		return false;
	return streq(host, "localhost") ||
	       (!addr_parse(host, &at) && addr_class(&at) == ADDR_LOOPBACK);
}

bool endpoint_is_region(const char *name)
{
	return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")];
}
