/* Files that NCCL's settings name: what its parser takes, and what is said of those that are not
 * here, are none of that kind, or were made for another machine. */
#include "probes/rules/nccl_xml.h"
#include "tests/unit/lint_bench.h"

#include <sys/stat.h>

/* ---- the parser ---- */

static const struct xml_row {
	const char *text;
	const char *why; /* begins so; NULL: it is read */
	unsigned line;
	size_t nodes;
} xmls[] = {
	{"", NULL, 1, 0},
	{"<system version=\"1\"/>", NULL, 1, 1},
	{"<system version='1'>\n  <cpu numaid=\"0\" />\n</system>\n", NULL, 4, 2},
	{"<!-- a\nb -->\r\n<system  x=\"1\"></system>", NULL, 3, 1},
	{"<!--x--><system/><!---->", NULL, 1, 1},
	{"<?xml version=\"1.0\"?>\n<system version=\"1\"/>", "it begins with <?xml", 1, 0},
	{"<?xml version=\"1.0\" ?>\n<system version=\"1\"/>\n", "an element is not closed", 3, 0},
	{"<system>\n\t<cpu/>\n</system>", "a tab stands", 2, 1},
	{"<system>text</system>", "text stands", 1, 1},
	{"not xml", "text stands", 1, 0},
	{"<system\n x=\"1\"/>", "an element goes on", 2, 0},
	{"<system x=1/>", "a value stands without quotes", 1, 0},
	{"<system=\"1\"/>", "a value stands where none may be", 1, 0},
	{"<system x=\"1\"y=\"2\"/>", "an element does not end", 1, 0},
	{"<system>\n<cpu>\n</system>", "</system> closes nothing", 3, 2},
	{"</a>", "</a> closes nothing", 1, 0},
	{"<system>\n", "an element is not closed", 2, 1},
	{"<system", "it ends in the middle", 1, 0},
	{"<system x=\"1", "it ends in the middle", 1, 0},
	{"<!-- a", "a comment does not end", 1, 0},
	/* what it does not know, and what stands in that, is passed over */
	{"<other><system/></wrong>", NULL, 1, 0},
	{"<other>", "an element is not closed", 1, 0},
	{"<system><gpu/><cpu><pci><gpu/></pci></cpu></system>", NULL, 1, 4},
	{"<graphs><graph><channel><net/><gpu/></channel></graph></graphs>", NULL, 1, 5},
};

static void xml_is_read_as_nccl_does(void **state)
{
	struct arena a = {0};
	struct nccl_xml x;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(xmls); i++) {
		const struct xml_row *row = &xmls[i];
		int rc = nccl_xml_read(&a, row->text, strlen(row->text), &x);

		if (rc != (row->why ? -1 : 0) || (row->why && !starts_with(x.why, row->why)) ||
		    x.line != row->line || x.nodes.n != row->nodes)
			fail_msg("%s: %d, %s, line %u, %zu elements", row->text, rc,
				 x.why ?: "read", x.line, x.nodes.n);
	}
	arena_done(&a);
}

static void attributes_are_found(void **state)
{
	static const char text[] = "<system><cpu dev=\"0x1\" name=\"x y>\"/><cpu/></system>";
	struct arena a = {0};
	struct nccl_xml x;

	(void)state;
	assert_int_equal(nccl_xml_read(&a, text, strlen(text), &x), 0);
	assert_int_equal(x.nodes.n, 3);
	assert_true(x.nodes.v[0].parent == NCCL_XML_TOP);
	assert_int_equal(x.nodes.v[1].parent, 0);
	assert_int_equal(x.nodes.v[2].parent, 0);
	assert_string_equal(nccl_xml_attr(&x.nodes.v[1], "dev"), "0x1");
	assert_string_equal(nccl_xml_attr(&x.nodes.v[1], "name"), "x y>");
	assert_null(nccl_xml_attr(&x.nodes.v[1], "de"));
	arena_done(&a);
}

