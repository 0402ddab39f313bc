/* EC2's XML, on to the model that the groups are judged by. */
#include "lib/cloud/ec2.h"
#include "probes/secgroup/train.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sg_ask ask = {.ports = {29500, {32768, 60999}}};
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};
	cJSON *doc = ec2_xml_parse((const char *)data, size, &e);
	struct sg_model m = {.a = &a};
	struct sg_training t;
	str_list none = {0};
	bool known;

	if (!doc)
		return *e.msg ? 0 : (abort(), 0);
	sg_model_add(&m, doc, &known);
	(void)!sg_train(&m, &ask, &none, &t, &e);
	cJSON_Delete(doc);
	return 0;
}
