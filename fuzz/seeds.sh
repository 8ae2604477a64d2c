#!/usr/bin/env bash
# fuzz/seeds.sh [FOLDER]: fills FOLDER/TARGET for every fuzz target with small files to start from.
# FOLDER is fuzz/seeds by default. The files are the test fixtures, two shipped networks and, if the
# corpus exists ($CORPUS, by default shared/corpus next to the repository), its files of at most
# 16 KiB. The seeds are not committed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
seeds=${1:-$here/seeds}
corpus=${CORPUS:-$here/../../shared/corpus}
fixtures=$here/../tests/fixtures
for target in "$here"/fuzz_targets/*.rs; do
    folder=$seeds/$(basename "$target" .rs)
    rm -rf "$folder"
    mkdir -p "$folder"
done

# gather TARGET EXTENSION...: copies the files of the corpus with one of these extensions to the
# folders of TARGET and any.
gather() {
    local target=$1 extension
    shift
    for extension in "$@"; do
        [ -d "$corpus" ] || continue
        find "$corpus" -type f -iname "*.$extension" -size -17k | while read -r file; do
            cp "$file" "$seeds/$target/$(basename "$file")"
            cp "$file" "$seeds/any/$(basename "$file")"
        done
    done
}

for name in asia cancer; do
    gzip -dc "$here/../networks/$name.bif.gz" >"$seeds/bif/$name.bif"
    cp "$here/../networks/$name.bif.gz" "$seeds/any/"
done
gather bif bif
gather xmlbif xml bifxml xmlbif
gather xdsl xdsl
gather dnet dne dnet
gather dsl dsl
gather dsc dsc
gather net net oobn
gather uai uai

# The fixtures cover most of each format.
for pair in bif:bif xmlbif:xml xdsl:xdsl dnet:dne dsl:dsl dsc:dsc net:net uai:uai; do
    cp "$fixtures"/*."${pair#*:}" "$seeds/${pair%:*}/"
    cp "$fixtures"/*."${pair#*:}" "$seeds/any/"
done

# The first byte selects the format, by its index in CaseFormat::ALL.
index=0
for extension in json jsonl csv hcs dat cas evid; do
    { printf "\\x0$index"; cat "$fixtures/small.$extension"; } >"$seeds/evidence/$extension"
    index=$((index + 1))
done
wc -l <(find "$seeds" -type f) | sed 's/ .*/ seeds/'
