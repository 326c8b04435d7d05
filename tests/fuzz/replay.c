/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hands files, and all files of folders, to a fuzzer's function: what libFuzzer found once, and
 * seeds, are tried again where no clang is.
 *
 *	NAME FILE|FOLDER...
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

static int files;

/* Returns 0, or 1 after saying what cannot be read. */
static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *bytes;
	size_t n;

	if (!f || fstat(fileno(f), &st)) {
		perror(path);
		return 1;
	}
	bytes = malloc((size_t)st.st_size + 1);
	n = bytes ? fread(bytes, 1, (size_t)st.st_size, f) : 0;
	fclose(f);
	/* Without its last byte a sanitizer sees a step beyond the end. */
	bytes = bytes ? realloc(bytes, n ? n : 1) : NULL;
	if (!bytes)
		return 1;
	/* The last line of a log is the file that ended the program. */
	fprintf(stderr, "replay %s\n", path);
	LLVMFuzzerTestOneInput(bytes, n);
	free(bytes);
	files++;
	return 0;
}

static int replay_folder(const char *path, DIR *dir)
{
	const struct dirent *entry;
	char file[4096];
	struct stat st;
	int err = 0;

	while (!err && (entry = readdir(dir))) {
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		if (entry->d_name[0] != '.' && !stat(file, &st) && S_ISREG(st.st_mode))
			err = replay_file(file);
	}
	closedir(dir);
	return err;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);

		if (dir ? replay_folder(argv[i], dir) : replay_file(argv[i]))
			return 1;
	}
	printf("%s (%d files)\n", files ? "PASS replay" : "FAIL replay: no file", files);
	return files ? 0 : 1;
}
