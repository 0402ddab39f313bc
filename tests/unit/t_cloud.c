/*
 * Cloud metadata from a stand-in on loopback, in all the moods the real one
 * has. With an argument it is the lab's reader: t_cloud read MILLISECONDS
 * [SYSROOT], one fact per line.
 */
#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "tests/unit/cloud_pair.h"
#include "tests/unit/stub_server.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

#define MACS "/latest/meta-data/network/interfaces/macs/"
#define MAC1 "02:aa:bb:cc:dd:01"
#define MAC2 "02:aa:bb:cc:dd:02"
#define MAC3 "02:aa:bb:cc:dd:03"

static struct err err;

/* Two cards with public addresses (one with two), one without, and names that are attacks. */
static const struct {
	const char *path, *body;
} tree[] = {
	{"/latest/meta-data/", "instance-type"},
	{"/latest/meta-data/instance-type", "p5.48xlarge"},
	{MACS, MAC1 "/\n" MAC2 "/\n" MAC3 "/\n../../x/\nzz\n" MAC1 "x/\n"},
	{MACS MAC1 "/public-ipv4s", "198.51.100.7\n198.51.100.8"},
	{MACS MAC1 "/ipv4-associations/198.51.100.7", "10.77.0.1"},
	{MACS MAC1 "/ipv4-associations/198.51.100.8", "10.77.0.201\n10.77.0.202"},
	{MACS MAC2 "/public-ipv4s", "198.51.100.9\n"},
	{MACS MAC2 "/local-ipv4s", "10.78.0.1\n10.78.0.2"},
	{MACS MAC3 "/local-ipv4s", "10.79.0.1"},
};

static void reply(int fd, int status, const char *body)
{
	char head[256];

	(void)snprintf(head, sizeof(head), "HTTP/1.1 %d x\r\nContent-Length: %zu\r\n\r\n", status,
		       strlen(body));
	stub_say(fd, head, strlen(head));
	stub_say(fd, body, strlen(body));
}

static void serve_tree(int fd, const char *request)
{
	const char *path = strchr(request, ' ') + 1;
	size_t n = strcspn(path, " ");

	for (size_t i = 0; i < ARRAY_LEN(tree); i++)
		if (strlen(tree[i].path) == n && !strncmp(tree[i].path, path, n)) {
			reply(fd, 200, tree[i].body);
			return;
		}
	reply(fd, 404, "");
}

static bool is_put(const char *request) { return starts_with(request, "PUT /latest/api/token "); }

static void healthy(int fd, const char *request)
{
	if (is_put(request) && strstr(request, "\r\nX-aws-ec2-metadata-token-ttl-seconds: 60\r\n"))
		reply(fd, 200, "tok/en+1==\n");
	else if (strstr(request, "\r\nX-aws-ec2-metadata-token: tok/en+1==\r\n"))
		serve_tree(fd, request);
	else
		reply(fd, 401, "");
}

static void hop_limit(int fd, const char *request)
{
	if (is_put(request))
		(void)pause();
	reply(fd, 401, "");
}

static void hop_limit_v1(int fd, const char *request)
{
	if (is_put(request))
		(void)pause();
	serve_tree(fd, request);
}

static void only_v1(int fd, const char *request)
{
	if (is_put(request))
		reply(fd, 404, "");
	else
		serve_tree(fd, request);
}

static void switched_off(int fd, const char *request)
{
	(void)request;
	reply(fd, 403, "");
}

static void throttled(int fd, const char *request)
{
	(void)request;
	reply(fd, 503, "");
}

static bool is_key(const char *request) { return strstr(request, "/meta-data/") != NULL; }

static void throttled_keys(int fd, const char *request)
{
	if (is_key(request))
		reply(fd, 503, "");
	else
		healthy(fd, request);
}

static atomic_int *asked; /* by all the servers' processes */

/* As for a machine with dozens of interfaces: some keys only the second or third time. */
static void throttled_at_times(int fd, const char *request)
{
	int n = is_key(request) ? atomic_fetch_add(asked, 1) : 0;

	if (n == 1 || n == 3 || n == 4)
		reply(fd, n == 3 ? 429 : 503, "");
	else
		healthy(fd, request);
}

static void evil_token(int fd, const char *request)
{
	reply(fd, 200, is_put(request) ? "tok\r\nX-Evil: 1" : "never");
}

static void stalled(int fd, const char *request)
{
	(void)fd;
	(void)request;
	(void)pause();
}

static void stalls_later(int fd, const char *request)
{
	if (strstr(request, "macs/"))
		(void)pause();
	healthy(fd, request);
}

