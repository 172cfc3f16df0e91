/** Controls: what a person does with an agent's thread while it goes on. Each has a route of its name. */
import { controlBodySchemas, controlReplySchema } from "../agent/api.ts";
import { CONTROL_SUMMARIES, CONTROLS, type Control } from "../agent/controls.ts";
import type { Right } from "../rights.ts";
import { FIXER, HELPER, TESTER } from "./example-threads.ts";
import { type Access, type Example, type Route, route } from "./route.ts";

const EXAMPLES: Readonly<Record<Control, Example>> = {
  interrupt: { path: HELPER, body: {} },
  pause: { path: HELPER, body: {} },
  resume: { path: HELPER, body: { input: { text: "Go on.", inputId: "m2" } } },
  compact: { path: HELPER, body: { text: "Keep the file names." } },
  mode: { path: HELPER, body: { modeId: "plan" } },
  model: { path: HELPER, body: { model: "opus" } },
  limit: { path: HELPER, body: { limits: { turns: 40 } } },
  undo: { path: FIXER, body: {} },
  rules: { path: TESTER, body: { withdraw: ["Bash(npm --version)"] } },
  unmark: { path: HELPER, body: {} },
};

/** The console's page has buttons for these. */
const OF_CONSOLE: readonly Control[] = ["interrupt", "resume", "undo", "mode", "model"];

/** These change what an agent may do. */
const DECIDING: readonly Control[] = ["mode", "model", "limit", "rules", "unmark"];

const controlRoute = <C extends Control>(control: C) =>
  route({
    method: "post",
    path: `/thread/:id/${control}` as `/thread/:id/${string}`,
    right: (DECIDING.includes(control) ? "decide" : "press") satisfies Right as Right,
    summary: CONTROL_SUMMARIES[control],
    body: controlBodySchemas[control],
    status: 200,
    reply: controlReplySchema,
    errors: [
      "not_found",
      "unsupported",
      ...(control === "undo" ? (["turn_running"] as const) : []),
      "thread_ended",
    ],
    access: (OF_CONSOLE.includes(control) ? "console" : "owner") satisfies Access as Access,
    isRepeatable: false,
    example: EXAMPLES[control],
  } satisfies Route);

export type ControlRoute = ReturnType<typeof controlRoute>;

export const controls = Object.fromEntries(
  CONTROLS.map((control) => [control, controlRoute(control)]),
) as Record<Control, ControlRoute>;
