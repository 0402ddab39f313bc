#ifndef TESTS_UNIT_CLOUD_PAIR_H
#define TESTS_UNIT_CLOUD_PAIR_H
/* A public address and the private one that it stands for, as a cloud's metadata have them. */
#include "lib/host/cloud_service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static inline void check_pair(const struct cloud_map *p, const char *pub, const char *priv,
			      const char *mac)
{
	struct addr_text t;

	assert_string_equal(addr_print(&p->public_addr, &t), pub);
	assert_string_equal(addr_print(&p->private_addr, &t), priv);
	assert_string_equal(p->mac, mac);
}

#endif
