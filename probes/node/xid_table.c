/*
 * After NVIDIA's "Xid Errors", chapter "Analyzing Xid Errors with the Xid Catalog"
 * (docs.nvidia.com/deploy/xid-errors), in our words; what each asks for is its column
 * "Immediate Action". 61, 122 and 123 are of older GPUs and their archived catalogue; 173 to 176
 * have names in the open driver's nverror.h (595), and no action there.
 */
#include "probes/node/xid.h"

#include <stdlib.h>

static const char nvlink[] = "one of its NVLinks failed";
static const char copy_engine[] = "a copy of a program failed";
static const char media[] = "a program's video, image or optical-flow work failed";

static const struct xid known[] = {
	{8, 8, XID_PROGRAM, false, "the GPU stopped working for a program"},
	{11, 11, XID_PROGRAM, false, "a program's command stream was damaged"},
	{13, 13, XID_PROGRAM, false, "a program's kernel did something illegal"},
	{25, 25, XID_PROGRAM, false, "a program's command stream was damaged"},
	{31, 31, XID_PROGRAM, false, "a program touched memory of the GPU that is not its own"},
	{32, 32, XID_PROGRAM, false, "a program's command stream was damaged"},
	{37, 37, XID_NOTE, false, "the driver's firmware met something that it does not know"},
	{38, 38, XID_CHECK, false, "the driver's firmware reported an error"},
	{39, 41, XID_PROGRAM, false, copy_engine},
	{43, 43, XID_PROGRAM, false, "the GPU stopped working for a program"},
	{44, 44, XID_PROGRAM, false, "a program failed while the GPU switched to it"},
	{45, 45, XID_NOTE, false,
	 "a program's work was removed, after another error or because it ended"},
	{46, 46, XID_RESET, false, "the GPU stopped answering the driver"},
	{48, 48, XID_RESET, true, "its memory had an uncorrectable error"},
	{54, 54, XID_CHECK, false, "its auxiliary power is not connected"},
	{60, 60, XID_PROGRAM, false, media},
	{61, 61, XID_CHECK, false, "its micro-controller met a breakpoint"},
	{62, 62, XID_RESET, false, "its micro-controller stopped"},
	{63, 63, XID_CHECK, true, "a bad row of its memory will be remapped at the next reset"},
	{64, 64, XID_RESET, true, "a bad row of its memory could not be remapped"},
	{66, 67, XID_NOTE, false, "the driver did something that the GPU does not allow"},
	{68, 68, XID_PROGRAM, false, media},
	{69, 69, XID_PROGRAM, false, "a program's kernel did something illegal"},
	{70, 72, XID_PROGRAM, false, copy_engine},
	{74, 74, XID_RESET, false, nvlink},
	{75, 77, XID_PROGRAM, false, copy_engine},
	{78, 78, XID_CHECK, false, "a virtual GPU could not be started: its software is too old"},
	{79, 79, XID_REBOOT, false, "it fell off the PCIe bus"},
	{80, 80, XID_PROGRAM, false, "what a program sent to it arrived damaged"},
	{82, 84, XID_PROGRAM, false, media},
	{85, 85, XID_PROGRAM, false, copy_engine},
	{86, 86, XID_PROGRAM, false, media},
	{88, 89, XID_PROGRAM, false, media},
	{92, 92, XID_CHECK, true, "its memory has many corrected errors"},
	{93, 93, XID_NOTE, false, "its information store is written more often than it should be"},
	{94, 94, XID_CHECK, true,
	 "its memory had an uncorrectable error, which ended one program only"},
	{95, 95, XID_RESET, true,
	 "its memory had an uncorrectable error, which may have hit any program"},
	{96, 105, XID_PROGRAM, false, media},
	{106, 107, XID_NOTE, false, "a test of its management bus"},
	{109, 109, XID_RESET, false, "it could not switch to another program in time"},
	{110, 110, XID_RESET, false, "its security processor reported a fault"},
	{119, 119, XID_RESET, false, "its own processor (GSP) did not answer"},
	{120, 120, XID_RESET, false, "its own processor (GSP) failed"},
	{121, 121, XID_CHECK, false, "its link to the processor (C2C) corrected an error"},
	{122, 122, XID_CHECK, false, "its firmware memory could not be read"},
	{123, 123, XID_CHECK, false, "its firmware memory could not be written"},
	{126, 135, XID_PROGRAM, false, copy_engine},
	{136, 136, XID_RESET, false, "one of its NVLinks could not be trained"},
	{137, 137, XID_PROGRAM, false, "a program touched memory over NVLink that is not its own"},
	{139, 139, XID_PROGRAM, false, media},
	{140, 140, XID_RESET, true, "its memory had an uncorrectable error"},
	{141, 141, XID_PROGRAM, false, "a program failed"},
	{142, 142, XID_PROGRAM, false, media},
	{143, 143, XID_RESET, false, "it could not be initialised"},
	{144, 150, XID_RESET, false, nvlink}, /* each line says whether it was fatal */
	{151, 151, XID_REBOOT, false, "its keys could not be changed (confidential computing)"},
	{154, 154, XID_RESET, false, "the driver asks for a recovery"}, /* which: in the line */
	{155, 155, XID_RESET, false, "one of its NVLinks was taken down by software"},
	{156, 156, XID_RESET, false, "a part of it is to be retired at the next reset"},
	{157, 157, XID_CHECK, false, "a bad part of it could not be retired"},
	{158, 158, XID_RESET, false, "it ran into a fatal time-out"},
	{159, 159, XID_CHECK, false, "its link to the processor (C2C) had an error"},
	{160, 160, XID_CHECK, true, "a channel of its memory was retired"},
	{161, 161, XID_CHECK, true, "a bad channel of its memory could not be retired"},
	{162, 163, XID_NOTE, false, "its power smoothing was switched on or off"},
	{164, 165, XID_CHECK, false, "its power smoothing is near or at the end of its life"},
	{166, 166, XID_CHECK, false, "unencrypted data came over NVLink (confidential computing)"},
	{167, 167, XID_CHECK, false, "PCIe did not answer in time"},
	{168, 168, XID_CHECK, true, "a part of its memory is bad and cannot be used"},
	{169, 169, XID_CHECK, false, "its security processor stopped"},
	{170, 170, XID_CHECK, false, "NVLink reported an error (confidential computing)"},
	{171, 171, XID_CHECK, true, "the uncorrectable error of Xid 48 was in its DRAM"},
	{172, 172, XID_CHECK, true, "the uncorrectable error of Xid 48 was in its SRAM"},
	{173, 173, XID_CHECK, false, "its link to the processor (C2C) failed"},
	{174, 174, XID_NOTE, false, "a program was ended without an error of its own"},
	{175, 175, XID_CHECK, true, "its memory subsystem reported an error"},
	{176, 176, XID_CHECK, false, "PCIe corrected errors"},
};

