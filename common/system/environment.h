/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects facts about the machine, the software and the job, for environment.csv.
 *
 * Every rank collects its own facts, the caller gathers them (this module knows no MPI), and
 * the merge writes each fact once, at the widest scope at which it is the same: the run, a node
 * or a rank. So a 10,000-rank job has a short file, and a node that differs stands out in it.
 */
#ifndef FB_COMMON_SYSTEM_ENVIRONMENT_H
#define FB_COMMON_SYSTEM_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Keys that begin with this survive a rewrite of the file; see fb_environment_write. */
#define FB_FACTS_KEPT "program."

struct fb_fact {
	char *key;   /* "cpu.model": lower case, dots between levels */
	char *value; /* one line */
};

/* A growing list with unique keys. Zero-initialise; free with fb_facts_free. */
struct fb_facts {
	struct fb_fact *item;
	size_t count, capacity;
	bool failed; /* memory ran out at some point: reported by fb_facts_pack */
};

/*
 * Adds a fact, or replaces the one with this key. Control characters in the value become
 * blanks, blanks at its ends go, and an empty value is not added. Never fails visibly: out of
 * memory is remembered in `failed`.
 */
void fb_facts_add(struct fb_facts *facts, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The value of a key, or NULL. Valid until the list changes. */
const char *fb_facts_get(const struct fb_facts *facts, const char *key);

void fb_facts_free(struct fb_facts *facts);

/*
 * The list as one block of bytes (key NUL value NUL ...), to be gathered through MPI. The
 * caller frees *bytes. Returns 0 or FB_ENOMEM (printed).
 */
int fb_facts_pack(const struct fb_facts *facts, char **bytes, size_t *length);

/*
 * Collects everything below into the list. `root` is "" for the real machine, or a folder with
 * a copy of /proc and /sys for tests. Local, no communication, some milliseconds; facts that
 * cannot be read are left out. Call it on every rank, before measuring but after the engines
 * were opened, so that the libraries they loaded are seen.
 */
void fb_environment_collect(struct fb_facts *facts, const char *root);

/* The parts of fb_environment_collect, each in a separate file. */
void fb_environment_system(struct fb_facts *facts, const char *root);
void fb_environment_container(struct fb_facts *facts, const char *root);
void fb_environment_cpu(struct fb_facts *facts, const char *root);
void fb_environment_memory(struct fb_facts *facts, const char *root);
void fb_environment_device(struct fb_facts *facts, const char *root);
void fb_environment_ready(struct fb_facts *facts, const char *root);
void fb_environment_rdma(struct fb_facts *facts, const char *root);
void fb_environment_network(struct fb_facts *facts, const char *root);
void fb_environment_nccl(struct fb_facts *facts, const char *root);
void fb_environment_topology(struct fb_facts *facts, const char *root);

/*
 * Writes what the block device is, by /sys: "nvme0n1: NVMe by PCIe at 0000:5e:00.0, MODEL", "dm-0
 * on sda: MODEL, rotates". An NVMe device names its transport (PCIe, rdma, tcp, fc) and, where its
 * PCIe vendor is that of BlueField, "emulated by a DPU". The other devices of the same Btrfs
 * follow behind "; ". False: there is no such device.
 */
bool fb_environment_disk(const char *root, unsigned major, unsigned minor, char *text, size_t n);
void fb_environment_library(struct fb_facts *facts);
void fb_environment_build(struct fb_facts *facts);

/* Adds the listed variables out of `variables` ("NAME=value", ends in NULL; see environ(7)). */
void fb_environment_variable(struct fb_facts *facts, char *const variables[]);

/*
 * Warns of each variable whose name is nearly one of the suite's own. Others that begin with FB_
 * may be those of other software. Returns how many.
 */
size_t fb_environment_misspelt(char *const variables[]);

/* Whether a variable is one of those that are recorded. */
bool fb_environment_listed(const char *name);

/* Whether a variable's value must never be written, judged by its name and by its look. */
bool fb_environment_secret(const char *name, const char *value);

/*
 * Writes environment.csv (header scope,host,rank,key,value) to `path`, through a temporary file
 * beside it, so that it is whole or absent. packed[r], length[r] is rank r's block; ranks are
 * put on hosts by their fact "hostname". A fact that all ranks agree on is written once with
 * scope run, one that the ranks of each host agree on once a host with scope node, any other
 * once a rank. Keys that begin with "host." are of a moment (load, free memory): there the
 * lowest rank of each host speaks for it. Rows of an earlier file whose key begins with
 * FB_FACTS_KEPT, but not with `own` (NULL: nothing), are kept: they are other programs' and
 * launches'. What cannot be read of that file is lost. Sorted by key. One writer at a time. Pure
 * but for the file. Returns 0, FB_EDATA (a block is malformed), FB_ENOMEM, FB_EIO (all printed).
 */
int fb_environment_write(const char *path, const char *own, const char *const packed[],
			 const size_t length[], size_t nranks);

#endif
