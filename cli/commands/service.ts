import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { readPrivateFile } from "../../shared/private-file.ts";
import { threads } from "../../shared/protocol/threads.ts";
import { type Act, examples } from "../command.ts";
import type { Context } from "../context.ts";
import { parseCount } from "../count.ts";
import { EXIT } from "../exit-codes.ts";
import { type Installed, install, readGiven, readSettings, uninstall, urlOf } from "../service/install.ts";
import { findPlaces, type Places } from "../service/places.ts";
import { Systemd } from "../service/systemd.ts";
import { RELAY, SIDECAR } from "../service/units.ts";

const UNITS = [SIDECAR, RELAY];

interface ScopeOptions {
  user?: boolean;
  system?: boolean;
}

interface InstallOptions extends ScopeOptions {
  runAs?: string;
  settings?: string;
  only?: "sidecar" | "relay";
}

export function addService(program: Command, act: Act): void {
  const service = program
    .command("service")
    .summary("sidecar and relay as services of systemd")
    .description(
      "make sidecar and relay services of systemd, which start with the machine; see docs/deploy.md",
    )
    .addHelpText("after", examples("threadmux service install", "threadmux service logs -f"));
  scoped(service.command("install"))
    .description(
      "write their units and settings, and start them; again after an update of threadmux: threads go on meanwhile",
    )
    .option(
      "--run-as <user>",
      "of root's service: whose rights it has (otherwise as before, else who called sudo)",
    )
    .option("--settings <file>", "takes the settings from it (otherwise those that are there, else ./.env)")
    .addOption(new Option("--only <part>", "of a machine that has one of them").choices(["sidecar", "relay"]))
    .addHelpText(
      "after",
      examples(
        "threadmux service install",
        "sudo threadmux service install --run-as threadmux --settings .env",
      ),
    )
    .action((options: InstallOptions, command: Command) => act(command, (context) => add(context, options)));
  scoped(service.command("status"))
    .description("whether they run; exits with 1 if one does not")
    .action((options: ScopeOptions, command: Command) => act(command, (context) => status(context, options)));
  scoped(service.command("logs"))
    .description("what they have logged, the newest last")
    .option("-f, --follow", "go on until Ctrl-C")
    .option("-n, --lines <count>", "so many of the newest", "100")
    .action((options: ScopeOptions & { follow?: boolean; lines: string }, command: Command) =>
      act(command, (context) => logs(context, options)),
    );
  scoped(service.command("uninstall"))
    .description("end them with all their threads, and remove all but the state folder")
    .option("--force", "also if threads are open")
    .action((options: ScopeOptions & { force?: boolean }, command: Command) =>
      act(command, (context) => remove(context, options)),
    );
}

function scoped(command: Command): Command {
  return command
    .addOption(new Option("--user", "this user's own service (unless root asks)").conflicts("system"))
    .option("--system", "the machine's service (if root asks)");
}

async function open(
  { env }: Context,
  { user, system, runAs }: ScopeOptions & { runAs?: string },
): Promise<{ places: Places; systemd: Systemd }> {
  const isRoot = process.getuid?.() === 0;
  const scope = user ? "user" : system || isRoot ? "system" : "user";
  if (scope === "system" && !isRoot)
    throw new AppError("forbidden", "--system: only root may; type: sudo threadmux service install");
  const systemd = new Systemd(scope, env);
  await systemd.check();
  return { systemd, places: await findPlaces(scope, env, runAs) };
}

