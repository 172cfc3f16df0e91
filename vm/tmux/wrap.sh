#!/bin/sh
# Runs a thread's program in its pane: wrap.sh STATUS_FILE DIRECTORY GROUP PROGRAM [ARGUMENT...]
#
# GROUP is the control group that the program goes into, empty where there is none.
# It keeps the exit code in STATUS_FILE (tmux can lose it: a SIGCHLD swallowed by utempter before 3.6), and it
# outlives the program by a moment, since tmux discards what it has not read when the pane's process is gone.
# TMUX and TMUX_PANE are dropped: tmux used inside a thread is the user's own, never ours.
trap : INT QUIT
status=$1
dir=$2
group=$3
shift 3
unset TMUX TMUX_PANE
if cd -- "$dir"; then
	# In a shell of its own, so that this one's remarks ("Terminated") stay out of the program's output.
	exec 3>&2 2>/dev/null
	(
		[ -z "$group" ] || echo 0 >"$group/cgroup.procs" # 0 is this shell, not the one around it
		exec "$@" 2>&3 3>&-
	)
	rc=$?
else
	rc=126
fi
if [ "$rc" = 127 ] && [ ! -e "$1" ]; then
	printf 'threadmux: %s is not installed on this machine.\n' "$1"
elif [ ! -d "$dir" ] || [ ! -x "$1" ]; then
	[ "$rc" != 126 ] || printf 'threadmux: %s could not be started in %s.\n' "$1" "$dir"
elif [ "$2" != -c ]; then
	# No shell, in which a command may well end with 126 or 127: its interpreter is missing, for one.
	case $rc in 126 | 127) printf 'threadmux: %s could not be started, or a program that it needs.\n' "$1" ;; esac
fi
(umask 077 && printf '%s\n' "$rc" >"$status.tmp") && mv -- "$status.tmp" "$status"
sleep 0.15
exit "$rc"
