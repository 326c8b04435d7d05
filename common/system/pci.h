/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds how near PCI devices are to each other, by their folders below /sys/devices. */
#ifndef FB_COMMON_SYSTEM_PCI_H
#define FB_COMMON_SYSTEM_PCI_H

/*
 * Returns how many folders from the top down two devices share below /sys/devices. Devices behind
 * one PCIe switch share more than devices of one root complex, and these more than devices of two.
 */
int fb_pci_shared_path(const char *a, const char *b);

/*
 * Returns the topology level of two devices by nvidia-smi's names: PIX (one switch), PXB (several
 * switches), PHB (the host bridge), NODE (the NUMA node) or SYS (only the host). a, b: names of
 * links below `root` ("" for the real machine), as "/sys/class/infiniband/mlx5_0/device". Returns
 * NULL if one of them is no PCI device.
 */
const char *fb_pci_level(const char *root, const char *a, const char *b);

#endif
