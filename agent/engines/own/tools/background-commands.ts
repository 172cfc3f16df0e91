/** The commands that go on while the model does something else. None of them outlives the engine. */
import { cleanLine } from "../../../../shared/clean-text.ts";
import type { CommandEnd, RunningCommand } from "./running-command.ts";
import { ToolError } from "./tool-error.ts";

/** Running ones. */
const MAX_RUNNING = 8;
/** Ended ones whose output can still be read. */
const MAX_ENDED = 8;
const MAX_TITLE = 200;

export interface BackgroundCommand {
  /** The model names it so. */
  readonly id: string;
  readonly command: string;
  readonly running: RunningCommand;
  readonly startedMs: number;
}

/** A command in the background, as the thread lists it. */
export interface BackgroundTask {
  taskId: string;
  title: string;
}

export class BackgroundCommands {
  readonly #commands = new Map<string, BackgroundCommand>();
  readonly #onChange: (tasks: BackgroundTask[]) => void;
  readonly #onExit = () => {
    for (const { running } of this.#commands.values()) running.killNow();
  };
  #count = 0;
  #starting = 0;

  /** @param onChange is called with those that run whenever one begins or ends */
  constructor(onChange: (tasks: BackgroundTask[]) => void) {
    this.#onChange = onChange;
  }

  /** Keeps a place for a command that `work` may add. @throws ToolError if no more may run */
  async starting<T>(work: () => Promise<T>): Promise<T> {
    const running = this.#running();
    if (running.length + this.#starting >= MAX_RUNNING)
      throw new ToolError(
        `${MAX_RUNNING} commands run in the background (${running.map(({ id }) => id).join(", ")}), and no more may: end one with process, or wait for one.`,
      );
    this.#starting++;
    try {
      return await work();
    } finally {
      this.#starting--;
    }
  }

  add(command: string, running: RunningCommand): BackgroundCommand {
    this.#count++;
    const added = { id: `b${this.#count}`, command, running, startedMs: performance.now() };
    if (this.#running().length === 0) process.once("exit", this.#onExit);
    this.#commands.set(added.id, added);
    this.#onChange(this.tasks());
    void running.end.then(() => {
      this.#forget();
      if (this.#running().length === 0) process.off("exit", this.#onExit);
      this.#onChange(this.tasks());
    });
    return added;
  }

  /** @throws ToolError if there is none */
  get(id: string): BackgroundCommand {
    const found = this.#commands.get(id);
    if (found) return found;
    const known = [...this.#commands.keys()].join(", ");
    throw new ToolError(
      `No command ${id} is known. ${known === "" ? "There is none." : `There are: ${known}.`}`,
    );
  }

  list(): BackgroundCommand[] {
    return [...this.#commands.values()];
  }

  /** Those that run. */
  tasks(): BackgroundTask[] {
    return this.#running().map(({ id, command }) => ({
      taskId: id,
      title: cleanLine(command).slice(0, MAX_TITLE),
    }));
  }

  /** Ends one for a person. @returns how it ended; undefined if it does not run */
  async endTask(id: string): Promise<CommandEnd | undefined> {
    const found = this.#commands.get(id);
    if (!found || found.running.ended) return undefined;
    await found.running.kill();
    return found.running.end;
  }

  async close(): Promise<void> {
    process.off("exit", this.#onExit);
    await Promise.all(this.#running().map(({ running }) => running.kill()));
  }

  #running(): BackgroundCommand[] {
    return this.list().filter(({ running }) => !running.ended);
  }

  #forget(): void {
    const ended = this.list().filter(({ running }) => running.ended);
    for (const { id } of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) this.#commands.delete(id);
  }
}
