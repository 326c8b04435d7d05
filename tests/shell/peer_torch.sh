#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 420
#
# tests/peers/*_torch, with our programs on processors and what PyTorch's side answers as two ranks
# of PyTorch 2.15 (ddp_torch) and 2.11 once did on processors (tests/golden/peers): the table, the
# rows that are kept, whatever PyTorch is not there for, and the end of what does not end.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
command -v python3 >/dev/null || { echo "SKIP peer_torch: no python3"; exit 0; }
# An interpreter whose workers answer what is recorded, and do as MODE says.
cat >"$FB_TMP/python" <<'END_OF_PYTHON'
#!/bin/bash
echo "a line of another library"
said=$GOLDEN/$(basename "$1")-$RANK.txt
sed -n "1s/3407872/${PARAMETERS:-3407872}/p;1q" "$said" | grep . || head -n 1 "$said"
while read -r mode; do
	case $MODE in
	hang) exec sleep 1000 ;;
	hang-in-$mode)
		touch "$FB_TMP/hangs"
		exec sleep 1000
		;;
	lose-$mode)
		echo '{"failed": "AttributeError: none"}'
		continue
		;;
	die) exit 1 ;;
	alone) # the other rank waits for this one
		[ "$RANK" = 1 ] || { cat >/dev/null; exit; }
		echo '{"failed": "RuntimeError: of rank 1 alone"}'
		exit
		;;
	esac
	grep -F "\"mode\": \"$mode\"" "$said"
done
END_OF_PYTHON
chmod +x "$FB_TMP/python"
# Our programs, whose rows are kept.
mkdir -p "$FB_TMP/build/bin"
for program in ddp fsdp; do
	cat >"$FB_TMP/build/bin/$program" <<END_OF_PROGRAM
#!/bin/bash
"$(readlink -f "$FB_BUILD")/bin/$program" "\$@" | tee -a "$FB_TMP/$program.csv"
exit "\${PIPESTATUS[0]}"
END_OF_PROGRAM
	chmod +x "$FB_TMP/build/bin/$program"
done
export MODE=answer GOLDEN=$PWD/tests/golden/peers
shape=(--device cpu --hidden 512 --layers 1 --tokens 32 --bucket 1
	--build "$FB_TMP/build")
few="--max-samples 12 --min-samples 12 --max-time 60s --timeout $((60 * slow))s"

# compare CODE OPTION...: runs it, and holds its exit code.
compare() {
	timeout $((300 * slow)) tests/peers/ddp_torch "$FB_TMP/python" "${shape[@]}" "${@:2}" \
		>"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
	expect "exit code of ${*:2}" "$?" "$1"
}

# field ROW NUMBER: of the table; 2: ours, 3: PyTorch's, 4: quotient, 5: interval.
field() {
	sed -n "s/^$1 */- /p" "$FB_TMP/out" | awk -v at="$2" '{ print $at }'
}

compare 0 --limit $((200 * slow)) --options "$few"
[ "$failures" -eq 0 ] || said "$FB_TMP/err"
# Medians of the nine differences of a step and its computing, of ranks the longer each.
expect "PyTorch's ddp, backward" "$(field "ddp, backward" 3)" 17.967
expect "PyTorch's ddp" "$(field "ddp, step" 3)" 17.262
expect "PyTorch's fsdp" "$(field "fsdp, step" 3)" 48.523
for program in ddp fsdp; do
	row="$program, step"
	# By ranks the interval of nine goes from the second to the eighth.
	[ "$program" = ddp ] && span="14.4263 18.5756" || span="38.4165 60.2777"
	awk -F, -v ours="$(field "$row" 2)" -v quotient="$(field "$row" 4)" \
		-v theirs="$(field "$row" 3)" -v span="$span" -v got="$(field "$row" 5)" '
		function off(a, b) { return a - b > 0.0006 || b - a > 0.0006 }
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{
			a = $at["exposed_low_us"] / 1000; b = $at["exposed_high_us"] / 1000
			split(span, of, " "); split(got, is, "[.][.]")
			low = a / of[a < 0 ? 1 : 2]; high = b / of[b < 0 ? 2 : 1]
			if (off($at["exposed_us"] / 1000, ours) || off(ours / theirs, quotient) ||
			    off(low, is[1]) || off(high, is[2])) {
				print quotient, got ": expected", ours / theirs, low ".." high
				exit 1
			}
		}
		END { if (NR != 2) exit 1 }' "$FB_TMP/$program.csv" >"$FB_TMP/bad" ||
		fail "$row: $(cat "$FB_TMP/bad")"
done
verdict peer_torch_table

# From six turns on the interval is that of their quotients.
compare 0 --turns 6 --limit $((250 * slow)) \
	--options "--max-samples 4 --min-samples 3 --max-time 60s --timeout $((60 * slow))s"
for row in "ddp, backward" "fsdp, step"; do
	field "$row" 5 | sed 's/[.][.]/ /' | awk -v q="$(field "$row" 4)" '
		NF == 2 && $1 <= q && q <= $2 { good = 1 } END { exit !good }' ||
		fail "$row: $(field "$row" 4) is not within $(field "$row" 5)"
done
verdict peer_torch_turns

