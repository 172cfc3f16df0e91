/**
 * Agents that ask again and again while relay, sidecar and engine are killed and people press at random; at the end
 * what the buttons show must be what the engines did.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Round } from "../../agent/engines/demo/script.ts";
import { PersonError } from "../../local-discord/option-values.ts";
import type { SeenMessage } from "../../local-discord/seen.ts";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { foldEvents, statusOf } from "../../shared/agent/fold.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { contextOf, countIn, engineOf, folderOf } from "./agent-siege.ts";
import { eventsIn } from "./agent-truth.ts";
import { script } from "./agents.ts";
import type { AgentTalk } from "./discord-agents.ts";
import { signal } from "./processes.ts";
import type { RelayProcess } from "./relay-process.ts";
import type { SpawnedSidecar } from "./sidecar.ts";
import { untilValue } from "./wait.ts";

export type StormVictim = "relay" | "sidecar" | "engine";

export interface StormOptions {
  sidecar: SpawnedSidecar;
  relay: RelayProcess;
  talk: AgentTalk;
  /** Who may press. */
  people: readonly string[];
  threads: number;
  /** At least so many asks and questions, and so many kills that found their victim alive. */
  asks: number;
  kills: number;
  victims: readonly StormVictim[];
  random: () => number;
  timeoutMs: number;
}

/** One ask of the script: a command that leaves its name in a file, or a question. */
interface Asked {
  threadId: string;
  name: string;
  kind: "permission" | "question";
}

const ASKS_A_MESSAGE = 4;
const COLOURS = ["Red", "Green"];
const LABELS = ["Allow once", "Deny", ...COLOURS, "Don't answer"];
/** A person presses again what did not answer. */
const PRESS_AGAIN_MS = 2_500;
const GO_ON_MS = 3_000;

export class AskStorm {
  readonly #options: StormOptions;
  readonly #asked: Asked[] = [];
  /** By thread, how many messages it was sent. */
  readonly #sent = new Map<string, number>();
  readonly #pressed = new Map<string, number>();
  readonly #resumed = new Map<string, number>();
  readonly killed: Record<string, number> = {};
  presses = 0;
  goOns = 0;

  constructor(options: StormOptions) {
    this.#options = options;
  }

  get threadIds(): string[] {
    return [...this.#sent.keys()];
  }

  get askCount(): number {
    return this.#asked.length;
  }

  async run(): Promise<void> {
    const { threads, talk, kills, timeoutMs } = this.#options;
    for (let i = 0; i < threads; i++) this.#sent.set(await talk.open(script("Begin", { text: "Begun." })), 1);
    const done = new AbortController();
    const killing = this.#killAll(kills, done.signal);
    try {
      await untilValue(
        "every ask to be decided",
        () => this.#step(),
        (isDone) => isDone,
        {
          timeoutMs,
          intervalMs: 50,
        },
      );
    } catch (cause) {
      throw new Error(`the storm does not end: ${JSON.stringify(this.#describe(), null, 1)}`, { cause });
    } finally {
      done.abort();
      await killing;
    }
  }

  get #killCount(): number {
    return Object.values(this.killed).reduce((sum, count) => sum + count, 0);
  }

  /** What people do at one look. @returns whether all is over */
  async #step(): Promise<boolean> {
    const { asks, kills } = this.#options;
    const wantsMore = this.askCount < asks || this.#killCount < kills;
    let isOver = !wantsMore;
    for (const [threadId, sent] of this.#sent) {
      const events = this.#eventsOf(threadId);
      const fold = foldEvents(events);
      const status = statusOf(fold);
      this.#press(threadId);
      if (status === "failed") this.#goOn(threadId);
      const hasRead = events.filter(({ type }) => type === "user_message").length === sent;
      const rests = hasRead && status === "idle";
      if (rests && wantsMore) this.#send(threadId);
      if (!rests || this.#hasOpenButtons(threadId)) isOver = false;
    }
    return isOver;
  }

