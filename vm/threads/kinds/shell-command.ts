/** How a terminal's command line is run: by the user's own shell, from a file. */
import { existsSync } from "node:fs";
import { basename } from "node:path";

/** Shells that know `eval` and `shift` as POSIX has them. */
const POSIX_SHELL = /^(?:ba|da|a|z|k|mk|pdk|ya)?sh$/;
/** The command sees no argument, and its errors name the shell, as with `sh -c COMMAND`. */
const EVAL_FILE = 'eval "shift; $(cat -- "$1" || echo exit 126)"';

/** The shell that the environment names, if it is on the machine. */
export function findShell(configured: string | undefined): string {
  return [configured, "/bin/bash"].find((file) => file !== undefined && existsSync(file)) ?? "/bin/sh";
}

/** The argument vector of a shell that runs the command in a file. */
export function shellArgv(shell: string, file: string): string[] {
  return POSIX_SHELL.test(basename(shell)) ? [shell, "-c", EVAL_FILE, shell, file] : [shell, file];
}
