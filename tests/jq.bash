# shellcheck shell=bash
# jq for all tests of a folder, by its setup_suite.bash. They ask it four thousand questions, and jq
# 1.6 thinks for 30 ms before it reads one: gojq, which starts in 2, answers them alike where it is
# installed. (It sorts the keys of all that it prints, and so has no -S: no test may expect another
# order.)
if command -v gojq >/dev/null; then
    jq() {
        [[ ${1-} != -S ]] || shift
        command gojq "$@"
    }
else
    # `jq -e` of 1.6 ends with 0 for nothing at all: a program that printed nothing would pass.
    jq() {
        local out code=0
        [[ " $* " =~ \ -[a-z]*e[a-z]*\  ]] || { command jq "$@"; return; }
        out=$(command jq "$@"; echo "$?")
        code=${out##*$'\n'} out=${out%"$code"}
        printf %s "$out"
        [[ $out ]] || ((code)) || code=4 # what later versions say
        return "$code"
    }
fi
export -f jq
