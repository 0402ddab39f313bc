/* A port that can be had: not what somebody listens on, what the kernel hands out, what is
 * reserved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/host/free_port.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* Listens on a port of its own at @ip. */
static int door(const char *ip, uint16_t *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, ip, &at.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

/* Whatever address it is taken on; and it is free again afterwards. */
static void taken_is_not_free(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	static const char *const at[] = {"0.0.0.0", "127.0.0.1", "127.0.0.9"};
	struct free_ports f = {.range = {1, 1, true}, .reserved = ""};

	for (size_t i = 0; i < ARRAY_LEN(at); i++) {
		uint16_t port;
		int fd = door(at[i], &port);

		f.reserved = arena_printf(&a, "%u", port);
		assert_false(free_ports_keeps(&f, port));
		f.reserved = "";
		assert_false(free_ports_has(&f, port));
		assert_int_not_equal(free_ports_next(&f, port), port);
		(void)close(fd);
		assert_true(free_ports_has(&f, port));
		assert_int_equal(free_ports_next(&f, port), port);
	}
}

static void what_the_kernel_hands_out_is_not_free(void **state UNUSED)
{
	struct free_ports f = {.range = {20000, 60000, true}, .reserved = ""};

	assert_false(free_ports_has(&f, 20000));
	assert_false(free_ports_has(&f, 60000));
	assert_true(free_ports_next(&f, 29500) > 60000);
	f.range.first = 1024; /* all but the last ones */
	f.range.last = 65535;
	assert_int_equal(free_ports_next(&f, 29500), 0);
}

static void reserved_ones_are_not_free(void **state UNUSED)
{
	static const char *const lists[] = {"61000-61999", "7,61000-61998,61999", "61000-61999,9",
					    "61000-61999x"};
	struct free_ports f = {.range = {1024, 60999, true}};

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		f.reserved = lists[i];
		assert_false(free_ports_has(&f, 61000));
		assert_false(free_ports_has(&f, 61500));
		assert_false(free_ports_has(&f, 61999));
		assert_true(free_ports_next(&f, 61000) >= 62000);
	}
	/* but who names one has it kept */
	f.reserved = "2000,61000-61999";
	assert_true(free_ports_keeps(&f, 61500));
	assert_true(free_ports_keeps(&f, 2000));
	assert_false(free_ports_keeps(&f, 2001));
	assert_false(free_ports_keeps(&f, 62000));
	f.reserved = "no list"; /* and what is none reserves nothing, and does not hang */
	assert_true(free_ports_next(&f, 61000) >= 61000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(taken_is_not_free),
		cmocka_unit_test(what_the_kernel_hands_out_is_not_free),
		cmocka_unit_test(reserved_ones_are_not_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
