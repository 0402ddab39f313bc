/* After NVIDIA's "XID Errors" (docs.nvidia.com/deploy/xid-errors), in our words. */
#include "probes/preflight/xid.h"

#include <stdlib.h>

static const struct xid known[] = {
	{13, XID_PROGRAM, false, "a program's kernel did something illegal"},
	{31, XID_PROGRAM, false, "a program touched memory of the GPU that is not its own"},
	{32, XID_PROGRAM, false, "a program's command stream was damaged"},
	{38, XID_RESET, false, "the driver's firmware reported an error"},
	{43, XID_PROGRAM, false, "the GPU stopped working for a program"},
	{44, XID_PROGRAM, false, "a program failed while the GPU switched to it"},
	{45, XID_NOTE, false,
	 "a program's work was removed, after another error or because it ended"},
	{46, XID_RESET, false, "the GPU stopped answering the driver"},
	{48, XID_RESET, true, "its memory had an uncorrectable error"},
	{61, XID_RESET, false, "its micro-controller stopped"},
	{62, XID_RESET, false, "its micro-controller stopped"},
	{63, XID_CHECK, true, "a bad row of its memory will be remapped at the next reset"},
	{64, XID_REPLACE, true, "a bad row of its memory could not be remapped"},
	{68, XID_PROGRAM, false, "its video decoder failed"},
	{69, XID_PROGRAM, false, "a program's kernel did something illegal"},
	{74, XID_RESET, false, "one of its NVLinks failed"},
	{79, XID_REBOOT, false, "it fell off the PCIe bus"},
	{92, XID_CHECK, true, "its memory has many corrected errors"},
	{94, XID_CHECK, true,
	 "its memory had an uncorrectable error, which ended one program only"},
	{95, XID_RESET, true,
	 "its memory had an uncorrectable error, which may have hit any program"},
	{109, XID_RESET, false, "it could not switch to another program in time"},
	{110, XID_RESET, false, "its security processor reported a fault"},
	{119, XID_RESET, false, "its own processor (GSP) did not answer"},
	{120, XID_RESET, false, "its own processor (GSP) failed"},
	{121, XID_CHECK, false, "its link to the processor (C2C) corrected an error"},
	{122, XID_RESET, false, "its firmware memory could not be read"},
	{123, XID_RESET, false, "its firmware memory could not be written"},
	{136, XID_RESET, false, "its firmware failed"},
	{137, XID_PROGRAM, false, "a program touched memory over NVLink that is not its own"},
	{140, XID_RESET, true, "its memory had an uncorrectable error"},
	{143, XID_RESET, false, "it could not be initialised"},
	{144, XID_RESET, false, "NVLink failed"},
	{145, XID_RESET, false, "NVLink failed"},
	{146, XID_RESET, false, "NVLink failed"},
	{147, XID_RESET, false, "NVLink failed"},
	{148, XID_RESET, false, "NVLink failed"},
	{149, XID_RESET, false, "NVLink failed"},
	{150, XID_RESET, false, "NVLink failed"},
	{154, XID_RESET, false, "the driver asks for a recovery"},
	{155, XID_RESET, false, "NVLink failed"},
	{156, XID_CHECK, false, "a part of it was retired"},
	{157, XID_REPLACE, false, "a bad part of it could not be retired"},
	{158, XID_RESET, false, "it ran into a fatal time-out"},
	{171, XID_CHECK, true, "its memory had an error"},
	{172, XID_CHECK, true, "its memory had an error"},
};

const struct xid *xid_find(int code)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].code == code)
			return &known[i];
	return NULL;
}

/* "(PCI:0000:3b:00): 79" or, of old drivers, "(0000:3b:00): 79" */
static bool parse(const char *line, const char *what, char ret_bus[16], int *ret_code,
		  const char **ret_rest)
{
	const char *at = strstr(line, what);
	size_t n;
	char *end;
	long code;

	if (!at)
		return false;
	at += strlen(what);
	if (starts_with(at, "PCI:"))
		at += 4;
	n = strcspn(at, ")");
	if (!n || n >= 16 || !starts_with(at + n, "): "))
		return false;
	memcpy(ret_bus, at, n);
	ret_bus[n] = '\0';
	code = strtol(at + n + 3, &end, 10);
	if (end == at + n + 3 || code < 0 || code > 1000000)
		return false;
	*ret_code = (int)code;
	*ret_rest = end;
	return true;
}

bool xid_parse(const char *line, char ret_bus[16], int *ret_code)
{
	const char *rest;

	return parse(line, "NVRM: Xid (", ret_bus, ret_code, &rest);
}

bool sxid_parse(const char *line, char ret_bus[16], int *ret_code, bool *ret_fatal)
{
	const char *rest;

	if (!parse(line, "SXid (", ret_bus, ret_code, &rest))
		return false;
	*ret_fatal = strstr(rest, "atal") && !strstr(rest, "on-fatal");
	return true;
}

bool aer_parse(const char *line, char ret_pci[16], bool *ret_corrected)
{
	static const char what[] = ": PCIe Bus Error: severity=";
	const char *at = strstr(line, what), *from = at;

	if (!at)
		return false;
	while (from > line && from[-1] != ' ')
		from--;
	if (at - from < 12 || at - from >= 16)
		return false;
	memcpy(ret_pci, from, (size_t)(at - from));
	ret_pci[at - from] = '\0';
	*ret_corrected = starts_with(at + strlen(what), "Correct");
	return true;
}
