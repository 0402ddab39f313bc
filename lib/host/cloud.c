#include "lib/host/cloud.h"

#include "lib/core/file.h"
#include "lib/core/units.h"
#include "lib/host/cloud_service.h"
#include "lib/host/sysroot.h"

#include <errno.h>

/* Off its cloud an address that is routed but nobody's costs this much, once. */
#define CONNECT_NS (300 * NS_PER_MS)

struct provider {
	const char *name;
	const char *file, *begins; /* what its machines say of themselves */
	int (*read)(struct metadata *m, struct err *e);
};
static const struct provider providers[] = {
	{"aws", "/sys/class/dmi/id/sys_vendor", "Amazon EC2", aws_read},
	{"aws", "/sys/class/dmi/id/board_vendor", "Amazon EC2", aws_read},
	{"aws", "/sys/class/dmi/id/bios_vendor", "Amazon EC2", aws_read},
	{"aws", "/sys/hypervisor/uuid", "ec2", aws_read}, /* Xen instances */
	/* The vendor "Google" alone is also a Chromebook, "Microsoft" also a laptop. */
	{"gcp", "/sys/class/dmi/id/product_name", "Google Compute Engine", gcp_read},
	{"azure", "/sys/class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77",
	 azure_read},
};

static const struct provider *recognise(struct arena *a)
{
	for (size_t i = 0; i < ARRAY_LEN(providers); i++) {
		char *line = file_line(a, sysroot_path(a, providers[i].file));

		if (line && starts_with(line, providers[i].begins))
			return &providers[i];
	}
	return NULL;
}

static bool is_aws(const struct provider *p) { return p->read == aws_read; }

/* AWS's name for it, but whoever wants silence wants it from every cloud. */
static bool switched_off(void)
{
	const char *v = getenv("AWS_EC2_METADATA_DISABLED");

	return v && strcasecmp(v, "true") == 0;
}

/* "http://ADDRESS[:PORT][/]". A name would need the resolver, which knows no deadline. */
static int use_endpoint(struct metadata *m, const char *url)
{
	size_t n = strlen("http://");
	const char *host;
	uint16_t port;

	if (strncasecmp(url, "http://", n) != 0)
		return -1;
	url += n;
	n = strcspn(url, "/");
	if (url[n] && url[n + 1])
		return -1;
	url = arena_strndup(m->a, url, n);
	if (addr_split(url, m->a, &host, &port) || addr_parse(host, &m->to))
		return -1;
	addr_set_port(&m->to, port ? port : 80);
	m->host = url;
	return 0;
}

