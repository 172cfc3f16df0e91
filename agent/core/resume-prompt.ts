/** The text by which another process of the engine takes up a cut-off turn. Pure. */
import type { RecordedAnswer, ThreadFold } from "../../shared/agent/fold-types.ts";
import type { CutOffCall } from "../engine.ts";

/** A new process is told the newest answers, up to so many characters. */
const MAX_ANSWERS = 10_000;

/**
 * An echo takes an answer off the record: the calls of those that are left did not run either. What people answered
 * to questions is told in any case: claude saves a call's result some 50 ms after it has printed it, and one that is
 * killed meanwhile says of the answered question that its outcome is unknown.
 */
export function resumePrompt(
  calls: readonly CutOffCall[],
  {
    children = [],
    heardAnswers = [],
    toolCalls = [],
    voice,
  }: Partial<Pick<ThreadFold, "children" | "heardAnswers" | "toolCalls" | "voice">> = {},
): string {
  const open = children.map(({ threadId }) => threadId).join(", ");
  const wait =
    open === "" ? "" : ` These threads that you spawned go on; wait for them with wait_thread: ${open}.`;
  // Linux refuses a program whose environment has an entry of more than 128 KiB.
  const answers = heardAnswers.map(describeAnswer).join(", ").slice(-MAX_ANSWERS);
  const answered =
    answers === "" ? "" : ` Your questions have been answered; do not ask them again: ${answers}.`;
  // Their calls were cut off: the engine says that their outcome is unknown.
  const said = (voice?.said ?? []).filter(({ callId }) =>
    toolCalls.some((call) => call.toolCallId === callId),
  );
  const sent = said.map(({ messageId, address }) => `${messageId} to ${address}`).join(", ");
  const spoken =
    sent === "" ? "" : ` These messages of yours are on their way; do not send them again: ${sent}.`;
  const goOn = `The session was restarted; continue from where you left off.${wait}${answered}${spoken}`;
  if (calls.length === 0) return goOn;
  const list = calls.map(({ toolName, input }) => `\n- ${toolName} ${input}`).join("");
  return `${goOn} These calls were waiting for permission and did NOT run; call them again:${list}`;
}

/** In the words in which claude tells the model an answer; on one line. */
function describeAnswer({ input, response }: RecordedAnswer): string {
  if (response.kind !== "elicitation" || response.action === "decline") {
    return `the person declined to answer ${input}`;
  }
  const given = Object.entries(response.content ?? {});
  return given.map((pair) => pair.map((text) => JSON.stringify(text)).join("=")).join(", ");
}
