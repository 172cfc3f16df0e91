/**
 * The calls of an answer: asked about, let go on by the runner, run, and told. That a call begins is written before it
 * does, so one that a death cut off is never run again: what became of it is looked up, or said to be unknown.
 */
import type { EventBody } from "../../../shared/agent/events.ts";
import type { ToolKind } from "../../../shared/agent/values.ts";
import type { Env } from "../../engine.ts";
import { CallAsks } from "./call-asks.ts";
import { type Call, type History, NOT_RUN, textContent } from "./history.ts";
import type { Output } from "./output.ts";
import type { Pictures } from "./pictures.ts";
import type { Request, Verdict } from "./protocol.ts";
import type { Requests } from "./requests.ts";
import { endOf, failed, isBare, pathIn, runTool, stateOf, titleOf } from "./told-calls.ts";
import type { Toolbox } from "./toolbox.ts";
import type { AnyTool, FileChange, ToolCall, ToolContext } from "./tools/tool.ts";
import type { Where } from "./tools/where.ts";

export interface CallsOptions {
  history: History;
  output: Output;
  pictures: Pictures;
  requests: Requests;
  tools: Pick<Toolbox, "find" | "names">;
  where: Where;
  /** The environment of commands. */
  env: Env;
  /** The mode that holds now. */
  modeId: () => string;
  /** Somebody may decide whether a call runs, whatever it does. */
  hasGates?: boolean;
  tellsCalls?: boolean;
  /** How a command is started; left out: as it is. */
  inSandbox?: ToolContext["inSandbox"] | undefined;
}

const DENIED = "The person denied this call.";
/** Calls of these change and read nothing that others should know of. */
const UNSEEN: readonly ToolKind[] = ["search", "think"];

