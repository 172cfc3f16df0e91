/**
 * The loop: a message is heard, the model is called, its calls are run, and the model is called again. What it does next
 * follows from the history alone, so a process that takes over from a dead one goes on where that one was.
 */
import type { EventBody } from "../../../shared/agent/events.ts";
import { turnIdOf } from "../../../shared/agent/turn-id.ts";
import { type Answered, type Answers, earlyEnd } from "./answer.ts";
import type { Calls } from "./calls.ts";
import type { Choice } from "./choice.ts";
import type { Compaction } from "./compaction.ts";
import { askToEnd } from "./end-gate.ts";
import type { History } from "./history.ts";
import type { Delivered, Mailbox } from "./mailbox.ts";
import type { Output } from "./output.ts";
import { ASK_FOR_OUTPUT, findResult, type OutputTool } from "./output-tool.ts";
import type { Start } from "./protocol.ts";
import type { Requests } from "./requests.ts";
import type { Toolbox } from "./toolbox.ts";
import { Turn } from "./turn.ts";

export interface LoopOptions {
  start: Pick<Start, "generation" | "number" | "config">;
  history: History;
  output: Output;
  mailbox: Mailbox;
  requests: Requests;
  choice: Choice;
  calls: Calls;
  answers: Answers;
  compacting: Compaction;
  tools: Pick<Toolbox, "look">;
  /** The tool that takes the result; undefined if the thread has no `outputSchema`. */
  result: OutputTool | undefined;
}

export class Loop {
  readonly #options: LoopOptions;
  #turn: Turn | undefined;
  /** The conversation was made shorter, and the runner may not have said yet what is open. */
  #isShortened = false;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** A person stops the turn that runs, if there is one. */
  stop(): void {
    this.#turn?.stop();
  }

  /** Never resolves. */
  async run(): Promise<never> {
    const { history, output, mailbox, calls, compacting } = this.#options;
    if (history.compaction.isRunning) compacting.giveUp();
    if (history.turn) {
      this.#beginTurn("resume", [...history.turn]);
      this.#isShortened = history.summary !== undefined;
    }
    calls.settle();
    for (;;) {
      const isBusy = await this.#step();
      if (isBusy) continue;
      output.say({ isBusy: false });
      if (mailbox.hasDeliveries || mailbox.hasCompaction) continue;
      await mailbox.wait();
    }
  }

