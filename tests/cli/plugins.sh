# shellcheck shell=bash
# What tests of plug-ins share. Load it: load plugins.sh; $O is the build.

# How a test begins: in a folder of its own, with nothing said about plug-ins but the build's.
# shellcheck disable=SC2034 # it is for them
plugin_test() { # PROGRAM, which is $B then
    O=$(realpath "${O:-build}")
    BIN=$(realpath "${BIN:-$O/bin}") ROOT=$(realpath "$BATS_TEST_DIRNAME/../..")
    B=$BIN/$1
    export TMPDIR=$BATS_TEST_TMPDIR
    unset WINDSOCK_NCCL WINDSOCK_CUDNN WINDSOCK_CUBLAS WINDSOCK_PLUGINS
    cd "$BATS_TEST_TMPDIR" || return
}

# What was not built here is skipped.
built() { # PLUGIN
    local why=
    case $1 in
    nccl) why=': no CUDA toolkit, as on machines without a GPU' ;;
    cudnn) why=': no CUDA toolkit with cuDNN, as on machines without a GPU' ;;
    mpi*) export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 ;; # MPI's libraries leak
    esac
    [[ -e $O/lib/windsock/$1.so ]] || skip "$1.so was not built$why"
}

# The stand-ins of NVIDIA's libraries, whatever the machine itself has. PyTorch's own packages
# precede the loader's path: the active Python's PyTorch becomes one that has none.
stand_ins() {
    unset LD_PRELOAD WINDSOCK_NCCL WINDSOCK_CUDNN WINDSOCK_CUBLAS
    [[ -d $O/fake/torch/lib ]] || { echo "no $O/fake/torch/lib: make fakes"; return 1; }
    export LD_LIBRARY_PATH=$O/fake PYTHONPATH=$O/fake
}

# The NCCL plug-in, on stand-ins.
fake() { built nccl && stand_ins; }
