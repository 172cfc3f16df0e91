/** `/compact [hint]`: from here on the model is given a summary in the conversation's place. */
import { randomUUID } from "node:crypto";
import { tokensOf } from "./answer.ts";
import type { Context } from "./calls.ts";
import type { Message } from "./turn.ts";

const SUMMARY = "This session is being continued from a previous conversation. The summary: a script ran.";

export const isCommand = ({ content }: Message): boolean => /^\/compact(\s|$)/.test(content[0]?.text ?? "");

/** @returns the fields of the result line. */
export async function compact(
  { uuid, content }: Message,
  { output, session, settings, cwd, peer }: Context,
): Promise<Record<string, unknown>> {
  const startedAt = performance.now();
  output.lifecycle(uuid, "started");
  output.system("status", { status: "compacting" });
  const pre_tokens = tokensOf(JSON.stringify(session.conversation()));
  const post_tokens = tokensOf(SUMMARY);
  const replies = await peer.hook("SessionStart", { source: "compact" }, "", new AbortController().signal);
  output.system("status", { status: null, compact_result: "success" });
  output.init({ cwd, model: settings.model, permissionMode: settings.mode }, [uuid]);
  session.add({ type: "compact" });
  const summary = { role: "user", content: SUMMARY };
  const logical_parent_uuid = session.add({ type: "user", isMeta: true, message: summary });
  for (const { additionalContext } of replies)
    if (additionalContext) session.addContext(`SessionStart hook additional context: ${additionalContext}`);
  const duration_ms = Math.round(performance.now() - startedAt);
  output.system("compact_boundary", {
    compact_metadata: {
      trigger: "manual",
      pre_tokens,
      post_tokens,
      cumulative_dropped_tokens: Math.max(0, pre_tokens - post_tokens),
      duration_ms,
    },
    logical_parent_uuid,
  });
  output.user(SUMMARY, randomUUID(), { isReplay: false, isSynthetic: true });
  output.user("<local-command-stdout>Compacted </local-command-stdout>", randomUUID(), { isReplay: true });
  const hint = content[0]?.text?.replace(/^\/compact\s*/, "") ?? "";
  const command = `<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args>${hint}</command-args>`;
  output.user(command, uuid, { isReplay: true });
  session.addMessage([{ type: "text", text: command }], { uuid, isMeta: true });
  const done = [{ type: "text", text: "Compacted." }];
  session.add({ type: "assistant", message: { role: "assistant", id: randomUUID(), content: done } });
  return {
    subtype: "success",
    is_error: false,
    result: "",
    stop_reason: null,
    num_turns: 0,
    duration_ms,
    duration_api_ms: 0,
    permission_denials: [],
    user_message_uuid: uuid,
    user_message_uuids: [uuid],
    local_command: "compact",
    usage: { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 },
  };
}