/* As long as NCCL has room for, and one more. */
static void long_names_are_refused(void **state)
{
	struct arena a = {0};
	struct nccl_xml x;

	(void)state;
	for (int n = 253; n <= 254; n++) {
		const char *name = arena_printf(&a, "<%0*d/>", n, 0);
		const char *value = arena_printf(&a, "<system x=\"%0*d\"/>", n, 0);

		assert_int_equal(nccl_xml_read(&a, name, strlen(name), &x), n > 253 ? -1 : 0);
		assert_int_equal(nccl_xml_read(&a, value, strlen(value), &x), n > 253 ? -1 : 0);
	}
	arena_done(&a);
}

/* NCCL has room for so many; and a file of any size takes no more of ours. */
static void many_elements_are_refused(void **state)
{
	enum { MOST = 65536 };
	struct arena a = {0};
	struct nccl_xml x;
	struct text t;

	(void)state;
	text_init(&t, &a);
	for (int i = 0; i < MOST; i++)
		text_add(&t, "<graphs/>");
	assert_int_equal(nccl_xml_read(&a, t.s, t.n, &x), 0);
	text_add(&t, "<graphs/>");
	assert_int_equal(nccl_xml_read(&a, t.s, t.n, &x), -1);
	arena_done(&a);
}

/* ---- files on this machine ---- */

struct place {
	struct bench b;
	char dir[64];
};

static const char *file_of(struct place *p, const char *name, const char *text)
{
	const char *path = arena_printf(&p->b.c.a, "%s/%s", p->dir, name);
	FILE *f = text ? fopen(path, "w") : NULL;

	if (text) {
		assert_non_null(f);
		assert_true(fputs(text, f) >= 0);
		assert_int_equal(fclose(f), 0);
	}
	return path;
}

static void begin(struct place *p, const char *machine)
{
	*p = (struct place){.dir = "/tmp/t_nccl_files.XXXXXX"};
	assert_non_null(mkdtemp(p->dir));
	load(&p->b, machine);
	sysroot_set(NULL);
}

static void end(struct place *p)
{
	composed_run((const char *const[]){"rm", "-rf", p->dir, NULL});
	composed_done(&p->b.c);
}

/* What is said where @name is @value, and of that the first fix, up to where the folder begins. */
static void expect(struct place *p, const char *name, const char *value, const char *findings)
{
	const char *fix, *got;

	p->b.s = (struct settings){.a = &p->b.c.a};
	set(&p->b, name, value, CONF);
	got = check(&p->b, &fix);
	if (!streq(got, findings))
		fail_msg("%s=%s: %s, not %s", name, value, got, findings);
	if (strstr(findings, "lint.file:fail"))
		assert_string_equal(fix, "sed -i '3s/^/#/' /etc/nccl.conf");
}

#define LAPTOP "link 1 lo type=loopback state=unknown\naddr lo 127.0.0.1/8\nhost n0\n"
#define WELL "lint.nccl:pass"

static void files_to_be_read(void **state)
{
	static const char *const names[] = {"NCCL_TOPO_FILE", "NCCL_GRAPH_FILE"};
	struct place p;

	(void)state;
	begin(&p, LAPTOP);
	assert_int_equal(mkfifo(file_of(&p, "pipe", NULL), 0600), 0);
	assert_int_equal(truncate(file_of(&p, "huge", ""), 9 << 20), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *root = i ? "graphs" : "system", *other = i ? "system" : "graphs";
		const char *text = arena_printf(&p.b.c.a, "<%s version=\"1\"/>\n", root);

		expect(&p, names[i], file_of(&p, "well", text), WELL);
		expect(&p, names[i], "", WELL);
		expect(&p, names[i], file_of(&p, "none", NULL), "lint.file:fail");
		expect(&p, names[i], "none.xml", "lint.file:fail");
		expect(&p, names[i], file_of(&p, "pipe", NULL), "lint.file:fail");
		expect(&p, names[i], file_of(&p, "huge", NULL), "lint.file:fail");
		expect(&p, names[i], "/dev/null", WELL);
		expect(&p, names[i], p.dir, "lint.file:fail");
		expect(&p, names[i], file_of(&p, "empty", ""), "lint.file:fail");
		expect(&p, names[i], file_of(&p, "text", "hello"), "lint.file:fail");
		text = arena_printf(&p.b.c.a, "<%s version=\"1\"/>\n", other);
		expect(&p, names[i], file_of(&p, "other", text), "lint.file:fail");
		text = arena_printf(&p.b.c.a, "<%s version=\"2\"/>\n", root);
		expect(&p, names[i], file_of(&p, "second", text), "lint.file:fail");
		text = arena_printf(&p.b.c.a, "<%s/>\n", root);
		expect(&p, names[i], file_of(&p, "versionless", text), "lint.file:fail");
	}
	end(&p);
}

