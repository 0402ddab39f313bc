#include "lib/cloud/credentials_remote.h"

#include "lib/cloud/env.h"
#include "lib/core/file.h"
#include "lib/core/units.h"
#include "lib/host/cloud.h"
#include "lib/net/http.h"

enum { TOKEN_MAX = 8192 };

/* Keys must not be asked of anybody: this host, ECS' and EKS' own addresses only, as AWS has it. */
static bool is_trusted(const union addr *at)
{
	union addr ecs, eks4, eks6;

	return addr_class(at) == ADDR_LOOPBACK ||
	       (!addr_parse("169.254.170.2", &ecs) && addr_equal(at, &ecs)) ||
	       (!addr_parse("169.254.170.23", &eks4) && addr_equal(at, &eks4)) ||
	       (!addr_parse("fd00:ec2::23", &eks6) && addr_equal(at, &eks6));
}

/* Never looked up: a name server could make anything of it. */
static const char localhost[] = "localhost";

static int read_address(const char *host, union addr *ret)
{
	return addr_parse(streq(host, localhost) ? "127.0.0.1" : host, ret);
}

/* "http://ADDRESS[:PORT]/PATH" */
static int split_url(const char *url, struct arena *a, union addr *ret_to, const char **ret_host,
		     const char **ret_path, struct err *e)
{
	size_t n = strlen("http://"), host_n;
	const char *host;
	uint16_t port = 0;

	host_n = strncmp(url, "http://", n) ? 0 : strcspn(url + n, "/");
	*ret_host = arena_strndup(a, url + (host_n ? n : 0), host_n);
	if (!host_n || addr_split(*ret_host, a, &host, &port) || read_address(host, ret_to) ||
	    !is_trusted(ret_to)) {
		err_set(e, ERR_ABSENT,
			"AWS_CONTAINER_CREDENTIALS_FULL_URI is not http:// and an address of this "
			"host or of ECS or EKS, so nothing was asked");
		return err_hint(e, "take the keys from the environment instead");
	}
	addr_set_port(ret_to, port ? port : 80);
	*ret_path = url[n + host_n] ? url + n + host_n : "/";
	return 0;
}

static int authorization(struct arena *a, const char **ret, struct err *e)
{
	const char *file = env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"), *token;
	char *text;
	size_t n;

	token = env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	if (file) {
		if (file_read(file, TOKEN_MAX, a, &text, &n, e))
			return -1;
		text[strcspn(text, "\r\n")] = '\0';
		token = text;
	}
	*ret = token ? arena_printf(a, "Authorization: %s", token) : NULL;
	return 0;
}

/* Where nobody listens on the 127.0.0.1 of "localhost", somebody may on its ::1. */
static int do_here(const struct http_request *q, struct arena *a, struct http_answer *ret,
		   struct err *e)
{
	struct http_request other = *q;
	struct http_answer second;
	struct err no_ipv6;

	if (http_do(q, a, ret, e))
		return -1;
	if (ret->connected || !starts_with(q->host, localhost) || addr_parse("::1", &other.to))
		return 0;
	addr_set_port(&other.to, addr_port(&q->to));
	if (!http_do(&other, a, &second, &no_ipv6))
		*ret = second;
	return 0;
}

static int ask(const struct http_request *of, struct credentials *ret, struct arena *a,
	       struct err *e)
{
	const char *headers[] = {NULL, NULL};
	struct http_request q = *of;
	struct http_answer answer;
	int rc;

	if (authorization(a, &headers[0], e))
		return -1;
	q.headers = headers;
	if (do_here(&q, a, &answer, e))
		return -1;
	if (answer.status != 200) {
		err_set(e, ERR_ABSENT, "the container's credential service at %.100s %s (%d)",
			q.host, answer.status ? "refused" : "did not answer", answer.status);
		return err_hint(e, "has the task or the pod a role?");
	}
	rc = credentials_parse_json(answer.body, answer.n, ret, e);
	explicit_bzero((char *)answer.body, answer.n);
	return rc ? -1 : 1;
}

int credentials_from_container(struct credentials *ret, uint64_t total_ns, struct arena *a,
			       struct err *e)
{
	const char *relative = env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = env("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	struct http_request q = {.method = "GET", .connect_ns = NS_PER_S, .total_ns = total_ns};

	if (!relative && !full)
		return 0;
	ret->from = "the container's role";
	/* As AWS's own tools: the relative one wins. */
	if (relative)
		full = arena_printf(a, "http://169.254.170.2%s%s", *relative == '/' ? "" : "/",
				    relative);
	if (split_url(full, a, &q.to, &q.host, &q.path, e))
		return -1;
	return ask(&q, ret, a, e);
}

int credentials_from_role(struct credentials *ret, uint64_t total_ns, struct arena *a,
			  const char **ret_trouble, struct err *e)
{
	struct cloud c;
	char *json = NULL;
	int rc;

	if (cloud_read_role(a, total_ns, &c, &json, e))
		return -1;
	*ret_trouble = c.trouble;
	if (!json)
		return 0;
	ret->from = "the instance's role";
	rc = credentials_parse_json(json, strlen(json), ret, e);
	explicit_bzero(json, strlen(json));
	return rc ? -1 : 1;
}
