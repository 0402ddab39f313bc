# shellcheck shell=bash
# A test's documents are held against the schema together, once all tests have run: to start the
# validator takes longer than to judge a hundred of them. For all tests of a folder, by its
# setup_suite.bash.

# What is said of it names the test.
valid() { # [DOCUMENT]: else $output
    local file=$BATS_RUN_TMPDIR/documents/${BATS_TEST_NUMBER-0}-${EPOCHREALTIME/[.,]/}
    printf '%s\n' "${BATS_TEST_DESCRIPTION-test ${BATS_TEST_NUMBER-}}" >"$file.of"
    printf '%s\n' "${1-$output}" >"$file"
}
export -f valid

valid_begin() { mkdir "$BATS_RUN_TMPDIR/documents"; }

valid_end() { # fails where a document does not hold
    local files=("$BATS_RUN_TMPDIR"/documents/*[0-9]) file said bad=0
    [[ -e ${files[0]} ]] || return 0
    said=$("$ROOT/scripts/validate" json "${files[@]}" 2>&1) || bad=1
    for file in "${files[@]}"; do said=${said//"$file"/"$(<"$file.of")"}; done
    printf '%s' "$said"
    return "$bad"
}
