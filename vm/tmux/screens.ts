/** What panes show: their screen, and the last lines as text. */
import type { TmuxConnection } from "./connection.ts";
import { isTmuxAtLeast, quoteCommand } from "./protocol.ts";

/** What tmux before 3.3 writes on the last line of a screen whose process has ended; a later one is told not to. */
const TOMBSTONE = /^Pane is dead \((status|signal) \d+, .*\)\s*$/;

export interface Screen {
  screen: string;
  cursor: { x: number; y: number };
  alternate: boolean;
  title: string;
}

export class Screens {
  readonly #connection: TmuxConnection;

  constructor(connection: TmuxConnection) {
    this.#connection = connection;
  }

  /** What the screen shows now; `ansi` keeps colours as SGR sequences, and coloured bars to their ends. */
  async capture(paneId: string, format: "text" | "ansi"): Promise<Screen> {
    // The title raw, never `#{E:…}`: a program chooses it. It stands last, since it may hold spaces.
    const stateFormat = "#{cursor_x} #{cursor_y} #{alternate_on} #{pane_title}";
    const [state = [], lines = []] = await this.#connection.runSealed([
      quoteCommand(["display-message", "-p", "-t", paneId, stateFormat]),
      quoteCommand(["capture-pane", "-p", ...(format === "ansi" ? ["-e", "-N"] : []), "-t", paneId]),
    ]);
    const [x = "0", y = "0", alternate = "0", ...title] = state.join(" ").split(" ");
    const shown = this.#withoutTombstone(lines);
    return {
      screen: (format === "text" ? shown.map((line) => line.trimEnd()) : shown).join("\n"),
      cursor: { x: Number(x), y: Number(y) },
      alternate: alternate === "1",
      title: title.join(" "),
    };
  }

  /** Whether a full-screen program has the alternate screen. */
  async isFull(paneId: string): Promise<boolean> {
    const [lines = []] = await this.#connection.run([
      quoteCommand(["display-message", "-p", "-t", paneId, "#{alternate_on}"]),
    ]);
    return lines[0] === "1";
  }

  /** The last lines of history and screen as text, wrapped lines joined. */
  async captureText(paneId: string, historyLines: number): Promise<string> {
    const [lines = []] = await this.#connection.runSealed([
      quoteCommand(["capture-pane", "-p", "-J", "-S", `-${historyLines}`, "-t", paneId]),
    ]);
    return this.#withoutTombstone(lines)
      .map((line) => line.trimEnd())
      .join("\n");
  }

  #withoutTombstone(lines: readonly string[]): readonly string[] {
    const isThere =
      !isTmuxAtLeast(this.#connection.version ?? "", "3.3") && TOMBSTONE.test(lines.at(-1) ?? "");
    return isThere ? lines.with(-1, "") : lines;
  }
}