# The other scripts: a row of each side is kept, and both have the same keys but for the engine.
# peer SCRIPT PROGRAM ROW MS OPTION...
peer() {
	timeout $((300 * slow)) "tests/peers/$1" "$FB_TMP/python" --device cpu \
		--build "$FB_BUILD" --csv "$FB_TMP/kept" --limit $((200 * slow)) \
		--options "$few" "${@:5}" >"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
	expect "exit code of $1" "$?" 0
	expect "PyTorch's $3" "$(field "$3" 3)" "$4"
	"$FB_BUILD/bin/csvcheck" "$FB_TMP/kept/$2.csv" >"$FB_TMP/bad" 2>&1 || said "$FB_TMP/bad"
	expect "engines of $2" "$(awk -F, 'NR == 1 {
			for (i = 1; i <= NF; i++) at[$i] = i
		}
		NR > 1 {
			printf "%s%s", $at["engine"], NR == 2 ? " " : ""
			keys[NR] = $at["operation"] $at["bytes"] $at["variant"]
		}
		END { if (NR != 3 || keys[2] != keys[3]) print "unlike keys" }' \
		"$FB_TMP/kept/$2.csv")" "host torch"
}

peer moe_torch moe "overlap, 32 tokens, skew 100, step" 3.011 --schedule overlap --tokens 32 \
	--skew 100 --hidden 256 --ffn 128 --topk 2
peer tensor_torch tensor_parallel "all_reduce, 8 tokens, exposed" 1.366 \
	--schedule all_reduce --tokens 8 --hidden 256 --ffn 512 --layers 2
peer pipeline_torch pipeline "1f1b, 4 micro-batches, computing" 0.833 --schedule 1f1b \
	--microbatches 4 --hidden 256 --layers 4 --tokens 32
peer ddp_torch ddp "ddp, backward" 17.967 "${shape[@]:2:8}"
# Our step of ddp has no forward: the part of PyTorch's that is kept has none either.
expect "PyTorch's kept computing and exposed time" "$(awk -F, 'NR == 1 {
		for (i = 1; i <= NF; i++) at[$i] = i - NF # a path has a comma
	}
	NR > 1 && /,torch,/ {
		printf "%.1f %.0f\n", $(NF + at["compute_us"]), $(NF + at["exposed_us"])
	}' "$FB_TMP/kept/ddp.csv")" "11074.0 17967"
verdict peer_torch_scripts

for script in ddp_torch moe_torch pipeline_torch tensor_torch; do
	"tests/peers/$script" >"$FB_TMP/out" 2>&1
	expect "exit code of $script without an interpreter" "$?" 77
	"tests/peers/$script" "$FB_TMP/python" --hidden 0 >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of $script with a bad option" "$?" 3
done
# Interpreters without PyTorch, and with one that sees fewer GPUs than ranks.
mkdir -p "$FB_TMP/none" "$FB_TMP/few/torch/nn"
echo 'raise ImportError("there is none")' >"$FB_TMP/none/torch.py"
printf 'class cuda:\n\tdevice_count = lambda: 1\n' >"$FB_TMP/few/torch/__init__.py"
touch "$FB_TMP/few/torch/distributed.py" "$FB_TMP/few/torch/nn/__init__.py" \
	"$FB_TMP/few/torch/nn/functional.py"
for why in "none no PyTorch: there is none" "few 1 GPUs, 2 are needed"; do
	PYTHONPATH=$FB_TMP/${why%% *} tests/peers/ddp_torch python3 >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code: $why" "$?" 77
	expect "what is said" "$(cat "$FB_TMP/out")" "SKIP ddp_torch: ${why#* }"
done
verdict peer_torch_skip

compare 3 --hidden 100
PARAMETERS=5 compare 5
holds "$FB_TMP/err" "PyTorch's model has 5 parameters, ours 3407872"
MODE=die compare 5 --options "$few"
holds "$FB_TMP/err" "PyTorch's process ended while it was asked for PyTorch's ddp"
MODE=alone compare 5 --options "$few"
holds "$FB_TMP/err" "PyTorch's ddp: RuntimeError: of rank 1 alone"
MODE=hang compare 5 --options "$few" --limit 5
holds "$FB_TMP/err" 'took longer than --limit 5 s allows'
# What fails is lost alone, and is not tried again in the next turn.
MODE=lose-ddp compare 5 --turns 2 --options "$few"
expect "PyTorch's fsdp beside a ddp that failed" "$(field "fsdp, step" 3)" 48.523
expect "what is said of ddp" "$(cat "$FB_TMP/err")" \
	"tests/peers/ddp_torch: PyTorch's ddp: AttributeError: none"
# What was measured is printed when it is told to end.
MODE=hang-in-fsdp tests/peers/ddp_torch "$FB_TMP/python" "${shape[@]}" --options "$few" \
	>"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null &
comparison=$!
until [ -e "$FB_TMP/hangs" ] || ! kill -0 "$comparison" 2>/dev/null; do sleep 0.1; done
kill "$comparison"
wait "$comparison"
expect "exit code after SIGTERM" "$?" 143
expect "PyTorch's ddp before SIGTERM" "$(field "ddp, step" 3)" 17.262
holds "$FB_TMP/err" "SIGTERM ended PyTorch's fsdp"
compare 5 --options "--engine none"
holds "$FB_TMP/err" 'bin/ddp .* ended with 3'
verdict peer_torch_failures
exit "$bad"
