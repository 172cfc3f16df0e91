// Bundles the console's page (vm/console/page) into one script and one style sheet.
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = join(root, "vm/console/page");

/** Leaves `target` alone where it is newer than everything that goes into it. Safe to run side by side. */
export async function bundleConsole(target) {
  if (isCurrent(target)) return;
  mkdirSync(target, { recursive: true });
  const fresh = join(target, `.new-${process.pid}`);
  await build({
    entryPoints: ["main.ts", "console.css"].map((name) => ({ in: join(page, name), out: "console" })),
    outdir: fresh,
    bundle: true,
    minify: true,
    format: "esm",
    target: ["es2022", "safari16"],
    legalComments: "eof",
    plugins: [withoutLocales],
    logLevel: "warning",
  });
  for (const name of ["index.html", "icon.svg"]) copyFileSync(join(page, name), join(fresh, name));
  // One by one and the page last: it is what isCurrent() goes by.
  for (const name of ["console.js", "console.css", "icon.svg", "index.html"]) {
    renameSync(join(fresh, name), join(target, name));
  }
  rmSync(fresh, { recursive: true, force: true });
}

/** zod brings its messages in 50 languages; none of them is ever shown here. */
const withoutLocales = {
  name: "without-locales",
  setup(build) {
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export {};",
    }));
  },
};

function isCurrent(target) {
  const last = join(target, "index.html");
  if (!existsSync(last)) return false;
  const builtAt = statSync(last).mtimeMs;
  const sources = [page, join(root, "shared")].flatMap((folder) =>
    readdirSync(folder).map((name) => join(folder, name)),
  );
  const others = ["package-lock.json", "scripts/console-bundle.mjs"].map((name) => join(root, name));
  return [...sources, ...others].every((file) => statSync(file).mtimeMs < builtAt);
}
