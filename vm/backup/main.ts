/** `backup STATE_DIR FILE` and `restore FILE DIR`, for the command line: prints what was done, or why not, as JSON. */
import { AppError, errorText } from "../../shared/errors.ts";
import { backUp } from "./backup.ts";
import { restore } from "./restore.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort());

const [what = "", from = "", to = ""] = process.argv.slice(2);
try {
  const done = await (what === "backup" ? backUp : restore)(from, to, stop.signal);
  process.stdout.write(JSON.stringify(done));
} catch (error) {
  const code = error instanceof AppError ? error.code : "internal";
  const words = stop.signal.aborted ? "ended before it was done; nothing was kept" : errorText(error);
  process.stdout.write(JSON.stringify({ error: words, code }));
}
