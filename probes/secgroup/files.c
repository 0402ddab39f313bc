/* --audit of files: whichever cloud's command wrote them. */
#include "lib/core/file.h"
#include "lib/report/json.h"
#include "probes/secgroup/verdict.h"
#include "probes/walls/train.h"

enum { TEXT_MAX = 64 << 20, DEPTH = 24 };

struct documents {
	struct sg_model ec2;
	struct walls walls;
	bool is_ec2;
	const char *strange; /* why one of them is not for us */
};

/* A network without a rule: the other documents may describe machines in it. */
static bool is_empty(const cJSON *doc) { return cJSON_IsArray(doc) && !cJSON_GetArraySize(doc); }

static bool take(void *arg, const cJSON *doc)
{
	struct documents *d = arg;
	bool is_wall = false, is_ec2 = false;

	walls_add(&d->walls, doc, &is_wall);
	if (!is_wall)
		sg_model_add(&d->ec2, doc, &is_ec2);
	d->is_ec2 |= is_ec2;
	if (d->walls.is_mixed || (d->is_ec2 && d->walls.cloud != WALLS_NONE))
		d->strange = "documents of two clouds: one at a time";
	else if (!is_wall && !is_ec2 && !is_empty(doc))
		d->strange =
			"JSON, but nothing that aws ec2 describe-..., gcloud compute ... list or "
			"az network ... list prints";
	return !d->strange;
}

/* Each of the commands prints YAML, a table or bare words where its settings say so. */
static int refuse(const struct documents *d, struct err *e)
{
	if (d->walls.cloud == WALLS_GCP)
		return err_hint(e, "%s", cloud_audit_line("gcp"));
	if (d->walls.cloud == WALLS_AZURE)
		return err_hint(e, "%s", cloud_audit_line("azure"));
	return err_hint(e,
			"%s   # without --query; or gcloud compute firewall-rules list "
			"--format=json; or az network nsg list",
			cloud_audit_line("aws"));
}

static int read_one(const struct cloud_run *q, const char *path, struct documents *d, struct err *e)
{
	struct err why = {0};
	size_t n, docs;
	char *text;

	if (file_read_given(path, TEXT_MAX, q->deadline_ns, q->a, &text, &n, e))
		return -1;
	if (!json_each(text, n, DEPTH, take, d, &docs, &why) && docs && !d->strange)
		return 0;
	if (!docs && !why.msg[0])
		d->strange = "nothing was read: did the command fail?";
	err_set(e, ERR_SYS, "%.200s: %.250s", file_said(path), d->strange ? d->strange : why.msg);
	return refuse(d, e);
}

int cloud_audit_files(const struct cloud_run *q, struct err *e)
{
	struct documents d = {.ec2.a = q->a, .walls.a = q->a};
	struct sg_training t;

	for (size_t i = 0; i < q->files->n; i++)
		if (read_one(q, q->files->v[i], &d, e))
			return -1;
	if (d.walls.cloud == WALLS_NONE && !d.is_ec2) {
		err_set(e, ERR_SYS, "an empty list: nothing is described there");
		return refuse(&d, e);
	}
	if (d.walls.cloud != WALLS_NONE)
		return cloud_audit_walls(q, &d.walls, e);
	if (verdict_check_groups(q->c, e))
		return -1;
	if (verdict_has_no_nodes(q, &d.ec2))
		return verdict_alone(q, &d.ec2, e);
	if (verdict_train(q, &d.ec2, &q->c->groups, &t, e))
		return -1;
	verdict_report(q, &t);
	return 0;
}
