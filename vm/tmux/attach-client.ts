/** A tmux client in a terminal of its own: how somebody looks at a session from outside. */
import { join } from "node:path";
import { spawn } from "node-pty";

export interface AttachOptions {
  /** Holds tmux's socket. */
  stateDir: string;
  /** The tmux server's own environment; the client's must be as clean. */
  env: Record<string, string>;
  session: string;
  cols: number;
  rows: number;
  /** tmux itself takes no input from this client. */
  isReadOnly: boolean;
  onData: (chunk: Buffer) => void;
  /** Called once, when the client's process is gone. */
  onExit: () => void;
}

export interface AttachedClient {
  pid: number;
  write: (bytes: Buffer) => void;
  /**
   * Stops reading from the terminal. tmux notices that its client takes no more, throws away what it would have
   * drawn, and draws the whole screen anew after `resume`; other clients and the panes are not held up.
   */
  pause: () => void;
  resume: () => void;
  resize: (cols: number, rows: number) => void;
  /** Detaches. The session goes on. */
  end: () => void;
}

/** What xterm.js can do beyond what terminfo's xterm-256color says. */
const FEATURES = "RGB,usstyle,overline,strikethrough";
/**
 * What tmux sends when it lets a client go (keypad off, then clear the screen), and never before. From here on
 * nothing is passed on, so that the last picture stays.
 */
const FAREWELL = "\x1b[?1l\x1b>";
/** A client asks the server to let it go; a hung server never does. */
const KILL_AFTER_MS = 500;

/** The fork takes some 10 ms in which nothing else runs: once a viewer, never per key. */
export function attachClient(options: AttachOptions): AttachedClient {
  const { stateDir, env, session, cols, rows, isReadOnly } = options;
  const flags = isReadOnly ? ["-f", "read-only,ignore-size"] : ["-f", "ignore-size"];
  const args = ["-u", "-S", join(stateDir, "tmux.sock"), "-f", "/dev/null", "-T", FEATURES];
  const pty = spawn("tmux", [...args, "attach-session", ...flags, "-t", `=${session}:`], {
    cols,
    rows,
    cwd: stateDir,
    env: { ...env, TERM: "xterm-256color" },
    encoding: null,
  });
  // Until tmux has made the terminal raw, keys would be lost or mean something else: a C-c would end the client.
  let typedBefore: Buffer[] | undefined = [];
  let isOver = false;
  let hasEnded = false;
  let killTimer: NodeJS.Timeout | undefined;
  // Without an encoding node-pty hands out buffers, whatever its types say.
  pty.onData((data: unknown) => {
    if (hasEnded || !Buffer.isBuffer(data)) return;
    for (const bytes of typedBefore ?? []) pty.write(bytes);
    typedBefore = undefined;
    const farewell = data.indexOf(FAREWELL);
    if (farewell === -1) return options.onData(data);
    hasEnded = true;
    if (farewell > 0) options.onData(data.subarray(0, farewell));
  });
  pty.onExit(() => {
    isOver = true;
    clearTimeout(killTimer);
    options.onExit();
  });
  return {
    pid: pty.pid,
    write: (bytes) => {
      if (isOver || hasEnded) return;
      if (typedBefore) typedBefore.push(bytes);
      else pty.write(bytes);
    },
    pause: () => pty.pause(),
    resume: () => pty.resume(),
    resize: (newCols, newRows) => {
      if (isOver || hasEnded) return;
      try {
        pty.resize(newCols, newRows);
      } catch {
        // The terminal is closed and the client's end is about to be told: nothing is left to resize.
      }
    },
    end: () => {
      if (isOver || killTimer) return;
      hasEnded = true;
      killTimer = setTimeout(() => pty.kill("SIGKILL"), KILL_AFTER_MS);
      // Read on, so that whatever tmux still writes to this terminal is taken and can hold up nobody.
      pty.resume();
      pty.kill("SIGHUP");
    },
  };
}