static void not_http(int fd, const char *request)
{
	(void)request;
	stub_say(fd, "SSH-2.0-x\r\n", 11);
}

static void use_endpoint(unsigned port)
{
	char url[64];

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
	assert_int_equal(setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url, 1), 0);
}

static void t_moods(void **state)
{
	static const struct {
		const char *name;
		stub_answer *answer;
		unsigned total_ms;
		size_t pairs;
		const char *type, *trouble;
	} rows[] = {
		{"healthy", healthy, 5000, 3, "p5.48xlarge", NULL},
		{"only v1", only_v1, 5000, 3, "p5.48xlarge", NULL},
		{"hop limit", hop_limit, 3000, 0, NULL, "--http-put-response-hop-limit 2"},
		{"hop limit, v1", hop_limit_v1, 8000, 3, "p5.48xlarge", NULL},
		{"off", switched_off, 5000, 0, NULL, "--http-endpoint enabled"},
		{"throttled", throttled, 5000, 0, NULL, "throttled (503)"},
		{"throttled keys", throttled_keys, 5000, 0, NULL, "throttled (503)"},
		{"throttled at times", throttled_at_times, 5000, 3, "p5.48xlarge", NULL},
		{"evil token", evil_token, 5000, 0, NULL, "refused a token"},
		{"stalled", stalled, 300, 0, NULL, "does not answer in time"},
		{"stalls later", stalls_later, 1500, 0, "p5.48xlarge", "does not answer in time"},
		{"not http", not_http, 5000, 0, NULL, "not its protocol"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct stub s = stub_start(rows[i].answer);
		uint64_t start = now_ns();
		struct cloud c;

		use_endpoint(s.port);
		assert_int_equal(cloud_read(&a, rows[i].total_ms * NS_PER_MS, &c, &err), 0);
		stub_stop(&s);
		if (now_ns() - start > (rows[i].total_ms + 1000) * NS_PER_MS)
			fail_msg("%s took too long", rows[i].name);
		assert_string_equal(c.provider, "aws");
		if (c.map.n != rows[i].pairs || !c.instance_type != !rows[i].type ||
		    !c.trouble != !rows[i].trouble)
			fail_msg("%s: %zu pairs, %s, %s", rows[i].name, c.map.n, c.instance_type,
				 c.trouble);
		if (c.trouble && !strstr(c.trouble, rows[i].trouble))
			fail_msg("%s: %s", rows[i].name, c.trouble);
	}
}

static void t_pairs(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct stub s = stub_start(healthy);
	struct cloud c;

	(void)state;
	use_endpoint(s.port);
	assert_int_equal(cloud_read(&a, 5 * NS_PER_S, &c, &err), 0);
	stub_stop(&s);
	assert_int_equal(c.map.n, 3);
	check_pair(&c.map.v[0], "198.51.100.7", "10.77.0.1", MAC1);
	check_pair(&c.map.v[1], "198.51.100.8", "10.77.0.201", MAC1);
	check_pair(&c.map.v[2], "198.51.100.9", "10.78.0.1", MAC2);
	assert_string_equal(c.instance_type, "p5.48xlarge");
}

static void t_nobody_there(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct stub s = stub_start(healthy);
	struct cloud c;

	(void)state;
	stub_stop(&s);
	use_endpoint(s.port);
	assert_int_equal(cloud_read(&a, NS_PER_S, &c, &err), 0);
	assert_string_equal(c.provider, "aws");
	assert_non_null(strstr(c.trouble, "Connection refused"));
	assert_int_equal(c.map.n, 0);
}

static void t_bad_endpoints(void **state)
{
	static const char *const urls[] = {"https://127.0.0.1",	       "http://",
					   "http://localhost:80",      "http://127.0.0.1:0",
					   "http://127.0.0.1/latest",  "127.0.0.1",
					   "http://127.0.0.1:80\r\nX:"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct cloud c;

		assert_int_equal(setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", urls[i], 1), 0);
		assert_int_equal(cloud_read(&a, NS_PER_S, &c, &err), 0);
		assert_non_null(strstr(c.trouble, "is not http://ADDRESS[:PORT]"));
	}
}

static void t_disabled(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct stub s = stub_start(healthy);
	struct cloud c;

	(void)state;
	use_endpoint(s.port);
	assert_int_equal(setenv("AWS_EC2_METADATA_DISABLED", "True", 1), 0);
	assert_int_equal(cloud_read(&a, NS_PER_S, &c, &err), 0);
	assert_int_equal(unsetenv("AWS_EC2_METADATA_DISABLED"), 0);
	stub_stop(&s);
	assert_null(c.instance_type);
	assert_null(c.trouble);
}

/*
 * What must send nothing is tried where nothing could get out: were the code
 * wrong, it would ask the real metadata address.
 */
static int enter_empty_net(void **state)
{
	static int home;

	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	*state = &home;
	if (home >= 0 && unshare(CLONE_NEWNET)) {
		(void)close(home); /* not root */
		home = -1;
	}
	return 0;
}

static int leave_empty_net(void **state)
{
	int home = *(int *)*state, rc = home < 0 ? 0 : setns(home, CLONE_NEWNET);

	if (home >= 0)
		(void)close(home);
	return rc;
}

/* Recorded trees: the provider is recognised and, without an endpoint, nothing is asked. */
static void t_recognised_by_dmi(void **state)
{
	static const struct {
		const char *file, *text, *provider;
	} rows[] = {
		{"sys/class/dmi/id/sys_vendor", "Amazon EC2", "aws"},
		{"sys/class/dmi/id/board_vendor", "Amazon EC2", "aws"},
		{"sys/hypervisor/uuid", "ec2a1b2c-0000", "aws"},
		{"sys/class/dmi/id/product_name", "Google Compute Engine", "gcp"},
		{"sys/class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "azure"},
		{"sys/class/dmi/id/sys_vendor", "Google", NULL},
		{"sys/class/dmi/id/sys_vendor", "Microsoft Corporation", NULL},
		{"sys/class/dmi/id/sys_vendor", "", NULL},
	};
	static const char *const dirs[] = {"sys", "sys/class", "sys/class/dmi", "sys/class/dmi/id",
					   "sys/hypervisor"};
	char root[] = "/tmp/t_cloud.XXXXXX";
	AUTO_CLOSE int fd = -1;

	if (*(int *)*state < 0)
		skip();
	assert_int_equal(unsetenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), 0);
	assert_non_null(mkdtemp(root));
	fd = open(root, O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		assert_int_equal(mkdirat(fd, dirs[i], 0755), 0);
	sysroot_set(root);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct cloud c;

		AUTO_CLOSE int out = openat(fd, rows[i].file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

		assert_int_equal(write(out, rows[i].text, strlen(rows[i].text)),
				 strlen(rows[i].text));
		assert_int_equal(cloud_read(&a, NS_PER_S, &c, &err), 0);
		assert_int_equal(unlinkat(fd, rows[i].file, 0), 0);
		if (!c.provider != !rows[i].provider)
			fail_msg("%s: %s is %s", rows[i].file, rows[i].text, c.provider);
		if (c.provider)
			assert_string_equal(c.provider, rows[i].provider);
		assert_null(c.trouble);
		assert_null(c.instance_type);
	}
	sysroot_set(NULL);
	for (size_t i = ARRAY_LEN(dirs); i-- > 0;)
		assert_int_equal(unlinkat(fd, dirs[i], AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(root), 0);
}

static int from_lab(int argc, char **argv)
{
	AUTO(arena_done) struct arena a = {0};
	uint64_t start = now_ns();
	struct addr_text t;
	struct cloud c;

	sysroot_set(argc > 3 ? argv[3] : NULL);
	if (cloud_read(&a, strtoul(argv[2], NULL, 10) * NS_PER_MS, &c, &err))
		return 3;
	printf("provider=%s\ntype=%s\ntrouble=%s\n", c.provider ? c.provider : "-",
	       c.instance_type ? c.instance_type : "-", c.trouble ? c.trouble : "-");
	for (size_t i = 0; i < c.map.n; i++) {
		printf("%s -> ", addr_print(&c.map.v[i].public_addr, &t));
		printf("%s %s\n", addr_print(&c.map.v[i].private_addr, &t), c.map.v[i].mac);
	}
	printf("ms=%.0f\n", (double)(now_ns() - start) / 1e6);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_moods),
		cmocka_unit_test(t_pairs),
		cmocka_unit_test(t_nobody_there),
		cmocka_unit_test(t_bad_endpoints),
		cmocka_unit_test(t_disabled),
		cmocka_unit_test_setup_teardown(t_recognised_by_dmi, enter_empty_net,
						leave_empty_net),
	};

	if (argc > 2 && streq(argv[1], "read"))
		return from_lab(argc, argv);
	asked = mmap(NULL, sizeof(*asked), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (asked == MAP_FAILED)
		return 1;
	(void)unsetenv("AWS_EC2_METADATA_DISABLED");
	(void)unsetenv("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
