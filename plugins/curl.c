/*
 * The plug-in curl.so: lib/cloud/https.h by libcurl. A proxy from the
 * environment is used, since many laptops reach AWS by one (metadata services
 * are asked by lib/net/http.c, which knows none). Redirects are not followed:
 * a signed request is for one host.
 */
#include <curl/curl.h>

#include "lib/cloud/https.h"

#if LIBCURL_VERSION_NUM < 0x074b00
/* 7.75's. Built with older headers (Debian 11's), it works with a younger library. */
#define CURLOPT_AWS_SIGV4 ((CURLoption)(CURLOPTTYPE_OBJECTPOINT + 305))
#endif

enum { FIRST_ROOM = 64 << 10 };

struct transfer {
	const struct https_request *q;
	struct https_answer *answer;
	size_t room;
};

static unsigned libcurl_version(const char **ret_text)
{
	const curl_version_info_data *v = curl_version_info(CURLVERSION_NOW);

	*ret_text = v->version;
	return v->version_num;
}

static size_t keep(char *data, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;
	struct https_answer *to = t->answer;
	size_t n = size * count;

	if (n > HTTPS_BODY_MAX - to->n)
		return 0;
	if (to->n + n + 1 > t->room) {
		size_t room = (to->n + n) * 2 + FIRST_ROOM;
		char *grown = realloc(to->body, room);

		if (!grown)
			return 0;
		to->body = grown;
		t->room = room;
	}
	memcpy(to->body + to->n, data, n);
	to->n += n;
	to->body[to->n] = '\0';
	return n;
}

static int cancelled(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct transfer *t = arg;

	(void)a, (void)b, (void)c, (void)d;
	return t->q->cancelled && t->q->cancelled();
}

static void only_http(CURL *h)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	(void)curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	(void)curl_easy_setopt(h, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static void set_up(CURL *h, struct transfer *t, struct curl_slist *headers)
{
	const struct https_request *q = t->q;

	(void)curl_easy_setopt(h, CURLOPT_URL, q->url);
	(void)curl_easy_setopt(h, CURLOPT_POSTFIELDS, q->body);
	(void)curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(h, CURLOPT_AWS_SIGV4, q->sigv4);
	(void)curl_easy_setopt(h, CURLOPT_USERNAME, q->key_id);
	(void)curl_easy_setopt(h, CURLOPT_PASSWORD, q->secret);
	(void)curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)q->total_ms);
	(void)curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(h, CURLOPT_USERAGENT, "windsock");
	(void)curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, keep);
	(void)curl_easy_setopt(h, CURLOPT_WRITEDATA, t);
	(void)curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
	(void)curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, cancelled);
	(void)curl_easy_setopt(h, CURLOPT_XFERINFODATA, t);
	(void)curl_easy_setopt(h, CURLOPT_ERRORBUFFER, t->answer->error);
	if (q->is_direct)
		(void)curl_easy_setopt(h, CURLOPT_PROXY, "");
	if (q->ca_file)
		(void)curl_easy_setopt(h, CURLOPT_CAINFO, q->ca_file);
	only_http(h);
}

static void perform(CURL *h, struct https_answer *ret)
{
	CURLcode rc = curl_easy_perform(h);
	long status = 0;

	(void)curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
	ret->status = rc == CURLE_OK ? (int)status : 0;
	ret->timed_out = rc == CURLE_OPERATION_TIMEDOUT;
	if (rc != CURLE_OK && !*ret->error)
		(void)snprintf(ret->error, sizeof(ret->error), "%s", curl_easy_strerror(rc));
}

static void post(const struct https_request *q, struct https_answer *ret)
{
	struct transfer t = {.q = q, .answer = ret};
	struct curl_slist *headers = NULL, *more;
	CURL *h = curl_easy_init();

	*ret = (struct https_answer){0};
	for (const char *const *line = q->headers; h && line && *line; line++) {
		more = curl_slist_append(headers, *line);
		if (!more)
			break;
		headers = more;
	}
	if (h) {
		set_up(h, &t, headers);
		perform(h, ret);
	} else {
		(void)snprintf(ret->error, sizeof(ret->error), "libcurl does not start");
	}
	curl_slist_free_all(headers);
	curl_easy_cleanup(h);
}

static void release(struct https_answer *answer)
{
	free(answer->body);
	answer->body = NULL;
}

extern const struct https_plugin windsock_https __attribute__((visibility("default")));
const struct https_plugin windsock_https = {HTTPS_VERSION, libcurl_version, post, release};

_Static_assert(sizeof(((struct https_answer *)0)->error) >= CURL_ERROR_SIZE, "libcurl's own size");
