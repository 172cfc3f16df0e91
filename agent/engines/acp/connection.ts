/** A conversation with an ACP agent: opened anew or gone on with, prompted, steered, cancelled. */
import type {
  InitializeRequest,
  McpServer,
  NewSessionRequest,
  PromptRequest,
} from "@agentclientprotocol/sdk/unstable";
import { pause } from "../../../shared/lifecycle.ts";
import { VERSION } from "../../../shared/version.ts";
import type { ContentPart } from "../../engine.ts";
import type { AgentProgram } from "./agent-program.ts";
import { findKnown, type KnownAgent } from "./known.ts";
import {
  type Initialized,
  initializedSchema,
  notificationSchema,
  type Prompted,
  parseUpdate,
  promptedSchema,
  type SessionInfo,
  sessionSchema,
  steeredSchema,
  type Update,
} from "./messages.ts";
import type { Spec } from "./protocol.ts";
import { Noise, Replay } from "./replay.ts";
import { blockOf, serversIn } from "./requests.ts";
import { AgentError, Rpc } from "./rpc.ts";
import { modesOf } from "./session-modes.ts";
import { Once } from "./waiting.ts";

const PROTOCOL = 1;
const AUTH_REQUIRED = -32000;
const MODE_MS = 20_000;
/** A replay may go on for a moment after the answer. */
const REPLAY_MS = 1_000;
/** A program that prints so many lines of something else speaks no ACP. */
const MAX_NOISE_LINES = 200;

export interface Deadlines {
  initializeMs: number;
  sessionMs: number;
}

export interface ConnectionHandlers {
  /** The agent has said something, whatever it is. */
  heard(): void;
  update(update: Update): void;
  permission(params: unknown, requestId: string): Promise<unknown>;
  /** The agent takes a request back. */
  cancelled(requestId: string): void;
  /** Once a kind. */
  notice(title: string, description?: string): void;
  log(text: string): void;
  /** Its output can't be read any further. */
  broken(message: string): void;
}

export interface Opened {
  sessionId: string;
  isResumed: boolean;
  canResume: boolean;
  modeId: string;
  name: string;
  version: string;
  capabilities: string[];
  lost: string[];
}

/** Says in a sentence for people why the agent can't be used. */
export class OpenError extends Error {
  /** The conversation is gone, the agent is well. */
  readonly isGone: boolean;

  constructor(message: string, isGone = false) {
    super(message);
    this.isGone = isGone;
  }
}

export class Connection {
  readonly #spec: Spec;
  readonly #handlers: ConnectionHandlers;
  readonly #rpc: Rpc;
  readonly #once = new Once();
  readonly #noise = new Noise();
  #known: KnownAgent | undefined;
  #agent: Initialized | undefined;
  #session: SessionInfo = sessionSchema.parse({});
  #sessionId = "";
  /** While it tells the conversation again. */
  #replay: Replay | undefined;

