#ifndef PROBES_NODE_XID_H
#define PROBES_NODE_XID_H
/* NVIDIA's error numbers in the kernel's log: what each means, and what it asks for. */
#include "lib/core/base.h"

enum xid_action {
	XID_PROGRAM, /* a bug of the program that ran; nothing to do for the machine */
	XID_NOTE,    /* clean-up after something else */
	XID_CHECK,   /* watch it; reset the GPU when convenient */
	XID_RESET,   /* before the next job */
	XID_REBOOT,
};

struct xid {
	int first, last; /* numbers that mean the same */
	enum xid_action action;
	bool is_memory; /* counters of memory errors say whether it is still so */
	const char *meaning;
};

/* NULL: not known. */
const struct xid *xid_find(int code);
/* What this line of it means: some say themselves how grave they are. False: not known. */
bool xid_read(int code, const char *line, struct xid *ret);

/* The id of the entry of ncclwhy's catalogue that explains this line best, or NULL. */
const char *xid_catalogued(const char *line, const char **ret_meaning);

/* "NVRM: Xid (PCI:0000:3b:00): 79, ..." -> "0000:3b:00", 79. False: no such line. */
bool xid_parse(const char *line, char ret_bus[16], int *ret_code);
/* "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28002, Non-fatal, Link 39 ..." */
bool sxid_parse(const char *line, char ret_bus[16], int *ret_code, bool *ret_fatal);
/* "pcieport 0000:00:01.0: PCIe Bus Error: severity=Corrected, ...", "AER: " before it, or CXL */
bool aer_parse(const char *line, char ret_pci[16], bool *ret_corrected);

#endif
