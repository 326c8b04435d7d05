#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 60
#
# Decisions of the Makefile, scripts/setup and scripts/run before anything is compiled: for which
# GPUs there is device code, that objects are built again when an optional header appears, what
# would be installed and why, and that a wrong study is refused at once. Nothing is built here.

set -u
export LC_ALL=C
. tests/shell/lib.sh

# A toolkit of three architectures, and a machine with or without GPUs.
mkdir -p "$FB_TMP/cuda/bin" "$FB_TMP/cuda/lib64" "$FB_TMP/gpus" "$FB_TMP/none"
printf '#!/bin/sh\nprintf "sm_80\\nsm_90\\nsm_100\\n"\n' >"$FB_TMP/cuda/bin/nvcc"
touch "$FB_TMP/cuda/lib64/libcudart_static.a"
printf '#!/bin/sh\necho "no devices were found"\nexit 6\n' >"$FB_TMP/none/nvidia-smi"
chmod +x "$FB_TMP/cuda/bin/nvcc" "$FB_TMP/none/nvidia-smi"

# code FOLDER [VARIABLE=VALUE]: the architectures for which nvcc is asked, with that nvidia-smi.
code() {
	env -u CUDA_ARCHS PATH="$FB_TMP/$1:$PATH" CUDAHOSTCXX=sh make -s \
		NVCC="$FB_TMP/cuda/bin/nvcc" "${@:2}" \
		--eval 'print: ; @echo "$(patsubst arch=%,%,$(filter arch=%,$(CUDA_CODE)))"' print
}
gpus() {
	printf '#!/bin/sh\nprintf "%s"\n' "$1" >"$FB_TMP/gpus/nvidia-smi"
	chmod +x "$FB_TMP/gpus/nvidia-smi"
}
expect "device code without a GPU" "$(code none)" \
	'compute_90,code=sm_90 compute_90,code=compute_90'
gpus '8.0\n8.0\n'
expect "device code beside A100s" "$(code gpus)" 'compute_80,code=sm_80 compute_80,code=compute_80'
gpus '10.0\n'
expect "device code beside a B200" "$(code gpus)" \
	'compute_100,code=sm_100 compute_100,code=compute_100'
gpus '12.0\n'
expect "device code beside a GPU that the toolkit does not know" "$(code gpus)" \
	'compute_90,code=compute_90'
expect "device code that is asked for" "$(code gpus CUDA_ARCHS='80 90')" \
	'compute_80,code=sm_80 compute_90,code=sm_90 compute_90,code=compute_90'
verdict build_architectures

# flags: what the flags' file of a build says, as make would write it now.
flags() {
	make -s CUDA=no B="$FB_TMP/build" "$FB_TMP/build/flags" "$FB_TMP/build/libraries" &&
		cat "$FB_TMP/build/flags" "$FB_TMP/build/libraries"
}
flags >"$FB_TMP/with"
age=$(stat -c %Y.%i "$FB_TMP/build/flags")
flags >"$FB_TMP/again"
expect "flags that did not change" "$(stat -c %Y.%i "$FB_TMP/build/flags")" "$age"
mkdir -p "$FB_TMP/headers/infiniband" "$FB_TMP/headers/rdma"
for header in infiniband/verbs.h rdma/rdma_cma.h jansson.h; do
	echo '#error "there is no such header"' >"$FB_TMP/headers/$header"
done
CPATH=$FB_TMP/headers flags >"$FB_TMP/without" 2>&1
for header in infiniband/verbs.h rdma/rdma_cma.h -ljansson; do
	grep -qF -e "$header" "$FB_TMP/without" && fail "$header counts where it is not usable"
done
# Those that are here bring other flags, by which objects are built again.
for header in infiniband/verbs.h rdma/rdma_cma.h; do
	[ ! -e "/usr/include/$header" ] || holds "$FB_TMP/with" "$header"
done
make -s -p -n B="$FB_TMP/build" CUDA=no help 2>/dev/null >"$FB_TMP/rules"
holds "$FB_TMP/rules" "^$FB_TMP/build/scripts/tools/import/formats.o:.* $FB_TMP/build/libraries"
verdict build_headers

# What is missing is listed with what it is for, and nothing is installed with SETUP=no.
mkdir "$FB_TMP/bare"
ln -s /bin/sh "$FB_TMP/bare/sh"
for tool in env id uname nproc grep mktemp cat dirname ls cc gcc make; do
	# A compiler may be a wrapper, which looks for the real one.
	printf '#!/bin/sh\nPATH=%q exec %q "$@"\n' "$PATH" "$(command -v $tool)" \
		>"$FB_TMP/bare/$tool"
	chmod +x "$FB_TMP/bare/$tool"
done
PATH=$FB_TMP/bare MPI='' SETUP=no sh scripts/setup test >"$FB_TMP/out" 2>&1
expect "exit code of setup without MPI" $? 3
holds "$FB_TMP/out" '^fabricbench setup: missing: MPI$'
holds "$FB_TMP/out" '^fabricbench setup: would install:$'
holds "$FB_TMP/out" '^  openmpi-bin libopenmpi-dev: MPI$'
holds "$FB_TMP/out" '^  gnuplot-nox: gnuplot \(plots\)$'
holds "$FB_TMP/out" '^  slurm-wlm: Slurm \(Slurm tests\)$'
grep -q 'Slurm' <(PATH=$FB_TMP/bare MPI='' SETUP=no sh scripts/setup run 2>&1) &&
	fail "make run would install Slurm"
# Headers that a part of the programs needs come before the first build.
CPATH=$FB_TMP/headers SETUP=no scripts/setup build >"$FB_TMP/out" 2>&1
holds "$FB_TMP/out" '^  libibverbs-dev librdmacm-dev: RDMA headers'
verdict build_setup

# A study that is none is refused before anything is set up or built.
mkdir "$FB_TMP/path"
for tool in make apt-get; do
	printf '#!/bin/sh\ntouch "%s"\nexit 1\n' "$FB_TMP/called" >"$FB_TMP/path/$tool"
	chmod +x "$FB_TMP/path/$tool"
done
for script in scripts/run 'scripts/sweep zzz'; do
	# shellcheck disable=SC2086 # words
	PATH=$FB_TMP/path:$PATH STUDY=zzz $script >"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
	expect "exit code of $script with STUDY=zzz" $? 3
	expect "stdout of $script with STUDY=zzz" "$(cat "$FB_TMP/out")" ''
	expect "lines of $script with STUDY=zzz" "$(wc -l <"$FB_TMP/err")" 1
	holds "$FB_TMP/err" "^fabricbench: no study 'zzz': neither a file .* nor one of .*quick"
done
[ ! -e "$FB_TMP/called" ] || fail "something was built before the study was refused"
verdict build_study
exit "$bad"
