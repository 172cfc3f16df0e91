/** `threadmux service`: its units by systemd's own word, and the whole way with a systemctl that does what they say. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv, promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { install } from "../../cli/service/install.ts";
import { findPlaces } from "../../cli/service/places.ts";
import { Systemd } from "../../cli/service/systemd.ts";
import { relayUnit, settingsText, sidecarUnit, type UnitPlan } from "../../cli/service/units.ts";
import { WIDE_LIMITS } from "../../local-discord/rate-limits.ts";
import { runLocalDiscord } from "../../local-discord/run.ts";
import { SidecarClient } from "../../shared/client.ts";
import { findProgram } from "../../shared/find-program.ts";
import { makeFolder } from "../support/folders.ts";
import { makeSidecarFolders, type SidecarFolders } from "../support/sidecar.ts";
import { openTerminal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** Starts what a unit says, with the settings that it names; keeps every call. It knows --user units alone. */
const SYSTEMCTL = `
echo "$@" >> "$FAKE/calls"
units="$HOME/.config/systemd/user"
[ "$1" = --user ] && shift
case "$1" in
  is-system-running) echo running ;;
  restart)
    unit="$units/$2"
    [ -f "$FAKE/$2.pid" ] && kill "$(cat "$FAKE/$2.pid")"
    set -a; . "$(sed -n 's/^EnvironmentFile=//p' "$unit")"; set +a
    cd "$(sed -n 's/^WorkingDirectory=//p' "$unit")"
    (eval "exec setsid $(sed -n 's/^ExecStart=//p' "$unit")") </dev/null >"$FAKE/$2.log" 2>&1 &
    echo $! > "$FAKE/$2.pid" ;;
  disable) kill "$(cat "$FAKE/$3.pid")"; rm "$FAKE/$3.pid" ;;
  show) echo ActiveState=active; echo SubState=running; echo MainPID=7; echo NRestarts=0 ;;
esac
`;

interface Machine {
  folders: SidecarFolders;
  /** The folder of the fake programs. */
  fake: string;
  cli: (...args: string[]) => Promise<{ code: number; stdout: string; stderr: string }>;
  units: string;
  calls: () => string[];
}

