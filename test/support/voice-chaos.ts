/**
 * A channel's agent before a scripted model, while runner, engine, sidecar and relay are killed: inputs of five sources
 * in bursts, each burst beside an open question, a child at work or a long command; and what must be true at the end.
 */
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { LocalDiscord } from "../../local-discord/run.ts";
import { Vm } from "../../relay/sidecar/vm.ts";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { foldEvents } from "../../shared/agent/fold.ts";
import { AppError } from "../../shared/errors.ts";
import { signRequest } from "../../vm/hooks/proof.ts";
import { engineOf, folderOf, runnersOf } from "./agent-siege.ts";
import { transcriptOf } from "./agents.ts";
import { signal } from "./processes.ts";
import type { RelayProcess } from "./relay-process.ts";
import type { SpawnedSidecar } from "./sidecar.ts";
import { answerOf, goFile, HOLDERS, isHolder, type Kind, nameOf } from "./voice-model.ts";
import { countTurns, VoiceTruth } from "./voice-truth.ts";
import { until } from "./wait.ts";

/** `done` settles all that was read, so a message that is to be forgotten is not written while it may be called. */
const BURSTS: readonly (readonly Kind[])[] = [
  ["answer", "twice", "wrong", "aloud", "late", "forget", "told", "told"],
  ["answer", "twice", "wrong", "aloud", "done", "all", "told", "told"],
];
/** Beside so many bursts of these nothing is kept open. */
const FREE_EVERY = 4;
const HOOK_SECRET = "a-secret-of-the-test";
/** Who writes what is no person's, in turn. */
const PROGRAMS = ["owner", "job", "hook"] as const;
const TEND_MS = 100;
/** An agent that nobody writes to waits a minute for an answer to its question; another input ends that. */
const NUDGE_MS = 3_000;

export type VoiceVictim = "runner" | "engine" | "sidecar" | "relay";

export interface VoiceChaosOptions {
  sidecar: SpawnedSidecar;
  /** The address of the hook's door. */
  hookUrl: string;
  relay: RelayProcess;
  discord: LocalDiscord;
  channels: readonly string[];
  inputs: number;
  kills: readonly VoiceVictim[];
  /** The files that end what is kept open. */
  folder: string;
  random: () => number;
  /** The newest request's messages that the agent's model got. */
  context: () => string;
}

export interface ChaosFigures {
  inputs: Record<string, number>;
  kills: Record<string, number>;
  turns: number;
  /** Those of them during which a question was open, or a child or a command was at work. */
  heldTurns: number;
  requests: number;
  messages: number;
}

export class VoiceChaos {
  readonly #options: VoiceChaosOptions;
  readonly #truth: VoiceTruth;
  readonly #inputs: Record<string, number> = {};
  readonly #kills: Record<string, number> = {};
  #told = 0;
  #threadId = "";
  #mayDecide = false;
  #isOver = false;

  constructor(options: VoiceChaosOptions) {
    this.#options = options;
    this.#truth = new VoiceTruth({ ...options, reposDir: options.sidecar.reposDir });
  }

