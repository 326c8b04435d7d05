/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts: from a made-up machine under a folder (so that adapters and GPUs are tested where there
 * are none), from this process itself, and the rule that no secret is ever written.
 */
#include "common/base/error.h"
#include "common/system/environment.h"
#include "tests/unit/check.h"
#include "tests/unit/csv_example.h"

/* The machine: files and what they hold. */
static const struct {
	const char *path, *text;
} files[] = {
	{"/etc/os-release", "NAME=\"Some\"\nPRETTY_NAME=\"Some Linux 12\"\n"},
	{"/proc/loadavg", "0.50 1.25 2.00 3/456 7890\n"},
	{"/proc/cpuinfo",
	 "processor\t: 0\ncpu family\t: 6\nmodel name\t: Fast CPU @ 3 GHz\n"
	 "microcode\t: 0x1\ncpu MHz\t\t: 2500.125\nflags\t\t: fpu hypervisor lm\n"},
	{"/proc/meminfo", "MemTotal:       1024 kB\nMemAvailable:   512 kB\nHugePages_Total: 4\n"
			  "HugePages_Free: 2\nHugepagesize:       2048 kB\n"},
	{"/proc/self/status", "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t1-3,5\n"
			      "Mems_allowed_list:\t0-1\n"},
	{"/proc/self/cgroup", "0::/job/7\n"},
	{"/proc/1/cgroup", "0::/kubepods/pod1\n"},
	{"/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX 550.1\nGCC version: 12\n"},
	{"/proc/driver/nvidia/gpus/0000:01:00.0/information",
	 "Model: \t Big GPU\nIRQ: 1\nVideo BIOS: \t 96.00.1\nGPU Firmware: \t 570.1\n"},
	{"/proc/sys/kernel/numa_balancing", "1\n"},
	{"/sys/fs/cgroup/cpu.max", "max 100000\n"},
	{"/sys/fs/cgroup/job/7/cpu.max", "200000 100000\n"},
	{"/sys/fs/cgroup/memory.max", "max\n"},
	{"/sys/devices/system/cpu/online", "0-7\n"},
	{"/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"},
	{"/sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq", "3000000\n"},
	{"/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2900000\n"},
	{"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"},
	{"/sys/devices/system/node/online", "0-1\n"},
	{"/sys/devices/system/node/node0/cpulist", "0-3\n"},
	{"/sys/devices/system/node/node1/cpulist", "4-7\n"},
	{"/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"},
	{"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
	{"/sys/kernel/mm/transparent_hugepage/shmem_enabled",
	 "always within_size advise [never] deny force\n"},
	{"/sys/bus/pci/devices/0000:03:00.0/vendor", "0x15b3\n"},
	{"/sys/bus/pci/devices/0000:03:00.0/device", "0x2100\n"},
	{"/sys/bus/pci/devices/0000:04:00.0/vendor", "0x15b3\n"},
	{"/sys/bus/pci/devices/0000:04:00.0/device", "0x1021\n"},
	{"/sys/bus/pci/devices/0000:05:00.0/vendor", "0x10de\n"},
	{"/sys/bus/pci/devices/0000:05:00.0/device", "0x2100\n"},
	{"/sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002\n"},
	{"/sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n"},
	{"/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"},
	{"/sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n"},
	{"/sys/class/infiniband/mlx5_0/ports/2/state", "1: DOWN\n"},
	{"/sys/class/infiniband/mlx5_0/ports/1/gids/0",
	 "fe80:0000:0000:0000:0000:0000:0000:0001\n"},
	{"/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0", "IB/RoCE v1\n"},
	{"/sys/class/infiniband/mlx5_0/ports/1/gids/1",
	 "fe80:0000:0000:0000:0000:0000:0000:0001\n"},
	{"/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/1", "RoCE v2\n"},
	{"/sys/class/infiniband/mlx5_0/ports/1/gids/2",
	 "0000:0000:0000:0000:0000:0000:0000:0000\n"},
	{"/sys/class/infiniband/mlx5_0/device/current_link_width", "8\n"},
	{"/sys/class/infiniband/mlx5_0/device/max_link_width", "16\n"},
	{"/sys/module/ib_uverbs/refcnt", "2\n"},
	{"/sys/module/ib_core/parameters/netns_mode", "N\n"},
	{"/sys/module/mlx5_core/version", "24.10-1.1.4\n"},
	{"/sys/module/mlx_compat/version", "x\n"},
	{"/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth2\n"},
	{"/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/1", "eth2.7\n"},
	{"/sys/class/infiniband/mlx5_0/ports/1/lid", "0x11\n"},
	{"/sys/class/infiniband/mlx5_0/ports/1/sm_lid", "0x1\n"},
	{"/sys/class/infiniband/mlx5_0/ports/1/pkeys/0", "0xffff\n"},
	{"/sys/class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass=106\n"},
	{"/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos", "106\n"},
	{"/sys/class/infiniband/mlx5_0/device/infiniband_verbs/uverbs0/dev", "231:192\n"},
	{"/dev/infiniband/uverbs0", ""},
	{"/sys/class/infiniband/mlx5_0/device/physfn/vendor", "0x15b3\n"},
	{"/sys/class/infiniband/mlx5_0/device/numa_node", "1\n"},
	{"/sys/class/infiniband/mlx5_0/device/msi_irqs/31", "msix\n"},
	{"/sys/class/infiniband/mlx5_0/device/msi_irqs/32", "msix\n"},
	{"/sys/class/infiniband/mlx5_0/device/msi_irqs/33", "msix\n"},
	{"/sys/class/infiniband/mlx5_0/device/msi_irqs/34", "msix\n"},
	{"/proc/irq/31/effective_affinity_list", "5\n"},
	{"/proc/irq/32/effective_affinity_list", "3\n"},
	{"/proc/irq/33/effective_affinity_list", "\n"},
	{"/proc/irq/33/smp_affinity_list", "3-4\n"},
	{"/sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0/infiniband_verbs/uverbs1/dev", "1:2\n"},
	{"/sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0/sriov_numvfs", "4\n"},
	{"/sys/class/infiniband/mlx5_1/fw_ver", "28.39.1002\n"},
	{"/sys/class/net/eth2/ecn/roce_np/enable/0", "0\n"},
	{"/sys/class/net/eth2/ecn/roce_np/enable/3", "1\n"},
	{"/sys/class/net/eth2/ecn/roce_np/enable/5", "1\n"},
	{"/sys/class/net/eth2/ecn/roce_rp/enable/3", "0\n"},
	{"/var/run/secrets/kubernetes.io/serviceaccount/namespace", "jobs"},
	{"/dev/nvidia-nvswitchctl", ""},
	{"/proc/71/comm", "sharpd\n"},
	{"/proc/72/comm", "nv-fabricmanage\n"},
	{"/proc/73/comm", "bash\n"},
	{"/run/.containerenv", "engine=\"podman-5\"\nimage=\"some/image:1\"\n"},
	{"/etc/nccl.conf", "# site\nNCCL_IB_TC=106\nNCCL_ALGO=Ring\nNCCL_DEBUG=WARN\n"},
	{"/home/me/.nccl.conf", "NCCL_ALGO=Tree\nOTHER=hidden\nNCCL_TOKEN=hidden\n"},
	{"/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"},
	{"/sys/class/net/eth0/mtu", "9000\n"},
	{"/sys/class/net/eth0/speed", "100000\n"},
	{"/sys/class/net/eth0/operstate", "up\n"},
	{"/sys/class/net/lo/mtu", "65536\n"},
};

static const struct {
	const char *key, *value; /* value NULL: must not be there */
} facts_of_machine[] = {
	{"os.name", "Some Linux 12"},
	{"host.load_average", "0.50 1.25 2.00"},
	{"machine.virtual", "yes"},
	{"clock.source", "tsc"},
	{"container.engine", "kubernetes"},
	{"cgroup.cpu_max", "200000 100000"},
	{"cgroup.memory_max", "max"},
	{"cpu.model", "Fast CPU @ 3 GHz"},
	{"cpu.microcode", "0x1"},
	{"cpu.online", "0-7"},
	{"bind.cpus", "1-3,5"},
	{"bind.numa_nodes", "0-1"},
	{"cpu.governor", "performance"},
	{"cpu.frequency_max_kHz", "3000000"},
	{"cpu.frequency_min_kHz", NULL},
	{"host.cpu_frequency_kHz", "2900000"},
	{"numa.nodes", "0-1"},
	{"numa.node1.cpus", "4-7"},
	{"numa.balancing", "1"},
	{"memory.total", "1024 kB"},
	{"host.memory_available", "512 kB"},
	{"memory.huge_pages", "4"},
	{"memory.thp", "madvise"},
	{"memory.thp_shmem", "never"},
	{"infiniband.mlx5_0.firmware", "28.39.1002"},
	{"infiniband.mlx5_0.port1.rate", "400 Gb/sec (4X NDR)"},
	{"infiniband.mlx5_0.port1.state", "4: ACTIVE"},
	{"infiniband.mlx5_0.port1.link_layer", "InfiniBand"},
	{"infiniband.mlx5_0.port2.state", "1: DOWN"},
	{"infiniband.mlx5_0.port2.rate", NULL},
	{"infiniband.mlx5_0.port1.gids", "RoCE v2 1, others 1"},
	{"infiniband.mlx5_0.pci_lanes", "8 of 16"},
	{"device.infiniband", "there"},
	{"device.infiniband_namespaces", "exclusive"},
	{"module.mlx5_core.origin", "the vendor's package 24.10-1.1.4"},
	{"infiniband.mlx5_0.port1.interfaces", "eth2 eth2.7"},
	{"infiniband.mlx5_0.port1.lid", "0x11"},
	{"infiniband.mlx5_0.port1.sm_lid", "0x1"},
	{"infiniband.mlx5_0.port1.pkey", "0xffff"},
	{"infiniband.mlx5_0.port1.subnet_prefix", "fe80:0000:0000:0000"},
	{"infiniband.mlx5_0.port1.traffic_class", "Global tclass=106"},
	{"infiniband.mlx5_0.port1.cm_type_of_service", "106"},
	{"infiniband.mlx5_0.device_file", "uverbs0: opens"},
	{"infiniband.mlx5_1.device_file", "uverbs1: No such file or directory"},
	{"infiniband.mlx5_0.function", "virtual"},
	{"infiniband.mlx5_1.function", "physical, with 4 virtual ones"},
	{"infiniband.mlx5_0.interrupts_near", "1 of 3"},
	{"infiniband.mlx5_1.interrupts_near", NULL},
	{"infiniband.mlx5_0.pci_path", NULL},
	{"infiniband.mlx5_1.pci_path", "pci0000:00/0000:00:01.0/0000:02:00.0"},
	{"network.eth2.ecn_receiver", "3,5"},
	{"network.eth2.ecn_sender", "none"},
	{"network.eth0.ecn_sender", NULL},
	{"device.data_direct", "0000:03:00.0"},
	{"device.nvswitch", "there"},
	{"daemon.sharpd", "running"},
	{"daemon.nv-fabricmanager", "running"},
	{"daemon.opensm", NULL},
	{"container.image", "some/image:1"},
	{"nccl.conf_files", "~/.nccl.conf, /etc/nccl.conf"},
	{"nccl.conf.NCCL_ALGO", "Tree"},
	{"nccl.conf.NCCL_IB_TC", "106"},
	{"nccl.conf.NCCL_DEBUG", NULL},
	{"nccl.conf.NCCL_TOKEN", "(withheld)"},
	{"nccl.conf.OTHER", NULL},
	{"gpu.0000:01:00.0.vbios", "96.00.1"},
	{"gpu.0000:01:00.0.firmware", "570.1"},
	{"module.ib_uverbs", "loaded"},
	{"module.nvidia_peermem", NULL},
	{"network.port_range", "32768 60999"},
	{"network.eth0.mtu", "9000"},
	{"network.eth0.speed_Mbps", "100000"},
	{"network.eth0.state", "up"},
	{"network.lo.mtu", NULL},
	{"nvidia.driver", "NVRM version: NVIDIA UNIX 550.1"},
	{"nvidia.gpu.0000:01:00.0", "Big GPU"},
};

static void test_machine(const char *root)
{
	struct fb_facts facts = {.item = NULL};
	char path[1024];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, files[i].path);
		*strrchr(path, '/') = '\0';
		CHECK_INT(fb_make_folder(path, NULL), FB_OK);
		snprintf(path, sizeof(path), "%s%s", root, files[i].path);
		example_write(path, files[i].text);
	}
	/* The kernel has a link where an adapter's device is. */
	snprintf(path, sizeof(path), "%s/sys/class/infiniband/mlx5_1/device", root);
	CHECK_INT(symlink("../../../devices/pci0000:00/0000:00:01.0/0000:02:00.0", path), 0);
	unsetenv("NCCL_CONF_FILE");
	unsetenv("NCCL_TOPO_FILE");
	setenv("HOME", "/home/me", 1);
	setenv("NCCL_DEBUG", "INFO", 1);
	fb_environment_collect(&facts, root);
	CHECK(!fb_facts_get(&facts, "nccl.topology_file"));
	setenv("NCCL_CONF_FILE", "/etc/nccl.conf", 1);
	setenv("NCCL_TOPO_FILE", "/etc/nccl.conf", 1);
	setenv("FB_IMAGE", "registry/image:2", 1);
	CHECK(!facts.failed);
	for (size_t i = 0; i < sizeof(facts_of_machine) / sizeof(facts_of_machine[0]); i++) {
		const char *got = fb_facts_get(&facts, facts_of_machine[i].key);

		if (!CHECK(!strcmp(got ? got : "(none)", facts_of_machine[i].value
								 ? facts_of_machine[i].value
								 : "(none)")))
			printf("\t%s: got '%s'\n", facts_of_machine[i].key, got ? got : "(none)");
	}
	fb_facts_free(&facts);
	fb_environment_collect(&facts, root);
	CHECK_STR(fb_facts_get(&facts, "nccl.conf_files"), "NCCL_CONF_FILE, /etc/nccl.conf");
	CHECK_STR(fb_facts_get(&facts, "nccl.conf.NCCL_ALGO"), "Ring");
	CHECK_STR(fb_facts_get(&facts, "container.image"), "registry/image:2");
	CHECK_STR(fb_facts_get(&facts, "nccl.topology_file"), "NCCL_TOPO_FILE: 53 bytes");
	fb_facts_free(&facts);
	setenv("NCCL_TOPO_FILE", "/no/such.xml", 1);
	fb_environment_collect(&facts, root);
	CHECK_STR(fb_facts_get(&facts, "nccl.topology_file"),
		  "NCCL_TOPO_FILE: No such file or directory");
	fb_facts_free(&facts);
	unsetenv("NCCL_TOPO_FILE");
	unsetenv("NCCL_CONF_FILE");
	unsetenv("NCCL_DEBUG");
	unsetenv("FB_IMAGE");
	snprintf(path, sizeof(path), "%s/nothing", root);
	fb_environment_collect(&facts, path);
	CHECK(!facts.failed);
	CHECK(fb_facts_get(&facts, "cpu.model") == NULL);
	CHECK(fb_facts_get(&facts, "hostname") != NULL);
	fb_facts_free(&facts);
}