function makeMachine(systemctl = SYSTEMCTL): Machine {
  const folders = makeSidecarFolders();
  onTestFinished(folders.close);
  const fake = join(folders.path, "fake");
  mkdirSync(fake);
  const scripts = { systemctl, loginctl: 'echo loginctl "$@" >> "$FAKE/calls"', journalctl: 'echo "$@"' };
  for (const [name, script] of Object.entries(scripts))
    writeFileSync(join(fake, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const { VM_TOKEN, RELAY_TOKEN, STATE_DIR, REPOS_DIR, VM_PORT, ...bare } = folders.env;
  const env = { ...bare, PATH: `${fake}:${process.env["PATH"]}`, FAKE: fake };
  return {
    folders,
    fake,
    units: join(folders.home, ".config/systemd/user"),
    cli: (...args) =>
      run(process.execPath, [PROGRAM, ...args], { env, cwd: folders.home }).then(
        (said) => ({ code: 0, ...said }),
        (error: { code: number; stdout: string; stderr: string }) => error,
      ),
    calls: () => readFileSync(join(fake, "calls"), "utf8").trim().split("\n"),
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("install, status, logs, again, uninstall: sidecar and bot run, and only the state folder stays", async () => {
  const machine = makeMachine();
  const { folders, cli, units } = machine;
  const discord = await runLocalDiscord({ port: 0, limits: WIDE_LIMITS });
  onTestFinished(() => discord.close());
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const lines = [
    `VM_PORT=${port}`,
    `VM_URL=${url}`,
    "AGENT_SANDBOX=off",
    'AGENT_ARGS=--append "it is $5" # a comment',
    `DISCORD_TOKEN=${discord.botToken}`,
    `DISCORD_API_URL=${discord.apiUrl}`,
    `DISCORD_CHANNEL_ID=${discord.channelId}`,
    `ALLOWED_USER_IDS=${discord.you.id}`,
  ];
  writeFileSync(join(folders.home, ".env"), `${lines.join("\n")}\n`);

  const installed = await cli("service", "install", "--user");
  expect(installed).toMatchObject({ code: 0, stderr: "" });
  expect(installed.stdout).toContain(`answers at ${url}`);
  expect(readdirSync(units).sort()).toEqual(["threadmux-relay.service", "threadmux-sidecar.service"]);
  const settings = join(folders.home, ".config/threadmux/threadmux.env");
  expect(statSync(settings).mode & 0o777).toBe(0o600);
  const stateDir = join(folders.home, ".local/state/threadmux-service");
  expect(parseEnv(readFileSync(settings, "utf8"))).toMatchObject({
    STATE_DIR: stateDir,
    VM_PORT: String(port),
  });
  await until("the bot to come online", () => discord.driver.isBotOnline);
  const name = process.env["USER"] ?? "root";
  expect(machine.calls()).toContain(`loginctl enable-linger ${name}`);

  expect(await cli("service", "status", "--user")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("active (running)"),
  });
  const { stdout: logged } = await cli("service", "logs", "--user", "-n", "7");
  expect(logged).toContain(
    "--user-unit threadmux-sidecar.service --user-unit threadmux-relay.service --lines=7",
  );

  // A shell finds the service by its settings alone, from anywhere.
  const token = readFileSync(join(stateDir, "token"), "utf8").trim();
  await openTerminal(new SidecarClient({ url, token }), "stays", "cat");
  expect((await cli("ls")).stdout).toContain("stays");

  const again = await cli("service", "install", "--user", "--only", "sidecar");
  expect(again).toMatchObject({ code: 0, stderr: "" });
  expect(readdirSync(units)).toEqual(["threadmux-sidecar.service"]);
  expect((await cli("ls")).stdout).toContain("stays");

  const refused = await cli("service", "uninstall", "--user");
  expect(refused).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/1 thread is at work and would end.*--force/),
  });
  const removed = await cli("service", "uninstall", "--user", "--force");
  expect(removed).toMatchObject({ code: 0, stderr: expect.stringContaining(`${stateDir} stays`) });
  expect([existsSync(settings), readdirSync(units)]).toEqual([false, []]);
  expect(existsSync(join(folders.home, ".config/threadmux"))).toBe(false);
  expect(existsSync(join(stateDir, "threadmux.db"))).toBe(true);
  expect(machine.calls().slice(-2)).toEqual(["--user daemon-reload", `loginctl disable-linger ${name}`]);
  expect((await cli("service", "uninstall", "--user")).stderr).toBe("no service was installed\n");
  expect(await cli("service", "status", "--user")).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/no service is installed/),
  });
}, 60_000);

test.each([
  ["systemd does not run", "echo offline; exit 1"],
  ["a login without a systemd of its own", "echo 'Failed to connect to bus' >&2; exit 1"],
])("%s: a clear sentence, and nothing is made", async (_what, systemctl) => {
  const { cli, folders } = makeMachine(systemctl);
  for (const said of await Promise.all(
    ["install", "uninstall"].map((command) => cli("service", command, "--user")),
  )) {
    expect(said).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^threadmux: this login has no systemd.*\n$/),
    });
  }
  expect(readdirSync(folders.home)).toEqual([]);
});

test("bad settings are refused before anything is made", async () => {
  const { cli, folders } = makeMachine();
  const refusals: [string[], RegExp][] = [
    [["--settings", "nowhere"], /--settings: nowhere is not there/],
    [["--only", "relay"], /the relay's settings are missing: DISCORD_TOKEN/],
    [["--only", "bot"], /Allowed choices are sidecar, relay/],
    [["--system"], /conflict|cannot be used/],
  ];
  for (const [args, words] of refusals) {
    const said = await cli("service", "install", "--user", ...args);
    expect(said).toMatchObject({ code: 2, stderr: expect.stringMatching(words) });
  }
  expect(readdirSync(folders.home)).toEqual([]);
});

test("settings that the sidecar refuses are said at once, with what to type", async () => {
  const { cli, folders } = makeMachine(`
[ "$1" = --user ] && shift
case "$1" in
  is-system-running) echo running ;;
  show) echo ActiveState=failed; echo ExecMainStatus=2 ;;
esac`);
  writeFileSync(join(folders.home, ".env"), `VM_PORT=${await freePort()}\nAGENT_SANDBOX=auto\n`);
  const said = await cli("service", "install", "--user");
  expect(said).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /^sidecar {4}does not start, since .*: threadmux doctor .*, then install again$/m,
    ),
  });
});

