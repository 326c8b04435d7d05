#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 300
#
# Bad command lines: each of tests/cli/bad_lines.txt must end with exit code 3 and one line on
# stderr that names the option, its value and what is accepted, and must write nothing. All run
# as a single process, which starts quickly; some run again on two ranks, of which one may speak.

set -u
export LC_ALL=C
. tests/faults/lib.sh

EVERY=${EVERY:-30} # of how many lines one runs on two ranks too
lines=$PWD/tests/cli/bad_lines.txt
root=$PWD

# The files that the lines name.
make_files() {
	mkdir -p "$1/foreign"
	cd "$1" || exit 3
	echo 1 >square1
	printf '1 2 3\n4 5 6\n7 8 9\n' >square3
	printf '' >empty
	printf '# 1\n\n  # 2\n' >comment
	printf 'one\n' >words
	printf -- '-1\n' >negative
	printf '0\n' >zero
	printf '1 2 3 4 5 6 7\n' >wide
	printf '1\n1\n1\n1\n' >long
	printf '1e16\n' >huge
	printf 'inf\n' >infinite
	printf 'nan\n' >notanumber
	printf '1;x\n' >hex
	printf '\001\002\377\n\000' >binary
	printf 'a,b,c\n1,2,3\n' >foreign/all_reduce.csv
}

# named ARGUMENT...: sets option and value to what the message has to name.
named() {
	option=$1 value=${2-}
	case $1 in
	--=*)
		option=--
		value=
		;;
	--?*=*)
		option=${1%%=*}
		value=${1#*=}
		;;
	--?*) ;;
	--)
		option=
		value=${2-}
		;;
	-?*)
		# The message gives the long name, if there is one.
		option=
		[ ${#1} -gt 2 ] && value=${1#-?}
		;;
	*)
		option=$1
		value=
		;;
	esac
	[[ $value != -?* || $value == -[0-9]* ]] || value=
	value=${value:0:40}
}

# names TEXT VALUE: whether the text has the value, or in quotes an item of a list of values or
# the first folders of a path, which is enough.
names() {
	local item

	[[ $1 == *"$2"* ]] && return
	item=${1#*\'}
	item=${item%%\'*}
	[ -n "$item" ] && { [[ ,$2, == *",$item,"* ]] || [[ $2 == "$item"/* ]]; }
}

# judge CODE ERRORS ARGUMENT...: whether this is how it has to end; prints what is wrong.
judge() {
	local code=$1 file=$2 option value said

	named "${@:3}"
	said=$(grep -a '^fabricbench' "$file")
	[ "$code" = 3 ] || echo "exit code $code"
	[ "$(grep -c . <<<"$said")" = 1 ] || echo "$(grep -c . <<<"$said") lines"
	[[ $said == *"$option"* ]] || echo "'$option' is not named"
	# An option that does not exist needs no value to be wrong.
	[[ $said == *"unknown option"* ]] || names "$said" "$value" ||
		echo "'$value' is not named"
	[[ $said =~ expected|accepted|--help|cannot\ be|cannot\ create|use\ --resume ]] ||
		echo "what is accepted is not said"
	# Alone there is no launcher that might say something too.
	[ -n "$launcher" ] || [ "$(wc -l <"$file")" = 1 ] || echo "something else on stderr"
}

# try LINE: runs it, under $launcher if set, in the folder of files.
try() {
	local -a words
	local wrong

	eval "words=($1"$'\n)'
	[[ $1 == *" --csv"* || $1 == *" -c" ]] || words+=(--csv none)
	$launcher "$bin/${words[0]}" "${words[@]:1}" </dev/null >"$files.out" 2>"$files.err"
	wrong=$(judge $? "$files.err" "${words[@]:1}")
	[ -z "$wrong" ] && return
	printf '  %s%s: %s\n' "${launcher:+2 ranks: }" "$1" "${wrong//$'\n'/; }"
	sed 's/^/    /' "$files.err" | head -n 5
}

# work INDEX: every second line; prints what is wrong.
work() {
	local files=$dir/files$1 number=0 line before launcher

	make_files "$files"
	before=$(find . -type f -exec cksum {} + | sort)
	while read -r line; do
		[[ $line == '#'* || -z $line ]] && continue
		number=$((number + 1))
		[ $((number % 2)) -eq "$1" ] || continue
		launcher=
		try "$line"
		if [ $((number % EVERY)) -lt 2 ]; then
			launcher="$root/scripts/launch 2"
			try "$line"
		fi
	done <"$lines"
	[ "$(find . -type f -exec cksum {} + | sort)" = "$before" ] ||
		echo "  files were written or changed: $(find . -newer "$files.out")"
	[ "$(find . -mindepth 1 -type d)" = ./foreign ] ||
		echo "  folders were made: $(find . -mindepth 1 -type d)"
}

# The family whose single processes start faster.
family=${FB_MPIS##* }
use "$family" all_reduce
bin=$(cd "$(dirname "$program")" && pwd)
work 0 >"$dir/wrong0" 2>&1 &
work 1 >"$dir/wrong1" 2>&1 &
wait
failures=$(cat "$dir/wrong0" "$dir/wrong1" | grep -c '^  [^ ]')
cat "$dir/wrong0" "$dir/wrong1"
count=$(grep -c '^[a-z]' "$lines")
expect "bad lines" "at least 200 of them" "$((count >= 200))" 1
verdict "cli/$count bad command lines ($MPI)"
exit $bad
