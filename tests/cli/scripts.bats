#!/usr/bin/env bats
# The scripts of the house: to ask one what it does, or make what it would do, does nothing.
bats_require_minimum_version 1.5.0

setup() { cd "$BATS_TEST_TMPDIR" || return; }

@test "--help and -h of every script print what it is, and do nothing" {
    local file option tool
    mkdir tools here
    for tool in bash sh env dirname readlink sed cat; do # and nothing to do anything with
        ln -s "$(command -v $tool)" tools/
    done
    if tool=$(python3 -c 'import sys; print(sys.executable)'); then ln -s "$tool" tools/python3; fi
    while read -r file; do
        [[ $(head -n 1 "$file") != *python3 || -e tools/python3 ]] || continue
        for option in --help -h; do
            run --separate-stderr env -i -C here PATH="$PWD/tools" O="$PWD/here/o" "$file" $option
            [[ $status == 0 && ! $stderr && ${lines[0]} == *"${file##*/}"* && ${#lines[0]} -lt 120 ]] ||
                { echo "$file $option: $status $output $stderr"; return 1; }
            [ -z "$(ls -A here)" ] || { echo "$file $option: makes $(ls -A here)"; return 1; }
        done
    done < <(find "$ROOT/scripts" -type f -perm -u+x)
}

@test "setup looks for NCCL also where there is no HOME" {
    mkdir tools
    printf '#!/bin/sh\n' >tools/ldconfig
    chmod +x tools/ldconfig
    run --separate-stderr env -u HOME PATH="$PWD/tools:$PATH" "$ROOT/scripts/setup" --check check
    [[ $status == [01] && $stderr != *unbound* ]]
}

@test "make -n only says what it would do" {
    local goal
    cp "$ROOT"/{Makefile,plugins.mk} .
    ln -s "$ROOT"/{lib,probes,bench,cmd,plugins,tests} .
    mkdir scripts
    while read -r goal; do
        printf '#!/bin/sh\necho "$0 $*" >>%q/ran\n' "$PWD" >"scripts/${goal##*/}"
        chmod +x "scripts/${goal##*/}"
    done < <(find "$ROOT/scripts" -maxdepth 1 -type f -perm -u+x)
    for goal in check check-sanitize check-launchers check-newcomer check-packages check-systemd soak fuzz bench-peers dist deb preflight; do
        run -0 make -n "$goal" O="$PWD/o"
        [[ $output == *scripts/* && ! -e ran && ! -e o/bin ]] || { echo "$goal: $output"; cat ran; return 1; }
    done
    run -0 make check O="$PWD/o" # and without it, it does
    [ "$(cat ran)" = "scripts/setup check"$'\n'"scripts/check " ]
}

@test "a source that comes or goes makes its archive again, however old it and its object are" {
    local name
    cp "$ROOT/Makefile" .
    : >plugins.mk
    mkdir -p lib/core
    for name in stays moves; do
        echo "int $name(void); int $name(void) { return 0; }" >lib/core/$name.c
    done
    make -s O=o o/lib.a
    [ "$(ar t o/lib.a | paste -sd' ')" = "moves.o stays.o" ]
    mv lib/core/moves.c .
    make -s O=o o/lib.a
    [ "$(ar t o/lib.a)" = stays.o ]
    mv moves.c lib/core/ # and its object is from before
    make -s O=o o/lib.a
    [ "$(ar t o/lib.a | paste -sd' ')" = "moves.o stays.o" ]
    touch -r o/lib.a before
    make -s O=o o/lib.a
    [ ! o/lib.a -nt before ]
}
