import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "../test/support/folders.ts";
import { parseSettings } from "./settings.ts";

const token = (name: string) => name.padEnd(32, "-");

let folder: ReturnType<typeof makeFolder>;
beforeEach(() => {
  folder = makeFolder();
});
afterEach(() => folder.remove());

function write(name: string, text: string): void {
  writeFileSync(join(folder.path, name), text);
}

test("flags go before the environment, that before .env, that before the defaults", () => {
  write(".env", `VM_URL=http://127.0.0.1:4\nSTATE_DIR=from-dotenv\nVM_TOKEN=${token("dotenv")}\n`);
  write("file", `${token("file")}\n`);
  const env = { VM_URL: "http://127.0.0.1:5", VM_TOKEN: token("env"), STATE_DIR: "" };
  const flags = { url: "http://127.0.0.1:6", tokenFile: "file", stateDir: "/from/flag" };

  const byFlags = parseSettings(flags, env, folder.path);
  expect(byFlags).toMatchObject({ url: "http://127.0.0.1:6", stateDir: "/from/flag" });
  expect(byFlags.getToken()).toBe(token("file"));
  const byEnv = parseSettings({}, env, folder.path);
  expect(byEnv).toMatchObject({ url: "http://127.0.0.1:5", stateDir: join(folder.path, "from-dotenv") });
  expect(byEnv.getToken()).toBe(token("env"));
  const byDotEnv = parseSettings({}, {}, folder.path);
  expect(byDotEnv.url).toBe("http://127.0.0.1:4");
  expect(byDotEnv.getToken()).toBe(token("dotenv"));
  expect(parseSettings({}, {}, "/nonexistent").url).toBe("http://127.0.0.1:3001");
  expect(parseSettings({}, { VM_PORT: "4001" }, "/nonexistent").url).toBe("http://127.0.0.1:4001");
});

test("without VM_TOKEN the token is the one in STATE_DIR", () => {
  mkdirSync(join(folder.path, "state"));
  write("state/token", `${token("state")}\n`);
  expect(parseSettings({ stateDir: "state" }, {}, folder.path).getToken()).toBe(token("state"));
  expect(() => parseSettings({ stateDir: "none" }, {}, folder.path).getToken()).toThrow(/^VM_TOKEN: missing/);
});

test.skipIf(existsSync("/data/threadmux"))("in a checkout, .state-dir says where it is", () => {
  mkdirSync(join(folder.path, "state"));
  write("state/token", `${token("state")}\n`);
  write(".state-dir", `${join(folder.path, "state")}\n`);
  expect(parseSettings({}, {}, folder.path).getToken()).toBe(token("state"));
});

test("the settings of a scripts/run at work go before this shell's; a file that is named goes before both", () => {
  mkdirSync(join(folder.path, "state"));
  const env = { STATE_DIR: "state", REPOS_DIR: "/of/shell", AGENT_ARGS: "--of-shell" };
  const ofPrograms = (file?: string) => parseSettings({}, env, folder.path).getProgramEnv(file);
  expect(ofPrograms()).toMatchObject({ REPOS_DIR: "/of/shell", AGENT_ARGS: "--of-shell" });
  write("state/run.json", "cut o");
  expect(ofPrograms()).toMatchObject({ REPOS_DIR: "/of/shell" });
  write("state/run.json", JSON.stringify({ vmUrl: "http://run", sidecar: { REPOS_DIR: "/of/run" } }));
  const stateDir = join(folder.path, "state");
  expect(ofPrograms()).toMatchObject({
    ...{ STATE_DIR: stateDir, REPOS_DIR: "/of/run", VM_URL: "http://run", AGENT_ARGS: "--of-shell" },
  });
  write("file", "REPOS_DIR=/of/file\n");
  expect(ofPrograms("file")).toMatchObject({ REPOS_DIR: "/of/file" });
  expect(ofPrograms("file")).not.toHaveProperty("VM_URL");
});

// Promise: S18
test("an .env that others may read is tightened before its token is used, and left alone otherwise", () => {
  const mode = () => (statSync(join(folder.path, ".env")).mode & 0o777).toString(8);
  write(".env", `VM_TOKEN=${token("dotenv")}\n`);
  chmodSync(join(folder.path, ".env"), 0o644);
  expect(parseSettings({}, { VM_TOKEN: token("env") }, folder.path).getToken()).toBe(token("env"));
  expect(mode()).toBe("644");
  expect(parseSettings({}, {}, folder.path).getToken()).toBe(token("dotenv"));
  expect(mode()).toBe("600");
});

test("an .env that somebody else wrote can't send our token to another machine", () => {
  write(".env", "VM_URL=https://elsewhere.example\n");
  const settings = parseSettings({}, { VM_TOKEN: token("ours") }, folder.path);
  expect(() => settings.getToken()).toThrow(/^VM_URL: https:\/\/elsewhere\.example comes from \.env/);

  write(".env", `VM_URL=https://elsewhere.example\nVM_TOKEN=${token("theirs")}\n`);
  expect(() => parseSettings({}, { VM_TOKEN: token("ours") }, folder.path).getToken()).toThrow(/^VM_URL: /);
  expect(parseSettings({}, {}, folder.path).getToken()).toBe(token("theirs"));
  const chosen = parseSettings(
    { url: "https://elsewhere.example" },
    { VM_TOKEN: token("ours") },
    folder.path,
  );
  expect(chosen.getToken()).toBe(token("ours"));
});

test("doctor's programs get no settings that somebody else has put into the working directory", () => {
  mkdirSync(join(folder.path, "state"));
  write("state/run.json", JSON.stringify({ vmUrl: "http://theirs", sidecar: { PATH: "theirs" } }));
  write(".state-dir", `${join(folder.path, "state")}\n`);
  const theirs =
    "VM_URL=https://elsewhere.example\nAGENT_PROGRAM=./theirs\nNODE_OPTIONS=--require ./theirs.js\n";
  write(".env", theirs);
  const env = { PATH: "/bin", STATE_DIR: " " };
  const ofPrograms = (file?: string) => parseSettings({}, env, folder.path).getProgramEnv(file);
  expect(ofPrograms()).toEqual({ PATH: "/bin", STATE_DIR: "/data/threadmux" });
  write(".env", `${theirs}STATE_DIR=state\n`);
  expect(ofPrograms()).toEqual({ PATH: "/bin", STATE_DIR: "/data/threadmux" });
  // They count in threadmux's own folder, and if they are named.
  const own = parseSettings({}, env, folder.path, folder.path).getProgramEnv();
  expect(own).toMatchObject({ STATE_DIR: join(folder.path, "state"), AGENT_PROGRAM: "./theirs" });
  expect(ofPrograms(".env")).toMatchObject({ AGENT_PROGRAM: "./theirs" });
});

test.each(["ftp://x", "localhost:3001", "http://me:secret@host", "http://me@host", "http://host/?a=b", ""])(
  "%j is no address",
  (url) => {
    expect(() => parseSettings({ url }, {}, folder.path)).toThrow(/^--url: must be/);
  },
);
