# SPDX-License-Identifier: BSD-3-Clause
#
# Builds out of tree: build/<mpi>/ holds objects, bin/ there the programs, tests/ the tests. The two
# MPIs have different ABIs, hence a folder for each. `make help` lists targets; see docs/build.md.

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
.PHONY: all tests fuzzers run test test-full test-rdma test-gpu check fuzz lint asan tsan \
	install clean help FORCE

# Programs: sources with a main(); all others are the library's. tests/lint compares with the files.
PROGRAMS := \
	collectives/all_gather \
	collectives/all_gather_v \
	collectives/all_reduce \
	collectives/all_to_all \
	collectives/all_to_all_v \
	collectives/barrier \
	collectives/broadcast \
	collectives/communicator \
	collectives/gather \
	collectives/reduce \
	collectives/reduce_scatter \
	collectives/reduce_scatter_v \
	collectives/scatter \
	collectives/send_recv \
	kvtransfer/handoff \
	kvtransfer/kv_reshard \
	kvtransfer/offload \
	kvtransfer/serve \
	kvtransfer/stream \
	overlap/contention \
	overlap/context_parallel \
	overlap/dataparallel \
	overlap/ddp \
	overlap/fsdp \
	overlap/graph \
	overlap/hazards \
	overlap/moe \
	overlap/pipeline \
	overlap/staging \
	overlap/tensor_parallel \
	p2p/all_pairs \
	p2p/bandwidth \
	p2p/connection \
	p2p/host_device \
	p2p/incast \
	p2p/latency \
	p2p/loaded_latency \
	p2p/multi_pair \
	p2p/registration \
	p2p/steady \
	# EOL

FOLDERS := common collectives p2p overlap kvtransfer

# --- what the user may set -----------------------------------------------------------------------

MPI ?= $(shell . scripts/lib.sh && fb_mpi_default)
MPICC ?= $(shell . scripts/lib.sh && fb_mpi_tool mpicc '$(MPI)')
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
WERROR ?= 0
SANITIZE ?=
CUDA ?= auto
V ?= 0

MPI := $(MPI)
MPICC := $(MPICC)
ifneq ($(filter-out openmpi mpich,$(MPI)),)
$(error MPI=$(MPI): accepted are openmpi and mpich)
endif
ifneq ($(filter-out asan tsan fuzz,$(SANITIZE)),)
$(error SANITIZE=$(SANITIZE): accepted are asan, tsan and, with CC=clang, fuzz)
endif
ifneq ($(filter-out 0 1,$(WERROR)),)
$(error WERROR=$(WERROR): accepted are 0 and 1)
endif
ifneq ($(filter-out auto no,$(CUDA)),)
$(error CUDA=$(CUDA): accepted are auto and no)
endif

# The wrappers bring their own compiler; a CC chosen by the user goes before it.
ifneq ($(origin CC),default)
export OMPI_CC := $(CC)
export MPICH_CC := $(CC)
endif

# --- flags ---------------------------------------------------------------------------------------

B := build/$(or $(MPI),none)$(addprefix -,$(SANITIZE))

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2 -Wdouble-promotion -Wconversion \
	$(if $(filter 1,$(WERROR)),-Werror)

SANITIZE_asan := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize-recover=undefined
SANITIZE_tsan := -O1 -fno-omit-frame-pointer -fsanitize=thread
SANITIZE_fuzz := $(SANITIZE_asan) -fsanitize=fuzzer-no-link
SANITIZER := $(SANITIZE_$(SANITIZE))

COMPILE_FLAGS := -std=gnu11 -I. -I$(B) -D_GNU_SOURCE $(CPPFLAGS) $(WARNINGS) $(CFLAGS) $(SANITIZER)
LINK_FLAGS := $(CFLAGS) $(SANITIZER) $(if $(SANITIZER),-rdynamic) $(LDFLAGS) \
	-Wl,--dynamic-list=common/mover/exported.list
LIBRARIES := $(LDLIBS) -lm -lpthread -ldl -lrt

# --- CUDA ----------------------------------------------------------------------------------------

