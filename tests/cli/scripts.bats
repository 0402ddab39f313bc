#!/usr/bin/env bats
# The scripts of the house: to ask one what it does, or make what it would do, does nothing.
bats_require_minimum_version 1.5.0
load ../stand_in.sh

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

@test "an option without its value, and no word at all, are exit 2 and one line" {
    local line
    for line in 'dist --arch' 'bare --packages' 'bare bookworm --in' 'bare --out' validate 'validate nonsense'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr "$ROOT/scripts/"$line
        [[ -z $output && ${#stderr_lines[@]} == 1 && $stderr == "${line%% *}: "* ]] || { echo "$line: $output $stderr"; false; }
    done
    run -1 "$ROOT/scripts/validate" prometheus </dev/null
    [ "$output" = "validate: there is nothing in it" ]
}

@test "picture: a command that is not there, or prints nothing, leaves the old one" {
    local command
    echo old >out.svg
    for command in /nonexist false; do
        run -1 --separate-stderr "$ROOT/scripts/picture" out.svg title -- $command
        [[ $stderr == "picture: $command"* && ${#stderr_lines[@]} == 1 && $(cat out.svg) == old ]]
    done
    "$ROOT/scripts/picture" out.svg title -- sh -c 'echo words; exit 1'
    grep -q '>words<' out.svg
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

# --- setup, with stand-ins of apt-get and sudo ---------------------------------------

# All commands of this machine but those of WITHOUT, and an apt-get that installs by making a
# command; its package lists are there where ./lists is, without what ./nowhere names.
setup_room() { # WITHOUT...
    local name
    mkdir -p tools .tmp
    ln -sf /usr/bin/* tools/
    for name in "$@" apt-get apt-cache sudo systemctl; do rm -f "tools/$name"; done
    stand_in apt-get 'echo "$* ${http_proxy-}" >>calls
        case " $* " in
        *" update "*) [ -e dead ] || : >lists ;;
        *" install "*)
            [ ! -e dead ] || { echo "E: Failed to fetch: Temporary failure resolving"; exit 100; }
            [ -e lists ] || { echo "E: Unable to locate package make"; exit 100; }
            for name in $(cat broken 2>/dev/null); do
                case " $* " in *" $name "*) echo "E: Unable to locate package $name"; exit 100 ;; esac
            done
            for name; do case $name in -* | *=* | install) ;; *) ln -sf /bin/true "tools/$name" ;; esac; done
            [ ! -e units ] || echo "munge.service enabled" >>units ;;
        esac'
    stand_in apt-cache '[ -e lists ] || exit 100
        case $1 in
        depends) echo clang; echo "  Depends: clang-14" ;;
        policy) [ $# -gt 1 ] || echo " 500 http://deb.debian.org/debian bookworm/main amd64 Packages"
            shift
            for name; do
                grep -qxF "$name" nowhere 2>/dev/null || printf "%s:\n  Installed: (none)\n  Candidate: 1.0\n" "$name"
            done ;;
        esac'
}
# In a name space of its own: /usr/sbin, where setup holds services back, is not this machine's,
# and clang's libraries are not here.
as_root() {
    run env -u http_proxy PATH="$PWD/tools" TMPDIR="$PWD/.tmp" unshare --map-root-user --mount \
        bash -c 'for dir in /usr/sbin /usr/lib/llvm-*; do mount -t tmpfs tmpfs "$dir" || :; done; exec "$@"' - "$ROOT/scripts/setup" "$@"
}
as_user() { # nobody, who has no root
    run env PATH="$PWD/tools" TMPDIR="$PWD/.tmp" unshare --user "$ROOT/scripts/setup" "$@"
}
installs() { grep -c ' install ' calls; }

@test "setup as root: empty package lists are filled first, and then all is installed at once" {
    setup_room rsync bats gcc
    as_root check
    [ "$(installs)" = 1 ] || { echo "$output"; cat calls; false; }
    grep -q ' install .* bats .*gcc .*libclang-rt-14-dev .*rsync' calls
    grep -q ' update ' <(head -n 1 calls)
}

@test "setup as root: what no list has is not asked for, and what nothing begins without is exit 3" {
    : >lists
    echo rsync >nowhere
    setup_room rsync col
    as_root check
    [[ $status == 0 && $output == *"not to be had here: "*rsync* ]] || { echo "$output"; cat calls; false; }
    run ! grep -E ' install .* rsync ' calls
    [ "$(installs)" = 1 ]
    echo bsdextrautils >>nowhere
    echo gcc >>nowhere
    rm tools/gcc
    as_root build
    [[ $status == 3 && $output == *"nothing begins without: "*gcc* ]]
}

@test "setup as root: one that keeps the others away is left out; with no network each is not tried alone" {
    : >lists
    echo rsync >broken
    setup_room rsync xmllint
    as_root check
    [ -e tools/libxml2-utils ] || { echo "$output"; cat calls; false; }
    [ "$(installs)" = 3 ]
    : >dead
    rm calls tools/rsync || true
    as_root check
    [ "$(installs)" = 2 ]
}

@test "setup as root: units that came along are disabled, those that were there stay" {
    : >lists
    setup_room rsync
    printf '%s enabled\n' ssh.service getty@.service >units
    stand_in systemctl 'echo "$*" >>asked; case "$*" in *list-unit-files*) cat units ;; esac'
    as_root check
    [ "$(grep disable asked)" = '--root=/ --quiet disable munge.service' ] || { echo "$output"; cat asked; false; }
}

@test "setup without root: what only tests use is left out, what is to be built with is not" {
    : >lists
    echo chromium >nowhere
    setup_room chromium rsync
    as_user check
    [[ $status == 0 && $output == *"in no list of packages here: chromium"* ]] || { echo "$output"; false; }
    [[ $output == *"needs root: "*rsync*". Run this once:"$'\n'"  sudo $ROOT/scripts/setup check"$'\n'*"going on without them"* ]] ||
        { echo "$output"; false; }
    run ! grep 'needs root:.* chromium' <<<"$output"
    [[ $output != *"apt-get install"* ]] # which would start daemons
    rm tools/gcc
    as_user check
    [[ $status == 3 && $output == *"needs root: "*gcc*"  sudo $ROOT/scripts/setup check"*"nothing begins without: gcc"* ]]
    rm lists
    as_user build
    [[ $status == 3 && $output == *"needs root: "*gcc*"  sudo $ROOT/scripts/setup build"* ]]
    [ ! -e calls ]
    # sudo that asks nothing has the proxy's address
    stand_in sudo 'echo "$*" >>sudos; [[ $* != *" true" ]] || exit 0'
    export http_proxy=http://proxy:3128
    as_user check
    [ "$(tail -n 1 sudos)" = "-n --preserve-env=http_proxy,https_proxy,no_proxy -- $ROOT/scripts/setup check" ]
}

@test "bare: a mirror is Debian's own archive, whatever else apt has here; where it fails it is named" {
    mkdir -p tools apt/sources.list.d
    bare() {
        run -3 env -u MIRROR PATH="$PWD/tools:$PATH" TMPDIR="$PWD" unshare --map-root-user --mount \
            bash -c 'mount --bind apt /etc/apt && exec "$@"' - "$ROOT/scripts/bare" bookworm -- true
    }
    stand_in debootstrap 'echo "E: it is not there"; exit 1'
    printf 'Types: deb\nURIs: %s\n' https://download.docker.com/linux/debian >apt/sources.list.d/a.sources
    printf 'Types: deb\nURIs: %s\n' mirror+file:///etc/apt/mirrors/debian.list >apt/sources.list.d/debian.sources
    echo 'deb http://archive.ubuntu.com/ubuntu jammy main' >apt/sources.list
    bare
    [[ $output == *"E: it is not there"*"debootstrap of bookworm from http://deb.debian.org/debian failed: another one by MIRROR=URL" ]] ||
        { echo "$output"; false; }
    printf 'Types: deb\nURIs: https://mirror.example/debian/ http://b.example/debian\n' >apt/sources.list.d/z.sources
    bare
    [[ $output == *" from https://mirror.example/debian/ failed"* ]] || { echo "$output"; false; }
}