async function add(context: Context, options: InstallOptions): Promise<number> {
  const { places, systemd } = await open(context, options);
  const { workingDir, env, out, isJson } = context;
  const dotEnv = existsSync(join(workingDir, ".env")) ? ".env" : undefined;
  const file = options.settings ?? (existsSync(places.envFile) ? undefined : dotEnv);
  const done = await install({
    ...{ places, systemd, path: env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin" },
    given: file === undefined ? undefined : readGiven(file, workingDir),
    ...(options.only !== undefined && { only: options.only }),
  });
  if (isJson) await out.json(done);
  else for (const line of linesOf(done, places)) await out.line(line);
  return done.isReady === true ? EXIT.ok : EXIT.failure;
}

function linesOf(done: Installed, { scope, person }: Places): string[] {
  const { units, settings, stateDir, hasRelay, isLingering } = done;
  const lines = [
    `${units.join(" and ")} ${units.length === 1 ? "starts" : "start"} with the machine, as ${person.name}`,
    `settings   ${settings}; after a change: threadmux service install`,
    `state      ${stateDir}`,
    `sidecar    ${sidecarLine(done)}`,
  ];
  if (!hasRelay && units.includes(SIDECAR))
    lines.push(
      `relay      has no settings (DISCORD_TOKEN and others): set them in ${settings}, then install again`,
    );
  if (scope === "user" && !isLingering)
    lines.push(`they end with your last login: type sudo loginctl enable-linger ${person.name}`);
  return lines;
}

function sidecarLine({ isReady, url, settings }: Installed): string {
  if (isReady === "refused")
    return `does not start, since its settings can't be used: threadmux doctor names them; mend ${settings}, then install again`;
  return isReady ? `answers at ${url}` : `does not answer at ${url} yet: threadmux service logs`;
}

async function status(context: Context, options: ScopeOptions): Promise<number> {
  const { systemd, places } = await open(context, options);
  const names = ["LoadState", "ActiveState", "SubState", "MainPID", "NRestarts", "ActiveEnterTimestamp"];
  const there = UNITS.filter((unit) => existsSync(join(places.units, unit)));
  if (there.length === 0)
    throw new AppError("not_found", "no service is installed: threadmux service install");
  const rows = await Promise.all(
    there.map(async (unit) => ({ unit, ...(await systemd.show(unit, names)) }) as Record<string, string>),
  );
  if (context.isJson) await context.out.json(rows);
  else
    for (const row of rows)
      await context.out.line(
        `${row["unit"]}  ${row["ActiveState"]} (${row["SubState"]})  process ${row["MainPID"]}  since ${row["ActiveEnterTimestamp"]}  ${row["NRestarts"]} restarts`,
      );
  return rows.every((row) => row["ActiveState"] === "active") ? EXIT.ok : EXIT.failure;
}

async function logs(
  context: Context,
  options: ScopeOptions & { follow?: boolean; lines: string },
): Promise<number> {
  const { systemd } = await open(context, options);
  const count = parseCount("--lines", options.lines);
  const lines = Number.isFinite(count) ? String(count) : "all";
  return systemd.followLogs(UNITS, [`--lines=${lines}`, options.follow ? "--follow" : "--no-pager"]);
}

async function remove(context: Context, options: ScopeOptions & { force?: boolean }): Promise<number> {
  const { systemd, places } = await open(context, options);
  if (!options.force) await refuseOpenThreads(places);
  const { removed, stateDir } = await uninstall(places, systemd);
  if (context.isJson) await context.out.json({ removed, stateDir });
  else for (const path of removed) await context.out.line(`removed ${path}`);
  await context.note(
    stateDir === null
      ? "no service was installed"
      : `${stateDir} stays: it has the threads' logs and conversations`,
  );
  return EXIT.ok;
}

/** Programs that run in threads would end without a word. @throws AppError `forbidden` */
async function refuseOpenThreads(places: Places): Promise<void> {
  const settings = readSettings(places.envFile);
  if (!settings) return;
  const token = settings["VM_TOKEN"] ?? tokenIn(settings["STATE_DIR"] ?? places.stateDir);
  const list = new SidecarClient({ url: urlOf(settings), token, timeoutMs: 5_000 }).call(threads.list, {});
  const open = await list.then(
    (reply) => reply.threads.filter(({ processRunning }) => processRunning).length,
    () => 0, // it does not answer: nobody can say
  );
  if (open > 0)
    throw new AppError(
      "forbidden",
      `${open} ${open === 1 ? "thread is" : "threads are"} at work and would end: threadmux ls shows them, --force ends them`,
    );
}

/** @throws Error in words for a person */
function tokenIn(stateDir: string): string {
  const file = join(stateDir, "token");
  return existsSync(file) ? readPrivateFile(file).trim() : "";
}