static void files_to_be_written(void **state)
{
	static const char *const names[] = {"NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_DUMP_FILE"};
	struct place p;

	(void)state;
	begin(&p, LAPTOP);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		expect(&p, names[i], file_of(&p, "new", NULL), WELL);
		expect(&p, names[i], file_of(&p, "old", "x"), WELL);
		expect(&p, names[i], file_of(&p, "none/new", NULL), "lint.file:warn");
		expect(&p, names[i], file_of(&p, "old/new", NULL), "lint.file:warn");
		expect(&p, names[i], p.dir, "lint.file:warn");
	}
	end(&p);
}

static void the_log_has_a_name_that_is_filled_in(void **state)
{
	struct place p;
	const char *fix, **path;

	(void)state;
	begin(&p, LAPTOP);
	expect(&p, "NCCL_DEBUG_FILE", file_of(&p, "x", NULL), "lint.file:info " WELL);
	p.b.s = (struct settings){.a = &p.b.c.a};
	set(&p.b, "NCCL_DEBUG", "INFO", ENV);
	set(&p.b, "NCCL_DEBUG_FILE", file_of(&p, "nccl.%h.%p", NULL), ENV);
	path = &p.b.s.nccl.v[1].value;
	assert_string_equal(check(&p.b, &fix), WELL);
	*path = file_of(&p, "none/%h.%p", NULL);
	assert_string_equal(check(&p.b, &fix), "lint.file:warn");
	assert_string_equal(fix, arena_printf(&p.b.c.a, "mkdir -p %s/none", p.dir));
	/* a folder that is called as the host is */
	*path = file_of(&p, "%h/nccl.%p", NULL);
	assert_string_equal(check(&p.b, &fix), "lint.file:warn");
	assert_string_equal(fix, arena_printf(&p.b.c.a, "mkdir -p %s/n0", p.dir));
	assert_int_equal(mkdir(file_of(&p, "n0", NULL), 0700), 0);
	assert_string_equal(check(&p.b, &fix), WELL);
	*path = "~/nccl.%h";
	setenv("HOME", "/home/somebody", 1);
	assert_string_equal(check(&p.b, &fix), "lint.file:warn");
	assert_true(starts_with(fix, "export NCCL_DEBUG_FILE=/"));
	end(&p);
}

/* ---- plug-ins ---- */

