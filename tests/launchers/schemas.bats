#!/usr/bin/env bats
# The files for Kubernetes, GitHub, GitLab and AWS ParallelCluster as those who read them
# see them: validators that carry their schemas, from PyPI (scripts/check-launchers gets
# them). What is not known there, or is of the wrong kind, is refused.
# shellcheck disable=SC2016 # programs for another interpreter stand in single quotes
bats_require_minimum_version 1.5.0

setup() {
    S=$ROOT/scripts
    V=${WINDSOCK_SCHEMAS_VENV:-$HOME/.cache/windsock/schemas}/bin
    cd "$BATS_TEST_TMPDIR" || return
}

has() { [ -x "$V/$1" ] || skip "no $1: PyPI cannot be reached"; }

@test "Kubernetes: the API server of these versions takes every field" {
    has kubernetes-validate
    for version in 1.30 1.31 1.32; do
        for file in job init-container; do
            run -0 "$V/kubernetes-validate" --strict -k $version "$S/kubernetes/$file.yaml"
        done
    done
    sed 's/tolerations/toleration/' "$S/kubernetes/job.yaml" >job.yaml # it sees something
    run -1 "$V/kubernetes-validate" --strict -k 1.31 job.yaml
}

@test "GitHub and GitLab: the action, the workflow and the job are of their schemas" {
    has check-jsonschema
    check=("$V/check-jsonschema" --builtin-schema)
    run -0 "${check[@]}" vendor.github-actions "$S/github/action.yml"
    run -0 "${check[@]}" vendor.github-workflows "$S/github/example.yml"
    run -0 "${check[@]}" vendor.gitlab-ci --data-transform gitlab-ci "$S/gitlab/windsock.gitlab-ci.yml"
    sed 's/runs-on/run-on/' "$S/github/example.yml" >example.yml
    run -1 "${check[@]}" vendor.github-workflows example.yml
    sed 's/when: always/when: ever/' "$S/gitlab/windsock.gitlab-ci.yml" >job.yml
    run -1 "${check[@]}" vendor.gitlab-ci job.yml
}

@test "ParallelCluster: pcluster's own schema and its rules for Slurm's settings take the example" {
    has pcluster
    cat >take.py <<'P'
import sys, yaml
from pcluster.schemas.cluster_schema import ClusterSchema
from pcluster.validators import slurm_settings_validator as v
text = open(sys.argv[1]).read()
for word, is_ in {"SUBNET-PUBLIC": "subnet-0123456789abcdef0", "SUBNET-PRIVATE": "subnet-0123456789abcdef1",
                  "BUCKET": "bucket", "KeyName: KEY": "KeyName: key"}.items():
    text = text.replace(word, is_)
cluster = ClusterSchema(cluster_name="x").load(yaml.safe_load(text))
wrong = v.CustomSlurmSettingsValidator().execute(
    cluster.scheduling.settings.custom_slurm_settings,
    v.SLURM_SETTINGS_DENY_LIST["SlurmConf"]["Global"], v.CustomSlurmSettingLevel.SLURM_CONF)
sys.exit("\n".join(w.message for w in wrong) or 0)
P
    export AWS_DEFAULT_REGION=us-east-1
    run -0 "$V/python" take.py "$S/parallelcluster/cluster.yaml"
    sed 's/PrologEpilogTimeout: 120/Prolog: \/x/' "$S/parallelcluster/cluster.yaml" >denied.yaml
    run -1 "$V/python" take.py denied.yaml
    [[ $output == *rolog* ]]
    sed 's/Enabled: true/Enable: true/' "$S/parallelcluster/cluster.yaml" >typo.yaml
    run -1 "$V/python" take.py typo.yaml
}
