/** Files, links and repositories as tests lay them out in a folder of their own. */
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export function put(path: string, text = "kumquat"): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

export function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

export function git(dir: string, ...args: string[]): void {
  const who = ["-c", "user.name=n", "-c", "user.email=e@x"];
  execFileSync("git", ["-C", dir, ...who, ...args], { stdio: "pipe" });
}