test("the machine's service has a user's rights, and a state folder that this user can reach", async () => {
  const { folders, fake } = makeMachine("exit 0");
  const path = join(folders.path, "machine");
  const [stateDir, reposDir] = [join(path, "data/threadmux"), join(path, "data/repos")];
  const person = { name: "daemon", uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, home: path };
  const places = {
    ...{ scope: "system" as const, units: join(path, "units"), envFile: join(path, "etc/threadmux.env") },
    ...{ stateDir, reposDir, person },
  };
  const systemd = new Systemd("system", { PATH: `${fake}:${process.env["PATH"]}`, FAKE: fake });
  const given = { VM_HOST: "::1", VM_PORT: "4001" };
  const done = await install({ places, systemd, given, path: "/bin", readyMs: 0 });
  expect(done).toMatchObject({ units: ["threadmux-sidecar.service"], hasRelay: false, stateDir });
  expect(done.url).toBe("http://[::1]:4001");
  const modes = [join(path, "data"), reposDir, stateDir].map((folder) => statSync(folder).mode & 0o777);
  expect(modes).toEqual([0o755, 0o755, 0o700]);
  const unit = readFileSync(join(places.units, "threadmux-sidecar.service"), "utf8");
  expect(unit).toMatch(/^User=daemon$/m);
  expect(unit).toMatch(/^KillMode=process$/m);
});

test("installed again without a name, a machine's service keeps its user", async () => {
  const { path, remove } = makeFolder();
  onTestFinished(remove);
  const userOf = async (runAs?: string) => (await findPlaces("system", {}, runAs, path)).person.name;
  expect(await userOf()).toBe(userInfo().username);
  const plan = { scope: "system" as const, dist: path, node: process.execPath, user: "daemon" };
  const text = relayUnit({ ...plan, envFile: join(path, "x.env"), stateDir: path, hasSubgroups: false });
  writeFileSync(join(path, "threadmux-relay.service"), text);
  expect([await userOf(), await userOf("bin")]).toEqual(["daemon", "bin"]);
});

const analyze = findProgram("systemd-analyze", process.env["PATH"] ?? "");

test.runIf(analyze !== undefined).each(["system", "user"] as const)(
  "systemd takes the units: %s",
  async (scope) => {
    const { path, remove } = makeFolder();
    onTestFinished(remove);
    const dist = join(path, 'a "b" $c %d');
    mkdirSync(dist);
    const plan: UnitPlan = {
      ...{ scope, dist, node: process.execPath, user: "daemon" },
      ...{ envFile: join(dist, "x.env"), stateDir: join(dist, "s") },
      hasSubgroups:
        Number(/^systemd (\d+)/.exec((await run(analyze ?? "", ["--version"])).stdout)?.[1] ?? "0") >= 254,
    };
    const files = [
      ["threadmux-sidecar.service", sidecarUnit(plan)],
      ["threadmux-relay.service", relayUnit(plan)],
    ].map(([name = "", text = ""]) => {
      writeFileSync(join(path, name), text);
      return join(path, name);
    });
    const args = [...(scope === "user" ? ["--user"] : []), "verify", ...files];
    const env = { PATH: process.env["PATH"], XDG_RUNTIME_DIR: path, HOME: path, LC_ALL: "C" };
    expect(await run(analyze ?? "", args, { env })).toMatchObject({ stderr: "", stdout: "" });
  },
);

test.each([
  "plain",
  "with 'one' kind",
  'with "the" other',
  "a $price, 5% `off`",
  "C:\\path # no comment",
  "two\nlines",
])("a setting is read by a shell and by Node.js as it was meant: %j", async (value) => {
  const text = settingsText({ NAME: value });
  const { stdout } = await run("sh", ["-c", `${text}printf %s "$NAME"`]);
  expect(stdout).toBe(value);
  expect(parseEnv(text)["NAME"]).toBe(value);
});