const struct xid *xid_find(int code)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].first <= code && code <= known[i].last)
			return &known[i];
	return NULL;
}

/* "... recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)": newer drivers
 * have other words, and the same numbers (nvmlDeviceGpuRecoveryAction_t). */
static void read_recovery(const char *line, struct xid *x)
{
	static const struct {
		enum xid_action action;
		const char *meaning;
	} all[] = {
		{XID_NOTE, "the driver asks for no recovery any more"},
		{XID_RESET, "the driver asks for a reset of it"},
		{XID_REBOOT, "the driver asks for a reboot of the machine"},
		{XID_CHECK, "the driver asks that no program uses it from another GPU"},
		{XID_RESET, "the driver asks that its programs end, and then for a reset of it"},
	};
	const char *at = strstr(line, " to 0x");
	unsigned long n = at ? strtoul(at + strlen(" to 0x"), NULL, 16) : ARRAY_LEN(all);

	if (n >= ARRAY_LEN(all))
		return;
	x->action = all[n].action;
	x->meaning = all[n].meaning;
}

bool xid_read(int code, const char *line, struct xid *ret)
{
	enum { NVLINK_FIRST = 144, NVLINK_LAST = 150, RECOVERY = 154 };
	const struct xid *x = xid_find(code);

	*ret = x ? *x : (struct xid){code, code, XID_CHECK, false, NULL};
	if (code == RECOVERY)
		read_recovery(line, ret);
	else if (code >= NVLINK_FIRST && code <= NVLINK_LAST && strstr(line, " Nonfatal "))
		/* where more is needed, Xid 154 says so */
		*ret = (struct xid){code, code, XID_CHECK, false,
				    "one of its NVLinks met an error, not a fatal one"};
	return x != NULL;
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
	static const char *const words[] = {
		/* what could not be asked, as after a fatal error; kernels 5.3 to 5.7: all */
		": AER: PCIe Bus Error: severity=",
		": AER: CXL Bus Error: severity=",
		": PCIe Bus Error: severity=",
		": CXL Bus Error: severity=",
	};
	const char *at = NULL, *from;
	size_t i = 0;

	while (i < ARRAY_LEN(words) && !(at = strstr(line, words[i])))
		i++;
	for (from = at; at && from > line && from[-1] != ' ';)
		from--;
	if (!at || at - from < 12 || at - from >= 16)
		return false;
	memcpy(ret_pci, from, (size_t)(at - from));
	ret_pci[at - from] = '\0';
	*ret_corrected = starts_with(at + strlen(words[i]), "Correct");
	return true;
}
