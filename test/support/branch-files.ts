/** The files of a thread as its transcript tells them: what its calls wrote one after the other, and what was undone. */
import type { ThreadEvent } from "../../shared/agent/events.ts";

export type Files = Readonly<Record<string, string>>;
type Diff = { path: string; before: string | undefined; after: string | undefined }[];

const NAMES = ["one", "two", "three", "four"];

/** A call that writes or removes a file in the directory that is called after the thread, and does nothing elsewhere. */
export function changingCall(threadId: string, text: string, random: () => number) {
  const path = NAMES[Math.floor(random() * NAMES.length)] ?? "one";
  const isRemoved = random() < 0.25;
  const command = isRemoved ? `rm -f ${path}` : `echo ${text} > ${path}`;
  const guard = `[ "\${PWD##*/}" != ${threadId} ] || `;
  const description = `${threadId} ${path} ${isRemoved ? "" : text}`;
  return { name: "Bash", input: { command: guard + command, description } };
}

/** What is known after so many of a thread's events. */
class Replay {
  readonly #threadId: string;
  readonly #calls = new Map<string, string>();
  readonly #diffs = new Map<string, Diff>();
  files: Files;
  turn: { turnId: string; before: Files } | undefined;

  constructor(threadId: string, first: Files) {
    this.#threadId = threadId;
    this.files = first;
  }

  take(event: ThreadEvent): void {
    if (event.type === "turn_start") this.turn = { turnId: event.turnId, before: this.files };
    else if (event.type === "tool_call") {
      const { description = "" } = event.rawInput as { description?: string };
      this.#calls.set(event.toolCallId, description);
    } else if (event.type === "tool_call_update" && event.status === "completed") {
      const [threadId, path = "", text = ""] = (this.#calls.get(event.toolCallId) ?? "").split(" ");
      if (threadId === this.#threadId && NAMES.includes(path))
        this.files = withFile(this.files, path, text === "" ? undefined : `${text}\n`);
    } else if (event.type === "turn_end" && this.turn) {
      this.#diffs.set(event.turnId, diff(this.turn.before, this.files));
      this.turn = undefined;
    } else if (event.type === "undo" && event.status === "completed") this.#undo(event.target, event.undoId);
  }

  #undo(target: string, undoId: string): void {
    const before = this.files;
    for (const change of this.#diffs.get(target) ?? [])
      if (this.files[change.path] === change.after)
        this.files = withFile(this.files, change.path, change.before);
    this.#diffs.set(undoId, diff(before, this.files));
  }
}

/**
 * In the midst of a turn, before its last call has ended, the files from before it. At the end of what was said, with
 * what was undone since.
 * @param first the files that the thread began with
 * @param seq the point; undefined is where the conversation stands
 */
export function filesAt(
  threadId: string,
  first: Files,
  events: readonly ThreadEvent[],
  seq = Number.POSITIVE_INFINITY,
): Files {
  const replay = new Replay(threadId, first);
  for (const event of events) {
    if (event.seq <= seq) replay.take(event);
    else break;
  }
  const later = events.filter((event) => event.seq > seq);
  const { turn } = replay;
  const end = later.findIndex(({ type }) => type === "turn_end");
  const rest = end < 0 ? later : later.slice(0, end);
  if (turn && (end < 0 || rest.some(({ type }) => type === "tool_call_update"))) return turn.before;
  if (!later.some(({ type }) => type === "turn_start")) for (const event of later) replay.take(event);
  return replay.files;
}

function withFile(files: Files, path: string, text: string | undefined): Files {
  const { [path]: _, ...others } = files;
  return text === undefined ? others : { ...others, [path]: text };
}

function diff(before: Files, after: Files): Diff {
  return NAMES.map((path) => ({ path, before: before[path], after: after[path] })).filter(
    (change) => change.before !== change.after,
  );
}
