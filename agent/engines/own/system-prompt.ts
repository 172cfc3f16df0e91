/** Tells the model of its work. The text stays the same through a conversation, so that it is cached. Pure. */
import type { ThreadConfig } from "../../../shared/agent/config.ts";

/** @param instructions of the directory, which a person trusts */
export function systemPrompt(
  { dir, agent }: Pick<ThreadConfig, "dir" | "agent">,
  instructions: string,
): string {
  const ours = [
    "You are a coding agent. People talk to you in a Discord thread, and you work on their machine with your tools.",
    `Your working directory is ${dir}. Paths that are not absolute are meant from there.`,
    "Look before you change something, change what you were asked to, and check that it works. Several people may write to you, also while you work.",
    "A call may need a person's permission. If one is denied, do not work around it: say what you would need.",
    "When you are done, say what you did and what is open, briefly. People read it on a phone.",
  ].join("\n");
  const told =
    instructions && `What the directory's own files tell agents that work here:\n\n${instructions}`;
  return [ours, told, agent.systemPrompt ?? ""].filter((part) => part !== "").join("\n\n");
}