/* This very process: whatever the machine, these are known. */
static void test_process(void)
{
	static const char *const known[] = {
		"hostname",	    "os.kernel",    "machine.architecture", "cpu.count",
		"bind.cpus",	    "memory.total", "build.version",	    "build.revision",
		"build.compiler",   "build.flags",  "library.libc.version", "binary.file",
		"container.engine",
	};
	struct fb_facts facts = {.item = NULL};
	const char *id;

	fb_environment_collect(&facts, "");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!CHECK(fb_facts_get(&facts, known[i])))
			printf("\t%s is missing\n", known[i]);
	id = fb_facts_get(&facts, "library.libc.build_id");
	CHECK(!id || strspn(id, "0123456789abcdef") == strlen(id));
	if (fb_facts_get(&facts, "library.libc.path"))
		CHECK(fb_facts_get(&facts, "library.libc.path")[0] == '/');
	for (size_t i = 0; i < facts.count; i++) {
		CHECK(facts.item[i].value[0] != '\0');
		CHECK(!strpbrk(facts.item[i].value, "\n\r\t"));
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(facts.item[i].key, facts.item[j].key) != 0);
	}
	fb_facts_free(&facts);
}

static void test_variables(void)
{
	char *const variables[] = {
		(char[]){"NCCL_ALGO=Ring"},
		(char[]){"UCX_TLS=rc,cuda_copy"},
		(char[]){"OMPI_MCA_btl=self"},
		(char[]){"LD_LIBRARY_PATH=/opt/lib"},
		(char[]){"LD_PRELOAD="},
		(char[]){"SLURM_JOB_ID=17"},
		(char[]){"SLURM_CPUS_PER_TASK=4"},
		(char[]){"SLURM_TOPOLOGY_ADDR=top.left.h0"},
		(char[]){"OMP_NUM_THREADS=2"},
		(char[]){"FB_NOTE=a\nb=c"},
		(char[]){"PATH=/hidden1"},
		(char[]){"HOME=/hidden2"},
		(char[]){"MY_NCCL_ALGO=hidden3"},
		(char[]){"SLURM_JWT=hidden4"},
		(char[]){"AWS_SECRET_ACCESS_KEY=hidden5"},
		(char[]){"OMPI_MCA_orte_precondition_transports=hidden6"},
		(char[]){"SLURM_JOB_USER=hidden7"},
		(char[]){"NCCL_API_KEY=hidden8"},
		(char[]){"UCX_ACCESS_TOKEN=hidden9"},
		(char[]){"FB_DB_PASSWORD=hidden10"},
		(char[]){"CUDA_SECRET=hidden11"},
		(char[]){"FB_secret_thing=hidden12"},
		(char[]){"NCCL_CONF=token=hidden13"},
		(char[]){"NCCL_PROXY=http://me:hidden14@host/"},
		(char[]){"FB_CERT=-----BEGIN hidden15"},
		(char[]){"UCX_X=Password:hidden16"},
		(char[]){"NOEQUALS"},
		(char[]){"=odd"},
		NULL,
	};
	struct fb_facts facts = {.item = NULL};
	size_t withheld = 0;

	fb_environment_variable(&facts, variables);
	CHECK_STR(fb_facts_get(&facts, "variable.NCCL_ALGO"), "Ring");
	CHECK_STR(fb_facts_get(&facts, "variable.UCX_TLS"), "rc,cuda_copy");
	CHECK_STR(fb_facts_get(&facts, "variable.OMPI_MCA_btl"), "self");
	CHECK_STR(fb_facts_get(&facts, "variable.LD_LIBRARY_PATH"), "/opt/lib");
	CHECK_STR(fb_facts_get(&facts, "variable.LD_PRELOAD"), "(empty)");
	CHECK_STR(fb_facts_get(&facts, "variable.SLURM_JOB_ID"), "17");
	CHECK_STR(fb_facts_get(&facts, "variable.SLURM_CPUS_PER_TASK"), "4");
	CHECK_STR(fb_facts_get(&facts, "variable.SLURM_TOPOLOGY_ADDR"), "top.left.h0");
	CHECK_STR(fb_facts_get(&facts, "variable.FB_NOTE"), "a b=c");
	for (size_t i = 0; i < facts.count; i++) {
		CHECK(!strstr(facts.item[i].value, "hidden"));
		withheld += !strcmp(facts.item[i].value, "(withheld)");
	}
	CHECK_INT(withheld, 9);
	CHECK_INT(facts.count, 9 + 10);
	CHECK(!fb_environment_secret("NCCL_ALGO", "Ring"));
	CHECK(!fb_environment_secret("UCX_TLS", "tcp://host:1"));
	CHECK(fb_environment_secret("ncclKey", "x"));
	fb_environment_variable(&facts, NULL);
	CHECK_INT(fb_environment_misspelt(variables), 0);
	fb_facts_free(&facts);
}

