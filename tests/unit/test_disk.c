/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a folder lies on, from a made-up /sys with the kernel's links: NVMe on PCIe, behind a DPU
 * and on a network, parts of disks, devices made of others, and disks of virtual machines. And its
 * file system, from made-up tables of mounts: NFS, which has no disk, and one that names its disk.
 */
#include <sys/sysmacros.h>

#include "common/base/error.h"
#include "common/system/environment.h"
#include "common/system/mount.h"
#include "tests/unit/check.h"
#include "tests/unit/csv_example.h"

#define PCI	"/sys/devices/pci0000:00/"
#define VIRTUAL "/sys/devices/virtual/"

static const struct {
	const char *path, *text;
} files[] = {
	{PCI "0000:41:00.0/nvme/nvme0/transport", "pcie\n"},
	{PCI "0000:41:00.0/nvme/nvme0/address", "0000:41:00.0\n"},
	{PCI "0000:41:00.0/nvme/nvme0/model", "Fast SSD\n"},
	{PCI "0000:41:00.0/nvme/nvme0/device/vendor", "0x144d\n"},
	{PCI "0000:41:00.0/nvme/nvme0/nvme0n1/nvme0n1p1/partition", "1\n"},
	{PCI "0000:42:00.0/nvme/nvme1/transport", "pcie\n"},
	{PCI "0000:42:00.0/nvme/nvme1/address", "0000:42:00.0\n"},
	{PCI "0000:42:00.0/nvme/nvme1/model", "Some\n"},
	{PCI "0000:42:00.0/nvme/nvme1/device/vendor", "0x15b3\n"},
	{PCI "0000:42:00.0/nvme/nvme1/nvme1n1/size", "8\n"},
	{VIRTUAL "nvme-subsystem/nvme-subsys2/nvme2n1/size", "8\n"},
	{VIRTUAL "nvme-fabrics/ctl/nvme2/transport", "rdma\n"},
	{VIRTUAL "nvme-fabrics/ctl/nvme2/address", "traddr=10.0.0.1\n"},
	{VIRTUAL "nvme-fabrics/ctl/nvme2/model", "Linux\n"},
	{VIRTUAL "nvme-fabrics/ctl/nvme3/transport", "tcp\n"},
	{VIRTUAL "nvme-fabrics/ctl/nvme3/address", "traddr=10.0.0.2,trsvcid=4420\n"},
	{VIRTUAL "nvme-fabrics/ctl/nvme3/nvme3n1/size", "8\n"},
	{PCI "0000:00:02.0/virtio1/block/vda/queue/rotational", "1\n"},
	{PCI "0000:00:03.0/block/sda/queue/rotational", "1\n"},
	{PCI "0000:00:03.0/block/sda/device/model", "Big Disk\n"},
	{PCI "0000:00:04.0/block/sdb/device/model", "Small Disk\n"},
	{PCI "0000:00:05.0/block/sdc/device/model", "Small Disk\n"},
	{"/sys/fs/btrfs/features/raid1c34", "0\n"},
	{VIRTUAL "block/dm-0/size", "8\n"},
};

/* Disks by their numbers: folders, and what is said. */
static const struct {
	unsigned minor;
	const char *folder, *text;
} disks[] = {
	{0, PCI "0000:41:00.0/nvme/nvme0/nvme0n1",
	 "nvme0n1: NVMe by PCIe at 0000:41:00.0, Fast SSD"},
	{1, PCI "0000:41:00.0/nvme/nvme0/nvme0n1/nvme0n1p1",
	 "nvme0n1: NVMe by PCIe at 0000:41:00.0, Fast SSD"},
	{2, PCI "0000:42:00.0/nvme/nvme1/nvme1n1",
	 "nvme1n1: NVMe by PCIe at 0000:42:00.0, Some, emulated by a DPU"},
	{3, VIRTUAL "nvme-subsystem/nvme-subsys2/nvme2n1",
	 "nvme2n1: NVMe by rdma at traddr=10.0.0.1, Linux"},
	{4, PCI "0000:00:02.0/virtio1/block/vda", "vda"},
	{5, PCI "0000:00:03.0/block/sda", "sda: Big Disk, rotates"},
	{6, VIRTUAL "block/dm-0",
	 "dm-0 on nvme0n1: NVMe by PCIe at 0000:41:00.0, Fast SSD; sda: Big Disk, rotates"},
	{7, VIRTUAL "nvme-fabrics/ctl/nvme3/nvme3n1",
	 "nvme3n1: NVMe by tcp at traddr=10.0.0.2,trsvcid=4420"},
	{8, NULL, ""},
	{9, PCI "0000:00:04.0/block/sdb", "sdb: Small Disk; sdc: Small Disk"},
};

/* A link of the machine to a folder of it. */
static void link_to(const char *root, const char *from, const char *to)
{
	char path[1024], target[1024];

	snprintf(path, sizeof(path), "%s%s", root, from);
	*strrchr(path, '/') = '\0';
	CHECK_INT(fb_make_folder(path, NULL), FB_OK);
	snprintf(path, sizeof(path), "%s%s", root, from);
	snprintf(target, sizeof(target), "%s%s", root, to);
	CHECK_INT(symlink(target, path), 0);
}

