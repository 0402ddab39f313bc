#include "probes/log/nohost.h"

#include "probes/log/prefix.h"

#include <ctype.h>

/* "pair.cc: ", "urllib3.exceptions.NewConnectionError: " */
static bool is_code(const char *p, size_t n)
{
	static const char *const ends[] = {".cc", ".py", "Error", "Exception", "Exit"};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t len = strlen(ends[i]);

		if (n > len && memcmp(p + n - len, ends[i], len) == 0)
			return true;
	}
	return false;
}

/* "bond0", "cuda:0", "step-1200", "model.layers.0.mlp": by the letters that they begin with. */
static bool is_thing(const char *p, size_t n)
{
	static const char *const stems[] = {
		/* network */
		"bond", "br", "cali", "docker", "eno", "enp", "ens", "enx", "eth", "ib", "ibp",
		"ibs", "lo", "veth", "vlan", "vxlan", "wlan", "wlp", "mlx", "irdma", "bnxt", "rdma",
		/* others of the kernel's */
		"ata", "cpu", "dm", "loop", "md", "nvidia", "nvme", "pci", "pcieport", "sda", "sd",
		"scsi", "usb",
		/* programs, and what they count */
		"batch", "cuda", "epoch", "iter", "iteration", "layer", "layers", "model", "module",
		"pip", "python", "stage", "step", "torch"};
	size_t letters = 0;

	while (letters < n && isalpha((unsigned char)p[letters]))
		letters++;
	if (!letters)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(stems); i++)
		if (strncasecmp(stems[i], p, letters) == 0 && !stems[i][letters])
			return true;
	return false;
}

bool nohost_is(const char *word, size_t n)
{
	if (*word == 'E' && starts_with(word + n, ": [PID")) /* Ascend's "EI0006: [PID: 7]" */
		return true;
	return is_code(word, n) || is_thing(word, n);
}

bool nohost_rank(const char *word, size_t n, long *ret_rank)
{
	const char *p = word + strlen("rank");

	if (n <= strlen("rank") || strncasecmp(word, "rank", strlen("rank")) != 0)
		return false;
	p += *p == '-' || *p == '_';
	p = prefix_number(p, ret_rank);
	return p == word + n;
}
