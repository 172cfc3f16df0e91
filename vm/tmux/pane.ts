/** A pane as tmux tells of it. */

export interface Pane {
  session: string;
  paneId: string;
  pid: number;
  isDead: boolean;
  exitCode: number | undefined;
  /** A signal's number, if the pane's process itself (our wrapper) died by one. */
  signal: number | undefined;
  /** Whether output still goes to the log. */
  isPiped: boolean;
  tty: string;
}

/** What {@link parsePane} reads. The session's name stands last. */
export const PANE_FORMAT =
  "#{pane_id}|#{pane_pid}|#{pane_dead}|#{pane_dead_status}|#{pane_dead_signal}|#{pane_pipe}|#{pane_tty}|#{session_name}";

export function parsePane(line: string): Pane {
  const [paneId = "", pid = "", dead = "", code = "", signal = "", pipe = "", tty = "", ...session] =
    line.split("|");
  return {
    session: session.join("|"),
    paneId,
    pid: Number(pid),
    isDead: dead === "1",
    exitCode: code === "" ? undefined : Number(code),
    signal: signal === "" ? undefined : Number(signal),
    isPiped: pipe === "1",
    tty,
  };
}
