#!/usr/bin/env bash
# A Slurm cluster of two nodes on one machine, without systemd (Debian: apt-get install slurm-wlm munge). For root.
#
#   slurm_cluster.sh up FOLDER      starts munged, slurmctld and two slurmd, n1 and n2; then: export SLURM_CONF=FOLDER/slurm.conf
#   slurm_cluster.sh kill FOLDER N  kills the slurmd of node nN and what runs there, as if the node lost power
#   slurm_cluster.sh down FOLDER    ends everything
set -euo pipefail
folder=$(realpath -m "$2")
export SLURM_CONF="$folder/slurm.conf"

processes() { # the numbers of the processes that the file or the node names
    cat "$folder/$1.pid" 2>/dev/null || true
}

descendants() { # all processes below one
    local child
    for child in $(pgrep -P "$1"); do
        descendants "$child"
        echo "$child"
    done
}

case $1 in
up)
    mkdir -p "$folder"/{state,spool.n1,spool.n2}
    chmod 755 "$folder"
    host=$(hostname -s)
    dd if=/dev/urandom of="$folder/munge.key" bs=1024 count=1 status=none
    chmod 400 "$folder/munge.key"
    munged --force --key-file "$folder/munge.key" --socket "$folder/munge.socket" --pid-file "$folder/munged.pid" \
        --log-file "$folder/munged.log" --seed-file "$folder/munged.seed"
    cat >"$SLURM_CONF" <<END
ClusterName=grader
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdTimeout=15
KillWait=5
ReturnToService=1
JobRequeue=1
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17011 CPUs=2 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17012 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
END
    slurmctld
    slurmd -N n1
    slurmd -N n2
    for _ in $(seq 60); do
        [ "$(sinfo --noheader --states=idle --format=%D 2>/dev/null)" = 2 ] && exit 0
        sleep 1
    done
    echo "the nodes do not come up: see $folder/*.log" >&2
    exit 1
    ;;
kill)
    # The daemon, and the steps that it started, which do not end with it.
    pid=$(processes "n$3")
    steps=$(pgrep -f "slurmstepd: \[.*\]" || true)
    kill -KILL "$pid"
    for step in $steps; do
        # A step belongs to the node whose spool it uses.
        if ls -l "/proc/$step/fd" 2>/dev/null | grep -q "spool.n$3\|n$3.log" ||
            tr '\0' '\n' <"/proc/$step/environ" 2>/dev/null | grep -q "^SLURMD_NODENAME=n$3$"; then
            # shellcheck disable=SC2046
            kill -KILL "$step" $(descendants "$step") 2>/dev/null || true
        fi
    done
    ;;
down)
    for name in n1 n2 slurmctld munged; do
        pid=$(processes "$name")
        [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    done
    ;;
*)
    sed -n 's/^# \{0,1\}//p' "$0" | head -6
    exit 2
    ;;
esac
