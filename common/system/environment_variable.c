/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Environment variables that change results; see environment.h.
 *
 * Only listed ones are ever written, as result files are published and an environment is full of
 * private things. What a launcher sets for itself is noise, and differs with every start.
 */
#include "common/system/environment.h"

#include "common/base/error.h"
#include "common/base/near.h"

#include <stdio.h>
#include <string.h>

enum { KEY_CHARS = 256 };

/* Names that begin so are recorded ... */
static const char *const listed[] = {
	"APPTAINER_CONTAINER", "CUDA_",		   "FB_",	      "FI_",
	"GOMP_",	       "KMP_",		   "LD_LIBRARY_PATH", "LD_PRELOAD",
	"MPICH_",	       "MPIR_CVAR_",	   "NCCL_",	      "NIXL_",
	"NVIDIA_VISIBLE_",     "NVSHMEM_",	   "OMPI_MCA_",	      "OMP_",
	"PCIDEVICE_",	       "SHARP_",	   "SLURM_CONTAINER", "SLURM_CPUS",
	"SLURM_JOB_",	       "SLURM_NNODES",	   "SLURM_NTASKS",    "SLURM_TOPOLOGY",
	"UCX_",
};

/* ... but for these: a launcher's own state, and who started the job. */
static const char *const unlisted[] = {
	"OMPI_MCA_ess",	  "OMPI_MCA_initial_wdir",   "OMPI_MCA_orte_",
	"OMPI_MCA_prte",  "OMPI_MCA_shmem_RUNTIME_", "SLURM_JOB_ACCOUNT",
	"SLURM_JOB_GID",  "SLURM_JOB_GROUP",	     "SLURM_JOB_UID",
	"SLURM_JOB_USER",
};

/* The suite's own, as the manual page lists them, and what scripts/launch passes to the ranks. */
static const char *const own[] = {
	"FABRICBENCH_CLOSING",	  "FABRICBENCH_LAUNCH",
	"FABRICBENCH_LIBIBVERBS", "FABRICBENCH_LIBRDMACM",
	"FB_CURL_LIBRARY",	  "FB_IMAGE",
	"FB_MOVERS",		  "FB_NCCL_PLUGIN",
	"FB_NCCL_PROFILE",	  "FB_NCCL_PROFILE_CHANNELS",
	"FB_NCCL_PROFILE_EVENTS", "FB_NCCL_TABLE",
	"FB_NIXL_BACKEND",	  "FB_NIXL_FILE_BACKEND",
	"FB_NVSHMEM_KERNELS",	  "FB_NVSHMEM_LIBRARY",
};

/* Parts of names, and of values, that say that a value is private. */
static const char *const secret_names[] = {
	"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "PRIVATE", "COOKIE", "SIGNATURE",
};
static const char *const secret_values[] = {
	"-----BEGIN", "bearer ", "key=", "pass=", "passwd", "password", "secret", "token",
};

static bool begins_with_one(const char *name, const char *const prefixes[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static bool contains_one(const char *text, const char *const parts[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcasestr(text, parts[i]))
			return true;
	return false;
}

/* "scheme://user:password@host". */
static bool holds_login(const char *value)
{
	const char *at = value;

	while ((at = strstr(at, "://"))) {
		at += 3;
		if (at[strcspn(at, "@/ ")] == '@')
			return true;
	}
	return false;
}

bool fb_environment_listed(const char *name)
{
	return begins_with_one(name, listed, sizeof(listed) / sizeof(listed[0])) &&
	       !begins_with_one(name, unlisted, sizeof(unlisted) / sizeof(unlisted[0]));
}

bool fb_environment_secret(const char *name, const char *value)
{
	return contains_one(name, secret_names, sizeof(secret_names) / sizeof(secret_names[0])) ||
	       contains_one(value, secret_values,
			    sizeof(secret_values) / sizeof(secret_values[0])) ||
	       holds_login(value);
}

void fb_environment_variable(struct fb_facts *facts, char *const variables[])
{
	for (; variables && *variables; variables++) {
		const char *equals = strchr(*variables, '=');
		char name[KEY_CHARS], key[KEY_CHARS + 16];

		if (!equals || (size_t)(equals - *variables) >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(equals - *variables), *variables);
		if (!fb_environment_listed(name))
			continue;
		snprintf(key, sizeof(key), "variable.%s", name);
		/* That it was set is no secret, and may explain a difference. */
		if (fb_environment_secret(name, equals + 1))
			fb_facts_add(facts, key, "(withheld)");
		else
			fb_facts_add(facts, key, "%s", equals[1] ? equals + 1 : "(empty)");
	}
}

size_t fb_environment_misspelt(char *const variables[])
{
	size_t found = 0;

	for (; variables && *variables; variables++) {
		size_t length = strcspn(*variables, "=");
		const char *meant = NULL;

		if (!strncmp(*variables, "FB_", 3) || !strncmp(*variables, "FABRICBENCH_", 12))
			meant = fb_near_name(*variables, length, own, sizeof(own) / sizeof(own[0]));
		if (!meant || (length == strlen(meant) && !strncmp(*variables, meant, length)))
			continue;
		fb_warn("nothing reads the variable %.*s: did you mean %s?", (int)length,
			*variables, meant);
		found++;
	}
	return found;
}