/* A variable set in the real environment must not leak by any other way either. */
static void test_no_leak(void)
{
	struct fb_facts facts = {.item = NULL};

	setenv("NCCL_SECRET_TOKEN", "tell-nobody-1", 1);
	setenv("PRIVATE_THING", "tell-nobody-2", 1);
	fb_environment_collect(&facts, "");
	for (size_t i = 0; i < facts.count; i++)
		CHECK(!strstr(facts.item[i].value, "tell-nobody"));
	CHECK_STR(fb_facts_get(&facts, "variable.NCCL_SECRET_TOKEN"), "(withheld)");
	fb_facts_free(&facts);
}

static void test_list(void)
{
	struct fb_facts facts = {.item = NULL};
	char *bytes = NULL, key[32];
	size_t length = 0;

	fb_facts_add(&facts, "a", " %d\n\tx ", 5);
	fb_facts_add(&facts, "b", "%s", "");
	fb_facts_add(&facts, "c", "   ");
	fb_facts_add(&facts, "d", "1");
	fb_facts_add(&facts, "a", "%s", "6");
	CHECK_INT(facts.count, 2);
	CHECK_STR(fb_facts_get(&facts, "a"), "6");
	CHECK(fb_facts_get(&facts, "b") == NULL && fb_facts_get(&facts, "zz") == NULL);
	CHECK_INT(fb_facts_pack(&facts, &bytes, &length), FB_OK);
	CHECK_INT(length, 8);
	CHECK(!memcmp(bytes, "a\0006\0d\0001\0", 8));
	free(bytes);
	for (int i = 0; i < 500; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		fb_facts_add(&facts, key, "%d", i);
	}
	CHECK_INT(facts.count, 502);
	CHECK_STR(fb_facts_get(&facts, "k499"), "499");
	fb_facts_free(&facts);
	CHECK_INT(fb_facts_pack(&facts, &bytes, &length), FB_OK);
	CHECK_INT(length, 0);
	free(bytes);
	fb_facts_free(&facts);
}

int main(void)
{
	char *root = example_folder();

	if (!root) {
		printf("SKIP environment: no folder for temporary files\n");
		return CHECK_SKIP;
	}
	test_list();
	test_machine(root);
	test_process();
	test_variables();
	test_no_leak();
	example_remove(root);
	return check_done("environment");
}