  constructor(spec: Spec, program: AgentProgram, handlers: ConnectionHandlers) {
    this.#spec = spec;
    this.#handlers = handlers;
    this.#known = findKnown(spec.program);
    this.#rpc = new Rpc(program.input, program.output, {
      request: (method, params, id) => this.#request(method, params, id),
      notification: (method, params) => this.#notification(method, params),
      noise: (text) => this.#takeNoise(text),
      tooLong: () => handlers.broken("It printed a line of more than 32 MiB, which is no message of ACP."),
    });
  }

  get known(): KnownAgent | undefined {
    return this.#known;
  }

  /** A message in mid-turn: by a request of its own, as another prompt, or not before the turn's end. */
  get steering(): "request" | "prompt" | "none" {
    if (this.#agent?._meta?.steering?.supported) return "request";
    return this.#known?.takesPrompts ? "prompt" : "none";
  }

  /** The first line that it printed and that was no message, in a sentence; empty if there was none. */
  get noise(): string {
    return this.#noise.text;
  }

  /** @throws OpenError */
  async open({ initializeMs, sessionMs }: Deadlines): Promise<Opened> {
    const agent = await this.#initialize(initializeMs);
    const { agentInfo, agentCapabilities } = agent;
    this.#known ??= findKnown(agentInfo?.name ?? "");
    const { sessionCapabilities, promptCapabilities, mcpCapabilities, loadSession } = agentCapabilities;
    const isFaulty = this.#known?.losesSessions === true;
    const canLoad = loadSession && !isFaulty;
    const canResume = canLoad || (Boolean(sessionCapabilities.resume) && !isFaulty);
    const isResumed = this.#spec.sessionId !== undefined && canResume;
    if (this.#spec.sessionId !== undefined && !canResume)
      throw new OpenError("It can't go on with a conversation of an earlier process.", true);
    const lost = await this.#openSession(isResumed, canLoad, sessionMs);
    const modeId = await this.#beginMode();
    return {
      sessionId: this.#sessionId,
      isResumed,
      canResume,
      modeId,
      name: agentInfo?.title ?? agentInfo?.name ?? this.#spec.program,
      version: agentInfo?.version ?? "unknown",
      capabilities: [
        ...(canLoad ? ["load"] : canResume ? ["resume"] : []),
        ...(this.steering === "none" ? [] : ["steering"]),
        ...(promptCapabilities.image ? ["images"] : []),
        ...(mcpCapabilities.http ? ["tools"] : []),
      ],
      lost,
    };
  }

  async prompt(parts: readonly ContentPart[]): Promise<Prompted> {
    const { data } = promptedSchema.safeParse(
      await this.#rpc.request("session/prompt", this.#promptOf(parts)),
    );
    if (!data) throw new Error("Its answer to session/prompt can't be read.");
    return data;
  }

  /** @returns whether the agent has it; if not, it is to be told by a prompt. */
  async steer(parts: readonly ContentPart[]): Promise<boolean> {
    // Without this word an agent whose turn has just ended begins one of its own with the message.
    const request = { ...this.#promptOf(parts), _meta: { steering: { idleBehavior: "promptRequired" } } };
    try {
      const answer = await this.#rpc.request("_session/steering", request);
      const { outcome = "" } = steeredSchema.safeParse(answer).data ?? {};
      return ["injected", "startedNewTurn"].includes(outcome);
    } catch (error) {
      if (error instanceof AgentError) return false; // such as: no turn runs any more
      throw error;
    }
  }

  cancel(): void {
    this.#rpc.notify("session/cancel", { sessionId: this.#sessionId });
  }

  /** @throws Error saying what it has in its place */
  async setMode(modeId: string): Promise<void> {
    const { names, configId } = modesOf(this.#session);
    const sessionId = this.#sessionId;
    if (!names.includes(modeId))
      throw new Error(`It has no mode ${modeId}; its modes are ${names.join(", ") || "unknown"}.`);
    if (configId === undefined) await this.#rpc.request("session/set_mode", { sessionId, modeId }, MODE_MS);
    else
      await this.#rpc.request("session/set_config_option", { sessionId, configId, value: modeId }, MODE_MS);
  }

  close(why: Error): void {
    this.#rpc.close(why);
  }

  async #initialize(timeoutMs: number): Promise<Initialized> {
    const request: InitializeRequest = {
      protocolVersion: PROTOCOL,
      clientInfo: { name: "threadmux", version: VERSION },
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    };
    const answer = await this.#opening("initialize", request, timeoutMs);
    const { data: agent } = initializedSchema.safeParse(answer);
    if (!agent) throw new OpenError("Its answer to initialize is none of the Agent Client Protocol.");
    if (agent.protocolVersion !== PROTOCOL) {
      const speaks = `It speaks version ${agent.protocolVersion} of the Agent Client Protocol`;
      throw new OpenError(`${speaks}; threadmux speaks version ${PROTOCOL}.`);
    }
    this.#agent = agent;
    return agent;
  }

  /** @returns the deliveries that an earlier process may have told it, and that it does not know of */
  async #openSession(isResumed: boolean, canLoad: boolean, timeoutMs: number): Promise<string[]> {
    const { dir, taken } = this.#spec;
    const request: NewSessionRequest = { cwd: dir, mcpServers: this.#servers() };
    if (!isResumed) {
      this.#session = await this.#openingSession("session/new", request, timeoutMs);
      if (this.#session.sessionId === undefined) throw new OpenError("Its new session has no id.");
      this.#sessionId = this.#session.sessionId;
      return taken;
    }
    const sessionId = this.#spec.sessionId ?? "";
    this.#sessionId = sessionId;
    const replay = canLoad ? new Replay(taken) : undefined;
    this.#replay = replay;
    const method = canLoad ? "session/load" : "session/resume";
    this.#session = await this.#openingSession(method, { ...request, sessionId }, timeoutMs);
    // Without a replay nobody knows what it holds: what it was about to be told counts as told.
    if (!replay) return [];
    const deadline = Date.now() + REPLAY_MS;
    while (replay.missing.length > 0 && Date.now() < deadline) await pause(20);
    this.#replay = undefined;
    return replay.missing;
  }

  /** @returns the mode that holds */
  async #beginMode(): Promise<string> {
    const { now } = modesOf(this.#session);
    const wanted = this.#spec.mode ?? (this.#known?.mode && { id: this.#known.mode, isChosen: false });
    if (!wanted || wanted.id === now) return now;
    try {
      await this.setMode(wanted.id);
      return wanted.id;
    } catch (error) {
      const { message } = error as Error;
      if (wanted.isChosen) throw new OpenError(message);
      this.#handlers.notice(`The agent works in the mode ${now}, in which it may ask nobody`, message);
      return now;
    }
  }

  #servers(): McpServer[] {
    const { mcpConfigFile } = this.#spec;
    if (mcpConfigFile === undefined) return [];
    if (this.#agent?.agentCapabilities.mcpCapabilities.http) return serversIn(mcpConfigFile);
    this.#handlers.notice("The agent takes no tools over HTTP: it works without those of the thread");
    return [];
  }

  async #openingSession(method: string, request: object, timeoutMs: number): Promise<SessionInfo> {
    const { data } = sessionSchema.safeParse(await this.#opening(method, request, timeoutMs));
    if (!data) throw new OpenError(`Its answer to ${method} can't be read.`);
    return data;
  }

  /** A request on the way to an open session: whatever goes wrong is told as a sentence. */
  async #opening(method: string, request: object, timeoutMs: number): Promise<unknown> {
    try {
      return await this.#rpc.request(method, request, timeoutMs);
    } catch (error) {
      if (!(error instanceof AgentError))
        throw new OpenError(`Its start failed: ${(error as Error).message}.`);
      const { code, message } = error;
      const isGone = method === "session/load" || method === "session/resume";
      if (code !== AUTH_REQUIRED) throw new OpenError(`It refused ${method}: ${message}`, isGone);
      const ways = this.#agent?.authMethods.map(({ name }) => name).join(", ");
      const how = ways ? ` (${ways})` : "";
      throw new OpenError(
        `It is not signed in: start it once by hand and sign in${how}. It says: ${message}`,
      );
    }
  }

  #promptOf(parts: readonly ContentPart[]): PromptRequest {
    const canSee = this.#agent?.agentCapabilities.promptCapabilities.image === true;
    return { sessionId: this.#sessionId, prompt: parts.map((part) => blockOf(part, canSee)) };
  }

  #request(method: string, params: unknown, id: string): Promise<unknown> | undefined {
    this.#handlers.heard();
    if (method === "session/request_permission") return this.#handlers.permission(params, id);
    const [what = method] = method.split("/");
    if (this.#once.isNew(`request ${what}`)) {
      const title = `The agent asked for what threadmux does not offer: ${method.slice(0, 100)}`;
      this.#handlers.notice(title, "It was told so, and goes on without.");
    }
    return undefined;
  }

  #notification(method: string, params: unknown): void {
    this.#handlers.heard();
    if (method === "$/cancel_request") {
      const { requestId } = (params ?? {}) as { requestId?: unknown };
      this.#handlers.cancelled(JSON.stringify(requestId));
    }
    if (method !== "session/update") return;
    const { data } = notificationSchema.safeParse(params);
    if (!data || (this.#sessionId !== "" && data.sessionId !== this.#sessionId)) return;
    const update = parseUpdate(data.update);
    if (update === "unused") return;
    if (update === "unknown") this.#logOnce(data.update.sessionUpdate);
    else if (this.#replay) this.#replay.take(update);
    else this.#handlers.update(update);
  }

  #logOnce(kind: string): void {
    if (!this.#once.isNew(`update ${kind.slice(0, 100)}`)) return;
    this.#handlers.log(`a session update that can't be read is left out: ${kind.slice(0, 100)}`);
  }

  #takeNoise(text: string): void {
    const lines = this.#noise.take(text);
    if (lines === 1) this.#handlers.log(this.noise);
    if (lines === MAX_NOISE_LINES) this.#handlers.broken("It prints much that is no JSON.");
  }
}
