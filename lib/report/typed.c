#include "lib/report/typed.h"

#include "lib/core/fix.h"
#include "lib/report/json.h"
#include "lib/report/line.h"

#include <ctype.h>

/* Who is root types it without, who reads it of another host types it with it. */
static const char *without_sudo(const char *s) { return s + (starts_with(s, "sudo ") ? 5 : 0); }

static size_t command_length(const char *s)
{
	const char *end = line_remark(s);

	while (end > s && end[-1] == ' ')
		end--;
	return (size_t)(end - s);
}

/* --- what is not whole ----------------------------------------------------------------------- */

/* What our fixes leave to a person; scripts/check-fixes holds that it is all of it. Any other word
 * in capitals is a value: a host's name, a chain of iptables, a level of logging. */
static const char blanks[] =
	"ACCOUNT ADDR ADDRESS ADDRESS-OF-RANK-0 ADDRESS-OF-RANK-0-IN-THE-SAME-SUBNET "
	"ADDRESS-OF-THIS-HOST ADDRESS-THAT-OTHERS-REACH ADDRESS-THAT-RANK-0-ITSELF-HAS "
	"ADDRESSES-OF-ALL-HOSTS ADDRESS_OF_MACHINE_0 ADDRESS_OF_RANK_0 ALL AMI ARGUMENTS "
	"BYTES CARDS CHECKPOINT CHECKPOINT-FOLDER CLUSTER CLUSTER-SUBNET COMMAND "
	"CONTAINER-COMMAND CORES CPUS CSR DEV DEV-WHOSE-STATE-IS-ACTIVE DEVICE DIR "
	"DISTRIBUTION DRIVER EACH-OF-THEM ENI ENVIRONMENT FILE FIRST FIRST-NODE FOLDER "
	"FOLDER-ABOVE-NVVM FOLDER-OF-THAT-FILE FOLDER-OF-THAT-NCCL FOLDER-WITHOUT-NOEXEC "
	"FOLDERS-ABOVE-IT GOOD-DEVICES GPU GPUS GROUP HEAD HOST HOST-ADDRESS HOST-OF-RANK-0 "
	"HOSTFILE HOSTS IFACE IMAGE INDEX INTERFACE JOB KEY KEY-FILE KIND LENGTH LOG MASTER "
	"MEM MODEL MOUNT MOUNTPOINT NAME NAMESPACE NETDEV NEW NIC NODE NODES NPU "
	"NUM-PROCESSES NUMBER NUMBER-OF-GPUS NUMBERS OLD OPERATOR OPTIONS OTHER OTHER-NODE "
	"OWN-ADDRESS PACKAGE PARTITION PARTS PATH PEER PERCENT PID PLUGIN POD PORT PP PROFILE "
	"PROGRAM PROGRAM-OPTIONS PROXY QOS RANKS REGISTRY RELEASE RESOURCE-GROUP REVISION "
	"ROCE-INTERFACE SCHEDULER SCRIPT SECOND SECONDS SG SLOTS SLURM-OPTIONS SUBNET "
	"THE-LONG-VARIABLE THE-ONE-THAT-FITS-TORCH TIME TOKEN TP TYPE USER VALUE VM WATTS ";

static bool is_named(const char *s, size_t n)
{
	for (const char *p = blanks; *p; p += strcspn(p, " ") + 1)
		if (strcspn(p, " ") == n && !memcmp(p, s, n))
			return true;
	return false;
}

static bool is_of_word(char c) { return isalnum((unsigned char)c) || (c && strchr("_.+%-", c)); }

/* A variable's name is the left side of what is set; a path may be in capitals. */
static bool is_hole(const char *line, const char *word, size_t n)
{
	char before = word > line ? word[-1] : ' ';

	if (n == 3 && !memcmp(word, "...", n))
		return word > line && isspace((unsigned char)before) && !is_of_word(word[n]);
	if (word[n] == '=' || before == '$' ||
	    (before == '{' && word - 1 > line && word[-2] == '$') || !is_named(word, n))
		return false;
	return before != '/' || (word - 1 > line && word[-2] == '/');
}

