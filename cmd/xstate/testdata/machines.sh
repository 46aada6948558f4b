#!/bin/sh
# Runs commands on two machines: network namespaces with separate disks, which reach a cache server by a bridge and
# nothing else. A step is a machine and a command; "cut" and "join" do that to the machine's cable.
# usage: machines.sh FOLDER BAZEL_REMOTE < STEPS   in a user, network and mount namespace of its own
set -eu
folder=$1
disk=$folder/disk
mkdir -p "$folder/cache" "$disk"
ip link set lo up
ip link add br0 type bridge
ip addr add 10.77.0.1/24 dev br0
ip link set br0 up

# machine NAME ADDRESS: a process that is there for the namespaces alone.
machine() {
	mkfifo "$folder/$1.up"
	# shellcheck disable=SC2016
	unshare -n -m sh -c 'mount -t tmpfs disk "$1" && mkdir -p "$1/home/.config/xstate" "$1/work" && echo >"$2"
		exec sleep infinity' sh "$disk" "$folder/$1.up" &
	echo $! >"$folder/$1.pid"
	pids="$pids $!"
	read -r _ <"$folder/$1.up"
	ip link add "to-$1" type veth peer name eth0 netns $!
	ip link set "to-$1" master br0 up
	nsenter -t $! -n ip addr add "$2/24" dev eth0
	nsenter -t $! -n ip link set lo up
	nsenter -t $! -n ip link set eth0 up
}

pids=
trap 'kill $pids' EXIT
machine ann 10.77.0.2
machine ben 10.77.0.3
: >"$folder/server"
"$2" --dir "$folder/cache" --max_size 1 --http_address "unix://$folder/http" --grpc_address 10.77.0.1:9092 \
	>"$folder/server" 2>&1 &
pids="$pids $!"
until grep -q 'Starting gRPC server' "$folder/server"; do kill -0 $!; done

while read -r name command; do
	read -r pid <"$folder/$name.pid"
	printf '== %s: %s\n' "$name" "$command"
	case $command in
	cut) ip link set "to-$name" down ;;
	join) ip link set "to-$name" up ;;
	*) HOME=$disk/home nsenter -t "$pid" -n -m sh -c "cd '$disk/work' && $command" </dev/null 2>&1 ;;
	esac
done