  /** The agent is made by the first message. */
  async begin(findMain: () => Promise<string>): Promise<void> {
    this.#write("answer");
    await until("the first answer", () => this.#truth.said(answerOf(0)).length > 0, { timeoutMs: 60_000 });
    this.#threadId = await findMain();
    const secret = { preset: "github" as const };
    await this.#vm.jobs.create({
      name: "called",
      when: { type: "webhook", proof: secret, secret: HOOK_SECRET, trust: "own" },
      what: { type: "input", main: "main", text: "A hook called." },
      limits: { calls: null, seconds: null, spendUsd: null, spendUsdPerDay: null },
    });
  }

  async run(): Promise<void> {
    const { inputs, kills, random } = this.#options;
    const left = [...kills];
    const every = Math.max(1, Math.floor(inputs / (kills.length + 1)));
    const tending = this.#tend();
    try {
      for (let burst = 0; this.#truth.sent.length < inputs; burst++) {
        for (const kind of this.#kindsOf(burst)) {
          if (this.#truth.sent.length >= inputs) break;
          await this.#send(kind);
          await sleep(random() < 0.5 ? 0 : random() * 250);
          if (left.length > 0 && this.#truth.sent.length % every === 0)
            await this.#kill(left.shift() ?? "relay");
        }
        await this.#settle();
      }
    } finally {
      this.#isOver = true;
      await tending;
    }
  }

  /** What keeps something open comes first. Nobody is sent more than five messages for what was read at once. */
  #kindsOf(burst: number): Kind[] {
    const { random } = this.#options;
    const kinds = BURSTS[burst % BURSTS.length] ?? [];
    const pick = () => kinds[Math.floor(random() * kinds.length)] ?? "answer";
    const others = Array.from({ length: 4 + Math.floor(random() * 5) }, pick).map((kind, at, all) =>
      kind === "twice" && all.indexOf(kind) !== at ? "answer" : kind,
    );
    const holder = burst % FREE_EVERY === FREE_EVERY - 1 ? undefined : HOLDERS[burst % HOLDERS.length];
    return holder === undefined ? others : [holder, ...others];
  }

  async findFaults(): Promise<string[]> {
    return this.#truth.findFaults(await this.#events());
  }

  async figures(): Promise<ChaosFigures> {
    const events = await this.#events();
    const messages = events.filter(({ type }) => type === "voice_message").length;
    const [inputs, kills, requests] = [this.#inputs, this.#kills, this.#truth.requests.length];
    return { inputs, kills, requests, messages, ...countTurns(events) };
  }

  /** First all but what is kept open has its end; then that is let go. */
  async #settle(): Promise<void> {
    const since = Date.now();
    let hasNudged = false;
    const isHeard = async () => {
      if (!hasNudged && Date.now() - since > NUDGE_MS) {
        hasNudged = true;
        await this.#send("told");
      }
      return this.#truth.isSeen(({ kind }) => !isHolder(kind));
    };
    await this.#until("all others to be settled", isHeard);
    this.#mayDecide = true;
    for (const { n, kind } of this.#truth.sent)
      if (isHolder(kind)) writeFileSync(goFile(this.#options.folder, n), "");
    await this.#until("all to be settled", async () => {
      const { sidecar } = this.#options;
      const { messages } = await this.#vm.voice.listSpoken();
      const { status, waiting } = await sidecar.client.getThread(this.#threadId);
      const isIdle = status === "idle" && waiting === 0 && (await this.#asks()).length === 0;
      const isSaid = messages.length === 0 && this.#truth.isSeen(() => true) && this.#truth.areChildrenBack();
      return isIdle && isSaid && foldEvents(await this.#events()).children.length === 0;
    });
    this.#mayDecide = false;
  }

  async #until(what: string, condition: () => Promise<boolean>): Promise<void> {
    await until(what, condition, { timeoutMs: 150_000, intervalMs: 50 }).catch(async (cause: unknown) => {
      throw new Error(`${what}: ${(await this.findFaults()).join("; ")}`, { cause });
    });
  }

  async #send(kind: Kind): Promise<void> {
    if (kind !== "told") return this.#write(kind);
    const n = this.#truth.sent.length;
    this.#truth.sent.push({ n, kind });
    const text = `${nameOf(n)} ${kind}`;
    const source = PROGRAMS[this.#told++ % PROGRAMS.length] ?? "owner";
    this.#count(source);
    if (source === "owner")
      await this.#options.sidecar.client.sendInput(this.#threadId, { text, inputId: nameOf(n) });
    else if (source === "job") await this.#runJob(n, text);
    else await this.#callHook(n, text);
  }

  async #runJob(n: number, text: string): Promise<void> {
    const { jobs } = this.#vm;
    const name = `job-${nameOf(n)}`;
    await jobs.create({
      name,
      when: { type: "words", words: "in 5h" },
      what: { type: "input", main: "main", text },
      limits: { calls: null, seconds: null, spendUsd: null, spendUsdPerDay: null },
    });
    await jobs.run(name);
  }

  async #callHook(n: number, text: string): Promise<void> {
    const body = Buffer.from(text);
    const at = { id: nameOf(n), nowSeconds: Date.now() / 1000 };
    const headers = signRequest({ preset: "github" }, HOOK_SECRET, body, at);
    const { status } = await fetch(`${this.#options.hookUrl}/hook/called`, { method: "POST", body, headers });
    if (status !== 202) throw new Error(`the hook's door answered ${status}`);
  }

  /** Each kind has a person of its own, whom no other kind's answer settles. */
  #write(kind: Kind): void {
    const { discord, channels, random } = this.#options;
    const n = this.#truth.sent.length;
    const person = discord.users.find(({ name }) => name === kind)?.id ?? "";
    const at = Math.floor(random() * channels.length);
    this.#count(`person in channel ${at + 1}`);
    const message = discord.driver.post(person, channels[at] ?? "", `${nameOf(n)} ${kind}`);
    this.#truth.sent.push({ n, kind, message });
  }

  #count(source: string): void {
    this.#inputs[source] = (this.#inputs[source] ?? 0) + 1;
  }

  /** As people do: they let commands run that end by themselves; what is kept open waits until all others are settled. */
  async #tend(): Promise<void> {
    while (!this.#isOver) {
      for (const { requestId, input } of await this.#asks()) {
        if (input.includes("effects") && !this.#mayDecide) continue;
        const n = Number(/n(\d+)n/.exec(input)?.[1]);
        const optionId = input.includes("effects") && n % 4 === 3 ? "no" : "once";
        await this.#options.sidecar.client
          .answerAsk(this.#threadId, requestId, { optionId })
          .catch(ignoreRefusal);
      }
      await sleep(TEND_MS);
    }
  }

  async #asks(): Promise<{ requestId: string; input: string }[]> {
    const listed = await this.#options.sidecar.client.listAsks(this.#threadId).catch(ignoreRefusal);
    return (listed ?? []).map(({ requestId, request }) => ({ requestId, input: JSON.stringify(request) }));
  }

  async #kill(victim: VoiceVictim): Promise<void> {
    const { sidecar, relay } = this.#options;
    this.#kills[victim] = (this.#kills[victim] ?? 0) + 1;
    const folder = folderOf(sidecar, this.#threadId);
    if (victim === "runner") {
      for (const pid of runnersOf(folder)) signal(pid, "SIGKILL");
    } else if (victim === "engine") {
      const pid = engineOf(folder, "engines/own");
      if (pid !== undefined) signal(pid, "SIGKILL");
    } else if (victim === "sidecar") {
      await sidecar.kill9();
      await sidecar.start();
    } else {
      await relay.kill9();
      relay.start();
      await relay.untilReady();
    }
  }

  #events(): Promise<ThreadEvent[]> {
    return transcriptOf(this.#options.sidecar, this.#threadId);
  }

  get #vm(): Vm {
    return new Vm(this.#options.sidecar.client);
  }
}

/** The sidecar is being started, or the ask is over by now: it is looked for again. */
function ignoreRefusal(error: unknown): undefined {
  if (!(error instanceof AppError)) throw error;
  return undefined;
}
