/** The tools that one engine process has, and what they keep running in it. */
import { applyPatch } from "./apply-patch.ts";
import { askUser } from "./ask-user.ts";
import { BackgroundCommands, type BackgroundTask } from "./background-commands.ts";
import { bash } from "./bash.ts";
import { edit } from "./edit.ts";
import { glob } from "./glob.ts";
import { grep } from "./grep.ts";
import { ls } from "./ls.ts";
import { processTool } from "./process-tool.ts";
import { read } from "./read.ts";
import { type AnyTool, anyTool } from "./tool.ts";
import { write } from "./write.ts";

export interface ToolSet {
  readonly tools: readonly AnyTool[];
  /** Ends a command that runs in the background. @returns whether there was one */
  endTask(taskId: string): Promise<boolean>;
  /** Ends what runs in the background. Nothing of it outlives the engine. */
  close(): Promise<void>;
}

/**
 * @param onTasks is told which commands run in the background whenever one begins or ends
 * @param mostSeconds a command that takes longer goes on in the background; undefined: it is ended at its time limit
 */
export function makeTools(
  onTasks: (tasks: BackgroundTask[]) => void = () => {},
  mostSeconds?: number,
): ToolSet {
  const background = new BackgroundCommands(onTasks);
  return {
    tools: [
      anyTool(read),
      anyTool(write),
      anyTool(edit),
      anyTool(applyPatch),
      anyTool(bash(background, mostSeconds)),
      anyTool(processTool(background)),
      anyTool(ls),
      anyTool(glob),
      anyTool(grep),
      anyTool(askUser),
    ],
    endTask: async (taskId) => (await background.endTask(taskId)) !== undefined,
    close: () => background.close(),
  };
}
