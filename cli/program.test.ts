import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { VERSION } from "../shared/version.ts";
import type { Streams } from "./context.ts";
import { runCli } from "./program.ts";

async function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const code = await runCli(args, {}, streams as unknown as Streams, "/nonexistent");
  const read = (stream: PassThrough) => String(stream.read() ?? "");
  return { code, stdout: read(streams.stdout), stderr: read(streams.stderr) };
}

test("the top tells all commands, settings and exit codes; each command has examples", async () => {
  const { code, stdout } = await run("--help");
  expect(code).toBe(0);
  expect(stdout).toMatch(/\nExit codes:\n {2}0 {4}done\n/);
  for (const name of ["VM_URL", "VM_TOKEN", "STATE_DIR", "NO_COLOR"]) expect(stdout).toContain(`  ${name} `);
  const names = [...stdout.matchAll(/^ {2}([a-z]+)(?:\|[a-z]+)? (?:\[|<| {8})/gm)].map(
    ([, name = ""]) => name,
  );
  const ofAll = "ls new directives send tail screen attach kill log logs view browser resize status";
  const ofAgents =
    "inbox asks approve deny answer steps branch worktree interrupt pause resume compact mode model trust limit rules diff undo channel role room main";
  const ofScripts = "run here take wait events engines acp job memory hook";
  const ofSetUp = "doctor backup restore service";
  expect(names).toEqual([ofAll, ofAgents, ofScripts, ofSetUp, "help"].flatMap((some) => some.split(" ")));
  for (const name of names.filter((each) => each !== "help")) {
    const help = await run(name, "--help");
    expect(help.code).toBe(0);
    expect(help.stdout).toMatch(/\nExamples:\n {2}threadmux /);
    expect(help.stdout).toContain("--json ");
  }
});

test("the version is the package's", async () => {
  expect(await run("--version")).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: "" });
});