static void plugins_by_release(void **state)
{
	static const struct {
		unsigned version;
		const char *name, *value, *findings;
	} rows[] = {
		{0, "NCCL_NET_PLUGIN", "none", WELL},
		{0, "NCCL_NET_PLUGIN", "NONE", WELL},
		{0, "NCCL_NET_PLUGIN", "", WELL},
		{0, "NCCL_NET_PLUGIN", "here", WELL}, /* libnccl-net-here.so */
		{0, "NCCL_NET_PLUGIN", "libnccl-net-here.so", WELL},
		{0, "NCCL_NET_PLUGIN", "gone", "lint.plugin:warn"},
		{0, "NCCL_NET_PLUGIN", "gone,here", "lint.plugin:info " WELL},
		{0, "NCCL_NET_PLUGIN", "gone,lost", "lint.plugin:warn lint.plugin:warn"},
		{0, "NCCL_NET_PLUGIN", "gone,none", "lint.plugin:warn lint.plugin:warn"},
		{0, "NCCL_NET_PLUGIN", "STATIC_PLUGIN", WELL},
		{22605, "NCCL_NET_PLUGIN", "gone,here", "lint.plugin:warn"}, /* no list yet */
		{22605, "NCCL_NET_PLUGIN", "libnccl-net-here.so", WELL},
		{22005, "NCCL_NET_PLUGIN", "here", WELL},
		{22005, "NCCL_NET_PLUGIN", "libnccl-net-here.so", "lint.plugin:warn"},
		{22703, "NCCL_NET_PLUGIN", "libnccl-net-here.so", WELL},
		{22703, "NCCL_NET_PLUGIN", "/bin/sh",
		 "lint.plugin:warn"}, /* a path is none there */
		{22705, "NCCL_NET_PLUGIN", "/bin/sh", WELL},
		{22705, "NCCL_NET_PLUGIN", "/nope.so", "lint.plugin:warn"},
		{0, "NCCL_TUNER_PLUGIN", "tuned", WELL}, /* libnccl-tuner-tuned.so */
		{0, "NCCL_TUNER_PLUGIN", "gone", "lint.plugin:warn"},
		{22005, "NCCL_TUNER_PLUGIN", "tuned", "lint.plugin:warn"},
		{22005, "NCCL_TUNER_PLUGIN", "libnccl-tuner-tuned.so", WELL},
		{21803, "NCCL_TUNER_PLUGIN", "gone", "lint.plugin:info " WELL},
		{0, "NCCL_PROFILER_PLUGIN", "/nope.so", "lint.plugin:warn"},
		{22203, "NCCL_PROFILER_PLUGIN", "/nope.so", "lint.plugin:info " WELL},
		{0, "NCCL_ENV_PLUGIN", "gone", "lint.plugin:warn"},
		{0, "NCCL_ENV_PLUGIN", "/bin/sh", "lint.env-plugin:warn"},
		{0, "NCCL_GIN_PLUGIN", "gone", "lint.plugin:warn"},
		{22903, "NCCL_GIN_PLUGIN", "gone", "lint.plugin:info " WELL},
		{0, "NCCL_RMA_PLUGIN", "gone", "lint.plugin:warn"},
	};
	struct place p;

	(void)state;
	begin(&p, LAPTOP);
	(void)file_of(&p, "libnccl-net-here.so", "");
	(void)file_of(&p, "libnccl-tuner-tuned.so", "");
	setenv("LD_LIBRARY_PATH", p.dir, 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		p.b.in.nccl_version = rows[i].version ?: NCCL_VERSION_NEWEST;
		expect(&p, rows[i].name, rows[i].value, rows[i].findings);
	}
	unsetenv("LD_LIBRARY_PATH");
	end(&p);
}

/* Without the plug-in there is no such network, and NCCL does not go on. */
static void a_network_that_only_a_plugin_has(void **state)
{
	struct place p;
	const char *fix;

	(void)state;
	begin(&p, LAPTOP);
	set(&p.b, "NCCL_NET_PLUGIN", "/nope.so", ENV);
	set(&p.b, "NCCL_NET", "AWS Libfabric", ENV);
	assert_string_equal(check(&p.b, &fix), "lint.plugin:fail");
	assert_string_equal(fix, "unset NCCL_NET_PLUGIN");
	p.b.s.nccl.v[1].value = "ib"; /* which this one has not */
	assert_string_equal(check(&p.b, &fix), "lint.net:fail lint.plugin:warn");
	end(&p);
}

/* ---- made for another machine ---- */

#define BRIDGE "pci0000:10/0000:10:01.0/"
#define GPU(pci) "pci " BRIDGE pci " class=0x030200 vendor=0x10de device=0x2330\n"
#define CARD(name, pci)                                                                            \
	"pci " BRIDGE pci " class=0x020700 vendor=0x15b3\nrdma " name " pci=" pci "\n"             \
	"port " name " 1 state=\"4: ACTIVE\" layer=InfiniBand rate=\"200 Gb/sec (4X HDR)\"\n"
#define TWO LAPTOP GPU("0000:11:00.0") GPU("0000:12:00.0") CARD("mlx5_0", "0000:13:00.0")
#define FILE_GPU(pci) "<pci busid=\"" pci "\" class=\"0x030200\"/>\n"
#define FILE_CARD(pci) "<pci busid=\"" pci "\" class=\"0x020700\"/>\n"
#define SYSTEM(inside) "<system version=\"1\">\n<cpu numaid=\"0\">\n" inside "</cpu>\n</system>\n"
#define RING(gpus)                                                                                 \
	"<graphs version=\"1\">\n<graph id=\"0\"><channel>" gpus "</channel></graph></graphs>"
