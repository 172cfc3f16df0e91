/** Where lines come from. */
import type { LogLine } from "./display.ts";

export interface Source {
  /** Looks for what is new, a bounded part of it. @returns whether there is more to read at once */
  look(now: number): Promise<boolean>;
  /** Waits so long for news, or less. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** The exit code once nothing more will come. */
  readonly ended: number | undefined;
  close(): Promise<void>;
}

export interface Sink {
  /** Takes lines in order. */
  take(lines: readonly LogLine[]): void;
  /** Says something of the program's own. */
  say(text: string): void;
}
