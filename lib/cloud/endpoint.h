#ifndef LIB_CLOUD_ENDPOINT_H
#define LIB_CLOUD_ENDPOINT_H
/* Where one of AWS's services is asked: as botocore decides, AWS_ENDPOINT_URL_EC2 and its kin
 * and AWS_ENDPOINT_URL first. */
#include "lib/core/arena.h"
#include "lib/core/err.h"

/* @service: "ec2". @region: checked, or NULL for what no region answers for. @of_profile: its
 * endpoint_url, or NULL. */
const char *endpoint_url(const char *service, const char *region, const char *of_profile,
			 struct arena *a);
/* -1: it was asked at @url, and @why nothing came. With a hint where a setting points there. */
int endpoint_is_silent(const char *service, const char *url, const char *why,
		       const char *of_profile, enum err_kind kind, struct arena *a, struct err *e);
/* On this very machine: never behind a proxy. */
bool endpoint_is_near(const char *url, struct arena *a);
/* Nothing but what a region's name is made of: it becomes a part of a host's name. */
bool endpoint_is_region(const char *name);

#endif
