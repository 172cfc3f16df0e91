/** Types into panes: short inputs as keys, long ones by a buffer; in time and into a live program, or not at all. */
import { randomUUID } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ifRefused } from "./control-client.ts";
import { hexKeys, isTmuxAtLeast, quoteArg, quoteCommand } from "./protocol.ts";

/** `send-keys` costs tmux some 12 µs a byte, in which it does nothing else; a buffer costs next to nothing. */
const MAX_KEY_BYTES = 1_000;
/** Begins the names of the files and buffers that hold a long input on its way. */
const PASTE_PREFIX = "paste-";
/** A user option of the pane. */
const INPUT_OPTION = "@threadmux_input";

export interface TypistOptions {
  stateDir: string;
  /** What `tmux -V` says. */
  version: () => string;
  run: (commands: readonly string[]) => Promise<string[][]>;
  /** See `ControlClient.runInTime`. */
  runInTime: (commands: readonly string[], livePane: string) => Promise<string[][]>;
}

export class Typist {
  readonly #options: TypistOptions;
  /** Buffers that may be left in tmux: what they hold has not gone in. */
  readonly #unpasted = new Set<string>();

  constructor(options: TypistOptions) {
    this.#options = options;
  }

  /** To be called at start: a sidecar that was killed leaves what it had on its way. */
  removeLeftFiles(): void {
    const { stateDir } = this.#options;
    const left = readdirSync(stateDir).filter((name) => name.startsWith(PASTE_PREFIX));
    for (const name of left) rmSync(join(stateDir, name), { force: true });
  }

  /** @param names of all buffers in tmux, before anything is typed. */
  noteBuffers(names: readonly string[]): void {
    for (const name of names) if (name.startsWith(PASTE_PREFIX)) this.#unpasted.add(name);
  }

  /**
   * Types bytes, every one as it is. An `inputId` is kept in the pane by the very command line that types the last
   * of them: tmux has either done both or neither.
   */
  async sendBytes(paneId: string, bytes: Buffer, inputId?: string): Promise<void> {
    const after = markOf(paneId, inputId);
    if (bytes.length > MAX_KEY_BYTES) return this.#paste(paneId, { bytes, after });
    const keys = keysOf(paneId, bytes);
    if (keys.length + after.length === 0) return;
    await this.#options.runInTime([...keys, ...after], paneId);
  }

  /**
   * As {@link sendBytes}, in the frame of a paste if the program wants one the moment tmux types it.
   * @param rest goes in behind the frame
   */
  async sendFramed(paneId: string, bytes: Buffer, rest: Buffer, inputId?: string): Promise<void> {
    if (bytes.length === 0) return this.sendBytes(paneId, rest, inputId); // tmux has no empty buffer
    const after = [...keysOf(paneId, rest), ...markOf(paneId, inputId)];
    await this.#paste(paneId, { bytes, after, flags: ["-p"] });
  }

  /** Pastes a buffer that tmux reads from a file: many bytes at once, any byte, none of them replaced (`-r`, `-S`). */
  async #paste(
    paneId: string,
    { bytes, after, flags = [] }: { bytes: Buffer; after: readonly string[]; flags?: readonly string[] },
  ): Promise<void> {
    const name = `${PASTE_PREFIX}${randomUUID()}`;
    const file = join(this.#options.stateDir, name);
    // From 3.7 on, control characters are pasted as they are only with -S, which older ones refuse.
    const asTheyAre = isTmuxAtLeast(this.#options.version(), "3.7") ? ["-r", "-S"] : ["-r"];
    await this.dropUnpasted();
    try {
      await writeFile(file, bytes, { mode: 0o600, flag: "wx" });
      // Lines of their own: a load that fails comes back late and does not drop the rest of its line.
      await this.#options.run([quoteCommand(["load-buffer", "-b", name, name])]);
      const paste = ["paste-buffer", "-d", ...flags, ...asTheyAre, "-b", name, "-t", paneId];
      await this.#options.runInTime([quoteCommand(paste), ...after], paneId);
    } catch (error) {
      this.#unpasted.add(name);
      throw error;
    } finally {
      await rm(file, { force: true });
    }
  }

  /** Drops what {@link noteBuffers} and pastes that failed have left. */
  async dropUnpasted(): Promise<void> {
    for (const name of [...this.#unpasted]) {
      await this.#options.run([quoteCommand(["delete-buffer", "-b", name])]).catch(ifRefused);
      this.#unpasted.delete(name);
    }
  }

  /** The `inputId` that was typed last. */
  async findLastInputId(paneId: string): Promise<string | undefined> {
    const [lines = []] = await this.#options.run([
      quoteCommand(["show-options", "-p", "-q", "-v", "-t", paneId, INPUT_OPTION]),
    ]);
    return lines[0];
  }

  /** Presses a key by tmux's name for it; the caller has checked the name. */
  async sendKey(paneId: string, key: string): Promise<void> {
    const name = key === "S-Tab" ? "BTab" : key; // tmux knows it by this name alone
    await this.#options.runInTime([quoteCommand(["send-keys", "-t", paneId, "--", name])], paneId);
  }
}

function keysOf(paneId: string, bytes: Buffer): string[] {
  return bytes.length === 0 ? [] : [`send-keys -t ${quoteArg(paneId)} -H ${hexKeys(bytes)}`];
}

/** Keeps an input's id in the pane. */
function markOf(paneId: string, inputId: string | undefined): string[] {
  return inputId === undefined
    ? []
    : [quoteCommand(["set-option", "-p", "-t", paneId, INPUT_OPTION, inputId])];
}
