/** Follows a source of logs in a pane, and shows of it what people want to see. */
import { readFileSync, statSync } from "node:fs";
import { type FollowSpec, specSchema, type View, viewSchema } from "../shared/follow/spec.ts";
import { Display, type LogLine, remark } from "./display.ts";
import { FilesSource } from "./files.ts";
import { Held } from "./held.ts";
import { ProgramSource } from "./program.ts";
import type { Sink, Source } from "./source.ts";

/** The time between two looks: no line is shown later than that. */
const LOOK_MS = 200;

/** @param write blocks while the pane takes no more. @returns the exit code */
export async function follow(
  specFile: string,
  write: (text: string) => void,
  signal: AbortSignal,
): Promise<number> {
  const spec = specSchema.parse(JSON.parse(readFileSync(specFile, "utf8")));
  const views = new ViewFile(spec.viewFile);
  const screen = new Screen(spec, views.read(), write);
  const source = await open(spec, screen);
  try {
    while (!signal.aborted) {
      const view = views.findNews();
      if (view) screen.setView(view);
      const hasMore = screen.isFull ? false : await source.look(Date.now());
      if (source.ended !== undefined) return source.ended;
      if (!hasMore) await source.wait(LOOK_MS, signal);
    }
    return 130;
  } finally {
    screen.close();
    await source.close();
  }
}

async function open({ source, lines }: FollowSpec, sink: Sink): Promise<Source> {
  if (source.kind === "program") return new ProgramSource(source.argv, sink);
  const files = new FilesSource(source.pattern, sink);
  await files.begin(lines, Date.now());
  return files;
}

/** The file in which the sidecar says what people want to see. The sidecar replaces it as a whole. */
class ViewFile {
  readonly #file: string;
  #version = "";

  constructor(file: string) {
    this.#file = file;
  }

  read(): View {
    this.#version = this.#look();
    return viewSchema.parse(JSON.parse(readFileSync(this.#file, "utf8")));
  }

  /** Undefined if it is as it was, or gone with its thread. */
  findNews(): View | undefined {
    const version = this.#look();
    return version === "" || version === this.#version ? undefined : this.read();
  }

  #look(): string {
    const stats = statSync(this.#file, { throwIfNoEntry: false });
    return stats === undefined ? "" : `${stats.ino} ${stats.mtimeMs}`;
  }
}

/** Prints lines, or holds them in a pause. */
class Screen implements Sink {
  readonly #write: (text: string) => void;
  readonly #display: Display;
  readonly #held: Held;
  #view: View;
  #hasTrouble = false;

  constructor(
    { service, heldFile, maxHeldBytes, lines }: FollowSpec,
    view: View,
    write: (text: string) => void,
  ) {
    this.#write = write;
    this.#view = view;
    this.#display = new Display(null, Math.max(lines, 1));
    // Something is there to look at, and to press buttons below, before the first line comes.
    this.#print(remark(service));
    this.#print(this.#display.setGrep(view.grep));
    this.#held = new Held(heldFile, maxHeldBytes);
  }

  get isFull(): boolean {
    return this.#view.paused && (this.#held.isFull || this.#hasTrouble);
  }

  take(lines: readonly LogLine[]): void {
    if (this.#view.paused) this.#hold(lines);
    else this.#print(this.#display.add(lines));
  }

  #hold(lines: readonly LogLine[]): void {
    try {
      this.#held.add(lines);
    } catch (error) {
      // The disk is full: these lines are shown rather than lost, and no more are read until it goes on.
      this.#hasTrouble = true;
      this.#print(remark(`nothing more can be held: ${(error as Error).message}`) + this.#display.add(lines));
    }
  }

  say(text: string): void {
    this.#print(remark(text));
  }

  setView({ paused, grep }: View): void {
    const wasPaused = this.#view.paused;
    this.#view = { paused, grep };
    if (paused) {
      if (!wasPaused) this.#print(remark("paused: what comes is held"));
      return;
    }
    if (wasPaused) this.#goOn();
    this.#print(this.#display.setGrep(grep));
  }

  #goOn(): void {
    this.#print(
      remark(this.#held.isEmpty ? "goes on: nothing came meanwhile" : "goes on: what came meanwhile"),
    );
    for (const lines of this.#held.take()) this.#print(this.#display.add(lines));
    this.#hasTrouble = false;
  }

  /** Nothing that was held is lost where the source has ended. */
  close(): void {
    if (!this.#held.isEmpty) this.#goOn();
    this.#held.close();
  }

  #print(text: string): void {
    if (text !== "") this.#write(text);
  }
}
