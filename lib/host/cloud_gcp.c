/*
 * Google Compute Engine. Header and base path are confirmed; the names inside
 * the document (networkInterfaces: accessConfigs[].externalIp, ip, mac) are
 * from documentation, not from a machine.
 */
#include "lib/host/cloud_service.h"
#include "lib/report/json.h"

#include <errno.h>

#define INSTANCE "/computeMetadata/v1/instance/"

static const char *const flavor[] = {"Metadata-Flavor: Google", NULL};

static void read_card(struct metadata *m, const cJSON *card)
{
	const char *mac = json_get_str(card, "mac"), *ip = json_get_str(card, "ip");
	const cJSON *access;

	mac = mac ? metadata_word(m->a, mac, strlen(mac)) : NULL;
	metadata_card(m, mac, ip);
	cJSON_ArrayForEach (access, cJSON_GetObjectItemCaseSensitive(card, "accessConfigs"))
		metadata_map(m, json_get_str(access, "externalIp"), ip, mac);
}

int gcp_parse(struct metadata *m, const char *text, size_t n)
{
	struct err ignored = {0};
	cJSON *cards = json_parse(text, n, 16, &ignored);
	const cJSON *card;
	int rc = cJSON_IsArray(cards) ? 0 : -1;

	if (!rc)
		cJSON_ArrayForEach (card, cards)
			read_card(m, card);
	cJSON_Delete(cards);
	return rc;
}

/* @ret status 0: no answer, or somebody else's; said in cloud->trouble. */
static int get(struct metadata *m, const char *path, struct http_answer *ret, struct err *e)
{
	const char *from;

	if (metadata_ask(m, "GET", path, flavor, 0, ret, e))
		return -1;
	from = http_header(ret, "Metadata-Flavor", m->a);
	if (ret->status && (!from || !streq(from, "Google")))
		*ret = (struct http_answer){.error = EBADMSG};
	if (!ret->status)
		metadata_silent(m, ret);
	return 0;
}

/* *ret_there: somebody answers. */
static int read_cards(struct metadata *m, bool *ret_there, struct err *e)
{
	struct http_answer answer;

	if (get(m, INSTANCE "network-interfaces/?recursive=true", &answer, e))
		return -1;
	if (answer.status == 200 && gcp_parse(m, answer.body, answer.n))
		m->cloud->trouble = "the metadata service answered something that is not its JSON";
	*ret_there = answer.status != 0;
	return 0;
}

int gcp_read(struct metadata *m, struct err *e)
{
	struct http_answer answer;
	const char *type, *slash;
	bool there = true;

	if (m->depth != READ_TYPE && read_cards(m, &there, e))
		return -1;
	if (!there)
		return 0;
	if (get(m, INSTANCE "machine-type", &answer, e))
		return -1;
	/* "projects/123/machineTypes/a3-highgpu-8g" */
	type = answer.status == 200 ? metadata_word(m->a, answer.body, answer.n) : NULL;
	slash = type ? strrchr(type, '/') : NULL;
	m->cloud->instance_type = slash ? slash + 1 : type;
	return 0;
}