#define DEV(n) "<gpu dev=\"" n "\"/>"

static const struct other_row {
	const char *name, *text, *findings;
} others[] = {
	{"NCCL_TOPO_FILE",
	 SYSTEM(FILE_GPU("0000:11:00.0") FILE_GPU("0000:12:00.0") FILE_CARD("0000:13:00.0")), WELL},
	{"NCCL_TOPO_FILE", SYSTEM(FILE_GPU("0000:11:00.0") FILE_CARD("0000:13:00.0")),
	 "lint.file.machine:warn"},
	{"NCCL_TOPO_FILE",
	 SYSTEM(FILE_GPU("0000:11:00.0") FILE_GPU("0000:12:00.0") FILE_GPU("0000:21:00.0")
			FILE_CARD("0000:13:00.0")),
	 "lint.file.machine:warn"},
	/* a card that the file does not have: Azure's files have none of its accelerated networking
	 */
	{"NCCL_TOPO_FILE", SYSTEM(FILE_GPU("0000:11:00.0") FILE_GPU("0000:12:00.0")), WELL},
	{"NCCL_TOPO_FILE",
	 SYSTEM(FILE_GPU("0000:11:00.0") FILE_GPU("0000:12:00.0") FILE_CARD("0000:14:00.0")),
	 "lint.file.machine:warn"},
	{"NCCL_GRAPH_FILE", RING(DEV("0") DEV("1")), WELL},
	{"NCCL_GRAPH_FILE", RING(DEV("0x0") DEV("0x1") DEV("0x1")), WELL},
	{"NCCL_GRAPH_FILE", RING(DEV("0") DEV("1") DEV("2")), "lint.file.machine:warn"},
	{"NCCL_GRAPH_FILE", RING(DEV("0")), "lint.file.machine:warn"},
	/* of a recorded tree it is not known whether it is there */
	{"NCCL_GRAPH_FILE", NULL, WELL},
};

static void put_file(struct bench *b, const char *text)
{
	FILE *f = fopen(arena_printf(&b->c.a, "%s/topo.xml", b->c.dir), "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* A head node has the image's settings, too. */
static void a_host_without_gpus_does_not_train(void **state)
{
	struct bench b = {0};
	const char *fix;

	(void)state;
	load(&b, LAPTOP CARD("mlx5_0", "0000:13:00.0"));
	put_file(&b, SYSTEM(FILE_GPU("0000:11:00.0") FILE_CARD("0000:14:00.0")));
	set(&b, "NCCL_TOPO_FILE", "/topo.xml", ENV);
	assert_string_equal(check(&b, &fix), WELL);
	composed_done(&b.c);
}

static void files_of_other_machines(void **state)
{
	struct bench b = {0};
	const char *fix, *got;

	(void)state;
	load(&b, TWO);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		put_file(&b, others[i].text ?: "");
		b.s = (struct settings){.a = &b.c.a};
		set(&b, others[i].name, others[i].text ? "/topo.xml" : "/none.xml", ENV);
		got = check(&b, &fix);
		if (!streq(got, others[i].findings))
			fail_msg("row %zu: %s, not %s", i, got, others[i].findings);
	}
	composed_done(&b.c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xml_is_read_as_nccl_does),
		cmocka_unit_test(attributes_are_found),
		cmocka_unit_test(long_names_are_refused),
		cmocka_unit_test(many_elements_are_refused),
		cmocka_unit_test(files_to_be_read),
		cmocka_unit_test(files_to_be_written),
		cmocka_unit_test(the_log_has_a_name_that_is_filled_in),
		cmocka_unit_test(plugins_by_release),
		cmocka_unit_test(a_network_that_only_a_plugin_has),
		cmocka_unit_test(files_of_other_machines),
		cmocka_unit_test(a_host_without_gpus_does_not_train),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
