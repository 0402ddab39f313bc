/*
 * Sources. EC2: the baseline bandwidth that DescribeInstanceTypes gives for a
 * type's network cards, as the Karpenter project's generated table
 * (zz_generated.bandwidth.go) has it; numbers of cards and the rule for single
 * flows (5 Gb/s, 10 inside a cluster placement group) from the EC2 user guide.
 * Google: "Networking and GPU machines", the cards that carry data between GPUs.
 * Azure: the data sheets of the ND series (A100 v4: 8 of HDR; GB200 v6: 4 of NDR).
 */
#include "bench/sweep/instances.h"

#include "lib/core/near.h"

#include <ctype.h>
#include <math.h>

#define EC2_FLOW_GBPS 5

/* Families that are alike, then "SIZE Gb/s" each; /CARDS where it is more than one. */
static const struct {
	const char *families, *sizes;
} ec2[] = {
	{"p6-b300", "48xlarge 6400/16"},
	{"p6-b200", "48xlarge 3200/8"},
	{"p5en", "48xlarge 3200/16"},
	{"p5 p5e", "4xlarge 100 48xlarge 3200/32"},
	{"p4d p4de", "24xlarge 400/4"},
	{"p3dn", "24xlarge 100"},
	{"p3", "2xlarge 2.5 8xlarge 10 16xlarge 25"},
	{"g6e", "xlarge 2.5 2xlarge 5 4xlarge 20 8xlarge 25 12xlarge 100 16xlarge 35 "
		"24xlarge 200/2 48xlarge 400/4"},
	{"g6 gr6 g5", "xlarge 2.5 2xlarge 5 4xlarge 10 8xlarge 25 12xlarge 40 16xlarge 25 "
		      "24xlarge 50 48xlarge 100"},
	{"g5g", "xlarge 1.25 2xlarge 2.5 4xlarge 5 8xlarge 12 16xlarge 25 metal 25"},
	{"g4dn", "xlarge 5 2xlarge 10 4xlarge 20 8xlarge 50 12xlarge 50 16xlarge 50 metal 100"},
	{"g4ad", "xlarge 2 2xlarge 4.167 4xlarge 8.333 8xlarge 15 16xlarge 25"},
	{"g3", "4xlarge 5 8xlarge 10 16xlarge 25"},
	{"trn1", "2xlarge 3.125 32xlarge 800/8"},
	{"trn1n", "32xlarge 1600/16"},
	{"hpc6a", "48xlarge 100"},
	{"hpc7g", "4xlarge 200 8xlarge 200 16xlarge 200"},
	{"c5n", "large 3 xlarge 5 2xlarge 10 4xlarge 15 9xlarge 50 18xlarge 100 metal 100"},
	{"c6gn", "large 3 xlarge 6.3 2xlarge 12.5 4xlarge 25 8xlarge 50 12xlarge 75 16xlarge 100"},
	{"c6in m6in r6in", "large 3.125 xlarge 6.25 2xlarge 12.5 4xlarge 25 8xlarge 50 12xlarge 75 "
			   "16xlarge 100 24xlarge 150/2 32xlarge 200/2"},
	{"c7gn", "large 6.25 xlarge 12.5 2xlarge 25 4xlarge 50 8xlarge 100 12xlarge 150 "
		 "16xlarge 200"},
	{"c5 c5d", "large .75 xlarge 1.25 2xlarge 2.5 4xlarge 5 9xlarge 12 12xlarge 12 18xlarge 25 "
		   "24xlarge 25 metal 25"},
	{"m5 m5d r5 r5d", "large .75 xlarge 1.25 2xlarge 2.5 4xlarge 5 8xlarge 10 12xlarge 12 "
			  "16xlarge 20 24xlarge 25 metal 25"},
	{"c6g m6g r6g c6gd m6gd r6gd", "medium .5 large .75 xlarge 1.25 2xlarge 2.5 4xlarge 5 "
				       "8xlarge 12 12xlarge 20 16xlarge 25 metal 25"},
	{"c6a m6a r6a c6i m6i r6i c6id m6id r6id c7a m7a r7a c7i m7i r7i",
	 "large .781 xlarge 1.562 2xlarge 3.125 4xlarge 6.25 8xlarge 12.5 12xlarge 18.75 "
	 "16xlarge 25 24xlarge 37.5 32xlarge 50 48xlarge 50"},
	{"c7g m7g r7g c7gd m7gd r7gd", "medium .52 large .937 xlarge 1.876 2xlarge 3.75 "
				       "4xlarge 7.5 8xlarge 15 12xlarge 22.5 16xlarge 30 metal 30"},
	{"c8g m8g r8g c8i m8i r8i c8a m8a r8a",
	 "large .937 xlarge 1.875 2xlarge 3.75 4xlarge 7.5 8xlarge 15 12xlarge 22.5 16xlarge 30 "
	 "24xlarge 40"},
	{"t3 t3a t4g", "nano .032 micro .064 small .128 medium .256 large .512 xlarge 1.024 "
		       "2xlarge 2.048"},
};

static const struct {
	const char *prefix;
	int cards;
	double gbps; /* of one */
} others[] = {
	{"a3-highgpu-8g", 4, 200},    {"a3-megagpu-8g", 8, 200},
	{"a3-ultragpu-8g", 8, 400},   {"a4-highgpu-8g", 8, 400},
	{"Standard_ND96isr", 8, 400}, {"Standard_ND96amsr", 8, 200},
	{"a4x-highgpu-4g", 4, 400},   {"a4x-maxgpu-4g", 4, 800},
	{"Standard_ND96asr", 8, 200}, {"Standard_ND128isr_NDR_GB200", 4, 400},
};

