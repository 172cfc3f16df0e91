/** Tells the keeper of turns what happens to calls and turns, before it is written down or goes on. */
import type { ThreadConfig } from "../shared/agent/config.ts";
import { ENGINES } from "../shared/agent/engines/engines.ts";
import type { EventBody } from "../shared/agent/events.ts";
import type { RecordedAnswer, ThreadFold } from "../shared/agent/fold-types.ts";
import { endLockWaits } from "./core/closing.ts";
import { judgeEnd } from "./core/gate-events.ts";
import { countedGates } from "./core/gate-wants.ts";
import type { Env, OpenRequest, Refusal } from "./engine.ts";
import type { EventSource } from "./folder/transcript.ts";
import { OutputJudge } from "./output/output-judge.ts";
import type { ThreadFiles } from "./thread-files.ts";
import { TurnKeeper } from "./undo/turn-keeper.ts";

export class TurnWatch {
  readonly #keeper: TurnKeeper;
  readonly #thread: ThreadFiles;
  /** Undo knows what each call changed. */
  readonly #isByCalls: boolean;
  readonly #outputs: OutputJudge;
  readonly #config: ThreadConfig;

  constructor(options: { folder: string; config: ThreadConfig; env: Env }, thread: ThreadFiles) {
    this.#isByCalls = ENGINES[options.config.agent.engine].capabilities.undo === "calls";
    this.#thread = thread;
    this.#config = options.config;
    this.#keeper = new TurnKeeper(options, this.#ended);
    this.#outputs = new OutputJudge(options.config.agent.outputSchema);
  }

  /** A message is about to go in while no turn runs. */
  async begin(): Promise<void> {
    if (this.#fold.turn !== null) return;
    if (this.#isByCalls) this.#keeper.start(this.#ended);
    else await this.#keeper.startOneCall(this.#ended);
  }

  /** Nobody else uses the thread's own git directory now. */
  async settle(): Promise<void> {
    await this.#keeper.settle();
  }

  /** A hook is about to be let go on: the call runs when this resolves, or has run. */
  async hook({ call, toolCallId }: OpenRequest): Promise<void> {
    if (call?.side === "before") await this.#keeper.beforeCall({ ...call, toolCallId }, this.#ended);
    if (call?.side === "after") await this.#keeper.afterCall(toolCallId);
  }

  /** A person's answer is about to go to the engine. */
  async answer({ call, toolCallId }: OpenRequest, answer: RecordedAnswer | Refusal): Promise<void> {
    if (!call || "refusal" in answer || answer.response.kind !== "permission") return;
    if (answer.response.optionId !== "no") {
      await this.#keeper.beforeCall({ ...call, toolCallId }, this.#ended);
    }
  }

  /** Appends to the transcript; what a turn changed, and the end of its waits, stand before its own. */
  async append(source: EventSource, bodies: readonly EventBody[]): Promise<void> {
    if (this.#isOld(source)) return void this.#thread.append(source, bodies);
    for (const body of bodies) {
      // What waits for a person does not run.
      const isAsk = body.type === "permission_request" || body.type === "elicitation_request";
      const isEnd = body.type === "tool_call_update" && body.status !== "in_progress";
      if (isAsk || isEnd) await this.#keeper.afterCall(body.toolCallId);
    }
    const end = bodies.find((body) => body.type === "turn_end");
    if (end && !this.#fold.turn?.hasChanges) {
      const changes = await this.#keeper.end(end.turnId);
      if (changes) this.#thread.append(null, [changes]);
    }
    // With an engine's own end all steps end.
    if (end && source?.from === "engine") this.#thread.append(null, endLockWaits(this.#fold, Date.now()));
    this.#thread.append(source, end ? this.#judged(await this.#outputs.judge(bodies)) : bodies);
    if (end) await this.#keeper.close();
  }

  /** Whether those who decide at the turn's end have let it. */
  #judged(bodies: readonly EventBody[]): readonly EventBody[] {
    const gates = countedGates(this.#config, this.#thread.lastLaunch).filter(
      ({ at }) => at === "after_complete",
    );
    if (gates.length === 0) return bodies;
    return bodies.map((body) => (body.type === "turn_end" ? judgeEnd(body, this.#fold, gates) : body));
  }

  get #fold(): ThreadFold {
    return this.#thread.fold;
  }

  get #ended(): number {
    return this.#fold.turnCount - (this.#fold.turn ? 1 : 0);
  }

  /** A runner that attaches reads the engine's output from its begin. */
  #isOld(source: EventSource): boolean {
    const last = this.#fold.lastEngineId;
    if (source?.from !== "engine" || !last) return false;
    return (
      source.generation < last.generation ||
      (source.generation === last.generation && source.byte <= last.byte)
    );
  }
}
