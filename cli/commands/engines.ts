/** The engines of agents: what is installed, what each can, and what to type to get it. */
import type { Command } from "commander";
import { cleanLine } from "../../shared/clean-text.ts";
import type { EngineProgramState, EngineState } from "../../shared/engines-api.ts";
import { engines } from "../../shared/protocol/engines.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { noteIfSlow } from "../slow-note.ts";

/** The sidecar asks the programs themselves, and takes 45 s at most. */
const TIMEOUT_MS = 60_000;

export function addEngines(program: Command, act: Act): void {
  program
    .command("engines")
    .summary("which engines agents may have, what each can, and what to type to get it")
    .description(
      "the engines that an agent may have (`new --agent --engine`): whether the sidecar's machine has their programs, which version, whether they are signed in, what each can and can't, and what to type to get it",
    )
    .addHelpText("after", examples("threadmux engines", "threadmux engines --json"))
    .action((_: unknown, command: Command) => act(command, listEngines));
}

async function listEngines(context: Context): Promise<number> {
  const { out, isJson, settings } = context;
  const client = context.client();
  const waited = `threadmux: waiting for the sidecar at ${settings.url}`;
  // A sidecar that hangs is told as soon as everywhere.
  await noteIfSlow(context, waited, client.getHealth());
  const text = `${waited}, which asks the engines' programs; at most ${TIMEOUT_MS / 1_000} s`;
  const reply = await noteIfSlow(context, text, client.call(engines.list, {}, { timeoutMs: TIMEOUT_MS }));
  if (isJson) await out.json(reply);
  else for (const line of reply.engines.flatMap(linesOf)) await out.line(line);
  return EXIT.ok;
}

function linesOf({ name, title, isDefault, takesProgram, programs, can, cannot, ...more }: EngineState) {
  const { modes, models } = more;
  const row = (label: string, text: string) =>
    text === "" ? [] : [`  ${label.padEnd(9)} ${cleanLine(text)}`];
  return [
    cleanLine(`${name}: ${title}${isDefault ? " (default)" : ""}`),
    ...programs.flatMap((program) => row("program", programText(program))),
    ...(takesProgram ? row("program", "one that you name (--program)") : []),
    ...row("can", can.join(", ")),
    ...row("can't", cannot.join(", ")),
    ...row("modes", modes.join(", ")),
    ...row("models", (models ?? []).join(", ")),
    ...programs.flatMap(({ install }) => row("get it", install ?? "")),
    ...programs.flatMap(({ signIn, isSignedIn }) => row("sign in", isSignedIn ? "" : (signIn ?? ""))),
  ];
}

function programText({ name, isInstalled, path, version, isSignedIn, problem }: EngineProgramState): string {
  if (!isInstalled) return problem ?? `${name} is not installed`;
  const said = [
    version === null ? name : `${name} ${version}`,
    ...(isSignedIn === null ? [] : [isSignedIn ? "signed in" : "not signed in"]),
    ...(problem === null ? [] : [problem]),
    path ?? "comes with threadmux",
  ];
  return said.join(" · ");
}
