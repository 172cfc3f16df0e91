/** What a kill is asked for with. */
import * as z from "zod";

export const killRequestSchema = z.strictObject({
  /** For agents: whether the threads that it spawned end with it. */
  children: z.enum(["kill", "keep"]).default("kill"),
});
export type KillRequest = z.input<typeof killRequestSchema>;
