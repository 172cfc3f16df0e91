/** Agents with a name: which there are for a directory, and what is wrong with a file. */
import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { Command } from "commander";
import { cleanLine } from "../../shared/clean-text.ts";
import type { DirectiveReply, DirectivesReply } from "../../shared/directive-api.ts";
import { describeFault } from "../../shared/directives/fault.ts";
import { AppError, errorText } from "../../shared/errors.ts";
import { directives } from "../../shared/protocol/directives.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { formatTable } from "../table.ts";

const COLUMNS = [
  { title: "NAME" },
  { title: "FROM", minWidth: 10 },
  { title: "MAY", minWidth: 10 },
  { title: "DESCRIPTION", minWidth: 10 },
];

export function addDirectives(program: Command, act: Act): void {
  program
    .command("directives")
    .summary("which directives there are for a directory; `check` names what is wrong with a file")
    .description(
      "which directives (agents with a name) there are for a directory below REPOS_DIR: its own once a person has trusted it, then yours; docs/directives.md says where they lie",
    )
    .argument("[dir]", "the directory, or `check` and a file", ".")
    .argument("[file]", "after `check`: the file")
    .addHelpText(
      "after",
      examples(
        "threadmux directives shop",
        "threadmux directives check reviewer.md",
        "threadmux new --agent shop --as reviewer -- 'what changed today'",
      ),
    )
    .action((dir: string, file: string | undefined, _options: object, command: Command) =>
      act(command, (context) => {
        if (dir === "check" && file !== undefined) return check(context, file);
        if (file !== undefined)
          throw new AppError("invalid_request", "directives: takes one directory, or check and a file");
        return list(context, dir);
      }),
    );
}

async function list({ client, out, err, isJson }: Context, dir: string): Promise<number> {
  const reply = await client().call(directives.list, {}, { query: { dir } });
  if (isJson) {
    await out.json(reply);
    return EXIT.ok;
  }
  const rows = reply.directives.map((one) => [one.as, one.file, mayOf(one), one.description].map(cleanLine));
  if (out.isTty) {
    for (const line of formatTable(COLUMNS, rows, out.columns)) await out.line(line);
  } else for (const row of rows) await out.line(row.join("\t"));
  for (const line of faultsOf(reply)) await err.line(line);
  return EXIT.ok;
}

/** Without the sidecar: also on another machine, or in a job. */
async function check({ out, err, isJson, workingDir }: Context, file: string): Promise<number> {
  const body = await readFile(resolve(workingDir, file)).catch((cause: unknown) => {
    throw new AppError("invalid_request", `file: ${errorText(cause)}`, { cause });
  });
  const { parseDirective } = await import("../../shared/directives/parse.ts"); // with it comes a parser
  const { directive, faults = [] } = parseDirective(file, body);
  if (isJson)
    await out.json({ file, isGood: directive !== undefined, faults, ...(directive && { directive }) });
  else if (directive) {
    await out.line(
      cleanLine(`${basename(file)}: ${directive.name}: ${mayOf({ ...directive, space: "user" })}`),
    );
    for (const note of directive.notes) await err.line(cleanLine(`${file}: ${note}`));
  } else for (const fault of faults) await err.line(cleanLine(describeFault(fault)));
  return directive ? EXIT.ok : EXIT.failure;
}

function faultsOf({ faults }: DirectivesReply): string[] {
  return faults.map((fault) => cleanLine(describeFault(fault)));
}

type Told = Pick<
  DirectiveReply,
  | "engine"
  | "model"
  | "permissionMode"
  | "tools"
  | "disallowedTools"
  | "mode"
  | "voice"
  | "workspace"
  | "limits"
> & { inputs: Readonly<Record<string, { type: string }>> };

/** What it lets its agent do, in a few words. */
function mayOf(one: Told & { space: string }): string {
  const limits = Object.entries(one.limits).map(([name, most]) => `${name} ${most}`);
  const inputs = Object.entries(one.inputs).map(([name, { type }]) => `${name}: ${type}`);
  const words = [
    one.engine && `engine ${one.engine}`,
    one.model && `model ${one.model}`,
    one.permissionMode && `mode ${one.permissionMode}`,
    one.tools ? `tools ${one.tools.join(" ") || "none"}` : "all tools",
    one.disallowedTools && `not ${one.disallowedTools.join(" ")}`,
    one.mode === "single" && "one turn",
    one.voice && "speaks with a tool",
    one.workspace === "worktree" && "in a worktree",
    limits.length > 0 && `at most ${limits.join(", ")}`,
    inputs.length > 0 && `inputs ${inputs.join(", ")}`,
  ];
  return words.filter(Boolean).join("; ");
}