# GPU parts are built where there is nvcc, and left out with CUDA=no, where there is none, and with
# sanitizers, which do not see device code. Programs contain the CUDA runtime and find the driver
# when they start, so they run on machines without either.
NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
NVCC := $(if $(SANITIZER)$(filter no,$(CUDA)),,$(NVCC))
CUDA_HOME := $(if $(NVCC),$(patsubst %/bin/nvcc,%,$(realpath $(shell command -v $(NVCC)))))
CUDART := $(if $(CUDA_HOME),$(firstword $(wildcard $(CUDA_HOME)/lib64/libcudart_static.a \
	$(CUDA_HOME)/targets/*/lib/libcudart_static.a)))
HAVE_CUDA := $(if $(CUDART),$(if $(shell command -v $(or $(CUDAHOSTCXX),g++) 2>/dev/null),yes))

ifeq ($(HAVE_CUDA),yes)
COMPILE_FLAGS += -isystem $(CUDA_HOME)/include -DFB_HAVE_CUDA=1
LIBRARIES := $(CUDART) -lstdc++ $(LIBRARIES)
# Machine code for the GPUs of this machine, or else for 9.0, because each architecture takes as
# long as all else together; and PTX of the last one, for all later ones.
CUDA_SEEN = $(subst .,,$(sort $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader \
	2>/dev/null | grep -xE '[0-9]+\.[0-9]')))
CUDA_ARCHS ?= $(or $(CUDA_SEEN),90)
CUDA_ARCHS := $(CUDA_ARCHS)
CUDA_KNOWN := $(shell $(NVCC) --list-gpu-code 2>/dev/null)
CUDA_CHOSEN := $(foreach a,$(CUDA_ARCHS),$(filter $a,$(CUDA_KNOWN:sm_%=%)))
cuda_code = -gencode arch=compute_$1,code=$2_$1
CUDA_CODE := $(foreach a,$(CUDA_CHOSEN),$(call cuda_code,$a,sm)) \
	$(call cuda_code,$(or $(lastword $(CUDA_CHOSEN)),90),compute)
NVCC_FLAGS := -std=c++17 -O3 -I. -lineinfo -Xfatbin=-compress-all \
	--compiler-bindir $(or $(CUDAHOSTCXX),g++) \
	-Xcompiler -Wall,-Wextra,-Wno-missing-field-initializers,-fPIC \
	$(if $(filter 1,$(WERROR)),-Werror all-warnings) $(CUDA_CODE)
endif

# The kernels of processors live by auto-vectorisation, which gcc < 12 does only at -O3.
$(B)/common/base/combine.o $(B)/overlap/compute/host_compute.o $(B)/kvtransfer/wire.o: \
	OPTIMISE := $(if $(SANITIZER),,-O3)

# Only version.c includes build_info.h, which changes with every commit.
GIT := git -c safe.directory='$(CURDIR)'
REVISION := $(if $(wildcard .git),$(shell $(GIT) describe --always --dirty 2>/dev/null))
define BUILD_INFO
#define FB_GIT_REVISION "$(or $(REVISION),unknown)"
#define FB_BUILD_COMPILER "$(MPICC)"
#define FB_BUILD_CFLAGS "$(strip $(CFLAGS) $(SANITIZER))"
endef
$(B)/common/base/version.o: $(B)/build_info.h

# The page's looks and script are built into the report program by .incbin.
$(B)/scripts/tools/report/assets.o: $(wildcard $(addprefix scripts/tools/report/*.,html css js))

# So are all tables of a kind, by a list of them; a table is found by being in the folder.
# $1: folder, $2: ending, $3: macro that takes a file.
define built_in_rule
$(B)/$1/built_in.o: $(B)/$2_files.h $(wildcard $1/*.$2)
$(B)/$2_files.h: FORCE
	$$(call write_if_changed,$(foreach t,$(sort $(wildcard $1/*.$2)),$3("$t")))
endef
$(eval $(call built_in_rule,collectives/tuning,tuning,FB_TUNING_FILE))
$(eval $(call built_in_rule,overlap/model,model,FB_NN_FILE))
$(eval $(call built_in_rule,kvtransfer/paths,paths,FB_PATHS_FILE))

# --- sources -------------------------------------------------------------------------------------

ALL_SRC := $(sort $(wildcard $(FOLDERS:=/*.c) $(FOLDERS:=/*/*.c) $(FOLDERS:=/*/*/*.c)))
# Files that include CUDA's headers, and what takes their place without them.
CUDA_SRC := $(filter common/cuda/cuda_% common/mover/gpu/% collectives/engine/cuda/cuda_% \
	collectives/engine/copy/cuda_% collectives/engine/multimem/cuda_% \
	p2p/engine/copy/cuda_% p2p/engine/cuda/cuda_% kvtransfer/cuda_% overlap/gpu/cuda_% \
	p2p/local/cuda_% p2p/cost/cuda_%,$(ALL_SRC))
