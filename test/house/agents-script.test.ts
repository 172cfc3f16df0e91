/** The folder in which the tests keep the real coding agents. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { makeFolder } from "../support/folders.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

const script = (name: string) => fileURLToPath(new URL(`../../scripts/${name}`, import.meta.url));

test("a coding agent whose folder is damaged is installed again, once", async () => {
  const dir = folder.path;
  const npm = [
    "#!/bin/sh",
    `echo npm >> ${dir}/runs`,
    "mkdir -p node_modules/.bin",
    "printf '#!/bin/sh\\necho a-program 1.2.3\\n' > node_modules/.bin/prog",
    "chmod +x node_modules/.bin/prog",
  ];
  writeFileSync(join(dir, "npm"), `${npm.join("\n")}\n`, { mode: 0o755 });
  const install = 'install_agent "@a/prog@1.2.3" 1 prog';
  const damage = 'rm "$installed/node_modules/.bin/prog"';
  const source = [`. ${script("setup.sh")}`, `. ${script("agents.sh")}`, install, install, damage, install];
  const env = { ...process.env, XDG_CACHE_HOME: dir, PATH: `${dir}:${process.env["PATH"]}` };
  const { stdout, stderr } = await promisify(execFile)(
    "bash",
    ["-euo", "pipefail", "-c", source.join("\n")],
    {
      env,
    },
  );
  expect(stdout + stderr).toContain("prog-1.2.3 is damaged.");
  expect(readFileSync(join(dir, "runs"), "utf8")).toBe("npm\nnpm\n");
});
