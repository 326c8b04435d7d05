#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
#
# Several versions of NCCL in one sweep, as libraries that only say which they are: two as sides of
# scripts/studies/nccl-versions.study, three as folders of the linker's.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
built=$(realpath "$FB_BUILD")
[ -x "$built/tests/fake_gpu/all_reduce" ] || {
	echo "SKIP nccl_versions: built without CUDA"
	exit 0
}
export FB_FAKE_GPU_EACH=1
mkdir -p "$FB_TMP/$MPI/bin"
ln -s "$built/bin/study" "$FB_TMP/$MPI/bin/"
for program in all_reduce all_gather reduce_scatter broadcast all_to_all communicator; do
	ln -s "$built/tests/fake_gpu/$program" "$FB_TMP/$MPI/bin/"
done
quick="--bytes=64 --min-samples=1 --max-samples=2 --max-time=1ms --ci=100%"
quick="$quick --timeout=$((30 * slow))s"

# sweeps STUDY [option...]: all rows to $FB_TMP/rows.
sweeps() {
	rm -rf "$FB_TMP/results"
	scripts/sweep "$1" --build "$FB_TMP/$MPI" --results "$FB_TMP/results" --ranks 2 --repeat 1 \
		--options "$quick" "${@:2}" >"$FB_TMP/out" 2>&1 || said "$FB_TMP/out"
	find "$FB_TMP/results" -name '*.csv' -exec cat {} + >"$FB_TMP/rows"
}

# count WHAT PATTERN N: at least so many rows.
count() {
	[ "$(grep -cE "$2" "$FB_TMP/rows")" -ge "$3" ] ||
		fail "$1: $(grep -cE "$2" "$FB_TMP/rows") rows like $2, not $3"
}

sed "s|libnccl-other.so.2|$built/tests/libfake_nccl_2_31.so|
	s|libnccl.so.2|$built/tests/libfake_nccl.so|
	s|^launches .*|launches 1|" scripts/studies/nccl-versions.study >"$FB_TMP/versions.study"
sweeps "$FB_TMP/versions.study"
for version in 2.28.9 2.31.2; do
	count "side of $version" ",all_reduce,nccl,library,.*NCCL $version ncclAllReduce" 2
	count "life of $version" ",init,nccl,.*NCCL $version, ncclCommInitRank" 2
done
verdict nccl_versions_sides

for version in nccl nccl_2_18 nccl_2_31; do
	mkdir "$FB_TMP/$version"
	ln -s "$built/tests/libfake_$version.so" "$FB_TMP/$version/libnccl.so.2"
done
folders=$(printf "LD_LIBRARY_PATH=$FB_TMP/%s " nccl nccl_2_18 nccl_2_31)
cat >"$FB_TMP/folders.study" <<END
canary none
launches 1
env $folders
all_reduce --engine=nccl
END
sweeps "$FB_TMP/folders.study"
count 2.28 "LD_LIBRARY_PATH=$FB_TMP/nccl,.*NCCL 2.28.9 " 1
count 2.18 "LD_LIBRARY_PATH=$FB_TMP/nccl_2_18,.*NCCL 2.18.5 " 1
count 2.31 "LD_LIBRARY_PATH=$FB_TMP/nccl_2_31,.*NCCL 2.31.2 " 1
verdict nccl_versions_folders

# A file that is no library, and one that is not there.
echo "no library" >"$FB_TMP/wrong.so"
for file in "$FB_TMP/wrong.so" "$FB_TMP/missing.so"; do
	# shellcheck disable=SC2086 # words
	scripts/launch 2 "$FB_TMP/$MPI/bin/all_reduce" --quiet --engine nccl \
		--nccl-library "$file" $quick >"$FB_TMP/rows" 2>"$FB_TMP/err" || true
	count "$file" ",skipped,.*$(basename "$file")" 1
done
verdict nccl_versions_wrong

exit "$bad"
