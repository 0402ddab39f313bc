/*
 * Azure. The document's shape (compute.vmSize, network.interface[].macAddress
 * in upper case without colons, .ipv4.ipAddress[]) is from documentation, not
 * from a machine. publicIpAddress is "" with the standard SKU.
 */
#include "lib/host/cloud_service.h"
#include "lib/report/json.h"

/* "000D3A328570" -> "00:0d:3a:32:85:70" */
static const char *mac_of(struct arena *a, const char *s)
{
	char out[18];

	if (!s || strlen(s) != 12 || strspn(s, "0123456789abcdefABCDEF") != 12)
		return NULL;
	for (size_t i = 0; i < 6; i++) {
		out[3 * i] = s[2 * i];
		out[3 * i + 1] = s[2 * i + 1];
		out[3 * i + 2] = i < 5 ? ':' : '\0';
	}
	for (size_t i = 0; out[i]; i++)
		if (out[i] >= 'A' && out[i] <= 'F')
			out[i] |= 32;
	return arena_strdup(a, out);
}

static const cJSON *at(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

int azure_parse(struct metadata *m, const char *text, size_t n)
{
	struct err ignored = {0};
	cJSON *doc = json_parse(text, n, 16, &ignored);
	const cJSON *network = at(doc, "network"), *card, *pair;
	const char *size = json_get_str(at(doc, "compute"), "vmSize");

	if (size)
		m->cloud->instance_type = metadata_word(m->a, size, strlen(size));
	cJSON_ArrayForEach (card, at(network, "interface")) {
		const char *mac = mac_of(m->a, json_get_str(card, "macAddress"));

		metadata_card(m, mac, NULL);
		cJSON_ArrayForEach (pair, at(at(card, "ipv4"), "ipAddress")) {
			metadata_card_addr(m, json_get_str(pair, "privateIpAddress"));
			metadata_map(m, json_get_str(pair, "publicIpAddress"),
				     json_get_str(pair, "privateIpAddress"), mac);
		}
	}
	n = cJSON_IsObject(network);
	cJSON_Delete(doc);
	return n ? 0 : -1;
}

int azure_read(struct metadata *m, struct err *e)
{
	static const char *const headers[] = {"Metadata: true", NULL};
	struct http_answer answer;

	if (metadata_ask(m, "GET", "/metadata/instance?api-version=2020-09-01", headers, 0, &answer,
			 e))
		return -1;
	if (answer.status == 0)
		metadata_silent(m, &answer);
	else if (answer.status != 200 || azure_parse(m, answer.body, answer.n))
		m->cloud->trouble = arena_printf(
			m->a, "the metadata service answered %d without its JSON", answer.status);
	return 0;
}