  /** What a person would look at who asks why it does not end. */
  #describe(): unknown {
    const { talk, relay } = this.#options;
    const threads = this.threadIds.map((threadId) => ({
      status: statusOf(foldEvents(this.#eventsOf(threadId))),
      sent: this.#sent.get(threadId),
      events: this.#eventsOf(threadId)
        .slice(-8)
        .map((event) => JSON.stringify(event).slice(0, 300)),
      messages: talk
        .messages(threadId)
        .slice(-5)
        .map(({ content, buttons }) => [content.slice(0, 300), buttons.map(({ label }) => label)]),
    }));
    return { killed: this.killed, asks: this.askCount, threads, relay: relay.lines.slice(-10) };
  }

  #eventsOf(threadId: string): ThreadEvent[] {
    const folder = folderOf(this.#options.sidecar, threadId);
    return existsSync(threadPath(folder, "transcript")) ? eventsIn(folder) : [];
  }

  #send(threadId: string): void {
    const { talk, random } = this.#options;
    const number = (this.#sent.get(threadId) ?? 0) + 1;
    this.#sent.set(threadId, number);
    const rounds = Array.from({ length: ASKS_A_MESSAGE }, (): Round => {
      const kind = random() < 0.6 ? "permission" : "question";
      const name = `A${this.#asked.length + 1}A`;
      this.#asked.push({ threadId, name, kind });
      return { tools: [kind === "permission" ? command(threadId, name) : question(name)] };
    });
    talk.say(threadId, script(`Message ${number}`, ...rounds, { text: `T${number}T is over.` }));
  }

  /** Each message with open buttons is pressed at random, now and then by two people at once who do not agree. */
  #press(threadId: string): void {
    const { talk, people, random } = this.#options;
    for (const message of this.#openAsks(threadId)) {
      if (Date.now() - (this.#pressed.get(message.id) ?? 0) < PRESS_AGAIN_MS || random() < 0.5) continue;
      this.#pressed.set(message.id, Date.now());
      const labels = message.buttons.map(({ label }) => label).filter((label) => LABELS.includes(label));
      const count = random() < 0.25 ? 2 : 1;
      for (let n = 0; n < count; n++) {
        const label = labels[Math.floor(random() * labels.length)] ?? "";
        try {
          talk.press(message, label, people[n % people.length]);
          this.presses++;
        } catch (error) {
          if (!(error instanceof PersonError)) throw error; // it was decided this moment
        }
      }
    }
  }

  #goOn(threadId: string): void {
    const { talk } = this.#options;
    const failure = talk.messages(threadId).findLast(({ buttons }) => hasLabel(buttons, "Go on"));
    if (!failure || Date.now() - (this.#resumed.get(threadId) ?? 0) < GO_ON_MS) return;
    this.#resumed.set(threadId, Date.now());
    this.goOns++;
    talk.press(failure, "Go on");
  }

  #openAsks(threadId: string): SeenMessage[] {
    return this.#options.talk
      .messages(threadId)
      .filter(({ buttons }) => buttons.some(({ label }) => LABELS.includes(label)));
  }

  #hasOpenButtons(threadId: string): boolean {
    return this.#openAsks(threadId).length > 0;
  }

  async #killAll(kills: number, signal: AbortSignal): Promise<void> {
    const { random, victims } = this.#options;
    while (this.#killCount < kills && !signal.aborted) {
      await sleep(300 + random() * 1_500);
      if (this.threadIds.every((threadId) => this.#openAsks(threadId).length === 0)) continue;
      // Each in its turn, so that a short storm kills all of them; the moments are random.
      const victim = victims[this.#killCount % victims.length] ?? "relay";
      if (await this.#kill(victim)) this.killed[victim] = (this.killed[victim] ?? 0) + 1;
    }
  }

  /** @returns whether the victim lived. */
  async #kill(victim: StormVictim): Promise<boolean> {
    const { sidecar, relay, random } = this.#options;
    switch (victim) {
      case "relay":
        await relay.kill9();
        await sleep(random() * 500);
        relay.start();
        // Mostly it comes to something before the next kill.
        if (random() < 0.8) await relay.untilReady();
        return true;
      case "sidecar":
        await sidecar.kill9();
        await sidecar.start();
        return true;
      case "engine": {
        const threadId = this.threadIds[Math.floor(random() * this.threadIds.length)] ?? "";
        const pid = engineOf(folderOf(sidecar, threadId));
        if (pid !== undefined) signal(pid, "SIGKILL");
        return pid !== undefined;
      }
    }
  }

  /** What is wrong, a line each; nothing if all is well. */
  findFaults(): string[] {
    const faults = this.#asked.flatMap((asked) => this.#askFaults(asked));
    for (const [threadId, sent] of this.#sent) faults.push(...this.#textFaults(threadId, sent));
    return faults;
  }

  #askFaults({ threadId, name, kind }: Asked): string[] {
    const messages = this.#options.talk.find(threadId, name).filter(({ content }) => isAskText(content));
    const shown = messages.map(({ content }) => decisionOf(content));
    const decided = [...new Set(shown.filter((decision) => decision !== "closed"))];
    if (messages.length === 0) return this.#unaskedFaults({ threadId, name, kind });
    if (shown.includes(undefined)) return [`${name} shows no decision: ${messages.at(-1)?.content}`];
    if (decided.length > 1) return [`${name} shows two decisions: ${decided.join(" and ")}`];
    const [decision] = decided;
    const isCutOff = this.#wasCutOff(threadId, name);
    if (kind === "permission") {
      const effects = this.#countEffects(threadId, name);
      const isRight =
        decision === "Allow once" ? effects === 1 || (effects === 0 && isCutOff) : effects === 0;
      return isRight ? [] : [`${name} shows ${decision} and happened ${effects} times`];
    }
    const heard = COLOURS.filter((colour) => this.#context().includes(`\\"${name}?\\"=\\"${colour}\\"`));
    const expected = COLOURS.includes(decision ?? "") ? [decision] : [];
    const isRight = heard.join() === expected.join() || (heard.length === 0 && isCutOff);
    return isRight
      ? []
      : [`${name} shows ${decision}, and the engine heard ${heard.join(" and ") || "nothing"}`];
  }

  /**
   * No message asks. That is right if the engine died with the call before it asked: the transcript then has no request,
   * the call was cut off, and nothing has happened.
   */
  #unaskedFaults({ threadId, name }: Asked): string[] {
    const calls = this.#callsOf(threadId, name);
    const isRequested = this.#eventsOf(threadId).some(
      (event) =>
        (event.type === "permission_request" || event.type === "elicitation_request") &&
        event.toolCallId !== undefined &&
        calls.includes(event.toolCallId),
    );
    if (isRequested) return [`${name} was asked in the transcript, and never in Discord`];
    if (!this.#wasCutOff(threadId, name)) return [`${name} was never asked: ${calls.length} calls`];
    const effects = this.#countEffects(threadId, name);
    return effects === 0 ? [] : [`${name} was never asked, and happened ${effects} times`];
  }

  #countEffects(threadId: string, name: string): number {
    const file = effectsOf(this.#options.sidecar, threadId);
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
    return lines.filter((line) => line === name).length;
  }

  /** The ids of the engine's calls that have this name in their input. */
  #callsOf(threadId: string, name: string): string[] {
    return this.#eventsOf(threadId).flatMap((event) =>
      event.type === "tool_call" && JSON.stringify(event.rawInput).includes(name) ? [event.toolCallId] : [],
    );
  }

  /** The engine died with this call: what came of it is unknown, and the model is told so. */
  #wasCutOff(threadId: string, name: string): boolean {
    const calls = this.#callsOf(threadId, name);
    return this.#eventsOf(threadId).some(
      (event) =>
        event.type === "tool_call_update" &&
        calls.includes(event.toolCallId) &&
        event.reason === "interrupted",
    );
  }

  #context(): string {
    const { sidecar } = this.#options;
    return contextOf(sidecar.folders.home, sidecar.reposDir);
  }

  /** Each text of the transcript is in Discord, as often as the transcript has it. */
  #textFaults(threadId: string, sent: number): string[] {
    const { talk } = this.#options;
    const said = this.#eventsOf(threadId).flatMap((event) =>
      event.type === "agent_message" ? [event.text] : [],
    );
    const shown = talk
      .messages(threadId)
      .map(({ content }) => content)
      .join("\n");
    const faults: string[] = [];
    for (let number = 2; number <= sent; number++) {
      const text = `T${number}T is over.`;
      const count = said.filter((other) => other === text).length;
      const inDiscord = countIn(shown, text);
      if (count === 0) faults.push(`${threadId}: ${text} was never said`);
      if (inDiscord !== count) faults.push(`${threadId}: ${text} is said ${count} ×, shown ${inDiscord} ×`);
    }
    return faults;
  }
}