ALL_SRC := $(filter-out $(if $(HAVE_CUDA),common/cuda/without.c,$(CUDA_SRC)),$(ALL_SRC))
CU_SRC := $(if $(HAVE_CUDA),$(sort $(wildcard common/cuda/*.cu common/mover/gpu/*.cu \
	collectives/engine/*/*.cu p2p/engine/cuda/*.cu kvtransfer/*.cu overlap/gpu/*.cu)))
PROGRAM_SRC := $(filter $(PROGRAMS:=.c),$(ALL_SRC))
LIB_SRC := $(filter-out $(PROGRAM_SRC),$(ALL_SRC))
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
# Those of tests/vm need an RDMA device, which a virtual machine has.
MPITEST_SRC := $(sort $(wildcard tests/mpi/*.c tests/vm/*.c))
# Libraries that tests load in place of real ones.
FAKE_SRC := $(sort $(wildcard tests/fake/lib*.c))
# A CUDA runtime for machines without a GPU, and the programs linked with it.
FAKE_CUDA_SRC := $(if $(HAVE_CUDA),$(sort $(wildcard tests/fake/cudart*.c)))
# A parser each, fed by libFuzzer (make fuzz) or by replay.c.
FUZZ_SRC := $(sort $(wildcard tests/fuzz/*.c))
TOOL_SRC := $(sort $(wildcard scripts/tools/*.c))
TOOLLIB_SRC := $(sort $(wildcard scripts/tools/*/*.c))

# Analysis tools use libcsv for result files, and jansson for the JSON of other programs; nothing
# else needs them. Sources that include the header of one that is missing are not built;
# a program says by it that it needs the library.
# $1: header, $2: library. The hash by a variable: inside of a function, make 4.3 keeps the
# backslash of an escaped one.
HASH := \#
has_header = $(shell echo '$(HASH)include <$1>' | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 && echo $1)
BUILDS := $(filter-out help clean run test test-full lint fuzz,$(or $(MAKECMDGOALS),all))
define use_library
ifneq ($(call has_header,$1),)
TOOL_LIBRARIES += -l$2
else
WITHOUT := $(shell grep -l 'include <$1>' /dev/null $(TOOL_SRC) $(TOOLLIB_SRC) $(UNIT_SRC))
$$(if $$(WITHOUT),$$(if $(BUILDS),$$(info fabricbench: no $1 (lib$2): not built: $$(WITHOUT))))
TOOL_SRC := $$(filter-out $$(WITHOUT),$$(TOOL_SRC))
TOOLLIB_SRC := $$(filter-out $$(WITHOUT),$$(TOOLLIB_SRC))
UNIT_SRC := $$(filter-out $$(WITHOUT),$$(UNIT_SRC))
endif
endef
TOOL_LIBRARIES :=
$(eval $(call use_library,csv.h,csv))
$(eval $(call use_library,jansson.h,jansson))
# Sources that ask for one of these are built again when it appears.
HEADERS = $(foreach h,infiniband/verbs.h rdma/rdma_cma.h rdma/fi_rma.h,$(call has_header,$h))

# Open MPI unloads its plugins before the leak check, which then cannot name their frames.
SANITIZE_SRC := $(if $(SANITIZER),tests/sanitize/nodlclose.c)

object = $(1:%.c=$(B)/%.o)
# Device code knows neither MPI nor its build folder's flags: both families share it.
CU_OBJECTS := $(CU_SRC:%.cu=build/cuda/%.o)
LIB := $(B)/libfabricbench.a
TOOLLIB := $(if $(TOOLLIB_SRC),$(B)/libfabricbench-tools.a)
# Plugins for NCCL of any job: they use nothing of the program, which may have such names as well.
PLUGIN := $(B)/libfabricbench-nccl.so
BIN := $(addprefix $(B)/bin/,$(notdir $(PROGRAM_SRC:.c=)))
TOOLS := $(addprefix $(B)/bin/,$(notdir $(TOOL_SRC:.c=)))
UNIT := $(addprefix $(B)/tests/,$(notdir $(UNIT_SRC:.c=)))
MPITESTS := $(addprefix $(B)/tests/,$(notdir $(MPITEST_SRC:.c=)))
FAKES := $(addprefix $(B)/tests/,$(notdir $(FAKE_SRC:.c=.so)))
FUZZERS := $(if $(filter -ljansson,$(TOOL_LIBRARIES)),$(addprefix $(B)/tests/fuzz/,$(filter-out \
	replay,$(notdir $(FUZZ_SRC:.c=)))))
FAKE_GPU_TESTS := $(addprefix tests/mpi/,test_mover.c test_store.c test_gpu_hold.c)
FAKE_GPU := $(if $(FAKE_CUDA_SRC),$(addprefix $(B)/tests/fake_gpu/,$(notdir \
	$(PROGRAM_SRC:.c=) $(FAKE_GPU_TESTS:.c=))))
EVERY_SRC := $(ALL_SRC) $(UNIT_SRC) $(MPITEST_SRC) $(FAKE_SRC) $(FAKE_CUDA_SRC) $(FUZZ_SRC) \
	$(TOOL_SRC) $(TOOLLIB_SRC) $(SANITIZE_SRC)

# --- rules ---------------------------------------------------------------------------------------

ifeq ($(V),0)
Q := @
say = @printf '  %-5s %s\n' $1 '$2'
endif

# Device code first: it takes longest, and with -j the rest goes on beside it.
all: $(CU_OBJECTS) $(BIN) $(TOOLS) $(LIB) $(PLUGIN) ## build all programs and tools
all: $(if $(SANITIZER),,compile_commands.json)

tests: all $(UNIT) $(MPITESTS) $(FAKES) $(FAKE_GPU) $(FUZZERS) ## build the test programs too
fuzzers: $(FUZZERS)
# What tests/run uses of the MPI that is not the default one, and with sanitizers.
mpi_tests: $(MPITESTS) $(FAKES)
sanitized_tests: mpi_tests $(UNIT) $(FUZZERS) $(BIN)

$(B)/%.o: %.c $(B)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(MPICC) $(COMPILE_FLAGS) $(OPTIMISE) -MMD -MP -c $< -o $@

# The tools run where there is no MPI, so they are compiled and linked without it.
$(B)/scripts/tools/import/formats.o: $(B)/libraries
$(call object,$(TOOL_SRC) $(TOOLLIB_SRC)): $(B)/%.o: %.c $(B)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMPILE_FLAGS) -MMD -MP -c $< -o $@

