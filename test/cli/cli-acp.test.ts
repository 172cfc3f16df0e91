/** `threadmux acp`: an editor of the protocol's own SDK over threads of a sidecar. */
import { join } from "node:path";
import * as acp from "@agentclientprotocol/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { editorAgent } from "../../cli/acp/editor-agent.ts";
import { bash } from "../support/agent-threads.ts";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

interface Dialog {
  title: string | null | undefined;
  signal: AbortSignal;
  answer: (optionId: string) => void;
}

/** An editor that shows all that it is told, and leaves its dialogs open. */
async function openEditor() {
  const updates: acp.SessionUpdate[] = [];
  const dialogs: Dialog[] = [];
  const { client: ours } = acp.methods;
  const connection = acp
    .client({ name: "editor" })
    .onNotification(ours.session.update, ({ params }) => void updates.push(params.update))
    .onRequest(
      ours.session.requestPermission,
      ({ params, signal }) =>
        new Promise((resolve, reject) => {
          const answer = (optionId: string) => resolve({ outcome: { outcome: "selected", optionId } });
          dialogs.push({ title: params.toolCall.title, signal, answer });
          signal.addEventListener("abort", () => reject(new Error("withdrawn")));
        }),
    )
    .connect(editorAgent(acp, sidecar.client));
  const { agent } = connection;
  const { methods } = acp;
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const texts = (kind: string) =>
    updates.flatMap((update) =>
      update.sessionUpdate === kind && "content" in update && !Array.isArray(update.content)
        ? [update.content?.type === "text" ? update.content.text.trim() : ""]
        : [],
    );
  return { agent, methods: methods.agent, updates, dialogs, texts, close: () => connection.close() };
}

test("threads are listed, loaded with what was said, and written to; the turn's end is the answer's", async () => {
  await openAgent(sidecar, "a", script("one", { text: "First." }));
  await untilStatus(sidecar, "a", "idle");
  const editor = await openEditor();
  const { sessions } = await editor.agent.request(editor.methods.session.list, {});
  expect(sessions).toMatchObject([{ sessionId: "a", cwd: "/a" }]);
  await editor.agent.request(editor.methods.session.load, { sessionId: "a", cwd: "/a", mcpServers: [] });
  expect(editor.texts("agent_message_chunk")).toEqual(["First."]);
  expect(editor.texts("user_message_chunk")).toHaveLength(1);
  const text = script("two", { tools: [bash("echo hi")] }, { text: "Second." });
  const prompt = { sessionId: "a", prompt: [{ type: "text" as const, text }] };
  const answer = editor.agent.request(editor.methods.session.prompt, prompt);
  await until("the dialog", () => editor.dialogs.length === 1);
  editor.dialogs[0]?.answer("once");
  expect(await answer).toMatchObject({ stopReason: "end_turn" });
  expect(editor.texts("agent_message_chunk")).toEqual(["First.", "Second."]);
  expect(editor.texts("user_message_chunk")).toHaveLength(1); // its own is not told again
  const calls = editor.updates.filter(({ sessionUpdate }) => sessionUpdate.startsWith("tool_call"));
  expect(calls.at(-1)).toMatchObject({ status: "completed" });
  editor.close();
});

test("the first answer counts: one from elsewhere closes the editor's dialog; others' messages are shown", async () => {
  await openAgent(sidecar, "b", script("one", { tools: [bash("echo hi >> ran")] }, { text: "Done." }));
  await until("the ask", async () => (await sidecar.client.listAsks("b")).length === 1);
  const editor = await openEditor();
  await editor.agent.request(editor.methods.session.load, { sessionId: "b", cwd: "/b", mcpServers: [] });
  await until("the dialog", () => editor.dialogs.length === 1);
  const [ask] = await sidecar.client.listAsks("b");
  await sidecar.client.answerAsk("b", ask?.requestId ?? "", { optionId: "once" });
  await until("the dialog to be withdrawn", () => editor.dialogs[0]?.signal.aborted === true);
  await sidecar.client.sendInput("b", { text: "and a third" });
  await until("the other's message", () =>
    editor.texts("user_message_chunk").some((text) => text.includes("and a third")),
  );
  editor.close();
});

test("a cancel stops the turn; what fails is told in the sidecar's words", async () => {
  await openAgent(sidecar, "c", script("one", { text: "First." }));
  await untilStatus(sidecar, "c", "idle");
  const editor = await openEditor();
  const text = script("two", { tools: [bash("echo hi")] }, { text: "Second." });
  const prompt = { sessionId: "c", prompt: [{ type: "text" as const, text }] };
  const answer = editor.agent.request(editor.methods.session.prompt, prompt);
  await until("the dialog", () => editor.dialogs.length === 1);
  await editor.agent.notify(editor.methods.session.cancel, { sessionId: "c" });
  expect(await answer).toMatchObject({ stopReason: "cancelled" });
  const ends = (await transcriptOf(sidecar, "c")).filter(({ type }) => type === "turn_end");
  expect(ends.at(-1)).toMatchObject({ stopReason: "cancelled" });
  const missing = editor.agent.request(editor.methods.session.load, {
    sessionId: "no",
    cwd: "/",
    mcpServers: [],
  });
  await expect(missing).rejects.toThrow(/no/);
  editor.close();
});

test("a new session is a thread as soon as something is written to it", async () => {
  await openAgent(sidecar, "d", script("one", { text: "First." }));
  const editor = await openEditor();
  const { sessionId } = await editor.agent.request(editor.methods.session.new, {
    cwd: join(sidecar.reposDir, "d"),
    mcpServers: [],
  });
  const prompt = { sessionId, prompt: [{ type: "text" as const, text: script("hi", { text: "New." }) }] };
  expect(await editor.agent.request(editor.methods.session.prompt, prompt)).toMatchObject({
    stopReason: "end_turn",
  });
  expect(editor.texts("agent_message_chunk")).toEqual(["New."]);
  expect((await sidecar.client.getThread(sessionId)).dir).toBe("d");
  editor.close();
});