static bool line_has_hole(const char *line, const char *end)
{
	bool within = false; /* "": what it has is filled in all the same */

	for (const char *p = line; p < end;) {
		const char *from = p;

		if (*p == '"')
			within = !within;
		if (*p == '\\' || (*p == '\'' && !within)) {
			p = line_skip_quoted(p);
			continue;
		}
		while (p < end && is_of_word(*p))
			p++;
		if (p > from && is_hole(line, from, (size_t)(p - from)))
			return true;
		p += p == from;
	}
	return false;
}

bool fix_has_hole(const char *fix)
{
	if (!fix_is_typed(fix) || strstr(fix, "<<")) /* the lines of a file are nobody's words */
		return false;
	while (*fix) {
		const char *remark = line_remark(fix), *end = fix + strcspn(fix, "\n");

		if (line_has_hole(fix, remark < end ? remark : end))
			return true;
		fix = end + (*end == '\n');
	}
	return false;
}

bool fix_is_pasted(const char *fix) { return fix_is_typed(fix) && !fix_has_hole(fix); }

/* --------------------------------------------------------------------------------------------- */

static const char *place(const char *fix, const char *host)
{
	static const char on[] = "# on ";
	const char *remark = line_remark(fix);

	return starts_with(remark, on) ? remark + strlen(on) : host;
}

bool fix_is_same(const char *x, const char *x_host, const char *y, const char *y_host)
{
	static const char ends[] = " ,:;\n";
	const char *at_x = place(x, x_host), *at_y = place(y, y_host);
	const char *run_x = without_sudo(x), *run_y = without_sudo(y);
	size_t n = command_length(run_x), at = strcspn(at_x, ends);

	if (strchr(x, '\n') || strchr(y, '\n')) /* the remark of the first line ends neither */
		return streq(x, y) && streq(x_host, y_host);
	return n == command_length(run_y) && !memcmp(run_x, run_y, n) &&
	       at == strcspn(at_y, ends) && !memcmp(at_x, at_y, at);
}

static bool is_placed(struct arena *a, const char *fix, const char *place)
{
	return starts_with(fix, arena_printf(a, "# %s\n", place)) ||
	       ends_with(fix, arena_printf(a, "# %s", place)) ||
	       ends_with(fix, arena_printf(a, "; %s", place)) ||
	       ends_with(fix, arena_printf(a, "(%s)", place));
}

const char *fix_placed(struct arena *a, const char *fix, const char *place)
{
	if (is_placed(a, fix, place))
		return fix;
	if (!fix_is_typed(fix))
		return arena_printf(a, "%s (%s)", fix, place);
	if (strchr(fix, '\n'))
		return arena_printf(a, "# %s\n%s", place, fix);
	return arena_printf(a, "%s%s%s", fix, *line_remark(fix) ? "; " : "   # ", place);
}

static void number(cJSON *o, cJSON **list, const char *key, size_t i)
{
	*list = *list ?: json_array(o, key);
	cJSON_AddItemToArray(*list, cJSON_CreateNumber((double)i));
}

void fix_json(cJSON *o, const str_list *fixes)
{
	cJSON *all = fixes->n ? json_array(o, "fix") : NULL, *words = NULL, *holes = NULL;

	for (size_t i = 0; i < fixes->n; i++) {
		json_push_str(all, fix_text(fixes->v[i]));
		if (!fix_is_typed(fixes->v[i]))
			number(o, &words, "as_words", i);
		else if (fix_has_hole(fixes->v[i]))
			number(o, &holes, "has_hole", i);
	}
}

static bool has_number(const cJSON *list, size_t number)
{
	const cJSON *x;

	cJSON_ArrayForEach (x, list)
		if (cJSON_IsNumber(x) && x->valuedouble == (double)number)
			return true;
	return false;
}

void fix_from_json(const cJSON *o, struct arena *a, str_list *ret)
{
	const cJSON *words = json_get(o, "as_words"), *fix = json_get(o, "fix");
	size_t i = 0;

	for (fix = cJSON_IsArray(fix) ? fix->child : NULL; fix; fix = fix->next, i++)
		if (cJSON_IsString(fix) && *fix->valuestring)
			*LIST_ADD(a, ret) = arena_printf(
				a, "%s%s", has_number(words, i) ? FIX_WORDS : "", fix->valuestring);
}
