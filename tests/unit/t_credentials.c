/*
 * AWS's keys: the files' syntax, the chain's order, the services that lend
 * them, and that no secret gets into a message. Where python3-botocore is
 * installed, tests/lab/cloud.bats compares the chain with AWS's own.
 */
#include "lib/cloud/credentials.h"
#include "lib/core/units.h"
#include "tests/unit/stub_server.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

#define KEYS "aws_access_key_id = AKIA1\naws_secret_access_key=se/cret+1\n"
#define JSON                                                                                       \
	"{\"AccessKeyId\":\"ASIA9\",\"SecretAccessKey\":\"role/"                                   \
	"secret\",\"Token\":\"role+token==\""

static struct err err;
static char home[] = "/tmp/t_credentials.XXXXXX";

static void t_profiles(void **state)
{
	static const struct {
		const char *text, *name;
		bool is_config;
		const char *key_id, *secret, *region, *needs;
	} rows[] = {
		{"[default]\n" KEYS, "default", false, "AKIA1", "se/cret+1", NULL, NULL},
		{"[default]\n" KEYS, "dev", false, NULL, NULL, NULL, NULL},
		{"# c\n\n[a]\nregion=x\n[dev]\r\n" KEYS "[b]\nregion=y\n", "dev", false, "AKIA1",
		 "se/cret+1", NULL, NULL},
		{"[profile dev]\nregion = eu-west-1\n" KEYS, "dev", true, "AKIA1", "se/cret+1",
		 "eu-west-1", NULL},
		{"[dev]\nregion = eu-west-1\n", "dev", true, NULL, NULL, NULL, NULL},
		{"[profile \"my dev\"]\nregion = eu-west-1\n", "my dev", true, NULL, NULL,
		 "eu-west-1", NULL},
		{"[default]\nregion = eu-west-1", "default", true, NULL, NULL, "eu-west-1", NULL},
		{"[ dev ]\n" KEYS, "dev", false, "AKIA1", "se/cret+1", NULL, NULL},
		{"[dev]\ns3 =\n  region = nested\nregion = right\n", "dev", false, NULL, NULL,
		 "right", NULL},
		{"[profile dev]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = b\n", "dev",
		 true, NULL, NULL, NULL, "role_arn"},
		{"[profile dev]\nsso_session = x\n", "dev", true, NULL, NULL, NULL, "sso_session"},
		{"[dev\n" KEYS, "dev", false, NULL, NULL, NULL, NULL},
		{"[dev]\nAWS_ACCESS_KEY_ID = AKIA1\nAws_Secret_Access_Key: a=b:c\nRegion:x\n",
		 "dev", false, "AKIA1", "a=b:c", "x", NULL},
		{"[profile dev]\nSSO_Session: x\n", "dev", true, NULL, NULL, NULL, "sso_session"},
		{"[Dev]\n" KEYS, "dev", false, NULL, NULL, NULL, NULL},
		{"[dev]\nno equals sign\n= \nregion =\n", "dev", false, NULL, NULL, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct profile p = {0};
		const char *got[4];
		const char *want[] = {rows[i].key_id, rows[i].secret, rows[i].region,
				      rows[i].needs};

		profile_parse(rows[i].text, rows[i].name, rows[i].is_config, &a, &p);
		got[0] = p.key_id, got[1] = p.secret, got[2] = p.region, got[3] = p.needs;
		for (size_t k = 0; k < ARRAY_LEN(got); k++)
			if (!got[k] != !want[k] || (got[k] && !streq(got[k], want[k])))
				fail_msg("%s [%s]: %s, not %s", rows[i].text, rows[i].name, got[k],
					 want[k]);
	}
}

/* --- the chain -------------------------------------------------------------------------------- */

static const char *const variables[] = {"AWS_ACCESS_KEY_ID",
					"AWS_SECRET_ACCESS_KEY",
					"AWS_SESSION_TOKEN",
					"AWS_PROFILE",
					"AWS_REGION",
					"AWS_DEFAULT_REGION",
					"AWS_SHARED_CREDENTIALS_FILE",
					"AWS_CONFIG_FILE",
					"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
					"AWS_CONTAINER_CREDENTIALS_FULL_URI",
					"AWS_CONTAINER_AUTHORIZATION_TOKEN",
					"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
					"AWS_EC2_METADATA_SERVICE_ENDPOINT",
					"AWS_WEB_IDENTITY_TOKEN_FILE",
					"AWS_ROLE_ARN",
					"AWS_ROLE_SESSION_NAME",
					"AWS_ENDPOINT_URL_STS"};

static int clean(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		assert_int_equal(unsetenv(variables[i]), 0);
	/* No metadata service but the tests' own is ever asked. */
	return setenv("AWS_EC2_METADATA_DISABLED", "true", 1) || setenv("HOME", home, 1);
}

static void set(const char *name, const char *value)
{
	assert_int_equal(setenv(name, value, 1), 0);
}

static void put(const char *name, const char *text)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO_CLOSE int fd = open(arena_printf(&a, "%s/.aws/%s", home, name),
				 O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void finds(const char *profile, const char *key_id, const char *region, const char *from)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(credentials_done) struct credentials c;

	if (credentials_find(&c, profile, 2 * NS_PER_S, &a, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(c.key_id, key_id);
	assert_true(strlen(c.secret) > 0);
	assert_non_null(strstr(c.from, from));
	if (region)
		assert_string_equal(c.region, region);
	else
		assert_null(c.region);
}

static void finds_nothing(const char *profile, const char *says)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(credentials_done) struct credentials c;

	assert_int_equal(credentials_find(&c, profile, 2 * NS_PER_S, &a, &err), -1);
	assert_int_equal(err.kind, ERR_ABSENT);
	if (!strstr(err.msg, says))
		fail_msg("says '%s', not '%s'", err.msg, says);
	/* No message has a secret, and no failure leaves one behind. */
	assert_null(strstr(err.msg, "cret"));
	assert_null(strstr(err.hint, "cret+"));
}

static void t_order(void **state)
{
	(void)state;
	put("credentials", "[default]\n" KEYS "[dev]\naws_access_key_id=AKIADEV\n"
			   "aws_secret_access_key=de/vsecret\n[half]\naws_access_key_id=AKIA3\n"
			   "[both]\n" KEYS "[logged]\n" KEYS);
	put("config", "[default]\nregion=eu-north-1\n[profile dev]\nregion=eu-west-1\n"
		      "[profile both]\nrole_arn=arn:aws:iam::1:role/x\nsource_profile=both\n"
		      "sso_session=x\n[profile logged]\nsso_session=x\n"
		      "[profile role]\nrole_arn=arn:aws:iam::1:role/x\n[profile only]\nregion=x-1\n"
		      "[profile a;$(id)]\nrole_arn=arn:aws:iam::1:role/x\n");
	finds(NULL, "AKIA1", "eu-north-1", "profile default");
	finds("dev", "AKIADEV", "eu-west-1", "profile dev");
	set("AWS_PROFILE", "dev");
	finds(NULL, "AKIADEV", "eu-west-1", "profile dev");
	set("AWS_REGION", "us-east-2");
	finds(NULL, "AKIADEV", "us-east-2", "profile dev");
	/* Keys in the environment beat AWS_PROFILE, and --profile beats them. */
	set("AWS_ACCESS_KEY_ID", "AKIAENV");
	set("AWS_SECRET_ACCESS_KEY", "en/vsecret");
	finds(NULL, "AKIAENV", "us-east-2", "environment");
	finds("default", "AKIA1", "us-east-2", "profile default");
	finds_nothing("none", "there is no profile none");
	finds_nothing("role", "role_arn");
	assert_non_null(strstr(err.hint, "export-credentials --profile role"));
	finds_nothing("a;$(id)", "role_arn");
	assert_non_null(strstr(err.hint, "export-credentials --profile 'a;$(id)'"));
	finds_nothing("both", "role_arn"); /* its keys may but ask for the role */
	finds("logged", "AKIA1", "us-east-2", "profile logged");
	finds_nothing("half", "incomplete");
	assert_int_equal(unsetenv("AWS_SECRET_ACCESS_KEY"), 0);
	finds_nothing(NULL, "incomplete");
	set("AWS_SECRET_ACCESS_KEY", "bad\r\nX-Evil: secret");
	finds_nothing(NULL, "control characters");
}

static void t_none(void **state)
{
	(void)state;
	put("credentials", "");
	put("config", "");
	finds_nothing(NULL, "no AWS credentials");
	set("AWS_SHARED_CREDENTIALS_FILE", "/proc/self/nothing/there");
	finds_nothing(NULL, "no AWS credentials");
	set("AWS_PROFILE", "dev");
	finds_nothing(NULL, "no profile dev");
}

/* --- services -----------------------------------------------------------------------------------
 */

static void answer(int fd, int status, const char *body)
{
	char head[160];

	(void)snprintf(head, sizeof(head), "HTTP/1.1 %d x\r\nContent-Length: %zu\r\n\r\n", status,
		       strlen(body));
	stub_say(fd, head, strlen(head));
	stub_say(fd, body, strlen(body));
}

static void container(int fd, const char *request)
{
	if (strstr(request, "GET /creds HTTP") &&
	    strstr(request, "\r\nAuthorization: Basic abc\r\n"))
		answer(fd, 200, JSON "}");
	else
		answer(fd, 403, "no");
}

static void imds(int fd, const char *request)
{
	if (starts_with(request, "PUT /latest/api/token "))
		answer(fd, 200, "tok");
	else if (strstr(request, "/iam/security-credentials/ "))
		answer(fd, 200, "node-role/\n");
	else if (strstr(request, "/iam/security-credentials/node-role "))
		answer(fd, 200, JSON ",\"Code\":\"Success\"}");
	else
		answer(fd, 404, "");
}

static void imds_without_role(int fd, const char *request)
{
	if (starts_with(request, "PUT /latest/api/token "))
		answer(fd, 200, "tok");
	else
		answer(fd, 404, "");
}

static void imds_broken_role(int fd, const char *request)
{
	if (strstr(request, "/iam/security-credentials/node-role "))
		answer(fd, 200, "{\"Code\":\"AssumeRoleUnauthorizedAccess\"}");
	else
		imds(fd, request);
}

static void set_url_of(const char *name, const char *host, unsigned port, const char *path)
{
	char url[64];

	(void)snprintf(url, sizeof(url), "http://%s:%u%s", host, port, path);
	set(name, url);
}

static void set_url(const char *name, unsigned port, const char *path)
{
	set_url_of(name, "127.0.0.1", port, path);
}

static void t_container(void **state)
{
	struct stub s = stub_start(container);

	(void)state;
	set_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.port, "/creds");
	finds_nothing(NULL, "refused (403)");
	set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc");
	finds(NULL, "ASIA9", NULL, "the container's role");
	put("token", "Basic abc\n");
	set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic wrong");
	{
		AUTO(arena_done) struct arena a = {0};

		set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
		    arena_printf(&a, "%s/.aws/token", home));
	}
	finds(NULL, "ASIA9", NULL, "the container's role");
	set_url_of("AWS_CONTAINER_CREDENTIALS_FULL_URI", "localhost", s.port, "/creds");
	finds(NULL, "ASIA9", NULL, "the container's role");
	stub_stop(&s);
	finds_nothing(NULL, "did not answer");
	/* Keys are asked of this host's own services only. */
	set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.7/creds");
	finds_nothing(NULL, "nothing was asked");
	set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "https://127.0.0.1/creds");
	finds_nothing(NULL, "nothing was asked");
}

