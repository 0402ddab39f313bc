#ifndef PROBES_RULES_NCCL_XML_H
#define PROBES_RULES_NCCL_XML_H
/*
 * The files NCCL_TOPO_FILE and NCCL_GRAPH_FILE as NCCL's own parser reads them (src/graph/xml.cc,
 * the same from 2.8 to 2.32): less than XML. No <?xml ...?>, no tab between elements, one line for
 * an element's attributes, no text, no name or value longer than 253 characters. What it refuses
 * ends ncclCommInitRank().
 */
#include "lib/core/arena.h"

enum { NCCL_XML_ATTRS = 16 }; /* of one element; NCCL drops the rest */
#define NCCL_XML_TOP SIZE_MAX

struct nccl_xml_node {
	const char *name;
	size_t parent; /* where in the list; NCCL_XML_TOP: none */
	struct {
		const char *key, *value;
	} attrs[NCCL_XML_ATTRS];
	size_t nattrs;
};
struct nccl_xml {
	LIST(struct nccl_xml_node) nodes; /* that NCCL knows, in the order of the file */
	/* what is wrong with it, where it was refused, and in which line, from 1 */
	const char *why;
	unsigned line;
};

/* 0, or -1 with why and line. The bytes may be any. */
int nccl_xml_read(struct arena *a, const char *text, size_t n, struct nccl_xml *ret) MUST_CHECK;
/* NULL: it has none of this name. */
const char *nccl_xml_attr(const struct nccl_xml_node *n, const char *key);

#endif
