/**
 * The sink of a pane: it appends what tmux pipes into it to a log, until its input ends. It makes no log. The log is
 * made before the session; if it is gone, the creation has failed meanwhile, and a log would make the session pass for
 * one of a lost database.
 * @param paths relative to the state folder, of [A-Za-z0-9/_.-] only: tmux expands them, and then a shell.
 */
export function sinkCommand({ logPath, sinkPidPath }: { logPath: string; sinkPidPath: string }): string {
  for (const path of [logPath, sinkPidPath]) {
    if (!/^[A-Za-z0-9/_.-]+$/.test(path)) throw new Error(`unsafe path: ${path}`);
  }
  return `umask 077; [ -f ${logPath} ] || exit 1; echo $$ > ${sinkPidPath}; exec cat >> ${logPath}`;
}
