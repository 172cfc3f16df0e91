#!/bin/sh
# Runs a thread's program in its pane: wrap.sh STATUS_FILE DIRECTORY GROUPS LIMIT INPUT PROGRAM [ARGUMENT...]
#
# DIRECTORY has no link in it. If it leads elsewhere by now (it was swapped for a link after the sidecar had looked),
# nothing is started.
# GROUPS are the control groups that the program goes into, one a line; empty if there are none.
# LIMIT is a limit on resident memory in KiB. It limits nothing: all that the program starts is known by it.
# INPUT is the file that the program reads, empty where it reads the terminal.
# The file STATUS_FILE with the ending "waiting", if there is one, says that no program was begun: it goes before that.
# The wrapper keeps the exit code in STATUS_FILE (tmux can lose it: a SIGCHLD swallowed by utempter before 3.6), and it
# outlives the program by a moment, since tmux discards what it has not read when the pane's process is gone.
# TMUX and TMUX_PANE are dropped: tmux used inside a thread is the user's own, never ours.
trap : INT QUIT
status=$1
dir=$2
groups=$3
limit=$4
input=$5
shift 5
unset TMUX TMUX_PANE
rc=126
if ! cd -P -- "$dir"; then
	printf 'threadmux: %s could not be started in %s.\n' "$1" "$dir"
elif [ "$PWD" != "$dir" ]; then # -P has made PWD the true path
	printf 'threadmux: %s leads elsewhere now; nothing was started.\n' "$dir"
else
	waiting=${status%.*}.waiting
	[ ! -e "$waiting" ] || rm -f -- "$waiting"
	# In a shell of its own, so that this one's remarks ("Terminated") stay out of the program's output.
	exec 3>&2 2>/dev/null
	(
		IFS='
'
		set -f
		for group in $groups; do echo 0 >"$group/cgroup.procs"; done # 0 is this shell, not the one around it
		set +f
		unset IFS
		ulimit -m "$limit" # fails if somebody has set a lower one: then the program is known by all else
		[ -z "$input" ] || exec <"$input"
		exec "$@" 2>&3 3>&-
	)
	rc=$?
	if [ "$rc" = 127 ] && [ ! -e "$1" ]; then
		printf 'threadmux: %s is not installed on this machine.\n' "$1"
	elif [ "$rc" = 126 ] && [ ! -x "$1" ]; then
		printf 'threadmux: %s could not be started in %s.\n' "$1" "$dir"
	elif [ -n "$input" ]; then
		# An agent's program. A shell is left out here: its command may well end with 126 or 127.
		case $rc in 126 | 127) printf 'threadmux: %s could not be started, or a program that it needs.\n' "$1" ;; esac
	fi
fi
(umask 077 && printf '%s\n' "$rc" >"$status.tmp") && mv -- "$status.tmp" "$status"
sleep 0.15
exit "$rc"
