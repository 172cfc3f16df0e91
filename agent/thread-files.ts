/** A thread's folder as the runner has it: the inbox that it reads, the transcript that it writes, and its notes. */
import { existsSync } from "node:fs";
import type { Writable } from "node:stream";
import { type BlobMap, unboundLine } from "../shared/agent/bound.ts";
import type { ThreadConfig } from "../shared/agent/config.ts";
import { ENGINES } from "../shared/agent/engines/engines.ts";
import type { EventBody, ThreadEvent } from "../shared/agent/events.ts";
import { findEvent } from "../shared/agent/find-event.ts";
import type { ThreadFold } from "../shared/agent/fold-types.ts";
import { threadPath } from "../shared/agent/paths.ts";
import { toldOfDecision } from "./core/aside.ts";
import { askedBy } from "./core/held-ask.ts";
import { answeredBy, inboxEvent, shownOf, toldOfReason } from "./core/inbox-events.ts";
import type { Launch } from "./engine.ts";
import { LineFile } from "./folder/line-file.ts";
import { type EventSource, Transcript } from "./folder/transcript.ts";
import type { Seat } from "./seat.ts";
import { Projections, readState, type StateWrite } from "./show/projections.ts";

const MAX_LINE = 1024 * 1024;

export class ThreadFiles {
  readonly #folder: string;
  readonly #config: ThreadConfig;
  readonly #projections: Projections;
  readonly #transcript: Transcript;
  readonly #inbox: LineFile;
  #lastLaunch: Launch | undefined;

  constructor(folder: string, config: ThreadConfig, pane: Writable) {
    this.#folder = folder;
    this.#config = config;
    const state = readState(folder);
    const snapshot = state && { ...state.transcript, fold: state.fold as ThreadFold };
    const isGood = snapshot !== undefined && Transcript.fits(folder, snapshot);
    this.#projections = new Projections(folder, pane, isGood ? (state?.markdown.bytes ?? 0) : 0);
    const catchUp = (event: ThreadEvent) => this.#projections.catchUp(event);
    this.#transcript = new Transcript(folder, isGood ? snapshot : undefined, catchUp);
    this.#lastLaunch = state?.launch;
    this.#inbox = new LineFile(threadPath(folder, "inbox"), this.fold.lastInboxId?.byte ?? 0, MAX_LINE, true);
    this.#writeStart();
    this.#noteForeignLines();
  }

  get fold(): ThreadFold {
    return this.#transcript.fold;
  }

  /** What the engine's newest process was started for; undefined if that is not known. */
  get lastLaunch(): Launch | undefined {
    return this.#lastLaunch;
  }

  get transcriptPath(): string {
    return threadPath(this.#folder, "transcript");
  }

  get transcriptBytes(): number {
    return this.#transcript.bytes;
  }

  append(source: EventSource, bodies: readonly EventBody[]): void {
    this.#projections.show(this.#transcript.append(source, bodies, new Date()));
  }

  /** @returns whether there was a new line */
  readInbox(): boolean {
    const lines = this.#inbox.read();
    const { capabilities } = ENGINES[this.#config.agent.engine];
    for (const { byte, text } of lines) {
      const isSingle = this.#config.agent.mode === "single";
      const event = inboxEvent(text, this.fold, isSingle, (line) => this.whole(line));
      this.append({ from: "inbox", byte }, [
        ...answeredBy(event, this.fold),
        event,
        ...askedBy(event),
        ...toldOfDecision(event, this.fold),
        ...toldOfReason(event, this.fold, capabilities),
        ...shownOf(event, this.fold),
      ]);
    }
    return lines.length > 0;
  }

  /** All events, those of a branch's origin first. What the thread began with is whole. */
  *history(): Iterable<ThreadEvent> {
    for (const name of ["origin", "transcript"] as const) {
      const path = threadPath(this.#folder, name);
      if (!existsSync(path)) continue;
      const file = new LineFile(path, 0, MAX_LINE, true);
      for (let lines = file.read(); lines.length > 0; lines = file.read()) {
        for (const { text } of lines) {
          const event = findEvent(text);
          if (event) yield event.type === "initial_message" ? this.whole(event) : event;
        }
      }
      file.close();
    }
  }

  readBlob(sha256: string): string | undefined {
    return this.#transcript.readBlob(sha256);
  }

  sync(): void {
    this.#transcript.sync();
  }

  /** Known to every other process before the launched one runs. */
  noteLaunch(launch: Launch): void {
    this.#lastLaunch = launch;
    this.#writeState(undefined, "now");
  }

  /** What {@link noteLaunch} noted is on the disk when this returns. */
  syncLaunch(): void {
    this.#projections.syncState();
  }

  noteEnd(): void {
    this.#writeState(undefined, "durable");
  }

  /** @returns whether live.json waits for its time */
  writeNotes(seat: Seat | undefined): boolean {
    this.#writeState(seat, "soon");
    return this.#projections.writeLive(this.fold, seat?.state, Date.now());
  }

  close(): void {
    this.#transcript.sync();
    this.#writeState(undefined, "durable");
    this.#projections.writeLive(this.fold, undefined, Date.now());
    this.#inbox.close();
    this.#transcript.close();
    this.#projections.close();
  }

  /** A line as it was before it was cut. */
  readonly whole = <T extends { blobs?: BlobMap | undefined }>(line: T): T => {
    const { blobs: _, ...rest } = unboundLine(line, (sha256) => this.readBlob(sha256));
    return rest as T;
  };

  #writeStart(): void {
    if (this.fold.seq > 0) return;
    const { threadId, createdBy, agent, origin } = this.#config;
    const { messageId } = origin ?? {};
    this.append({ from: "start" }, [
      {
        type: "thread_start",
        v: 1,
        threadId,
        createdBy,
        config: agent,
        ...(origin && {
          origin: {
            threadId: origin.threadId,
            seq: origin.seq,
            ...(messageId !== undefined && { messageId }),
          },
        }),
      },
    ]);
  }

  #noteForeignLines(): void {
    const count = this.#transcript.foreignLines;
    if (count === 0) return;
    const title = `${count} lines of the transcript can't be read; they are skipped`;
    this.append(null, [{ type: "notice", severity: "warning", title }]);
  }

  #writeState(seat: Seat | undefined, when: StateWrite): void {
    const positions = {
      transcriptBytes: this.#transcript.bytes,
      inboxBytes: this.#inbox.byte,
      engineBytes: seat?.process.output.byte ?? 0,
      launch: this.#lastLaunch,
    };
    this.#projections.writeState(this.fold, positions, Date.now(), when);
  }
}