  /** One thing that is to be done next. @returns false if there is nothing */
  async #step(): Promise<boolean> {
    const { history, mailbox, calls, result } = this.#options;
    const turn = this.#turn;
    if (turn?.signal.aborted) {
      this.#endTurn(turn, "cancelled");
      return true;
    }
    if (turn && history.openCalls.length > 0) {
      turn.isRoundOver = false;
      await calls.run(turn.signal);
      return true;
    }
    const given = turn && findResult(history, result);
    if (turn && given) {
      await this.#end(turn, given);
      return true;
    }
    if (turn && history.lastCalls.length > 0 && !turn.isRoundOver) {
      await this.#endRound(turn);
      return true;
    }
    if (mailbox.hasDeliveries) {
      this.#hear(mailbox.takeDeliveries());
      return true;
    }
    if (!turn) return await this.#compact();
    if (!history.isAnswered) await this.#answer(turn);
    else if (!result || !turn.mayAskForOutput()) await this.#end(turn);
    else {
      turn.news = ASK_FOR_OUTPUT;
      await this.#answer(turn);
    }
    return true;
  }

  /** The runner may hold the thread here, at a limit. */
  async #endRound(turn: Turn): Promise<void> {
    const { output, requests } = this.#options;
    const requestId = requests.newId();
    output.say({ requests: [{ requestId, kind: "hook", toolCallId: "", isAfterCalls: true }] });
    const verdict = await requests.wait({ requestId }, turn.signal);
    output.say({ closed: [{ requestId, ...(verdict && { verdict }) }] });
    turn.isRoundOver = true;
    turn.news = verdict?.text;
  }

  /** The runner tells all that a summary leaves out, before the model is called for the first time after it. */
  async #hearWhatIsOpen(turn: Turn): Promise<void> {
    const { news } = turn;
    await this.#endRound(turn);
    if (turn.signal.aborted) return;
    this.#isShortened = false;
    const told = [news, turn.news].filter((text) => text !== undefined);
    turn.news = told.length === 0 ? undefined : told.join("\n\n");
  }

  /** The runner may keep the model at work. */
  async #end(turn: Turn, given: { result?: unknown } = {}): Promise<void> {
    const verdict = await askToEnd(this.#options, turn, given);
    if (!verdict) return; // the turn was stopped
    if (verdict.goesOn) return this.#endTurn(turn, "end_turn", undefined, given);
    turn.news = verdict.text;
    await this.#answer(turn);
  }

  #hear(deliveries: readonly Delivered[]): void {
    const begun = this.#turn
      ? []
      : [
          this.#startOfTurn(
            "message",
            deliveries.map(({ deliveryId }) => deliveryId),
          ),
        ];
    this.#options.output.say({
      isBusy: true,
      events: [
        ...begun,
        ...deliveries.map(
          ({ deliveryId, parts: said }): EventBody => ({
            ...{ type: "delivery_update", deliveryId, status: "started", meta: { said } },
          }),
        ),
      ],
    });
  }

  #beginTurn(cause: "message" | "resume", deliveryIds: string[]): void {
    this.#options.output.say({ events: [this.#startOfTurn(cause, deliveryIds)], isBusy: true });
  }

  #startOfTurn(cause: "message" | "resume", deliveryIds: string[]): EventBody {
    const { start, output } = this.#options;
    const turnId = turnIdOf(start, output.byte);
    this.#turn = new Turn(turnId);
    return { type: "turn_start", turnId, cause, deliveryIds };
  }

  /** Makes the conversation shorter if a person wishes it and no turn runs. @returns false if nobody wishes it */
  async #compact(): Promise<boolean> {
    const { mailbox, choice, compacting, output } = this.#options;
    const wish = mailbox.takeCompaction();
    if (!wish) return false;
    const chosen = choice.find();
    if (!("problem" in chosen))
      await compacting.run("manual", { chosen, turn: new Turn(""), hint: wish.text });
    else output.say({ events: [{ type: "compaction_update", status: "failed", error: chosen.problem }] });
    return true;
  }

  async #answer(turn: Turn): Promise<void> {
    const { choice, compacting, answers, tools } = this.#options;
    const chosen = choice.find();
    if ("problem" in chosen) return this.#endTurn(turn, "error", chosen.problem);
    if (compacting.isDue && (await compacting.run("auto", { chosen, turn }))) this.#isShortened = true;
    if (this.#isShortened) await this.#hearWhatIsOpen(turn);
    await tools.look(turn.signal);
    if (turn.signal.aborted) return;
    const { news } = turn;
    turn.news = undefined;
    const asked = { kind: "chat" as const, title: "Calling LLM", news, signal: turn.signal };
    const answered = await answers.next(chosen, asked, (price, usage) => turn.spend(price, usage));
    turn.isRoundOver = false;
    if (answered.is === "failed") {
      const { sentence, isTooLong } = answered.fault;
      if (isTooLong && (await compacting.run("auto", { chosen, turn }))) {
        this.#isShortened = true;
        return;
      }
      return this.#endTurn(turn, turn.signal.aborted ? "cancelled" : "error", sentence);
    }
    if (answered.is === "answer") await this.#endEarly(turn, answered);
  }

  /** An answer without calls that the provider has not ended by itself. */
  async #endEarly(turn: Turn, { finish, text }: Extract<Answered, { is: "answer" }>): Promise<void> {
    if (this.#options.history.lastCalls.length > 0) return;
    const early = earlyEnd(finish);
    if (early) this.#endTurn(turn, early);
    // It has nothing to say, and would be asked again for ever.
    else if (text === "" && !this.#options.result) await this.#end(turn);
  }

  #endTurn(
    turn: Turn,
    stopReason: "end_turn" | "cancelled" | "error" | "max_tokens" | "refusal",
    error?: string,
    more: { result?: unknown } = {},
  ): void {
    const { history, output, mailbox, calls } = this.#options;
    const deliveryIds = history.turn ?? [];
    const stopped = stopReason === "cancelled" ? calls.stopped() : { events: [], closed: [] };
    this.#turn = undefined;
    output.say({
      isBusy: mailbox.hasDeliveries,
      events: [
        ...stopped.events,
        turn.end(stopReason, error, more),
        ...deliveryIds.map(
          (deliveryId): EventBody => ({ type: "delivery_update", deliveryId, status: "completed" }),
        ),
      ],
      closed: stopped.closed,
    });
  }
}