export class Calls {
  readonly #options: CallsOptions;
  readonly #asks: CallAsks;

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#asks = new CallAsks(options);
  }

  /** Tells the transcript of a call that the model makes, with its ask if it has one. */
  begin(toolCallId: string, at: string, name: string, input: unknown, problem: string | undefined) {
    const found = this.#find(name, input, problem);
    const base = { type: "tool_call" as const, toolCallId, at, name, rawInput: input };
    if ("problem" in found) {
      const end: EventBody = {
        ...{ type: "tool_call_update", toolCallId, status: "failed" },
        content: [textContent(found.problem)],
      };
      return { call: { ...base, title: name, kind: "other" as const }, after: [end], requests: [] };
    }
    const call = { ...base, title: titleOf(name, found.call.subject), kind: found.tool.kind };
    const asked = this.#asks.find(toolCallId, { ...call, input }, found.call);
    return { call, after: asked ? [asked.event] : [], requests: asked ? [asked.request] : [] };
  }

  /** Runs what is left of the newest answer's calls. Ends early only if the person stops the turn. */
  async run(signal: AbortSignal): Promise<void> {
    for (let left = this.#left(); left.length > 0 && !signal.aborted; left = this.#left()) {
      const reading = left.filter(({ call, tool }) => tool?.isRepeatable && !call.ask);
      if (reading.length > 0) await Promise.all(reading.map(({ call }) => this.#runOne(call, signal)));
      else await this.#runFirst(left, signal);
    }
  }

  /** Ends the calls that a dead process left open. It must be called before anything else is done. */
  settle(): void {
    const { history, output } = this.#options;
    for (const call of history.lastCalls) {
      const isCutOff = call.hasBegun && (!call.end || isBare(call));
      if (!isCutOff) continue;
      const state = stateOf(call);
      if (state === "run") {
        call.hasBegun = false; // nothing was written: it runs now
        delete call.end;
      } else if (state === "completed") {
        output.say({ events: [endOf(call, { text: "It was written before the session was restarted." })] });
      } else if (!call.end) {
        output.say({ events: [{ ...failed(call.callId, []), reason: "interrupted" }] });
      }
    }
    const asked = history.openCalls.filter(({ ask }) => ask);
    const requests = asked.flatMap((call) => {
      const found = this.#find(call.name, call.input, undefined);
      return "problem" in found || !call.ask
        ? []
        : [
            this.#asks.request(
              call.ask.requestId,
              call.callId,
              { ...call, kind: found.tool.kind },
              found.call,
            ),
          ];
    });
    if (requests.length > 0) output.say({ requests });
  }

  /** Makes the events that end the newest answer's open calls and asks when the turn was stopped. */
  stopped(): { events: EventBody[]; closed: { requestId: string }[] } {
    const open = this.#options.history.openCalls;
    const asks = open.flatMap(({ ask }) => (ask?.isOpen ? [ask] : []));
    const cancelled = asks.map(({ requestId, isQuestion }): EventBody => {
      const how = { requestId, reason: "turn_ended" as const };
      return isQuestion
        ? { type: "elicitation_response", action: "cancel", ...how }
        : { type: "permission_response", outcome: "cancelled", ...how };
    });
    const ended = open.map(
      ({ callId }): EventBody => ({ ...failed(callId, [textContent(NOT_RUN)]), reason: "interrupted" }),
    );
    return { events: [...cancelled, ...ended], closed: asks.map(({ requestId }) => ({ requestId })) };
  }

  #left() {
    return this.#options.history.openCalls.map((call) => ({
      call,
      tool: this.#options.tools.find(call.name),
    }));
  }

  /** In their order; one that waits for a person lets the others go first. */
  async #runFirst(left: readonly { call: Call }[], signal: AbortSignal): Promise<void> {
    const free = left.find(({ call }) => !call.ask);
    if (free) return this.#runOne(free.call, signal);
    const verdicts = left.map(({ call }) => this.#runOne(call, signal));
    await Promise.all(verdicts);
  }

  async #runOne(call: Call, signal: AbortSignal): Promise<void> {
    const { output } = this.#options;
    const found = this.#find(call.name, call.input, undefined);
    if ("problem" in found)
      return output.say({ events: [failed(call.callId, [textContent(found.problem)])] });
    const isAsked = call.ask !== undefined || this.#askLate(call, found.call);
    const paths = found.call.writes(this.#options.where);
    const leave = isAsked
      ? await this.#answerOf(call, signal)
      : await this.#hooks(call, found.tool.kind, "before", paths, signal);
    if (leave === undefined) return;
    if (!leave.goesOn) {
      const text = leave.text ?? DENIED;
      // A gate and a lock refuse by the same request; the runner corrects the reason if it was a gate.
      const reason = isAsked ? "denied" : "locked";
      return output.say({
        events: [{ ...failed(call.callId, [textContent(text)]), reason }],
        closed: leave.closed,
      });
    }
    if (found.call.questions) {
      const end = endOf(call, { text: leave.text ?? "" });
      return output.say({ events: [end], closed: leave.closed });
    }
    await this.#runNow(call, found, leave.closed, paths, signal);
  }

  async #runNow(
    call: Call,
    { tool, call: toolCall }: { tool: AnyTool; call: ToolCall },
    closed: Closed,
    paths: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { output, where, env } = this.#options;
    const startedMs = performance.now();
    let untold: Closed | undefined = closed;
    const begin = (files?: readonly FileChange[]) => {
      const update: EventBody = {
        ...{ type: "tool_call_update", toolCallId: call.callId, status: "in_progress" },
        ...(files && {
          files: files.map(({ file, old, new: after }) => ({ path: file, before: old, after })),
        }),
      };
      output.say({ events: [update], ...(untold && { closed: untold }) });
      untold = undefined;
    };
    // A call that writes files has begun when it knows what it will write: until then it can be run again.
    if (!tool.isRepeatable && paths.length === 0) begin();
    const result = await runTool(toolCall, {
      ...where,
      callId: call.callId,
      signal,
      env,
      inSandbox: this.#options.inSandbox ?? ((program, args) => ({ program, args })),
      beforeWrite: async (files) => begin(files),
    });
    const isStopped = signal.aborted && result.isError === true;
    const durationMs = Math.round(performance.now() - startedMs);
    const images = (result.images ?? []).map(({ mediaType: mimeType, data }) => ({
      mimeType,
      ...this.#options.pictures.add(data),
    }));
    const seen = images.map(({ mimeType, uri }) => ({ type: "image" as const, mimeType, uri }));
    const end = endOf(call, result, isStopped ? "interrupted" : undefined, seen);
    const after = this.#requestsOf(call, tool.kind, "after", paths);
    output.say({
      events: [{ ...end, durationMs }],
      ...(images.length > 0 && { pictures: images.map(({ uri, base64 }) => ({ uri, base64 })) }),
      ...(untold && { closed: untold }),
      ...(after.length > 0 && { requests: after }),
    });
    const verdicts = await this.#answers(after, signal);
    if (after.length > 0) output.say({ closed: verdicts });
  }

  /** Waits for the answer to a call's ask; undefined if the turn was stopped. */
  async #answerOf(call: Call, signal: AbortSignal): Promise<Leave | undefined> {
    const { history, requests } = this.#options;
    const { requestId } = call.ask ?? { requestId: "" };
    const verdict = await requests.wait({ requestId }, signal);
    if (!verdict) return undefined;
    if (call.ask) call.ask.isOpen = false;
    if (verdict.goesOn) history.grant(requestId, verdict.optionId);
    return { goesOn: verdict.goesOn, text: verdict.text, closed: [{ requestId, verdict }] };
  }

  async #hooks(
    call: Call,
    kind: ToolKind,
    side: "before",
    paths: readonly string[],
    signal: AbortSignal,
  ): Promise<Leave | undefined> {
    const asked = this.#requestsOf(call, kind, side, paths);
    if (asked.length === 0) return { goesOn: true, text: undefined, closed: [] };
    this.#options.output.say({ requests: asked });
    const closed = await this.#answers(asked, signal);
    if (signal.aborted) return undefined;
    const no = closed.find(({ verdict }) => verdict?.goesOn === false)?.verdict;
    return { goesOn: no === undefined, text: no?.text, closed };
  }

  async #answers(asked: readonly Request[], signal: AbortSignal): Promise<Closed> {
    const { requests } = this.#options;
    return Promise.all(
      asked.map(async ({ requestId }) => {
        const verdict = await requests.wait({ requestId }, signal);
        return { requestId, ...(verdict && { verdict }) };
      }),
    );
  }

  /** A request for each file that the call writes, since each is locked by itself. */
  #requestsOf(
    { callId, name, input }: Call,
    kind: ToolKind,
    side: "before" | "after",
    paths: readonly string[],
  ): Request[] {
    const { hasGates, requests } = this.#options;
    const isGated = hasGates === true && side === "before";
    if (UNSEEN.includes(kind) && !isGated) return [];
    const what = { name, input, paths: [...paths] };
    const read = kind === "read" ? pathIn(input) : undefined;
    const places = paths.length > 0 ? paths : [read];
    return places.map((path, at) => ({
      requestId: requests.newId(),
      kind: "hook",
      toolCallId: at === 0 ? callId : `${callId}.${at}`,
      ...(isGated && at === 0 && { what }),
      call: { side, kind, ...(path !== undefined && { path }) },
    }));
  }

  /** Asks about a call that was allowed when the model made it and is not allowed any more. */
  #askLate(call: Call, toolCall: ToolCall): boolean {
    const asked = this.#asks.find(call.callId, call, toolCall);
    if (asked) this.#options.output.say({ events: [asked.event], requests: [asked.request] });
    return asked !== undefined;
  }

  #find(
    name: string,
    input: unknown,
    problem: string | undefined,
  ): { tool: AnyTool; call: ToolCall } | { problem: string } {
    const { tools } = this.#options;
    const tool = tools.find(name);
    if (!tool)
      return { problem: `There is no tool ${JSON.stringify(name)}. There are: ${tools.names.join(", ")}.` };
    if (problem !== undefined) return { problem: `The call could not be read: ${problem}` };
    const call = tool.call(input);
    if ("problem" in call) return call;
    const judged = this.#asks.judge(name, call);
    return judged.is === "refused" ? { problem: judged.why } : { tool, call };
  }
}

type Closed = { requestId: string; verdict?: Verdict }[];
interface Leave {
  goesOn: boolean;
  text: string | undefined;
  closed: Closed;
}