build/cuda/%.o: %.cu build/cuda/flags
	$(call say,NVCC,$<)
	@mkdir -p $(@D)
	$(Q)$(NVCC) $(NVCC_FLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

$(LIB): $(call object,$(LIB_SRC)) $(CU_OBJECTS) $(B)/sources
$(TOOLLIB): $(call object,$(TOOLLIB_SRC)) $(B)/sources
$(LIB) $(TOOLLIB):
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

# $1: program, $2: its source, $3: linker
define link_rule
$1: $(call object,$2 $(SANITIZE_SRC)) $(if $(filter scripts/% tests/%,$2),$(TOOLLIB)) $(LIB)
	$$(call say,LINK,$$@)
	@mkdir -p $$(@D)
	$$(Q)$3 $$(LINK_FLAGS) -o $$@ $$(filter %.o %.a,$$^) $$(LIBRARIES)
endef
link = $(foreach s,$2,$(eval $(call link_rule,$(B)/$1/$(notdir $(s:.c=)),$s,$3)))
$(call link,bin,$(PROGRAM_SRC),$(MPICC))
$(call link,bin,$(TOOL_SRC),$(CC))
$(call link,tests,$(UNIT_SRC) $(MPITEST_SRC),$(MPICC))
$(B)/tests/rdma_loops: LINK_FLAGS += -Wl,--wrap=fb_raw_ping_pong,--wrap=fb_raw_drive_alone
$(TOOLS) $(UNIT): LIBRARIES += $(TOOL_LIBRARIES)

define fake_gpu_rule
$(B)/tests/fake_gpu/$(notdir $(1:.c=)): $(call object,$1 $(FAKE_CUDA_SRC)) $(LIB)
	$$(call say,LINK,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(MPICC) $$(LINK_FLAGS) -o $$@ $$(filter %.o %.a,$$^) \
		$$(filter-out $(CUDART),$$(LIBRARIES))
endef
$(foreach s,$(if $(FAKE_GPU),$(PROGRAM_SRC) $(FAKE_GPU_TESTS)),$(eval $(call fake_gpu_rule,$s)))

FUZZ_DRIVER := $(if $(filter fuzz,$(SANITIZE)),,$(B)/tests/fuzz/replay.o)
$(FUZZERS): LIBRARIES += $(TOOL_LIBRARIES) $(if $(FUZZ_DRIVER),,-fsanitize=fuzzer)
$(FUZZERS): $(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(FUZZ_DRIVER) $(TOOLLIB) $(LIB)
	$(call say,LINK,$@)
	$(Q)$(MPICC) $(LINK_FLAGS) -o $@ $(filter %.o %.a,$^) $(LIBRARIES)

$(PLUGIN): $(wildcard $(addprefix common/library/nccl/,profiler*.[ch] tuner.[ch])) $(B)/flags
	$(call say,LINK,$@)
	$(Q)$(CC) $(COMPILE_FLAGS) $(OPTIMISE) -fPIC -shared -Wl,-Bsymbolic -o $@ $(filter %.c,$^) \
		-lpthread

include common/mover/nvshmem/kernels.mk

$(UNIT): | $(FAKES)
$(FAKES): $(B)/tests/%.so: tests/fake/%.c $(wildcard tests/fake/* common/mover/*.h) $(B)/flags
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(MPICC) $(COMPILE_FLAGS) -fPIC -shared -o $@ $<

# Files that are rewritten only when their text changes, so that what depends on them is rebuilt
# exactly then. make expands a whole recipe first, hence the mkdir; another make has another NEW.
NEW := new.$(shell echo $$PPID)
define write_if_changed
	$(shell mkdir -p $(@D))$(file >$@.$(NEW),$1)
	@cmp -s $@.$(NEW) $@ && rm $@.$(NEW) || mv $@.$(NEW) $@
endef

NO_MPI = no MPI compiler found ($(or $(MPI),mpicc)): run `scripts/setup build`, or set MPICC=

# -Werror changes no object, so that `make run` and `make test` can share them.
$(B)/flags: FORCE
	$(if $(MPICC),,$(error $(NO_MPI)))
	$(call write_if_changed,$(filter-out -Werror,$(CC) $(MPICC) $(COMPILE_FLAGS) \
		$(LINK_FLAGS) $(HEADERS)))
$(B)/libraries: FORCE
	$(call write_if_changed,$(TOOL_LIBRARIES))
$(B)/sources: FORCE
	$(call write_if_changed,$(EVERY_SRC) $(CU_SRC))
build/cuda/flags: FORCE
	$(call write_if_changed,$(filter-out -Werror all-warnings,$(NVCC) $(NVCC_FLAGS)))
$(B)/build_info.h: FORCE
	$(call write_if_changed,$(BUILD_INFO))

# For editors and clang-tidy, which do not ask the wrapper: its include folders are written out.
compile_commands.json: $(B)/flags $(B)/sources
	$(call say,GEN,$@)
	@flags='$(filter -I%,$(shell $(MPICC) -show)) $(COMPILE_FLAGS)'; sep='['; \
	for f in $(EVERY_SRC); do \
		printf '%s\n{"directory": "%s", "file": "%s", "command": "%s -c %s"}' "$$sep" \
			'$(CURDIR)' "$$f" "$(CC) $$flags" "$$f"; sep=','; \
	done >$(B)/$@.$(NEW); printf '\n]\n' >>$(B)/$@.$(NEW); mv $(B)/$@.$(NEW) $@

run: ## set up, build and run the quick study (NP=4 ranks)
	@scripts/run

test: ## set up, build with both MPIs, run the tests and lint
	@scripts/setup test
	@tests/run

test-full: ## all ranks with both MPIs, whole ranges, deep analysis: four times as long as test
	@scripts/setup test
	@FB_LINT_DEEP=1 tests/run --full

test-rdma: ## the RDMA tests only, in a virtual machine
	@scripts/setup test
	@tests/run --full --no-asan -k '^vm/'

test-gpu: ## on a machine with GPUs: build and run the GPU suite
	@tests/gpu/run

check: tests ## build and run the unit tests only
	@tests/run --unit --no-build

fuzz: ## feed every parser with made-up input, FUZZ_SECONDS=10 each (needs clang)
	@$(MAKE) SANITIZE=fuzz CC=clang fuzzers
	@tests/fuzz/run -s $(or $(FUZZ_SECONDS),10)

lint: compile_commands.json ## static analysis and the rules of the code base
	@FB_LINT_DEEP=1 tests/lint

asan tsan: ## build everything with sanitizers into build/<mpi>-asan or -tsan
	@$(MAKE) SANITIZE=$@ tests

install: all ## install below PREFIX=/usr/local (DESTDIR= for packages)
	@scripts/install '$(DESTDIR)$(PREFIX)' $(B) $(notdir $(BIN) $(TOOLS))

clean: ## remove everything that was built
	rm -rf build compile_commands.json

help: ## this list
	@echo 'make [MPI=openmpi|mpich] [CC=] [CFLAGS=] [CUDA=no] [WERROR=1] [V=1] TARGET'
	@sed -n 's/^\([a-z][a-z -]*\):.*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		awk -F'|' '{ printf "%-12s %s\n", $$1, $$2 }'

-include $(patsubst %.o,%.d,$(call object,$(EVERY_SRC)) $(CU_OBJECTS))
