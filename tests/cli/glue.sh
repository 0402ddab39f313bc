# shellcheck shell=bash
# What the bats files about scripts/ share: no job of this machine around them, and commands
# in place of others. Load it: load glue.sh

load ../stand_in.sh

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" "${!WINDSOCK_@}" "${!SLURM_@}" "${!GITHUB_@}"
    # shellcheck disable=SC2034 # who loads this uses it
    S=$ROOT/scripts
    mkdir tools
    export PATH=$PWD/tools:$BIN:$PATH
}

from() { # YAML EXPRESSION: of the document (or list of documents) d
    python3 -c 'import sys, yaml
d = list(yaml.safe_load_all(open(sys.argv[1])))
d = d if len(d) > 1 else d[0]
print(eval(sys.argv[2]))' "$@"
}

# What the tests of ParallelCluster and of Kubernetes' image unpack: a.tar.gz, SUM
archive() { # a release as `make dist` lays it out
    mkdir -p w/windsock-1/bin w/windsock-1/share/windsock
    cp "$BIN"/{windsock,ifprobe} w/windsock-1/bin/
    cp -r "$S/slurm" w/windsock-1/share/windsock/slurm
    tar -czf a.tar.gz -C w windsock-1
    SUM=$(sha256sum <a.tar.gz)
    SUM=${SUM%% *}
}
