exec 250<&3 251>&4 252>/dev/null <"$XSTATE_KERNEL_STDIN" >&5 2>&6 3<&- 4>&- 5>&- 6>&- 7>&-
__xs_D='__xs_s() { return "$1"; }
__xs_k() { builtin trap - SYS; builtin kill -SYS $$; } # a block closed a descriptor of the driver
__xs_r() { LC_ALL=C IFS= builtin read -r -N "$1" -u 250 __xs_t || __xs_k; }
__xs_b() { builtin test -e "/.xstate/begin/$1" || __xs_n=$1; }
__xs_m() { builtin printf "M\0" >&251; builtin read -r -N 1 -u 250 __xs_a; }
__xs_z() { builtin test -e "/.xstate/end/$__xs_n" || __xs_n=; }
__xs_v() { # shows variables
	builtin set +euTE; [[ $__xs_n ]] && __xs_z
	{ builtin printf "%s\0" P "${#__xs_x[@]}" "${__xs_x[@]}"; (($#)) && builtin declare -p "$@"
	builtin printf "\0E\0"; } >&251 2>&252 || __xs_k
}
__xs_f() { # shows a function
	builtin set +euTE; [[ $__xs_n ]] && __xs_z
	{ builtin printf "%s\0" P "${#__xs_x[@]}" "${__xs_x[@]}"; builtin declare -f -- "$1"
	builtin printf "\0E\0"; } >&251 2>&252 || __xs_k
}
'
__xs_w=251
__xs_E='{
builtin printf "\0"; builtin set +o; builtin set +euTE; [[ $__xs_n ]] && __xs_z
builtin printf "\0"
builtin printf "%s\0" "$__xs_o" "${#__xs_x[@]}" "${__xs_x[@]}" "$#" "$@"
builtin declare -p; builtin printf "\0"; builtin declare -F; builtin printf "\0"; builtin declare -f
builtin printf "\0"; builtin shopt -p; builtin printf "\0"; builtin alias -p; builtin printf "\0"; builtin umask -p
builtin printf "\0"; builtin dirs -l -p; builtin printf "\0"; builtin pwd; builtin printf "\0"; builtin jobs -p
builtin printf "\0%s\n" "${!-}"; builtin ulimit -a; builtin enable -n
builtin printf "\0"; if [[ ${__xs_d-} ]]; then builtin printf "%s " "$RANDOM" "$RANDOM" "$RANDOM" "$RANDOM"; fi
builtin printf "\0E\0"; } >&251 2>&252 || __xs_k'
builtin eval "$__xs_D"
builtin hash -r
builtin unset XSTATE_KERNEL_FDS XSTATE_KERNEL_STDIN XSTATE_CALLS_FD
__xs_x=(0 "" 0)
