/** An ACP agent over threads: an editor lists them, opens them, writes to them, stops them, and answers their asks. */
import type * as Acp from "@agentclientprotocol/sdk";
import { isOpen } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { errorText } from "../../shared/errors.ts";
import { kindOf } from "../../shared/kinds.ts";
import { VERSION } from "../../shared/version.ts";
import { makeId } from "../new-id.ts";
import { type Editor, ThreadTail } from "./thread-tail.ts";

/** @param acp the SDK, which is loaded when it is needed */
export function editorAgent(acp: typeof Acp, client: SidecarClient): Acp.AgentApp {
  const sessions = new Sessions(acp, client);
  const { agent } = acp.methods;
  return acp
    .agent({ name: "threadmux" })
    .onRequest(agent.initialize, () => ({
      protocolVersion: 1,
      agentInfo: { name: "threadmux", title: "threadmux", version: VERSION },
      agentCapabilities: { loadSession: true, sessionCapabilities: { list: {}, resume: {} } },
    }))
    .onRequest(agent.session.list, () => sessions.list())
    .onRequest(agent.session.new, ({ params: { cwd } }) => ({ sessionId: sessions.plan(cwd) }))
    .onRequest(agent.session.load, ({ params, client: editor }) =>
      sessions.open(params.sessionId, editor, true),
    )
    .onRequest(agent.session.resume, ({ params, client: editor }) =>
      sessions.open(params.sessionId, editor, false),
    )
    .onRequest(agent.session.prompt, ({ params, client: editor }) => sessions.prompt(params, editor))
    .onNotification(agent.session.cancel, ({ params: { sessionId } }) => sessions.cancel(sessionId))
    .onConnect(({ signal }) => signal.addEventListener("abort", () => sessions.close()));
}

class Sessions {
  readonly #acp: typeof Acp;
  readonly #client: SidecarClient;
  readonly #tails = new Map<string, ThreadTail>();
  /** Sessions whose thread is made by the first message, and the directory of each. */
  readonly #planned = new Map<string, string>();

  constructor(acp: typeof Acp, client: SidecarClient) {
    this.#acp = acp;
    this.#client = client;
  }

  async list(): Promise<Acp.ListSessionsResponse> {
    const threads = await this.#told(this.#client.listThreads());
    const agents = threads.filter((thread) => kindOf(thread).hasTurns && isOpen(thread.status));
    return {
      sessions: agents.map(({ threadId, dir, title, createdAt }) => ({
        sessionId: threadId,
        cwd: dir.startsWith("/") ? dir : `/${dir}`,
        title,
        updatedAt: createdAt,
      })),
    };
  }

  plan(cwd: string): string {
    const sessionId = makeId(cwd);
    this.#planned.set(sessionId, cwd);
    return sessionId;
  }

  async open(sessionId: string, editor: Acp.AgentContext, isReplay: boolean): Promise<Record<string, never>> {
    this.#tails.get(sessionId)?.close();
    const tail = new ThreadTail(this.#client, sessionId, this.#editorOf(sessionId, editor));
    this.#tails.set(sessionId, tail);
    await this.#told(tail.open(isReplay));
    return {};
  }

  async prompt(
    { sessionId, prompt }: Acp.PromptRequest,
    editor: Acp.AgentContext,
  ): Promise<Acp.PromptResponse> {
    const text = prompt.map(textOf).join("\n");
    const dir = this.#planned.get(sessionId);
    if (dir !== undefined) {
      // The thread begins with a message, which is this one.
      const made = { threadId: sessionId, type: "agent" as const, dir, command: text };
      await this.#told(this.#client.createThread(made));
      this.#planned.delete(sessionId);
      const tail = new ThreadTail(this.#client, sessionId, this.#editorOf(sessionId, editor));
      this.#tails.set(sessionId, tail);
      return { stopReason: await this.#told(tail.first()) };
    }
    if (!this.#tails.has(sessionId)) await this.open(sessionId, editor, false);
    const tail = this.#tails.get(sessionId);
    return { stopReason: await this.#told(tail?.prompt(text) ?? Promise.reject(new Error("it is closed"))) };
  }

  async cancel(sessionId: string): Promise<void> {
    await this.#client.controlAgent(sessionId, { control: "interrupt" }).catch(() => undefined); // its turn has ended
  }

  close(): void {
    for (const tail of this.#tails.values()) tail.close();
  }

  #editorOf(sessionId: string, context: Acp.AgentContext): Editor {
    const { session } = this.#acp.methods.client;
    return {
      update: (update) => context.notify(session.update, { sessionId, update }),
      ask: async ({ toolCallId, title, options }, signal) => {
        const request = { sessionId, toolCall: { toolCallId, title }, options };
        const how = { cancellationSignal: signal, stopWaitingOnCancel: true };
        const answer = await context.request(session.requestPermission, request, how);
        const { outcome } = answer as Acp.RequestPermissionResponse;
        return outcome.outcome === "selected" ? outcome.optionId : undefined;
      },
    };
  }

  /** What went wrong is told to the editor in the sidecar's words. */
  async #told<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof this.#acp.RequestError) throw error;
      throw this.#acp.RequestError.internalError(undefined, errorText(error));
    }
  }
}

function textOf(block: Acp.ContentBlock): string {
  if (block.type === "text") return block.text;
  if (block.type === "resource_link") return block.uri;
  if (block.type === "resource" && "text" in block.resource) return block.resource.text;
  return `(${block.type}, which this agent does not take here)`;
}
