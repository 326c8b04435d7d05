# SPDX-License-Identifier: BSD-3-Clause
# For the Makefile: kernels that call NVSHMEM's device functions, where NVSHMEM_HOME has its headers
# and libraries. They are a library of their own, as they have to be linked with NVSHMEM.
NVSHMEM_KERNELS := $(if $(HAVE_CUDA),$(if $(wildcard $(NVSHMEM_HOME)/lib/libnvshmem_device.a),\
	$(B)/libfabricbench-nvshmem.so))

all: $(NVSHMEM_KERNELS)

$(NVSHMEM_KERNELS): $(addprefix common/mover/,nvshmem/kernels.cu nvshmem/kernels.h gpu/launch.h)
	$(call say,NVCC,$@)
	@mkdir -p $(@D)
	$(Q)$(NVCC) -std=c++17 -O3 -I. -isystem $(NVSHMEM_HOME)/include -Xcompiler -fPIC \
		--compiler-bindir $(or $(CUDAHOSTCXX),g++) -rdc=true -shared \
		$(foreach a,$(or $(CUDA_CHOSEN),90),$(call cuda_code,$a,sm)) -o $@ $< \
		-L$(NVSHMEM_HOME)/lib -lnvshmem_device -l:libnvshmem_host.so.3
