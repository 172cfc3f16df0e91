/** A session with one process of our program around an ACP agent. */
import type { EventBody } from "../../../shared/agent/events.ts";
import type { Line } from "../../../shared/agent/jsonl.ts";
import type {
  Answer,
  ContentPart,
  EngineControl,
  EngineSession,
  HeldCall,
  OpenRequest,
  SessionRequest,
  TranslateContext,
} from "../../engine.ts";
import { type Receipt, SentLines } from "../../folder/sent-lines.ts";
import { type FromAdapter, fromAdapter, type ToAdapter } from "./protocol.ts";
import { forgetAgentSession, keepAgentSession } from "./session-file.ts";
import { type AcpState, beginAcp } from "./state.ts";
import { translateAcp } from "./translate.ts";

export class AcpSession implements EngineSession {
  /** A line that it has had before does nothing. */
  readonly hasReadAll = true;
  readonly #request: SessionRequest;
  /** Undefined if nobody knows what was sent. */
  readonly #sentLines: SentLines | undefined;
  #state: AcpState;

  constructor(request: SessionRequest) {
    const { launch, folder, isOurs } = request;
    this.#request = request;
    this.#state = beginAcp(launch);
    this.#sentLines = isOurs
      ? SentLines.begin(folder, launch.generation)
      : SentLines.find(folder, launch.generation);
  }

  get state(): AcpState {
    return this.#state;
  }

  start(): string[] {
    return this.#state.isOpen ? [] : [JSON.stringify({ op: "open" } satisfies ToAdapter)];
  }

  /** @throws Error if the line can't be read */
  hear(line: Line, context: TranslateContext): EventBody[] | "forged" {
    const said = fromAdapter.parse(JSON.parse(line.text));
    if (this.#isForged(said)) return "forged";
    this.#keepSession(said);
    const { state, events } = translateAcp(this.#state, said, line, context);
    this.#state = state;
    return events;
  }

  deliver(id: string, content: readonly ContentPart[]): string {
    return this.#noted({ op: "deliver", id, parts: [...content] });
  }

  answer({ requestId }: OpenRequest, answer: Answer): string {
    const isAside = "refusal" in answer && answer.isAside === true;
    const isChosen = !("reply" in answer) && !("refusal" in answer) && answer.response.kind === "permission";
    const optionId =
      isChosen && answer.response.kind === "permission" ? answer.response.optionId : isAside ? "no" : null;
    return this.#noted({ op: "answer", requestId, optionId });
  }

  control(control: EngineControl): string {
    switch (control.op) {
      case "interrupt":
        return this.#noted({ op: "interrupt", seq: control.seq });
      case "mode":
        return this.#noted({ op: "mode", seq: control.seq, modeId: control.modeId });
      case "end":
        return this.#noted({ op: "end" });
      default:
        return this.#noted({ op: "open" }); // the sidecar has refused it; a line that does nothing
    }
  }

  callOf({ byte, bytes }: OpenRequest): HeldCall | undefined {
    const said = fromAdapter.parse(JSON.parse(this.#request.textAt(byte, bytes)));
    if (said.type !== "ask") return undefined;
    const { name, title, input, path } = said;
    // An agent may tell no input; then the title alone tells one call from another.
    return { name, input: input ?? { title }, ...(path !== undefined && { paths: [path] }) };
  }

  unready(): string[] {
    return [];
  }

  close(): void {
    this.#sentLines?.close();
  }

  #keepSession(said: FromAdapter): void {
    const { launch, folder } = this.#request;
    if (said.type === "gone") forgetAgentSession(folder, launch.sessionId);
    if (said.type !== "ready") return;
    const { sessionId, canResume } = said;
    keepAgentSession(folder, { launched: launch.sessionId, sessionId, canResume });
  }

  /** Before a line is sent: no echo of it comes earlier. */
  #noted(line: ToAdapter): string {
    const receipt = receiptOf(line);
    if (receipt) this.#sentLines?.note(receipt);
    return JSON.stringify(line);
  }

  /** A command that the agent runs could write into our program's input, as we do. */
  #isForged(said: FromAdapter): boolean {
    const told = this.#sentLines && echoOf(said);
    return told !== undefined && !this.#sentLines?.takes(told);
  }
}

function receiptOf(line: ToAdapter): Receipt | undefined {
  switch (line.op) {
    case "deliver":
      return receipt(`deliver ${line.id}`);
    case "answer":
      return receipt(`answer ${line.requestId}`, JSON.stringify(line.optionId));
    case "mode":
      return receipt(`mode ${line.seq}`);
    default:
      return undefined;
  }
}

function echoOf(said: FromAdapter): Receipt | undefined {
  switch (said.type) {
    case "taken":
      return receipt(`deliver ${said.id}`);
    case "answered":
      return receipt(`answer ${said.requestId}`, JSON.stringify(said.optionId));
    case "mode":
      return said.seq === undefined ? undefined : receipt(`mode ${said.seq}`);
    default:
      return undefined;
  }
}

function receipt(id: string, body = ""): Receipt {
  return { kind: "answer", id, body };
}
