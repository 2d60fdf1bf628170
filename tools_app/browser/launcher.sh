#!/bin/sh
# Starts Chromium for Playwright, which can start one file only. As root (BROWSER_UID is set) it gives up root first.
# Its pid goes into BROWSER_PID_FILE before Chromium takes this process over, and with it the process group.
set -eu
echo "$$" > "$BROWSER_PID_FILE"
program=$BROWSER_PROGRAM uid=${BROWSER_UID:-}
unset BROWSER_PROGRAM BROWSER_PID_FILE BROWSER_UID
[ -n "$uid" ] || exec "$program" "$@"
for argument in "$@"; do
    case $argument in --user-data-dir=*) chown "$uid:$uid" "${argument#*=}" ;; esac
done
exec setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs -- "$program" "$@"
