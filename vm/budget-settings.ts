/** The settings of threads' budgets. */
import * as z from "zod";
import {
  type Budget,
  budgetSchema,
  MIN_AGENT_MEMORY_BYTES,
  MIN_AGENT_PIDS,
  NOT_MEMORY,
  parseMemory,
} from "../shared/budget.ts";

const { memory, cpu, pids } = budgetSchema.shape;

export const budgetSettings = {
  THREAD_MEMORY: z
    .string()
    .transform((text, context) => {
      const bytes = parseMemory(text);
      if (bytes !== undefined) return bytes;
      context.addIssue(NOT_MEMORY);
      return z.NEVER;
    })
    .pipe(memory.unwrap().min(MIN_AGENT_MEMORY_BYTES, "must be at least 256M: agents run in it too"))
    .optional()
    .describe(
      "How much memory the processes of a thread may take together, such as `2G`. Beyond it the kernel ends one of them, and the thread says so. If it is not set: all that there is. Needs control groups, see `threadmux doctor`.",
    ),
  THREAD_CPU: z.coerce
    .number("must be a number of processors, such as 1.5")
    .pipe(cpu.unwrap())
    .optional()
    .describe("How many processors a thread may keep busy, such as `1.5`. If it is not set: all."),
  THREAD_PIDS: z.coerce
    .number("must be a whole number")
    .pipe(pids.unwrap().min(MIN_AGENT_PIDS, `must be at least ${MIN_AGENT_PIDS}: agents run in it too`))
    .optional()
    .describe(
      "How many processes, with their threads, a thread may have at once. If it is not set: as many as the machine can.",
    ),
};

export type { Budget };

export function findBudget({
  THREAD_MEMORY,
  THREAD_CPU,
  THREAD_PIDS,
}: {
  THREAD_MEMORY?: number | undefined;
  THREAD_CPU?: number | undefined;
  THREAD_PIDS?: number | undefined;
}): Budget {
  return {
    ...(THREAD_MEMORY !== undefined && { memory: THREAD_MEMORY }),
    ...(THREAD_CPU !== undefined && { cpu: THREAD_CPU }),
    ...(THREAD_PIDS !== undefined && { pids: THREAD_PIDS }),
  };
}