/* What stands behind the word @word of @n bytes in a list of words; NULL: it is not there. */
static const char *behind(const char *list, const char *word, size_t n)
{
	for (const char *s = list; *s; s += strspn(s, " ")) {
		size_t len = strcspn(s, " ");

		if (len == n && !strncmp(s, word, n))
			return s + len;
		s += len;
	}
	return NULL;
}

static bool find_ec2(const char *type, struct instance_net *ret)
{
	const char *dot = strchr(type, '.'), *found;

	if (!dot || !isalpha((unsigned char)dot[strlen(dot) - 1])) /* no size is a number */
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ec2); i++) {
		char *end;

		if (!behind(ec2[i].families, type, (size_t)(dot - type)))
			continue;
		found = behind(ec2[i].sizes, dot + 1, strlen(dot + 1));
		if (!found || !*found)
			return false;
		*ret = (struct instance_net){strtod(found, &end), 1, EC2_FLOW_GBPS};
		if (*end == '/')
			ret->cards = (int)strtol(end + 1, NULL, 10);
		return true;
	}
	return false;
}

bool instance_net(const char *type, struct instance_net *ret)
{
	if (!type)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (starts_with(type, others[i].prefix)) {
			*ret = (struct instance_net){others[i].cards * others[i].gbps,
						     others[i].cards, NAN};
			return true;
		}
	return find_ec2(type, ret);
}

const char *instance_gpu(const char *type)
{
	static const struct {
		const char *prefix, *gpu;
	} types[] = {
		{"p6-b300", "B300"},
		{"p6-b200", "B200"},
		{"p5en", "H200"},
		{"p5e", "H200"},
		{"p5.", "H100"},
		{"p4d", "A100"},
		{"p3", "V100"},
		{"g6e", "L40"},
		{"g6", "L4"},
		{"gr6", "L4"},
		{"g5.", "A10"},
		{"g4dn", "Tesla T4"},
		{"a4-high", "B200"},
		{"a3-ultra", "H200"},
		{"a3-", "H100"},
		{"a2-", "A100"},
		{"Standard_ND96isr_H200", "H200"},
		{"Standard_ND96isr", "H100"},
		{"Standard_ND96amsr", "A100"},
		{"Standard_ND96asr", "A100"},
		{"Standard_ND128isr_NDR_GB200", "GB200"},
		{"Standard_ND128isr_GB300", "GB300"},
		{"a4x-high", "GB200"},
		{"a4x-max", "GB300"},
		{"p6e-gb200", "GB200"},
	};

	for (size_t i = 0; type && i < ARRAY_LEN(types); i++)
		if (starts_with(type, types[i].prefix))
			return types[i].gpu;
	return NULL;
}

/* --- as people write them ------------------------------------------------------------------- */

/* "p5-48xlarge" and "P5.48xlarge" are alike. */
static const char *plain_type(const char *name, struct arena *a)
{
	char *copy = arena_strdup(a, name);

	for (char *p = copy; *p; p++)
		*p = strchr("._- ", *p) ? '.' : (char)tolower((unsigned char)*p);
	return copy;
}

/* All types of EC2 that the table has. */
static void names_of_ec2(struct arena *a, str_list *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(ec2); i++)
		for (const char *f = ec2[i].families; *f; f += strcspn(f, " "), f += *f == ' ')
			for (const char *s = ec2[i].sizes; *s; s += strspn(s, " ")) {
				*LIST_ADD(a, ret) =
					arena_printf(a, "%.*s.%.*s", (int)strcspn(f, " "), f,
						     (int)strcspn(s, " "), s);
				s += strcspn(s, " ") + 1; /* and what it has */
				s += strcspn(s, " ");
			}
}

/* @key is @prefix of a cloud's names, as far as it goes: "nd96isr", "nd96isr.h200.v5". */
static bool is_of_prefix(const char *key, const char *prefix, struct arena *a)
{
	static const char azure[] = "standard.";
	const char *name = plain_type(prefix, a);

	/* who leaves the first word out */
	if (starts_with(name, azure) && !starts_with(key, azure) && !starts_with(azure, key))
		name += sizeof(azure) - 1;
	return starts_with(name, key) || starts_with(key, name);
}

void instances_like(const char *text, struct arena *a, str_list *ret)
{
	const char *key = plain_type(text, a);
	size_t n = strlen(key);
	str_list all = {0};

	names_of_ec2(a, &all);
	for (size_t i = 0; i < all.n; i++) {
		const char *name = plain_type(all.v[i], a);

		if (starts_with(name, key) && (!name[n] || name[n] == '.'))
			*LIST_ADD(a, ret) = all.v[i];
	}
	for (size_t i = 0; n > 1 && i < ARRAY_LEN(others); i++)
		if (is_of_prefix(key, others[i].prefix, a))
			*LIST_ADD(a, ret) = others[i].prefix;
}

void instances_meant(const char *text, struct arena *a, str_list *ret)
{
	size_t family = strcspn(text, ".-_");
	str_list all = {0};
	bool is_size = false;

	names_of_ec2(a, &all);
	/* a size that others have may be new in this one */
	for (size_t i = 0; text[family] && i < all.n; i++)
		is_size |= streq(strchr(all.v[i], '.') + 1, text + family + 1);
	for (size_t i = 0; !is_size && i < all.n; i++)
		if (!strncasecmp(text, all.v[i], family) && all.v[i][family] == '.' &&
		    is_slip_of(text, all.v[i]))
			*LIST_ADD(a, ret) = all.v[i];
}
