# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Reading study files; see quick.study for the format. To be sourced; needs bash.

study_error() {
	echo "fabricbench: $*" >&2
	exit 3
}

# merge_options WHERE WORD...: prints the words in one line; of two options of the same name the
# later one counts.
merge_options() {
	local where=$1 word name names=() ordered=''
	local -A value

	shift
	for word; do
		[[ $word =~ ^(--[a-z][a-z-]*)(=.*)?$ ]] ||
			study_error "$where: '$word': accepted are options as --name=value"
		name=${BASH_REMATCH[1]}
		[ -n "${value[$name]+set}" ] || names+=("$name")
		value[$name]=$word
	done
	for name in "${names[@]}"; do
		ordered+="${value[$name]} "
	done
	printf '%s' "${ordered% }"
}

# read_study BIN STUDY OPTIONS ONLY: sets programs[] and options[], an entry for each line of the
# study. OPTIONS replace the study's; ONLY names the programs whose lines count (empty: all).
read_study() {
	local bin=$1 file=$2 only=$4 line words extra common=() number=0 name

	[ -e "$file" ] || file=scripts/studies/$2.study
	[ -r "$file" ] || study_error "no study '$2': neither a file nor $file"
	read -ra extra <<<"$3"
	programs=() options=()
	while IFS= read -r line || [ -n "$line" ]; do
		number=$((number + 1))
		read -ra words <<<"${line%%#*}"
		[ ${#words[@]} -gt 0 ] || continue
		name=${words[0]}
		if [ "$name" = '*' ]; then
			common+=("${words[@]:1}")
			continue
		fi
		[ -z "$only" ] || [[ " $only " == *" $name "* ]] || continue
		[ -x "$bin/$name" ] || study_error "$file:$number: no program '$name' in $bin"
		# In a subshell an error could not end this shell.
		line=$(merge_options "$file:$number" "${common[@]}" "${words[@]:1}" \
			"${extra[@]}") || exit 3
		programs+=("$name")
		options+=("$line")
	done <"$file"
	for name in $only; do
		[[ " ${programs[*]} " == *" $name "* ]] ||
			study_error "ONLY=$name: no such program in $file"
	done
	[ ${#programs[@]} -gt 0 ] || study_error "$file names no program"
}