const effectsOf = ({ reposDir }: SpawnedSidecar, threadId: string) => join(reposDir, `effects.${threadId}`);

function command(threadId: string, name: string) {
  return { name: "Bash", input: { command: `echo ${name} >> effects.${threadId}` } };
}

function question(name: string) {
  const options = COLOURS.map((label) => ({ label, description: "a colour" }));
  const questions = [{ question: `${name}?`, header: "Colour", multiSelect: false, options }];
  return { name: "AskUserQuestion", input: { questions } };
}

function isAskText(content: string): boolean {
  return /🔐|❓/.test(content);
}

/** What the last line of an ask says was decided: an option's name, an answer, "closed"; undefined if nothing yet. */
function decisionOf(content: string): string | undefined {
  const line = content.split("\n").at(-1) ?? "";
  if (line.startsWith("-# ⏹ ")) return "closed";
  if (line.startsWith("-# ✗ Not answered")) return "Don't answer";
  return (
    /^-# ✓ Answered(?: by .*?)?: (.*)$/.exec(line)?.[1] ?? /^-# [✓✗] (.+?)(?: by <@\d+>)?$/.exec(line)?.[1]
  );
}

function hasLabel(buttons: readonly { label: string }[], label: string): boolean {
  return buttons.some((button) => button.label === label);
}
