/** How a terminal's command line is run: by the user's own shell, from a file. */
import { basename } from "node:path";

/** Shells that know `eval` and `shift` as POSIX has them. */
const POSIX_SHELL = /^(?:ba|da|a|z|k|mk|pdk|ya)?sh$/;
/** The command sees no argument, and its errors name the shell, as with `sh -c COMMAND`. */
const EVAL_FILE = 'eval "shift; $(cat -- "$1" || echo exit 126)"';

/** The argument vector of a shell that runs the command in a file. */
export function shellArgv(shell: string, file: string): string[] {
  return POSIX_SHELL.test(basename(shell)) ? [shell, "-c", EVAL_FILE, shell, file] : [shell, file];
}
