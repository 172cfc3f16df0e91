/** One process of our adapter around a person's program. */
import type { EventBody } from "../../../shared/agent/events.ts";
import type { Line } from "../../../shared/agent/jsonl.ts";
import type {
  ContentPart,
  EngineControl,
  EngineSession,
  SessionRequest,
  TranslateContext,
} from "../../engine.ts";
import type { ToAdapter } from "./protocol.ts";
import { beginCommand, type CommandState, translateCommand } from "./translate.ts";

export class CommandSession implements EngineSession {
  /** A delivery that it has had before does nothing. */
  readonly hasReadAll = true;
  #state: CommandState;

  constructor({ launch }: SessionRequest) {
    this.#state = beginCommand(launch);
  }

  get state(): CommandState {
    return this.#state;
  }

  start(): string[] {
    return this.#state.isOpen ? [] : [lineOf({ op: "open" })];
  }

  hear(line: Line, context: TranslateContext): EventBody[] {
    const { state, events } = translateCommand(this.#state, line, context);
    this.#state = state;
    return events;
  }

  deliver(id: string, content: readonly ContentPart[]): string {
    return lineOf({ op: "deliver", id, text: content.map(textOf).join("\n\n") });
  }

  answer(): string {
    throw new Error("this engine asks nothing");
  }

  control(control: EngineControl): string {
    if (control.op === "interrupt" || control.op === "end") return lineOf({ op: control.op });
    return lineOf({ op: "open" }); // the sidecar has refused it; a line that does nothing
  }

  unready(): string[] {
    return [];
  }

  close(): void {}
}

function textOf(part: ContentPart): string {
  return part.type === "text" ? part.text : "(an image, which this program does not get)";
}

function lineOf(line: ToAdapter): string {
  return JSON.stringify(line);
}
