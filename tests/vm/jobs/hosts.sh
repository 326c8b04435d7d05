#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Inside each of two virtual machines on one network: plans between two hosts, where nothing is
# shared and the packets are real. The first starts MPI jobs; the second runs commands of the first.
#
#	hosts.sh BUILD 0|1
#
# mpirun starts its daemon on the other machine through the folder that both share: a command is a
# file there, and so is its result.
. tests/vm/lib.sh
build=$1 self=$2
export MPI=openmpi

hostname "vm$self"
printf '127.0.0.1 localhost\n10.6.0.1 vm0\n10.6.0.2 vm1\n' >/etc/hosts
ip link set lo up
ip addr add "10.6.0.$((self + 1))/24" dev eth0
ip link set eth0 mtu 1500 up
rdma link add rxe0 type rxe netdev eth0 || exit
for ((i = 0; i < 100; i++)); do ibv_ready rxe0 && break; sleep 0.1; done
vm_one_processor

# The second: runs commands until the first one ends it.
if [ "$self" = 1 ]; then
	: >/shared/ready
	while [ ! -e /shared/end ]; do
		for file in /shared/*.command; do
			[ -e "$file" ] || continue
			mv "$file" "${file%command}taken"
			(cd / && bash "${file%command}taken" </dev/null >"${file%command}out" 2>&1
			echo $? >"${file%command}code") &
		done
		sleep 0.1
	done
	exit 0
fi

# Where both see it: daemons look for it too.
cat >/shared/rsh <<'END'
#!/bin/bash
# What mpirun calls in place of ssh: [options] HOST WORDS..., for the host's shell.
while [[ $1 == -* ]]; do shift; done
shift
name=/shared/$$
echo "$*" >$name.new
mv $name.new $name.command
while [ ! -e $name.code ]; do sleep 0.1; done
cat $name.out
exit "$(cat $name.code)"
END
chmod +x /shared/rsh
for ((i = 0; i < 600; i++)); do [ -e /shared/ready ] && break; sleep 0.2; done
fb_mpi_env openmpi
unset OMPI_MCA_plm
export OMPI_MCA_plm_rsh_agent=/shared/rsh OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1 \
	OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=eth0 \
	OMPI_MCA_oob_tcp_if_include=eth0
log=/tmp/log

# across HOSTS RANKS COMMAND...
across() {
	timeout -k 5 $((300 * ${FB_SLOW:-1})) mpirun.openmpi --bind-to none -host "$1" -n "$2" \
		-x FB_TEST_TRANSPORT -x FB_TEST_EVERY -x FB_SLOW "${@:3}" >$log 2>&1
}

across vm0:1,vm1:1 2 "$PWD/$build/tests/test_rdma" rxe0
verdict vm/hosts-transport $? $log
FB_TEST_TRANSPORT=rdma FB_TEST_EVERY=41 across vm0:1,vm1:1 2 "$PWD/$build/tests/test_host"
verdict vm/hosts-plans $? $log
FB_TEST_TRANSPORT=shm+rdma FB_TEST_EVERY=9 across vm0:2,vm1:2 4 "$PWD/$build/tests/test_host" \
	all_reduce
verdict vm/hosts-mixed $? $log
# A study measures between hosts, without any option, by: RDMA, as the port's counters (here those
# of its interface) confirm, and not TCP.
across vm0:1,vm1:1 2 "$PWD/$build/bin/all_reduce" --quiet --engine host --algorithm ring \
	--protocol simple,direct --bytes 64K --max-time 0.1s --min-samples 3 --max-samples 6 &&
	[ "$(grep -cE ',host,ring,(simple|direct),rdma,.*,(ok|few),.*rdma rxe0:1' $log)" -eq 2 ]
verdict vm/hosts-auto $? $log
across vm0:1,vm1:1 2 "$PWD/$build/bin/latency" --quiet --engine host,rdma --protocol auto \
	--rdma-timeout 17 --bytes 256K --max-time 0.1s --min-samples 3 --max-samples 6 &&
	grep -E ',rdma,send,send,rdma,.*,(ok|few),' $log | grep -qE 'rxe0:1 .*(1\.|0\.9)' &&
	grep -E ',host,send,simple,tcp,' $log | grep -q tcp-though-rdma
verdict vm/hosts-path $? $log
# Movers of MPI.
export OMPI_MCA_osc=pt2pt
for mover in mpi mpi_window; do
	across vm0:1,vm1:1 2 "$PWD/$build/tests/test_mover" $mover
	verdict vm/hosts-mover-$mover $? $log
done
# Movers of verbs and of UCX (tests/vm/jobs/p2p.sh says why by this address): a part of the lists,
# as each small packet takes a millisecond and more.
FB_TEST_EVERY=7 across vm0:1,vm1:1 2 "$PWD/$build/tests/test_mover" rdma
verdict vm/hosts-mover-rdma $? $log
export UCX_TLS=rc_verbs,ud_verbs,self UCX_IB_GID_INDEX=0
FB_TEST_EVERY=3 across vm0:1,vm1:1 2 -x UCX_TLS -x UCX_IB_GID_INDEX \
	"$PWD/$build/tests/test_mover" ucx
rc=$?
why=$(sed -n 's/^  mover ucx is absent: //p' $log)
if [ -n "$why" ]; then
	echo "SKIP vm/hosts-mover-ucx: $why"
else
	verdict vm/hosts-mover-ucx $rc $log
fi
# A second device here, which the other machine lacks: rails are as many as all ranks have.
ip link add d0 type dummy
ip addr add 10.7.0.1/24 dev d0
ip link set d0 up && rdma link add rxe1 type rxe netdev d0
for ((i = 0; i < 100; i++)); do ibv_ready rxe1 && break; sleep 0.1; done
rails=("$PWD/$build/bin/latency" --quiet --engine rdma --protocol send --bytes 70000
	--rdma-device auto:all --max-time 0.1s --min-samples 3 --max-samples 6)
across vm0:2 2 "${rails[@]}" && grep -q 'rdma rxe0:1 [^+]*+rxe1:1' $log
verdict vm/hosts-own-rails $? $log
across vm0:1,vm1:1 2 "${rails[@]}" && grep -q 'rdma rxe0:1 [^+]*$' $log
verdict vm/hosts-least-rails $? $log
: >/shared/end
exit 0
