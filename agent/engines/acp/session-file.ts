/** The agent's own id of a thread's conversation: agents choose it, and the runner knows the conversation by one of ours. */
import { join } from "node:path";
import * as z from "zod";
import { findJson, replaceJson } from "../../folder/json-file.ts";

const fileSchema = z.object({
  /** Ours. */
  launched: z.string(),
  /** The agent's. */
  sessionId: z.string(),
  canResume: z.boolean(),
});
type AgentSession = z.infer<typeof fileSchema>;

/** Undefined if none is known, or only another one. */
export function findAgentSession(folder: string, launched: string): AgentSession | undefined {
  const { data } = fileSchema.safeParse(findJson(pathIn(folder)));
  return data?.launched === launched ? data : undefined;
}

/** On the disk when it returns: the agent is told a message only after that. */
export function keepAgentSession(folder: string, session: AgentSession): void {
  const known = findAgentSession(folder, session.launched);
  if (JSON.stringify(known) !== JSON.stringify(session)) replaceJson(pathIn(folder), session, true);
}

export function forgetAgentSession(folder: string, launched: string): void {
  const known = findAgentSession(folder, launched);
  if (known?.canResume) replaceJson(pathIn(folder), { ...known, canResume: false }, true);
}

function pathIn(folder: string): string {
  return join(folder, "acp-session.json");
}