static void t_localhost_is_ipv6(void **state)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	AUTO_CLOSE int fd = socket(AF_INET6, SOCK_STREAM, 0);
	struct stub s;

	(void)state;
	if (fd < 0 || bind(fd, (void *)&at, sizeof(at))) /* this machine has none */
		skip();
	s = stub_start_at(socket(AF_INET6, SOCK_STREAM, 0), &at, sizeof(at), container);
	set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc");
	set_url_of("AWS_CONTAINER_CREDENTIALS_FULL_URI", "localhost", s.port, "/creds");
	finds(NULL, "ASIA9", NULL, "the container's role");
	stub_stop(&s);
}

static void use_imds(stub_answer *mood, struct stub *ret)
{
	*ret = stub_start(mood);
	set("AWS_EC2_METADATA_DISABLED", "false");
	set_url("AWS_EC2_METADATA_SERVICE_ENDPOINT", ret->port, "/");
}

static void t_role(void **state)
{
	struct stub s;

	(void)state;
	use_imds(imds, &s);
	finds(NULL, "ASIA9", NULL, "the instance's role");
	set("AWS_EC2_METADATA_DISABLED", "true");
	finds_nothing(NULL, "no AWS credentials");
	stub_stop(&s);
	use_imds(imds_without_role, &s);
	finds_nothing(NULL, "no AWS credentials");
	stub_stop(&s);
	use_imds(imds_broken_role, &s);
	finds_nothing(NULL, "AssumeRoleUnauthorizedAccess");
	stub_stop(&s);
	finds_nothing(NULL, "; the metadata service at 127.0.0.1");
}

