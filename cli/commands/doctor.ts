import { type Command, Option } from "commander";
import { cleanLine } from "../../shared/clean-text.ts";
import { type Finding, findingsSchema } from "../../shared/doctor.ts";
import { AppError } from "../../shared/errors.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { type OwnProgram, runOwn } from "../own-programs.ts";
import { findOwner } from "../service/places.ts";

/** Each program has deadlines of its own for what it asks; this is for all of them together. */
const TIMEOUT_MS = 120_000;
const PARTS = { sidecar: "vm/doctor/main.js", relay: "relay/doctor/main.js" } as const;
const NAMES = Object.keys(PARTS) as (keyof typeof PARTS)[];

interface DoctorOptions {
  only?: keyof typeof PARTS;
  settings?: string;
}

export function addDoctor(program: Command, act: Act): void {
  program
    .command("doctor")
    .summary("what is wrong with the set-up, and what to type")
    .description(
      "look at Node.js, the settings, folders, tmux, the agent and its sign-in, disk, file watches, control groups, the clock, the sidecar, and at Discord: token, intents, channel and permissions; nothing is changed, and no secret is shown; exits with 1 if there is a fault",
    )
    .addOption(new Option("--only <part>", "of a machine that has one of them").choices(NAMES))
    .option("--settings <file>", "the settings of the service, instead of those of this shell")
    .addHelpText(
      "after",
      `${examples("threadmux doctor", "threadmux doctor --only relay --json")}

It judges the settings that sidecar and relay would have if they were started from here: this shell's environment, .env
if you are in threadmux's own folder, then those of \`service install\`. If scripts/run is at work on STATE_DIR, its
sidecar's PATH, REPOS_DIR and address, and its demo agent, go before them.`,
    )
    .action((options: DoctorOptions, command: Command) =>
      act(command, (context) => doctor(context, options)),
    );
}

async function doctor(context: Context, { only, settings: file }: DoctorOptions): Promise<number> {
  const { settings, out, isJson } = context;
  if (settings.hasStrangeDotEnv && file === undefined)
    await context.note(
      "threadmux: .env is not read here, since this folder is not threadmux's own; --settings .env reads it",
    );
  const own = settings.getProgramEnv(file);
  const owner = await findOwner(own["STATE_DIR"]);
  const env = owner ? { ...own, HOME: owner.home, USER: owner.name, LOGNAME: owner.name } : own;
  const cwd = owner ? "/" : context.workingDir; // root's directory may be shut to its owner
  const wanted = only === undefined ? NAMES : [only];
  const parts = await Promise.all(
    wanted.map((name) => look({ file: PARTS[name], env, cwd, as: owner, timeoutMs: TIMEOUT_MS })),
  );
  const findings = parts.flat();
  const isWell = findings.every(({ state }) => state !== "fault");
  if (isJson) await out.json({ ok: isWell, findings });
  else for (const line of findings.flatMap((finding) => linesOf(finding, out.hasColor))) await out.line(line);
  return isWell ? EXIT.ok : EXIT.failure;
}

async function look(program: OwnProgram): Promise<Finding[]> {
  const { file } = program;
  const { code, stdout, stderr } = await runOwn(program);
  if (code === 0) return findingsSchema.parse(JSON.parse(stdout));
  const words = stderr.trim().split("\n").at(-1) ?? "";
  throw new AppError("internal", `${file} ended with ${code}: ${words}`);
}

const COLORS = { ok: 32, note: 33, fault: 31 } as const;

/** Names that others gave, such as a channel's, are cleaned. */
function linesOf({ look: name, state, says, mend }: Finding, hasColor: boolean): string[] {
  const word = state.padEnd(5);
  const shown = hasColor ? `\u001b[${COLORS[state]}m${word}\u001b[0m` : word;
  const line = `${shown}  ${cleanLine(name).padEnd(18)} ${cleanLine(says)}`;
  return mend === null ? [line] : [line, `       → ${cleanLine(mend)}`];
}
