/** What the benches take as arguments, and how they tell where they are. */

export interface Choice {
  /** Short forms, which only show that everything can be measured. */
  isSmoke: boolean;
  /** The rows to be measured, in order. */
  names: readonly string[];
}

/**
 * `--smoke`, `--only ROW` (several times for several rows) and `--help`, which names the rows. Ends the program after
 * `--help`, or if it was told what there is not.
 * @param command as people call it
 */
export function parseChoice(command: string, names: readonly string[], args: readonly string[]): Choice {
  const usage = `npm run ${command} -- [--smoke] [--only ROW]…\nrows: ${names.join(", ")}`;
  const fail = (problem: string): never => {
    console.error(`${problem}\n${usage}`);
    process.exit(2);
  };
  let isSmoke = false;
  const only: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at];
    if (arg === "--smoke") isSmoke = true;
    else if (arg === "--only") only.push(args[++at] ?? fail("--only asks for a row"));
    else if (arg === "--help") {
      console.log(usage);
      process.exit(0);
    } else fail(`there is no option ${arg}`);
  }
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) fail(`there is no row ${unknown}`);
  return { isSmoke, names: only.length === 0 ? names : only };
}

/** Before a row: some take minutes. Not where the table goes. */
export function tellProgress(name: string, { names }: Choice): void {
  const time = new Date().toTimeString().slice(0, 8);
  console.error(`${time}  ${name} (${names.indexOf(name) + 1} of ${names.length}) …`);
}