static void t_bad_json(void **state)
{
	static const char *const texts[] = {"",
					    "[]",
					    "{",
					    "{\"AccessKeyId\":\"A\"}",
					    "{\"AccessKeyId\":\"A b\",\"SecretAccessKey\":\"c\"}",
					    "{\"AccessKeyId\":7,\"SecretAccessKey\":\"c\"}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct credentials c = {.from = "a role"};

		assert_int_equal(credentials_parse_json(texts[i], strlen(texts[i]), &c, &err), -1);
		assert_string_equal(c.secret, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_profiles),
		cmocka_unit_test_setup(t_order, clean),
		cmocka_unit_test_setup(t_none, clean),
		cmocka_unit_test_setup(t_container, clean),
		cmocka_unit_test_setup(t_localhost_is_ipv6, clean),
		cmocka_unit_test_setup(t_role, clean),
		cmocka_unit_test(t_bad_json),
	};
	static const char *const files[] = {"credentials", "config", "token"};
	AUTO_CLOSE int fd = -1;
	int rc;

	if (!mkdtemp(home) || (fd = open(home, O_DIRECTORY | O_CLOEXEC)) < 0 ||
	    mkdirat(fd, ".aws", 0700))
		return 3;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		AUTO(arena_done) struct arena a = {0};

		(void)unlinkat(fd, arena_printf(&a, ".aws/%s", files[i]), 0);
	}
	(void)unlinkat(fd, ".aws", AT_REMOVEDIR);
	(void)rmdir(home);
	return rc;
}