static int find_service(struct metadata *m, const struct provider *p, const char *endpoint)
{
	const char *mode = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
	bool v6 = is_aws(p) && mode && strcasecmp(mode, "ipv6") == 0;

	if (!endpoint)
		return use_endpoint(m, v6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254");
	if (!use_endpoint(m, endpoint))
		return 0;
	m->cloud->trouble = arena_printf(m->a,
					 "AWS_EC2_METADATA_SERVICE_ENDPOINT=%.200s is not "
					 "http://ADDRESS[:PORT], so nothing was "
					 "asked; unset AWS_EC2_METADATA_SERVICE_ENDPOINT",
					 endpoint);
	return -1;
}

static int read_all(struct metadata *m, struct err *e)
{
	const char *endpoint = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const struct provider *p;

	*m->cloud = (struct cloud){0};
	if (endpoint && !*endpoint)
		endpoint = NULL;
	p = endpoint ? &providers[0] : recognise(m->a);
	if (!p || (m->depth == READ_ROLE && !is_aws(p)))
		return 0;
	m->cloud->provider = p->name;
	if (switched_off() || (!sysroot_is_real() && !endpoint))
		return 0;
	return find_service(m, p, endpoint) ? 0 : p->read(m, e);
}

int cloud_read(struct arena *a, uint64_t total_ns, struct cloud *ret, struct err *e)
{
	struct metadata m = {.a = a, .cloud = ret, .until_ns = now_ns() + total_ns};

	return read_all(&m, e);
}

int cloud_read_cards(struct arena *a, uint64_t total_ns, struct cloud *ret, struct err *e)
{
	struct metadata m = {
		.a = a, .cloud = ret, .until_ns = now_ns() + total_ns, .depth = READ_CARDS};

	return read_all(&m, e);
}

int cloud_read_type(struct arena *a, uint64_t total_ns, struct cloud *ret, struct err *e)
{
	struct metadata m = {
		.a = a, .cloud = ret, .until_ns = now_ns() + total_ns, .depth = READ_TYPE};

	return read_all(&m, e);
}

int cloud_read_role(struct arena *a, uint64_t total_ns, struct cloud *ret, char **ret_json,
		    struct err *e)
{
	struct metadata m = {
		.a = a, .cloud = ret, .until_ns = now_ns() + total_ns, .depth = READ_ROLE};

	if (read_all(&m, e))
		return -1;
	*ret_json = m.role;
	return 0;
}

int metadata_ask(struct metadata *m, const char *method, const char *path,
		 const char *const *headers, uint64_t most_ns, struct http_answer *ret,
		 struct err *e)
{
	uint64_t now = now_ns(), left = now < m->until_ns ? m->until_ns - now : 0;
	struct http_request q = {
		.method = method,
		.to = m->to,
		.host = m->host,
		.path = path,
		.headers = headers,
		.connect_ns = CONNECT_NS,
		.total_ns = most_ns && most_ns < left ? most_ns : left,
	};

	*ret = (struct http_answer){.timed_out = true};
	if (m->is_down || !left)
		return 0;
	if (http_do(&q, m->a, ret, e))
		return -1;
	m->is_down = ret->status == 0;
	return 0;
}

static const char *silence(const struct http_answer *answer)
{
	if (answer->timed_out)
		return answer->connected ? "it accepts connections but does not answer in time"
					 : "no answer (timed out)";
	if (answer->error == EBADMSG)
		return "it answers something that is not its protocol";
	return strerror(answer->error);
}

void metadata_silent(struct metadata *m, const struct http_answer *answer)
{
	if (!m->cloud->trouble)
		m->cloud->trouble = arena_printf(m->a, "the metadata service at %s: %s", m->host,
						 silence(answer));
}

const char *metadata_word(struct arena *a, const char *s, size_t n)
{
	while (n && strchr(" \t\r\n", s[n - 1]) && s[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		if (s[i] <= ' ' || s[i] == 0x7f)
			return NULL;
	return n && n <= 1024 ? arena_strndup(a, s, n) : NULL;
}

bool metadata_line(struct arena *a, const char **at, const char **ret)
{
	const char *s = *at;
	size_t n = strcspn(s, "\r\n");

	if (!*s)
		return false;
	*ret = arena_strndup(a, s, n);
	*at = s + n + strspn(s + n, "\r\n");
	return true;
}

void metadata_map(struct metadata *m, const char *public_text, const char *private_text,
		  const char *mac)
{
	struct cloud_map one = {.mac = mac};

	if (!public_text || !private_text || addr_parse(public_text, &one.public_addr) ||
	    addr_parse(private_text, &one.private_addr))
		return;
	*LIST_ADD(m->a, &m->cloud->map) = one;
}

void metadata_card(struct metadata *m, const char *mac, const char *addr_text)
{
	if (m->depth != READ_CARDS)
		return;
	*LIST_ADD(m->a, &m->cloud->cards) = (struct cloud_card){.mac = mac};
	metadata_card_addr(m, addr_text);
}

void metadata_card_addr(struct metadata *m, const char *addr_text)
{
	struct cloud_card *last;
	union addr at;

	if (m->depth != READ_CARDS || !m->cloud->cards.n || !addr_text ||
	    addr_parse(addr_text, &at))
		return;
	last = &m->cloud->cards.v[m->cloud->cards.n - 1];
	*LIST_ADD(m->a, &last->addrs) = at;
}
