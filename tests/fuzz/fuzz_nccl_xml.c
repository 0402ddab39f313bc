/* Files that NCCL's settings name: any bytes are read, or refused with a line of theirs. */
#include "probes/rules/nccl_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	unsigned lines = 1;
	struct nccl_xml x;

	for (size_t i = 0; i < n; i++)
		lines += data[i] == '\n';
	if (nccl_xml_read(&a, (const char *)data, n, &x) ? !x.why : x.why || x.line != lines)
		abort();
	if (!x.line || x.line > lines)
		abort();
	for (size_t i = 0; i < x.nodes.n; i++) {
		const struct nccl_xml_node *node = &x.nodes.v[i];

		if ((node->parent != NCCL_XML_TOP && node->parent >= i) ||
		    strlen(node->name) > 253 || node->nattrs > NCCL_XML_ATTRS)
			abort();
		(void)nccl_xml_attr(node, "busid");
	}
	return 0;
}