static void test_disks(const char *root)
{
	char path[1024], text[512];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, files[i].path);
		*strrchr(path, '/') = '\0';
		CHECK_INT(fb_make_folder(path, NULL), FB_OK);
		snprintf(path, sizeof(path), "%s%s", root, files[i].path);
		example_write(path, files[i].text);
	}
	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		snprintf(path, sizeof(path), "/sys/dev/block/259:%u", disks[i].minor);
		if (disks[i].folder)
			link_to(root, path, disks[i].folder);
	}
	link_to(root, PCI "0000:41:00.0/nvme/nvme0/nvme0n1/device", PCI "0000:41:00.0/nvme/nvme0");
	link_to(root, PCI "0000:42:00.0/nvme/nvme1/nvme1n1/device", PCI "0000:42:00.0/nvme/nvme1");
	link_to(root, VIRTUAL "nvme-fabrics/ctl/nvme3/nvme3n1/device",
		VIRTUAL "nvme-fabrics/ctl/nvme3");
	link_to(root, VIRTUAL "nvme-subsystem/nvme-subsys2/nvme2n1/device",
		VIRTUAL "nvme-subsystem/nvme-subsys2");
	link_to(root, VIRTUAL "nvme-subsystem/nvme-subsys2/nvme2",
		VIRTUAL "nvme-fabrics/ctl/nvme2");
	link_to(root, VIRTUAL "block/dm-0/slaves/nvme0n1p1", disks[1].folder);
	link_to(root, VIRTUAL "block/dm-0/slaves/sda", disks[5].folder);
	link_to(root, "/sys/fs/btrfs/1f0c/devices/vda", disks[4].folder);
	link_to(root, "/sys/fs/btrfs/2a7e/devices/sdb", disks[9].folder);
	link_to(root, "/sys/fs/btrfs/2a7e/devices/sdc", PCI "0000:00:05.0/block/sdc");
	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		CHECK_INT(fb_environment_disk(root, 259, disks[i].minor, text, sizeof(text)),
			  disks[i].folder != NULL);
		CHECK_STR(text, disks[i].text);
	}
	/* Where there is little room the text is cut. */
	CHECK(fb_environment_disk(root, 259, 0, text, 12));
	CHECK_STR(text, "nvme0n1: NV");
}

/* Whether a table in which `line` is the folder's mount, behind that of another folder, says it. */
static bool mounted(const char *root, const char *line, struct fb_mount *mount)
{
	char table[256], text[1024];
	struct stat at;

	CHECK_INT(stat(root, &at), 0);
	snprintf(table, sizeof(table), "%s/mountinfo", root);
	snprintf(text, sizeof(text),
		 "22 1 %u:%u / /other rw - ext4 /dev/other rw\nnot such a line\n25 22 %u:%u %s\n",
		 major(at.st_dev), minor(at.st_dev) + 1, major(at.st_dev), minor(at.st_dev), line);
	example_write(table, text);
	*mount = (struct fb_mount){.major = 0};
	return fb_mount_of(table, root, mount);
}

static void test_mounts(const char *root)
{
	char line[512], disk[256];
	struct fb_mount mount;
	struct stat at;

	CHECK_INT(stat(root, &at), 0);
	CHECK(mounted(root, "/a /mnt/a rw,relatime shared:7 master:1 - nfs4 host:/export "
		      "rw,vers=4.2,proto=rdma,port=20049,addr=10.0.0.1", &mount));
	CHECK_STR(mount.file_system,
		  "nfs4 rw,relatime;rw,vers=4.2,proto=rdma,port=20049,addr=10.0.0.1");
	CHECK_INT(mount.major, major(at.st_dev));
	CHECK_INT(mount.minor, minor(at.st_dev));
	CHECK(!mounted(root, "/a /mnt/a rw,relatime - nfs4", &mount));
	CHECK(!fb_mount_of("/nonexistent", root, &mount));
	snprintf(disk, sizeof(disk), "%s/disk", root);
	/* A number that is no disk's, of a file system that names the disk. */
	if (mknod(disk, S_IFBLK | 0600, makedev(259, 6))) {
		printf("disk: no file system that names its disk: only root may make one\n");
		return;
	}
	snprintf(line, sizeof(line), "/home /home rw - anyfs %s rw,own", disk);
	CHECK(mounted(root, line, &mount));
	CHECK_STR(mount.file_system, "anyfs rw;rw,own");
	CHECK_INT(mount.major, 259);
	CHECK_INT(mount.minor, 6);
}

/* Of Btrfs the table has another number: the innermost mount above the folder counts. */
static void test_other_number(const char *root)
{
	char disk[256];
	struct fb_mount mount;
	struct stat at;

	if (stat("/dev/shm", &at) || major(at.st_dev)) {
		printf("disk: no number that the table lacks: /dev/shm is no tmpfs\n");
		return;
	}
	snprintf(disk, sizeof(disk), "%s/mountinfo", root);
	example_write(disk, "22 1 0:4000001 / / rw - rootfs / rw\n"
			    "23 22 0:4000002 / /dev/s\\150m rw - btrfs none rw,subvol=/\n"
			    "24 22 0:4000003 / /dev rw - devtmpfs none rw\n"
			    "25 22 0:4000004 / /dev/sh rw - btrfs none rw\n");
	CHECK(fb_mount_of(disk, "/dev/shm", &mount));
	CHECK_STR(mount.file_system, "btrfs rw;rw,subvol=/");
	CHECK_INT(mount.major, 0);
	/* A number of a disk that no line has is not Btrfs's. */
	example_write(disk, "22 1 0:4000001 / / rw - rootfs / rw\n23 22 254:77 / /dev/shm rw - "
			    "ext4 none rw\n");
	CHECK(!fb_mount_of(disk, "/dev/shm", &mount));
}

int main(void)
{
	char *root = example_folder();

	if (!root) {
		printf("SKIP disk: no folder for temporary files\n");
		return CHECK_SKIP;
	}
	test_disks(root);
	test_mounts(root);
	test_other_number(root);
	example_remove(root);
	return check_done("disk");
}
