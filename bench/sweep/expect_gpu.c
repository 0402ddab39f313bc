#include "bench/sweep/expect_gpu.h"

#include <ctype.h>

static const struct expect_gpu gpus[] = {
	{"GB300", "NVLink 5", 900, true, 0, 16, 72, false},
	{"GB200", "NVLink 5", 900, true, 0, 16, 72, false},
	{"B300", "NVLink 5", 900, true, 0, 16, 0, false},
	{"B200", "NVLink 5", 900, true, 5, 16, 0, false},
	{"GH200", "NVLink 4", 450, true, 0, 16, 0, false},
	{"H200", "NVLink 4", 450, true, 5, 16, 0, false},
	{"H20", "NVLink 4", 450, true, 5, 16, 0, false},
	{"H800", "NVLink 4, cut", 200, true, 5, 16, 0, false},
	{"H100", "NVLink 4", 450, true, 5, 16, 0, false},
	{"A800", "NVLink 3, cut", 200, true, 4, 16, 0, true},
	{"A100", "NVLink 3", 300, true, 4, 16, 0, true},
	{"V100", "NVLink 2", 150, false, 3, 16, 0, true},
	{"P100", "NVLink 1", 80, false, 3, 16, 0, true},
	{"L40", NULL, 0, false, 4, 16, 0, false},
	{"L40S", NULL, 0, false, 4, 16, 0, false},
	{"A40", NULL, 0, false, 4, 16, 0, false},
	{"A30", NULL, 0, false, 4, 16, 0, false},
	{"A10", NULL, 0, false, 4, 16, 0, false},
	{"A10G", NULL, 0, false, 4, 16, 0, false},
	{"RTX 6000 Ada", NULL, 0, false, 4, 16, 0, false},
	{"RTX PRO 6000", NULL, 0, false, 5, 16, 0, false},
	{"Tesla T4", NULL, 0, false, 3, 16, 0, false},
	{"GeForce RTX 3050", NULL, 0, false, 4, 8, 0, false},
	{"GeForce RTX 3060", NULL, 0, false, 4, 16, 0, false},
	{"GeForce RTX 3070", NULL, 0, false, 4, 16, 0, false},
	{"GeForce RTX 3080", NULL, 0, false, 4, 16, 0, false},
	{"GeForce RTX 3090", NULL, 0, false, 4, 16, 0, false},
	{"GeForce RTX 4060", NULL, 0, false, 4, 8, 0, false},
	{"GeForce RTX 4070", NULL, 0, false, 4, 16, 0, false},
	{"GeForce RTX 4080", NULL, 0, false, 4, 16, 0, false},
	{"GeForce RTX 4090", NULL, 0, false, 4, 16, 0, false},
	{"GeForce RTX 5050", NULL, 0, false, 5, 8, 0, false},
	{"GeForce RTX 5060", NULL, 0, false, 5, 8, 0, false},
	{"GeForce RTX 5070", NULL, 0, false, 5, 16, 0, false},
	{"GeForce RTX 5080", NULL, 0, false, 5, 16, 0, false},
	{"GeForce RTX 5090", NULL, 0, false, 5, 16, 0, false},
};

/* What follows @model in @name; NULL: it is another's, as an RTX A1000 is no A100. */
static const char *after_name(const char *name, const char *model)
{
	size_t n = strlen(model);

	for (const char *at = name; (at = strstr(at, model)); at++)
		if ((at == name || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[n]))
			return at + n;
	return NULL;
}

/* "-40C", "-4-20C": a virtual machine's share of it. */
static bool is_virtual(const char *rest)
{
	size_t n = strspn(rest, "-0123456789");

	return n > 1 && *rest == '-' && rest[n] && strchr("ABCQ", rest[n]);
}

/* The others have at most a bridge to another one. */
static bool is_on_nvlink(const struct expect_gpu *g, const char *rest)
{
	if (strcasestr(rest, "PCIe") || strstr(rest, " NVL"))
		return false;
	return !g->is_named_sxm || !*rest || strstr(rest, "SXM") || strstr(rest, "DGXS");
}

bool expect_gpu(const char *name, struct expect_gpu *ret)
{
	for (size_t i = 0; name && i < ARRAY_LEN(gpus); i++) {
		const char *rest = after_name(name, gpus[i].name);

		if (!rest)
			continue;
		*ret = gpus[i];
		if (!is_on_nvlink(ret, rest) || is_virtual(rest) || strstr(rest, " MIG "))
			ret->nvlink = 0;
		if (is_virtual(rest) || strstr(rest, "Laptop")) /* others' copies; 8, or 16 lanes */
			ret->pcie = 0;
		return true;
	}
	return false;
}
