#include "lib/cloud/endpoint.h"

#include "lib/net/addr.h"

#include <ctype.h>

static const char *env(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

/* AWS_ENDPOINT_URL_EC2 */
static const char *own_variable(const char *service, struct arena *a)
{
	char *name = arena_printf(a, "AWS_ENDPOINT_URL_%s", service);

	for (char *c = name; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return env(name);
}

const char *endpoint_of(const char *service, const char *region, const char *of_profile,
			struct arena *a)
{
	const char *off = env("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
	const char *set = own_variable(service, a), *host;

	if (!off || strcasecmp(off, "true") != 0) {
		set = set ? set : env("AWS_ENDPOINT_URL");
		set = set ? set : of_profile;
		if (set) {
			host = strstr(set, "://") ? strstr(set, "://") + 3 : set;
			return strchr(host, '/') ? set : arena_printf(a, "%s/", set);
		}
	}
	if (!region)
		return arena_printf(a, "https://%s.amazonaws.com/", service);
	return arena_printf(a, "https://%s.%s.amazonaws.com%s/", service, region,
			    starts_with(region, "cn-") ? ".cn" : "");
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
