#!/usr/bin/env bash
# Fills fuzz/seeds/TARGET with small files to begin from: the fixtures of the tests, two of the
# shipped networks, and where there is a collection of files beside the repository (../shared/corpus, or $CORPUS) those of
# at most 16 KiB. Nothing of it is committed.
set -euo pipefail
cd "$(dirname "$0")"
corpus=${CORPUS:-../../shared/corpus}
rm -rf seeds
for target in fuzz_targets/*.rs; do mkdir -p "seeds/$(basename "$target" .rs)"; done

# TARGET ENDING...: the files of these endings.
gather() {
    local target=$1 ending
    shift
    for ending in "$@"; do
        [ -d "$corpus" ] || continue
        find "$corpus" -type f -iname "*.$ending" -size -17k | while read -r file; do
            cp "$file" "seeds/$target/$(basename "$file")"
            cp "$file" "seeds/any/$(basename "$file")"
        done
    done
}

for name in asia cancer; do
    gzip -dc "../networks/$name.bif.gz" >"seeds/bif/$name.bif"
    cp "../networks/$name.bif.gz" seeds/any/
done
gather bif bif
gather xmlbif xml bifxml xmlbif
gather xdsl xdsl
gather dnet dne dnet
gather dsl dsl
gather dsc dsc
gather net net oobn
gather uai uai

# Files of our own, which show most of what each format has.
for pair in bif:bif xmlbif:xml xdsl:xdsl dnet:dne dsl:dsl dsc:dsc net:net uai:uai; do
    cp ../tests/fixtures/*."${pair#*:}" "seeds/${pair%:*}/"
    cp ../tests/fixtures/*."${pair#*:}" seeds/any/
done

# The first byte tells the format, by its place in CaseFormat::ALL.
index=0
for ending in json csv hcs dat cas evid; do
    { printf "\\x0$index"; cat "../tests/fixtures/small.$ending"; } >"seeds/evidence/$ending"
    index=$((index + 1))
done
wc -l <(find seeds -type f) | sed 's/ .*/ seeds/'
